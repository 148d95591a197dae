#include "collect/delivery.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "collect/target_table.h"

namespace hailstone {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t batch_bytes = size_t{8} << 20;
constexpr std::chrono::seconds longest_gathering(1);
constexpr std::chrono::milliseconds between_batches(20);
constexpr uint64_t least_goal = 500;

}  // namespace

Status Delivery::run() {
  spool_name_ = to_text(spool_.id());
  while (!stop_.is_requested()) {
    const bool may_end = finishing_;
    const auto done = step();
    if (done) {
      if (!*done && may_end) return {};
      if (!*done) static_cast<void>(stop_.wait(between_batches));
      continue;
    }
    // The transaction goes with its connection.
    connection_.disconnect();
    const ErrorCode code = done.error().code();
    if (code != ErrorCode::Busy && code != ErrorCode::DiskFull) return std::unexpected(done.error());
    trouble_.met(fmt::format("{}; trying again", done.error().message()));
    static_cast<void>(stop_.wait(trouble_.next_wait()));
  }
  return {};
}

Result<bool> Delivery::step() {
  HAILSTONE_TRY(prepare());
  if (batch_.empty()) {
    HAILSTONE_ASSIGN(const bool found, reader_ ? fill() : Result<bool>(false));
    trouble_.over();
    if (!found) return false;
  }
  const auto begun = Clock::now();
  HAILSTONE_TRY(deliver());
  trouble_.over();
  const auto time = Clock::now() - begun;
  if (time > std::chrono::seconds(1)) goal_ = std::max(least_goal, goal_ / 2);
  if (time < std::chrono::milliseconds(500)) goal_ = std::min(config_.batch_records, goal_ * 2);
  pass(batch_.end());
  batch_.clear(batch_.end());
  HAILSTONE_TRY(spool_.release(batch_.end()));
  return true;
}

Status Delivery::prepare() {
  const bool is_new = !connection_.is_connected();
  if (is_new) {
    HAILSTONE_TRY(connection_.connect());
    HAILSTONE_TRY(set_session(connection_, config_));
    upkeep_.forget();
  }
  HAILSTONE_TRY(upkeep_.keep_up(connection_));
  if (is_new) load_.begin(has_transactions_);
  if (!is_prepared_) {
    HAILSTONE_TRY(find_engine());
    HAILSTONE_TRY(make_bookkeeping());
    HAILSTONE_TRY(counts_.prepare(connection_, config_.table.name_of(upkeep_.now()), engine_, spool_name_));
    is_prepared_ = true;
  }
  // A spool without a file gets another id at the next start, and a row of this one would stay for ever.
  if (reader_ || spool_.state().bytes == 0) return {};
  HAILSTONE_TRY(connection_.execute(
      fmt::format("INSERT IGNORE INTO {} (spool, stream, records, rejected) VALUES ('{}', {}, 0, 0)",
                  bookkeeping_, spool_name_, quoted_text(config_.name))));
  HAILSTONE_ASSIGN(const Progress at, progress());
  const uint64_t records = at.records;
  const Spool::State state = spool_.state();
  // The intake makes durable what was delivered before a crash.
  if (records > state.end && !state.is_recovered) return {};
  if (records < state.begin || records > state.end) {
    return fail(
        ErrorCode::Corruption,
        fmt::format(
            "table {} says that {} records of the spool {} are delivered, but the spool has those from {} "
            "to {}; was the database, or the spool, brought back from a backup? Bring both to the same "
            "point, or move the spool's directory away to begin a new one",
            bookkeeping_, records, spool_name_, state.begin, state.end));
  }
  reader_.emplace(spool_, records);
  rejected_ = at.rejected;
  pass(records);
  HAILSTONE_TRY(spool_.release(records));
  return {};
}

Status Delivery::find_engine() {
  const std::string table = config_.table.name_of(upkeep_.now());
  HAILSTONE_ASSIGN(const TargetEngine engine, engine_of_table(connection_, table, config_.is_repeatable));
  engine_ = engine.name;
  has_transactions_ = engine.has_transactions;
  load_.begin(has_transactions_);
  return {};
}

Status Delivery::check_engine(const std::string& table) {
  if (checked_tables_.contains(table)) return {};
  HAILSTONE_ASSIGN(const TargetEngine engine, engine_of_table(connection_, table, config_.is_repeatable));
  if (engine.name != engine_) {
    return fail(
        ErrorCode::InvalidArgument,
        fmt::format(
            "table '{}' is of the engine {}, others of the stream are of {}; give all the same: ALTER "
            "TABLE {} ENGINE={}",
            table, engine.name, engine_, quoted_identifier(table), engine_));
  }
  checked_tables_.insert(table);
  return {};
}

