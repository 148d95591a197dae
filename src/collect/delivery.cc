#include "collect/delivery.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <numeric>
#include <set>

#include "collect/target_table.h"

namespace hailstone {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t batch_bytes = size_t{8} << 20;
constexpr std::chrono::seconds longest_gathering(1);
constexpr std::chrono::milliseconds between_batches(20);
constexpr uint64_t least_goal = 500;
constexpr unsigned duplicate_key = 1062, no_default = 1364;

/// The row, from 0, that a warning names at its end, as "… at row 7".
std::optional<size_t> row_of(std::string_view message) {
  constexpr std::string_view before = " at row ";
  const size_t at = message.rfind(before);
  if (at == std::string_view::npos) return std::nullopt;
  size_t row = 0;
  const std::string_view digits = message.substr(at + before.size());
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), row);
  if (error != std::errc() || row == 0) return std::nullopt;
  return row - 1;
}

/// The column that a warning names, as "… for column 'a' at row 7" or "… for column `d`.`t`.`a` at row 7".
std::string column_of(std::string_view message) {
  size_t at = message.find("column ");
  if (at == std::string_view::npos) return {};
  std::string_view rest = message.substr(at + 7);
  if (const size_t end = rest.rfind(" at row "); end != std::string_view::npos) rest = rest.substr(0, end);
  if (rest.size() < 3 || (rest.front() != '\'' && rest.front() != '`')) return {};
  const char quote = rest.front();
  const size_t last = quote == '`' ? rest.rfind('`') : rest.find('\'', 1);
  if (last == std::string_view::npos || last == 0) return {};
  const size_t first = quote == '`' ? rest.rfind('`', last - 1) : 0;
  if (first == std::string_view::npos) return {};
  return std::string(rest.substr(first + 1, last - first - 1));
}

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
  if (records_.empty()) {
    HAILSTONE_ASSIGN(const bool found, fill());
    trouble_.over();
    if (!found) return false;
  }
  const auto begun = Clock::now();
  HAILSTONE_TRY(deliver());
  trouble_.over();
  const auto time = Clock::now() - begun;
  if (time > std::chrono::seconds(1)) goal_ = std::max(least_goal, goal_ / 2);
  if (time < std::chrono::milliseconds(500)) goal_ = std::min(config_.batch_records, goal_ * 2);
  delivered_ = end_;
  records_.clear();
  HAILSTONE_TRY(spool_.release(end_));
  return true;
}

Status Delivery::prepare() {
  if (connection_.is_connected()) return {};
  HAILSTONE_TRY(connection_.connect());
  HAILSTONE_TRY(set_session(connection_, config_));
  if (is_prepared_) return {};
  HAILSTONE_TRY(find_engine());
  HAILSTONE_TRY(
      connection_.execute(fmt::format("INSERT IGNORE INTO {} (spool, stream, records) VALUES ('{}', {}, 0)",
                                      bookkeeping_, spool_name_, quoted_text(config_.name))));
  HAILSTONE_ASSIGN(const uint64_t records, progress());
  const Spool::State state = spool_.state();
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
  delivered_ = records;
  HAILSTONE_TRY(spool_.release(records));
  is_prepared_ = true;
  return {};
}

Status Delivery::find_engine() {
  HAILSTONE_ASSIGN(const std::string engine, engine_of_table(connection_, config_));
  // Of the same engine, so that a commit is of one engine.
  const std::string name = bookkeeping_table(engine);
  bookkeeping_ = quoted_name(name);
  HAILSTONE_ASSIGN(
      const auto found,
      connection_.query(fmt::format("SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() "
                                    "AND TABLE_NAME = '{}'",
                                    name)));
  if (!found.empty()) return {};
  HAILSTONE_TRY(connection_.execute(fmt::format(
      "CREATE TABLE IF NOT EXISTS {} (spool CHAR(32) CHARACTER SET ascii NOT NULL PRIMARY KEY, stream "
      "VARCHAR(64) NOT NULL, records BIGINT UNSIGNED NOT NULL) ENGINE={} COMMENT='hailstone collect: how "
      "many "
      "records of each spool are delivered'",
      bookkeeping_, engine)));
  return {};
}

