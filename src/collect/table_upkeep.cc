#include "collect/table_upkeep.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "collect/target_table.h"

namespace hailstone {
namespace {

constexpr std::chrono::seconds between_looks(60), after_failure(5);
constexpr TimeStep one_day{.count = 1, .unit = TimeStep::Unit::Day};
constexpr std::string_view probe = "hailstone_collect_probe";

/// Without quotes, spaces and capitals: how information_schema writes an expression differs by version.
std::string plain_expression(std::string_view text) {
  std::string plain;
  for (const char c : text) {
    if (c != '`' && c != ' ') plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return plain;
}

Result<TimeColumn> column_of_type(std::string_view type, const TableConfig& config) {
  std::string small = plain_expression(type);
  if (small.starts_with("datetime")) return TimeColumn::DateTime;
  if (small.starts_with("timestamp")) return TimeColumn::TimeStamp;
  if (small == "date") {
    if (!config.partition || config.partition->unit != TimeStep::Unit::Hour) return TimeColumn::Date;
    return fail(
        ErrorCode::InvalidArgument,
        fmt::format("table '{}': its time column '{}' is a DATE, which has no hours; give it DATETIME, or "
                    "partition = \"1 day\"",
                    config.name, config.time_column));
  }
  return fail(
      ErrorCode::InvalidArgument,
      fmt::format(
          "table '{}': its time column '{}' is of the type {}; it must be DATE, DATETIME or TIMESTAMP",
          config.name, config.time_column, type));
}

std::string expression_of(TimeColumn column, const std::string& name) {
  return column == TimeColumn::TimeStamp ? fmt::format("RANGE (UNIX_TIMESTAMP({}))", quoted_identifier(name))
                                         : fmt::format("RANGE COLUMNS ({})", quoted_identifier(name));
}

}  // namespace

std::vector<WallTime> missing_ends(std::optional<WallTime> last, WallTime now, WallTime until,
                                   const TimeStep& step) {
  std::vector<WallTime> ends;
  WallTime end = last ? *last : beginning_of(now, step);
  while (!last || end <= until) {
    // An end that is none of this step's, as after another `partition` was given, is met by the next one.
    end = plus(beginning_of(end, step), step);
    ends.push_back(end);
    last = end;
  }
  return ends;
}

WallTime kept_from(WallTime now, const TimeStep& keep) { return minus(now, keep) - std::chrono::hours(1); }

Status TableUpkeep::check(ServerConnection& connection) {
  HAILSTONE_ASSIGN(now_, server_time(connection));
  if (!config_.partition || config_.is_daily()) return {};
  HAILSTONE_ASSIGN(const bool there, table_exists(connection, config_.name));
  if (!there) return {};
  HAILSTONE_ASSIGN(const TimeColumn column, time_column_of(connection, config_.name));
  HAILSTONE_TRY(partitions_of(connection, column));
  return {};
}

Status TableUpkeep::check_time_column(ServerConnection& connection, const std::string& table) {
  if (config_.time_column.empty()) return {};
  HAILSTONE_TRY(time_column_of(connection, table));
  return {};
}

Result<TableTrial> try_table(ServerConnection& connection, const TableConfig& config, bool is_repeatable) {
  TableUpkeep upkeep(config, {});
  HAILSTONE_TRY(upkeep.check(connection));
  const std::string table = config.name_of(upkeep.now());
  const auto engine = engine_of_table(connection, table, is_repeatable);
  if (engine) return TableTrial{.table = table, .engine = engine->name};
  if (engine.error().code() != ErrorCode::NotFound || config.definition.empty()) {
    return std::unexpected(engine.error());
  }
  HAILSTONE_TRY(connection.execute(
      fmt::format("CREATE OR REPLACE TEMPORARY TABLE {} {}", quoted_identifier(probe), config.definition)));
  HAILSTONE_TRY(upkeep.check_time_column(connection, std::string(probe)));
  HAILSTONE_ASSIGN(const auto made,
                   connection.query(fmt::format("SHOW CREATE TABLE {}", quoted_identifier(probe))));
  const std::string& statement = made.at(0).at(1);
  const size_t at = statement.rfind(") ENGINE=");
  std::string name = at == std::string::npos ? "?" : statement.substr(at + 9);
  name.resize(std::min(name.find(' '), name.size()));
  return TableTrial{.table = std::string(probe), .engine = name};
}

void TableUpkeep::forget() {
  looked_.reset();
  days_.clear();
}

Status TableUpkeep::keep_up(ServerConnection& connection) {
  const auto wait = failed_ ? after_failure : between_looks;
  if (looked_ && Clock::now() - *looked_ < wait) return {};
  HAILSTONE_ASSIGN(now_, server_time(connection));
  const Status status = work(connection);
  looked_ = Clock::now();
  failed_ = !status;
  if (status) {
    trouble_.over();
    return {};
  }
  // A table that others hold is changed later. The connection works still, as a lost one has no server's
  // number.
  const bool is_held = status.error().code() == ErrorCode::Busy && connection.is_usable();
  if (is_held && covered_until_ && now_ < *covered_until_) {
    trouble_.met(fmt::format("{}; trying again", status.error().message()));
    return {};
  }
  return status;
}

Status TableUpkeep::work(ServerConnection& connection) {
  if (config_.is_daily()) return keep_days(connection);
  if (config_.partition) return keep_partitions(connection);
  if (config_.definition.empty()) return {};
  HAILSTONE_ASSIGN(const bool there, table_exists(connection, config_.name));
  if (there) return {};
  return alone(connection, [&] { return create(connection, config_.name, {}); });
}

template <typename Change>
Status TableUpkeep::alone(ServerConnection& connection, const Change& change) {
  const std::string lock = fmt::format("CONCAT('hailstone_collect ', MD5(CONCAT(DATABASE(), '.', {})))",
                                       quoted_text(config_.name));
  HAILSTONE_ASSIGN(const auto got, connection.query(fmt::format("SELECT GET_LOCK({}, 10)", lock)));
  if (got.at(0).at(0) != "1") {
    return fail(ErrorCode::Busy,
                fmt::format("another collector has been at work on table '{}' for 10 s", config_.name));
  }
  Status status = change();
  // A connection that is lost has let go of it.
  if (status || connection.is_usable()) {
    const auto released = connection.query(fmt::format("SELECT RELEASE_LOCK({})", lock));
    if (status && !released) status = std::unexpected(released.error());
  }
  return status;
}

Status TableUpkeep::create(ServerConnection& connection, const std::string& table,
                           const std::vector<WallTime>& ends) {
  std::string statement =
      fmt::format("CREATE TABLE IF NOT EXISTS {} {}", quoted_identifier(table), config_.definition);
  if (!ends.empty()) {
    HAILSTONE_ASSIGN(const TimeColumn column, time_column_of_definition(connection));
    HAILSTONE_ASSIGN(const auto moments, later_moments(connection, column, std::nullopt, ends));
    statement += fmt::format(" PARTITION BY {} (", expression_of(column, config_.time_column));
    for (size_t i = 0; i < moments.size(); ++i) {
      statement += (i == 0 ? "" : ", ") + partition_clause(column, moments[i]);
    }
    statement += ")";
  }
  HAILSTONE_TRY(connection.execute(statement));
  log_event(owner_, fmt::format("table '{}' is made", table));
  return {};
}

std::string TableUpkeep::partition_clause(TimeColumn column, WallTime end) const {
  const TimeStep& step = *config_.partition;
  const std::string text = quoted_text(to_text(end).substr(0, column == TimeColumn::Date ? 10 : 19));
  // Named by the step that ends with it.
  return fmt::format("PARTITION p{} VALUES LESS THAN ({})",
                     compact_text(beginning_of(end - std::chrono::seconds(1), step), step.unit),
                     column == TimeColumn::TimeStamp ? fmt::format("UNIX_TIMESTAMP({})", text) : text);
}

Result<TimeColumn> TableUpkeep::time_column_of(ServerConnection& connection, const std::string& table) {
  HAILSTONE_ASSIGN(const auto type, column_type(connection, table, config_.time_column));
  if (!type) {
    return fail(ErrorCode::InvalidArgument,
                fmt::format("table '{}' has no column '{}', which 'time_column' names", config_.name,
                            config_.time_column));
  }
  return column_of_type(*type, config_);
}

Result<TimeColumn> TableUpkeep::time_column_of_definition(ServerConnection& connection) {
  HAILSTONE_TRY(connection.execute(
      fmt::format("CREATE OR REPLACE TEMPORARY TABLE {} {}", quoted_identifier(probe), config_.definition)));
  const auto column = time_column_of(connection, std::string(probe));
  HAILSTONE_TRY(connection.execute(fmt::format("DROP TEMPORARY TABLE {}", quoted_identifier(probe))));
  return column;
}

Result<std::vector<WallTime>> TableUpkeep::later_moments(ServerConnection& connection, TimeColumn column,
                                                         std::optional<WallTime> last,
                                                         std::vector<WallTime> ends) {
  if (column != TimeColumn::TimeStamp || ends.empty()) return ends;
  std::string asked = "SELECT UNIX_TIMESTAMP(" + quoted_text(to_text(last.value_or(WallTime()))) + ")";
  for (const WallTime end : ends) asked += ", UNIX_TIMESTAMP(" + quoted_text(to_text(end)) + ")";
  HAILSTONE_ASSIGN(const auto rows, connection.query(asked));
  std::vector<WallTime> later;
  int64_t before = -1;
  for (size_t i = 0; i < rows.at(0).size(); ++i) {
    const std::string& text = rows[0][i];
    int64_t moment = 0;
    std::from_chars(text.data(), text.data() + text.size(), moment);
    if (i > 0 && moment > before) later.push_back(ends[i - 1]);
    before = std::max(before, moment);
  }
  return later;
}

Result<std::vector<Partition>> TableUpkeep::partitions_of(ServerConnection& connection, TimeColumn column) {
  const std::string wanted = expression_of(column, config_.time_column);
  const std::string moment = column == TimeColumn::TimeStamp
                                 ? "IF(PARTITION_DESCRIPTION = 'MAXVALUE', 'MAXVALUE', "
                                   "FROM_UNIXTIME(PARTITION_DESCRIPTION))"
                                 : "TRIM(BOTH '''' FROM PARTITION_DESCRIPTION)";
  HAILSTONE_ASSIGN(
      const auto rows,
      connection.query(fmt::format(
          "SELECT PARTITION_NAME, PARTITION_METHOD, PARTITION_EXPRESSION, {} FROM "
          "information_schema.PARTITIONS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = {} GROUP BY "
          "PARTITION_ORDINAL_POSITION ORDER BY PARTITION_ORDINAL_POSITION",
          moment, quoted_text(config_.name))));
  std::vector<Partition> partitions;
  for (const auto& row : rows) {
    const std::string has =
        row.at(0).empty() ? "not partitioned" : fmt::format("partitioned by {} ({})", row.at(1), row.at(2));
    if (plain_expression(row[1] + "(" + row[2] + ")") != plain_expression(wanted)) {
      return fail(
          ErrorCode::InvalidArgument,
          fmt::format(
              "table '{}' is {}, where 'partition' needs {}: ALTER TABLE {} PARTITION BY {} (PARTITION "
              "p0 VALUES LESS THAN (…))",
              config_.name, has, wanted, quoted_identifier(config_.name), wanted));
    }
    const auto end = parse_wall_time(row.at(3));
    if (!end) {
      return fail(
          ErrorCode::InvalidArgument,
          fmt::format("partition '{}' of table '{}' ends at {}, so that none can be made behind it; drop it, "
                      "or give it an end: ALTER TABLE {} REORGANIZE PARTITION {} INTO (…)",
                      row[0], config_.name, row[3], quoted_identifier(config_.name),
                      quoted_identifier(row[0])));
    }
    partitions.push_back({row[0], *end});
  }
  return partitions;
}

Status TableUpkeep::keep_partitions(ServerConnection& connection) {
  const TimeStep& step = *config_.partition;
  const WallTime until = plus(now_, config_.ahead);
  // Looked at before the lock is asked for, which is seldom needed, and again when it is had.
  const auto look = [&](bool changes) -> Result<bool> {
    HAILSTONE_ASSIGN(const bool there, table_exists(connection, config_.name));
    if (!there) {
      if (config_.definition.empty()) return false;  // the stream tells it
      if (!changes) return true;
      HAILSTONE_TRY(create(connection, config_.name, missing_ends(std::nullopt, now_, until, step)));
    }
    HAILSTONE_ASSIGN(const TimeColumn column, time_column_of(connection, config_.name));
    HAILSTONE_ASSIGN(const auto partitions, partitions_of(connection, column));
    const WallTime last = partitions.empty() ? now_ : partitions.back().end;
    covered_until_ = last;
    const std::optional<WallTime> kept =
        config_.keep ? std::optional(kept_from(now_, *config_.keep)) : std::nullopt;
    std::vector<WallTime> missing = missing_ends(last, now_, until, step);
    // After a long time some would be dropped at once; the first of the others begins where these would.
    std::erase_if(missing, [&](WallTime end) { return kept && end <= *kept; });
    HAILSTONE_ASSIGN(const auto ends, later_moments(connection, column, last, std::move(missing)));
    if (!changes && !ends.empty()) return true;
    for (const WallTime end : ends) {
      const std::string clause = partition_clause(column, end);
      HAILSTONE_TRY(connection.execute(fmt::format("ALTER TABLE {} WAIT 5 ADD PARTITION IF NOT EXISTS ({})",
                                                   quoted_identifier(config_.name), clause)));
      log_event(owner_, fmt::format("table '{}': {} is made", config_.name, clause));
      covered_until_ = end;
    }
    for (const Partition& partition : partitions) {
      if (!kept || partition.end > *kept) break;
      if (!changes) return true;
      HAILSTONE_TRY(connection.execute(fmt::format("ALTER TABLE {} WAIT 5 DROP PARTITION IF EXISTS {}",
                                                   quoted_identifier(config_.name),
                                                   quoted_identifier(partition.name))));
      log_event(owner_, fmt::format("table '{}': partition {}, which ended at {}, is dropped", config_.name,
                                    partition.name, to_text(partition.end)));
    }
    return false;
  };
  HAILSTONE_ASSIGN(const bool is_needed, look(false));
  if (!is_needed) return {};
  return alone(connection, [&]() -> Status {
    HAILSTONE_TRY(look(true));
    return {};
  });
}

Status TableUpkeep::make_table_of(ServerConnection& connection, WallTime day) {
  if (days_.contains(day)) return {};
  const std::string table = config_.name_of(day);
  HAILSTONE_ASSIGN(const bool there, table_exists(connection, table));
  if (!there) {
    std::vector<WallTime> ends;
    if (config_.partition) {
      ends = missing_ends(day, day, plus(day, one_day) - std::chrono::seconds(1), *config_.partition);
    }
    HAILSTONE_TRY(alone(connection, [&] { return create(connection, table, ends); }));
  }
  days_.insert(day);
  return {};
}

std::optional<std::string> TableUpkeep::refusal_of(WallTime time) const {
  if (config_.keep && plus(beginning_of(time, one_day), one_day) <= kept_from(now_, *config_.keep)) {
    return fmt::format("the day is older than {}", to_text(*config_.keep));
  }
  if (time > plus(now_, config_.ahead))
    return fmt::format("the day is more than {} ahead", to_text(config_.ahead));
  return std::nullopt;
}

Status TableUpkeep::keep_days(ServerConnection& connection) {
  const WallTime until = plus(now_, config_.ahead);
  for (WallTime day = beginning_of(now_, one_day); day <= until; day += std::chrono::days(1)) {
    HAILSTONE_TRY(make_table_of(connection, day));
    covered_until_ = day + std::chrono::days(1);
  }
  if (!config_.keep) return {};
  const WallTime kept = kept_from(now_, *config_.keep);
  const size_t at = config_.name.find(TableConfig::day_placeholder);
  const std::string before = config_.name.substr(0, at);
  const std::string after = config_.name.substr(at + TableConfig::day_placeholder.size());
  HAILSTONE_ASSIGN(
      const auto rows,
      connection.query(fmt::format(
          "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = "
          "'BASE TABLE' AND TABLE_NAME LIKE CONCAT(REPLACE({}, '_', '\\_'), '________', REPLACE({}, '_', "
          "'\\_')) "
          "ORDER BY TABLE_NAME",
          quoted_text(before), quoted_text(after))));
  for (const auto& row : rows) {
    const std::string& table = row.at(0);
    if (!table.starts_with(before) || !table.ends_with(after)) continue;
    const auto day = parse_compact_day(std::string_view(table).substr(before.size(), 8));
    if (!day || *day + std::chrono::days(1) > kept) continue;
    HAILSTONE_TRY(alone(connection, [&] { return drop_day(connection, table, *day); }));
    days_.erase(*day);
  }
  return {};
}

Status TableUpkeep::drop_day(ServerConnection& connection, const std::string& table, WallTime day) {
  HAILSTONE_ASSIGN(const bool there, table_exists(connection, table));
  if (!there) return {};
  // The collector puts no others there, but others may.
  HAILSTONE_ASSIGN(const auto younger, connection.query(fmt::format(
                                           "SELECT 1 FROM {} WHERE {} >= {} LIMIT 1",
                                           quoted_identifier(table), quoted_identifier(config_.time_column),
                                           quoted_text(to_text(day + std::chrono::days(1))))));
  if (!younger.empty()) {
    log_event(owner_, fmt::format("table '{}' is not dropped: it has rows of later days", table));
    return {};
  }
  HAILSTONE_TRY(connection.execute(fmt::format("DROP TABLE IF EXISTS {} WAIT 5", quoted_identifier(table))));
  log_event(owner_,
            fmt::format("table '{}' is dropped: its day is older than {}", table, to_text(*config_.keep)));
  return {};
}

}  // namespace hailstone
