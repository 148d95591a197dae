// Looks through all tables for rows whose retention is over.
#include "base/clock.h"
#include "base/guard.h"
#include "database/core.h"

namespace hailstone {

namespace {

void add(Table::Expired& to, const Table::Expired& from) {
  to.rows += from.rows;
  to.segments += from.segments;
  to.locked += from.locked;
  to.again = to.again || from.again;
}

}  // namespace

Result<Table::Expired> DatabaseCore::expire_rows(const StopToken& stop) {
  const MutexLock one_at_a_time(expiring_);
  const uint64_t begun = monotonic_microseconds();
  const RetentionClock& clock =
      options_.retention_clock != nullptr ? *options_.retention_clock : default_retention_clock_;
  const int64_t now = clock.now() - retention_lag.load().count();
  Database::LastExpiry look;
  std::optional<Error> first_error;
  const auto expire = [&](const EntryPointer& entry) -> Status {
    HAILSTONE_ASSIGN(const auto table, catalog_.open(entry));
    const TableDefinition& definition = table->definition();
    if (!definition.retention.any() || !table->usable()) return {};
    HAILSTONE_ASSIGN(const auto values, clock.expired(definition, now));
    ++look.tables;
    if (!values) return {};
    HAILSTONE_ASSIGN(const Table::Expired expired, table->expire(definition.retention, *values, stop));
    add(look.expired, expired);
    return {};
  };
  for (const EntryPointer& entry : catalog_.with_retention()) {
    const Status status = guarded([&] { return expire(entry); });
    if (status) continue;
    const Error& error = status.error();
    if (error.code() == ErrorCode::Interrupted) return std::unexpected(error);
    // Dropped since it was listed; or another program's.
    if (error.code() == ErrorCode::NotFound || error.code() == ErrorCode::Unsupported) continue;
    if (!first_error) first_error = error;
  }
  count(counters_.retention_runs);
  look.at = clock.now();
  look.seconds = static_cast<double>(monotonic_microseconds() - begun) / 1e6;
  {
    const MutexLock guard(last_expiry_mutex_);
    last_expiry_ = look;
  }
  if (first_error) return std::unexpected(*first_error);
  return look.expired;
}

Database::LastExpiry DatabaseCore::last_expiry() const {
  const MutexLock guard(last_expiry_mutex_);
  return last_expiry_;
}

}  // namespace hailstone