Result<uint64_t> Delivery::progress() {
  HAILSTONE_ASSIGN(const auto rows,
                   connection_.query(fmt::format("SELECT records FROM {} WHERE spool = '{}' FOR UPDATE",
                                                 bookkeeping_, spool_name_)));
  uint64_t records = 0;
  if (rows.size() == 1) {
    const std::string& text = rows[0][0];
    std::from_chars(text.data(), text.data() + text.size(), records);
    return records;
  }
  return fail(
      ErrorCode::InvalidArgument,
      fmt::format(
          "the row of spool {} is gone from table {}; without it nothing tells what is delivered. Bring it "
          "back: INSERT INTO {} VALUES ('{}', {}, {})",
          spool_name_, bookkeeping_, bookkeeping_, spool_name_, quoted_text(config_.name),
          delivered_.load()));
}

Result<bool> Delivery::fill() {
  text_.clear();
  records_.clear();
  sources_.clear();
  begin_ = end_ = reader_->sequence();
  const auto begun = Clock::now();
  for (;;) {
    const bool may_end = finishing_;
    const size_t before = records_.size();
    HAILSTONE_TRY(take_records());
    if (records_.empty()) return false;
    const bool changes = end_ != reader_->sequence();
    // The rest has another layout.
    if (changes) reader_.emplace(spool_, end_);
    if (changes || records_.size() >= goal_ || text_.size() >= batch_bytes) return true;
    if (records_.size() == before && (may_end || Clock::now() - begun >= longest_gathering)) return true;
    if (stop_.wait(between_batches)) return true;
  }
}

Status Delivery::take_records() {
  while (records_.size() < goal_ && text_.size() < batch_bytes) {
    ByteView record;
    HAILSTONE_ASSIGN(const bool found, reader_->next(record));
    if (!found) return {};
    const auto layout = reader_->positions().find(layout_key);
    if (layout == reader_->positions().end()) {
      return fail(ErrorCode::Corruption, fmt::format("record {} of the spool has no layout", end_));
    }
    if (layout->second != layout_bytes_) {
      if (!records_.empty()) return {};
      layout_bytes_ = layout->second;
      if (!decode_layout(layout_bytes_, layout_)) {
        return fail(ErrorCode::Corruption, fmt::format("the layout of record {} of the spool is none", end_));
      }
    }
    HAILSTONE_TRY(take(record));
    end_ = reader_->sequence();
  }
  return {};
}

Status Delivery::take(ByteView record) {
  ByteReader reader(record);
  Record& taken = records_.emplace_back();
  ByteView text;
  if (!reader.take_varint(taken.line) || !reader.take_bytes(reader.remaining(), text)) {
    return fail(ErrorCode::Corruption, fmt::format("record {} of the spool has no line", end_));
  }
  // A frame's records are of one source.
  for (const auto& [source, position] : reader_->frame_positions()) {
    if (source == layout_key) continue;
    if (sources_.empty() || sources_.back() != source) sources_.push_back(source);
  }
  taken.source = static_cast<uint32_t>(sources_.size() - 1);
  taken.begin = text_.size();
  text_ += text;
  text_ += '\n';
  taken.end = text_.size();
  return {};
}

Status Delivery::deliver() {
  bad_.clear();
  Places good(records_.size());
  std::iota(good.begin(), good.end(), size_t{0});
  for (;;) {
    HAILSTONE_TRY(connection_.execute("START TRANSACTION"));
    // First, so that a transaction of a lost connection is over before anything else is done.
    HAILSTONE_ASSIGN(
        const uint64_t changed,
        connection_.execute(fmt::format("UPDATE {} SET records = {} WHERE spool = '{}' AND records = {}",
                                        bookkeeping_, end_, spool_name_, begin_)));
    if (changed == 0) {
      HAILSTONE_TRY(connection_.execute("ROLLBACK"));
      HAILSTONE_ASSIGN(const uint64_t records, progress());
      if (records == end_) return {};  // its commit had succeeded
      return fail(
          ErrorCode::InvalidArgument,
          fmt::format(
              "table {} says that {} records of the spool {} are delivered where it said {}; does something "
              "else change it?",
              bookkeeping_, records, spool_name_, begin_));
    }
    Warnings warnings;
    if (!good.empty()) {
      HAILSTONE_ASSIGN(warnings, load(good));
    }
    if (warnings.empty()) break;
    HAILSTONE_TRY(connection_.execute("ROLLBACK"));
    HAILSTONE_TRY(part(good, warnings));
  }
  HAILSTONE_TRY(write_rejections());
  HAILSTONE_TRY(connection_.execute("COMMIT"));
  return {};
}

