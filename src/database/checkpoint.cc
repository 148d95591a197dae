#include "database/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "base/scheduler.h"
#include "database/core.h"
#include "database/state_recorder.h"

namespace hailstone {
namespace {

/// Rows of a delta up to this size never deserve a file, which would take more space and a sync of its own.
constexpr size_t few_row_bytes = size_t{4} << 10;

/// Up to this size they go to the manifest too, as long as a checkpoint writes little.
constexpr size_t most_row_bytes = size_t{64} << 10;

/// A delta that takes so much memory is not even measured.
constexpr size_t least_flushed_bytes = 4 * most_row_bytes;

/// Rows that go to the manifest must stay a small part of the log that starts the next checkpoint.
constexpr size_t row_share = 4;

/// Rows that the manifest holds are in memory; this part of the budget is for them.
constexpr size_t memory_share = 4;

/// A Carry record holds about as much, so that no record is near the log's limit.
constexpr size_t carry_record_bytes = size_t{1} << 20;

/// The log that is kept for damaged tables is at most so many times as long as one between two checkpoints.
constexpr uint64_t long_log = 8;

}  // namespace

uint64_t Checkpointer::log_bytes() const {
  const Lsn end = core_.log->end();
  const Lsn start = position_.load();
  return end > start ? end - start : 0;
}

Status Checkpointer::run() {
  if (core_.options().read_only) return {};
  const MutexLock guard(mutex_);
  CheckpointMark mark;
  const auto take_position = [&](Timestamp committed) -> Status {
    HAILSTONE_ASSIGN(mark.carried, core_.log->rotate());
    mark.committed = committed;
    // Whoever writes its first operation from now on writes behind the rotation.
    mark.log_start = core_.transactions().oldest_open_record(mark.carried);
    return {};
  };
  HAILSTONE_TRY(core_.transactions().with_commits_stopped(take_position));
  size_t rows_left = core_.checkpoint_log_bytes.load() / row_share;
  std::unordered_set<TableId> carried;
  std::optional<Error> failure;
  for (const auto& [entry, table] : core_.catalog().open_tables()) {
    // Flushes that writers wait for go first; they need no checkpoint's mutex.
    Scheduler::yield();
    // One failing table must not keep the others from being flushed.
    if (Status status = settle(*table, mark.committed, rows_left, carried); !status && !failure)
      failure = status.error();
  }
  if (failure) return std::unexpected(*failure);
  const Lsn position = mark.carried;
  const Timestamp committed = mark.committed;
  if (must_keep_log(position)) mark = in_force_;
  HAILSTONE_TRY(core_.recorder->record_checkpoint(mark, committed, carried));
  in_force_ = mark;
  position_.store(position);
  count(core_.counters().checkpoints);
  return core_.log->drop_before(mark.log_start);
}

bool Checkpointer::must_keep_log(Lsn end) {
  using Severity = DatabaseOptions::Severity;
  for (const auto& [entry, table] : core_.catalog().open_tables()) {
    if (table->usable() || !table->is_durable() || given_up_.contains(entry->id) ||
        !damaged_.insert(entry->id).second)
      continue;
    core_.log_message(
        Severity::Warning,
        fmt::format("table '{}' cannot be used ({}); the log is kept from position {} on, as it may hold "
                    "changes of the table that are nowhere else. Restore the table's files, or what keeps "
                    "them from being read, and open the database again, or drop or truncate the table",
                    table->definition().name, table->usable().error().message(), in_force_.log_start));
  }
  std::erase_if(damaged_, [&](TableId id) { return core_.catalog().find(id) == nullptr; });
  if (damaged_.empty()) return false;
  const uint64_t kept = end - in_force_.log_start;
  if (kept <= long_log * core_.checkpoint_log_bytes.load()) return true;
  for (const TableId id : damaged_) {
    const EntryPointer entry = core_.catalog().find(id);
    if (entry == nullptr) continue;
    core_.log_message(
        Severity::Error,
        fmt::format("{} bytes of log were kept for changes of the damaged table '{}'; the log is "
                    "too long now, so the changes are given up. Restore the table from a backup, "
                    "or drop or truncate it",
                    kept, core_.catalog().last_definition(entry).unpack().name));
  }
  given_up_.insert(damaged_.begin(), damaged_.end());
  damaged_.clear();
  return false;
}

bool Checkpointer::fits_manifest(const Table& table, size_t& rows_left) const {
  if (table.delta_bytes() > least_flushed_bytes) return false;
  const size_t bytes = table.delta_row_bytes();
  if (core_.recorder->row_bytes() + bytes > core_.budget().limit() / memory_share) return false;
  if (bytes > few_row_bytes && bytes > std::min(most_row_bytes, rows_left)) return false;
  rows_left -= std::min(rows_left, bytes);
  return true;
}

Status Checkpointer::settle(Table& table, Timestamp committed, size_t& rows_left,
                            std::unordered_set<TableId>& carried) {
  if (!table.is_durable() || !table.has_delta_rows()) return {};
  const bool usable = table.usable().has_value();
  if (usable && fits_manifest(table, rows_left)) return {};
  Status flushed;
  for (bool more = true; more && flushed;) {
    const size_t before = table.delta_bytes();
    auto result = table.flush(true);
    if (!result) {
      flushed = std::unexpected(std::move(result).error());
      break;
    }
    // What is left waits for open transactions.
    more = *result && table.delta_bytes() < before;
  }
  // A corrupt table cannot be flushed; its rows are carried on for as long as it is there.
  if (!flushed && table.usable()) return flushed;
  if (!table.has_delta_rows()) return {};
  carried.insert(table.id());
  return carry(table, committed);
}

Status Checkpointer::carry(Table& table, Timestamp committed) {
  std::string record;
  const auto append = [&]() -> Status {
    if (record.empty()) return {};
    auto appended = core_.log->append(LogRecordType::Carry, record);
    record.clear();
    return appended ? Status() : std::unexpected(std::move(appended).error());
  };
  const auto carry_one = [&](ByteView operation, Timestamp begin) -> Status {
    if (begin > committed) return {};  // its own commit record is behind the rotation
    append_varint(record, begin);
    append_string(record, operation);
    return record.size() < carry_record_bytes ? Status() : append();
  };
  return core_.transactions().with_commits_stopped([&](Timestamp) -> Status {
    HAILSTONE_TRY(table.carry(carry_one));
    return append();
  });
}

}  // namespace hailstone