Status Delivery::make_bookkeeping() {
  // Of the same engine, so that a commit is of one engine.
  const std::string name = bookkeeping_table(engine_);
  bookkeeping_ = quoted_identifier(name);
  HAILSTONE_ASSIGN(const bool there, table_exists(connection_, name));
  if (!there) {
    HAILSTONE_TRY(connection_.execute(fmt::format(
        "CREATE TABLE IF NOT EXISTS {} (spool CHAR(32) CHARACTER SET ascii NOT NULL PRIMARY KEY, stream "
        "VARCHAR(64) NOT NULL, records BIGINT UNSIGNED NOT NULL, "
        "rejected BIGINT UNSIGNED NOT NULL DEFAULT 0) ENGINE={} "
        "COMMENT='hailstone collect: how many records of each spool are delivered or rejected'",
        bookkeeping_, engine_)));
    return {};
  }
  // A table of a collector that did not count rejected records by themselves.
  HAILSTONE_ASSIGN(const auto type, column_type(connection_, name, "rejected"));
  if (type) return {};
  HAILSTONE_TRY(connection_.execute(fmt::format(
      "ALTER TABLE {} WAIT 5 ADD COLUMN IF NOT EXISTS rejected BIGINT UNSIGNED NOT NULL DEFAULT 0",
      bookkeeping_)));
  return {};
}

Result<Delivery::Progress> Delivery::progress() {
  HAILSTONE_ASSIGN(const auto rows, connection_.query(fmt::format(
                                        "SELECT records, rejected FROM {} WHERE spool = '{}' FOR UPDATE",
                                        bookkeeping_, spool_name_)));
  if (rows.size() == 1) return Progress{.records = number_of(rows[0][0]), .rejected = number_of(rows[0][1])};
  return fail(
      ErrorCode::InvalidArgument,
      fmt::format(
          "the row of spool {} is gone from table {}; without it nothing tells what is delivered. Bring it "
          "back: INSERT INTO {} (spool, stream, records, rejected) VALUES ('{}', {}, {}, {})",
          spool_name_, bookkeeping_, bookkeeping_, spool_name_, quoted_text(config_.name), passed_.load(),
          rejected_));
}

void Delivery::pass(uint64_t records) {
  passed_ = records;
  delivered_ = records - std::min(rejected_, records);
}

Result<bool> Delivery::fill() {
  batch_.clear(reader_->sequence());
  const auto begun = Clock::now();
  for (;;) {
    const bool may_end = finishing_;
    const size_t before = batch_.size();
    HAILSTONE_ASSIGN(const bool is_same, take_records());
    if (batch_.empty()) return false;
    if (!is_same) reader_.emplace(spool_, batch_.end());
    if (!is_same || batch_.size() >= goal_ || batch_.bytes() >= batch_bytes) return true;
    if (batch_.size() == before && (may_end || Clock::now() - begun >= longest_gathering)) return true;
    if (stop_.wait(between_batches)) return true;
  }
}

Result<bool> Delivery::take_records() {
  while (batch_.size() < goal_ && batch_.bytes() < batch_bytes) {
    ByteView record;
    HAILSTONE_ASSIGN(const bool found, reader_->next(record));
    if (!found) return true;
    HAILSTONE_ASSIGN(const bool is_same, batch_.add(*reader_, record));
    if (!is_same) return false;
  }
  return true;
}

Status Delivery::route() {
  std::vector<std::string>& tables = batch_.tables();
  tables.clear();
  const bool is_daily = config_.table.is_daily();
  const std::string& column = config_.table.time_column;
  const auto place_of_time = place_of(batch_.layout(), column);
  if (!is_daily) {
    tables.push_back(config_.table.name);
    if (counts_.empty() || !place_of_time || config_.is_computed(column)) return {};
  }
  if (!place_of_time) {
    return fail(ErrorCode::InvalidArgument,
                fmt::format("the records have no field for '{}', which tells their day; add it to 'columns'",
                            column));
  }
  std::map<WallTime, uint32_t> days;
  for (size_t place = 0; place < batch_.size(); ++place) {
    const auto text = load_field(batch_.record(place), *place_of_time);
    const auto time = text ? parse_wall_time(*text) : std::nullopt;
    if (!time) {
      // Without a time it belongs to no period, which matters to summaries only.
      if (is_daily || text)
        condemn(place, column,
                "the time is not written as 2026-11-24 10:00:00; 'time_format' may say how it is");
      continue;
    }
    if (!is_daily) continue;
    if (auto refusal = upkeep_.refusal_of(*time)) {
      condemn(place, column, std::move(*refusal));
      continue;
    }
    const auto day = std::chrono::floor<std::chrono::days>(*time);
    const auto [found, is_new] = days.emplace(day, static_cast<uint32_t>(tables.size()));
    if (is_new) {
      tables.push_back(config_.table.name_of(day));
      HAILSTONE_TRY(upkeep_.make_table_of(connection_, day));
      HAILSTONE_TRY(check_engine(tables.back()));
    }
    batch_.set_table(place, found->second);
  }
  return {};
}