Result<Delivery::Warnings> Delivery::load(const Places& places) {
  std::string part;
  std::string_view text = text_;
  if (places.size() < records_.size()) {
    for (const size_t place : places) {
      part += text.substr(records_[place].begin, records_[place].end - records_[place].begin);
    }
    text = part;
  }
  HAILSTONE_ASSIGN(const uint64_t loaded, connection_.load(load_statement(config_, layout_), text));
  unsigned all = 0;
  HAILSTONE_ASSIGN(Warnings warnings, connection_.warnings(all));
  std::erase_if(warnings, [](const auto& warning) { return warning.number == duplicate_key; });
  const auto lacking = std::ranges::find(warnings, no_default, &ServerConnection::Warning::number);
  if (lacking != warnings.end()) {
    // It is wrong with all records.
    return fail(
        ErrorCode::InvalidArgument,
        fmt::format("table '{}': {}; add it to the stream's 'columns' or 'computed', or give it a default",
                    config_.table, lacking->message));
  }
  if (warnings.empty() && all >= most_warnings) {
    warnings.push_back({.number = 0, .message = "more warnings than the server keeps"});
  }
  if (warnings.empty() && loaded != places.size()) {
    warnings.push_back(
        {.number = 0, .message = fmt::format("the server read {} records of {}", loaded, places.size())});
  }
  return warnings;
}

Result<Delivery::Warnings> Delivery::try_out(const Places& places) {
  HAILSTONE_TRY(connection_.execute("START TRANSACTION"));
  HAILSTONE_ASSIGN(Warnings warnings, load(places));
  HAILSTONE_TRY(connection_.execute("ROLLBACK"));
  return warnings;
}

Status Delivery::part(Places& good, const Warnings& warnings) {
  const size_t bad_before = bad_.size();
  std::set<size_t> named;
  for (const auto& warning : warnings) {
    const auto row = row_of(warning.message);
    if (row && *row < good.size()) named.insert(good[*row]);
  }
  for (const size_t place : named) {
    HAILSTONE_ASSIGN(const Warnings own, try_out({place}));
    if (!own.empty()) condemn(place, own);
  }
  if (bad_.size() == bad_before) HAILSTONE_TRY(search(good));
  if (bad_.size() == bad_before) {
    return fail(ErrorCode::InvalidArgument,
                fmt::format("table '{}' warns of {} records together, but of none by itself: {}",
                            config_.table, good.size(), warnings[0].message));
  }
  std::erase_if(good, [&](size_t place) {
    return std::ranges::find(bad_, place, &decltype(bad_)::value_type::first) != bad_.end();
  });
  return {};
}

Status Delivery::search(const Places& places) {
  HAILSTONE_ASSIGN(const Warnings warnings, try_out(places));
  if (warnings.empty()) return {};
  if (places.size() == 1) {
    condemn(places[0], warnings);
    return {};
  }
  const auto middle = places.begin() + static_cast<ptrdiff_t>(places.size() / 2);
  HAILSTONE_TRY(search(Places(places.begin(), middle)));
  return search(Places(middle, places.end()));
}

void Delivery::condemn(size_t place, const Warnings& warnings) {
  const Record& record = records_[place];
  std::string reason = warnings[0].message;
  if (const size_t at = reason.rfind(" at row "); at != std::string::npos) reason.resize(at);
  bad_.emplace_back(place, Rejection{.source = sources_[record.source],
                                     .line = record.line,
                                     .column = column_of(warnings[0].message),
                                     .reason = std::move(reason),
                                     .record = text_.substr(record.begin, record.end - record.begin - 1)});
}

Status Delivery::write_rejections() {
  for (const auto& [place, rejection] : bad_) HAILSTONE_TRY(rejects_.add(rejection));
  return rejects_.sync();
}

}  // namespace hailstone