Status Delivery::check_layout() {
  if (batch_.layout() == checked_layout_) return {};
  const std::string table = config_.table.name_of(upkeep_.now());
  const Status checked = check_columns(connection_, config_, table, batch_.layout());
  if (!checked && checked.error().code() == ErrorCode::InvalidArgument) {
    return fail(
        ErrorCode::InvalidArgument,
        fmt::format("{}. Records that wait in the spool keep their columns: without that one, move the "
                    "stream's folder in the spool away, so that its source is read again",
                    checked.error().message()));
  }
  HAILSTONE_TRY(checked);
  checked_layout_ = batch_.layout();
  return {};
}

Status Delivery::deliver() {
  bad_.clear();
  HAILSTONE_TRY(check_layout());
  HAILSTONE_TRY(route());
  Places good = batch_.all();
  leave_out_bad(good);
  TableLoad::Look look;
  if (counts_.is_made_by_server(batch_.layout())) {
    HAILSTONE_TRY(counts_.check_layout(connection_, config_.table.name_of(upkeep_.now()), batch_.layout()));
    look = [this](const std::string& table) { return counts_.take_rows(connection_, table); };
  }
  for (;;) {
    counts_.clear();
    if (has_transactions_) {
      HAILSTONE_TRY(connection_.execute("START TRANSACTION"));
      // First, so that a transaction of a lost connection is over before anything else is done.
      HAILSTONE_ASSIGN(const bool moved, move_on());
      if (!moved) return {};  // its commit had succeeded
    }
    Complaints complaints;
    if (!good.empty()) {
      HAILSTONE_ASSIGN(complaints, load_.load(batch_, good, look));
    }
    if (complaints.empty()) break;
    if (has_transactions_) HAILSTONE_TRY(connection_.execute("ROLLBACK"));
    HAILSTONE_TRY(part(good, complaints));
  }
  HAILSTONE_TRY(write_rejections());
  if (!look) counts_.take(batch_, good);
  HAILSTONE_TRY(counts_.store(connection_));
  if (has_transactions_) {
    HAILSTONE_TRY(connection_.execute("COMMIT"));
    rejected_ += bad_.size();
    return {};
  }
  HAILSTONE_ASSIGN(const bool moved, move_on());
  if (moved) rejected_ += bad_.size();
  return {};
}

Result<bool> Delivery::move_on() {
  HAILSTONE_ASSIGN(
      const uint64_t changed,
      connection_.execute(fmt::format(
          "UPDATE {} SET records = {}, rejected = rejected + {} WHERE spool = '{}' AND records = {}",
          bookkeeping_, batch_.end(), bad_.size(), spool_name_, batch_.begin())));
  if (changed != 0) return true;
  HAILSTONE_TRY(connection_.execute("ROLLBACK"));
  HAILSTONE_ASSIGN(const Progress at, progress());
  if (at.records == batch_.end()) {
    rejected_ = at.rejected;
    return false;
  }
  return fail(
      ErrorCode::InvalidArgument,
      fmt::format(
          "table {} says that {} records of the spool {} are delivered where it said {}; does something "
          "else change it?",
          bookkeeping_, at.records, spool_name_, batch_.begin()));
}

Status Delivery::part(Places& good, const Complaints& complaints) {
  const size_t bad_before = bad_.size();
  std::set<size_t> named;
  for (const Complaint& complaint : complaints) {
    if (complaint.place) named.insert(*complaint.place);
  }
  for (const size_t place : named) {
    HAILSTONE_ASSIGN(const Complaints own, load_.try_out(batch_, {place}));
    if (!own.empty()) condemn(place, own[0].column, own[0].reason);
  }
  if (bad_.size() == bad_before) HAILSTONE_TRY(search(good));
  if (bad_.size() == bad_before) {
    return fail(ErrorCode::InvalidArgument,
                fmt::format("table '{}' refuses {} records together, but takes each of them alone: {}",
                            config_.table.name, good.size(), complaints[0].reason));
  }
  leave_out_bad(good);
  return {};
}

Status Delivery::search(const Places& places) {
  HAILSTONE_ASSIGN(const Complaints complaints, load_.try_out(batch_, places));
  if (complaints.empty()) return {};
  if (places.size() == 1) {
    condemn(places[0], complaints[0].column, complaints[0].reason);
    return {};
  }
  const auto middle = places.begin() + static_cast<ptrdiff_t>(places.size() / 2);
  HAILSTONE_TRY(search(Places(places.begin(), middle)));
  return search(Places(middle, places.end()));
}

void Delivery::condemn(size_t place, std::string column, std::string reason) {
  bad_.emplace_back(place, batch_.rejection_of(place, std::move(column), std::move(reason)));
}

void Delivery::leave_out_bad(Places& good) const {
  std::set<size_t> bad;
  for (const auto& [place, rejection] : bad_) bad.insert(place);
  std::erase_if(good, [&](size_t place) { return bad.contains(place); });
}

Status Delivery::write_rejections() {
  std::vector<const Rejection*> rejections;
  rejections.reserve(bad_.size());
  for (const auto& [place, rejection] : bad_) rejections.push_back(&rejection);
  HAILSTONE_TRY(rejects_.add(rejections));
  return rejects_.sync();
}

}  // namespace hailstone
