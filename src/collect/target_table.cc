#include "collect/target_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "expression/expression_lexer.h"

namespace hailstone {

Status set_session(ServerConnection& connection, const StreamConfig& config) {
  std::string settings = fmt::format(
      "SET SESSION sql_mode = 'STRICT_ALL_TABLES', max_error_count = {}, sql_notes = 1, autocommit = 1, "
      "lc_messages = 'en_US'",
      most_warnings);
  if (!config.time_zone.empty()) settings += ", time_zone = " + quoted_text(config.time_zone);
  HAILSTONE_TRY(connection.execute(settings));
  return {};
}

Result<WallTime> server_time(ServerConnection& connection) {
  HAILSTONE_ASSIGN(const auto rows, connection.query("SELECT NOW()"));
  const auto now = parse_wall_time(rows.at(0).at(0));
  if (!now) return fail(ErrorCode::InvalidArgument, fmt::format("the server's clock says '{}'", rows[0][0]));
  return *now;
}

Result<std::optional<std::string>> column_type(ServerConnection& connection, const std::string& table,
                                               const std::string& column) {
  HAILSTONE_ASSIGN(const auto rows,
                   connection.query(fmt::format("SHOW COLUMNS FROM {} WHERE Field = {}",
                                                quoted_identifier(table), quoted_text(column))));
  return rows.empty() ? std::nullopt : std::optional(rows[0].at(1));
}

Result<bool> table_exists(ServerConnection& connection, const std::string& table) {
  HAILSTONE_ASSIGN(const auto rows, connection.query(fmt::format(
                                        "SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = "
                                        "DATABASE() AND TABLE_NAME = {}",
                                        quoted_text(table))));
  return !rows.empty();
}

Result<bool> has_record_key(ServerConnection& connection, const std::string& table) {
  HAILSTONE_ASSIGN(
      const auto keys,
      connection.query(fmt::format(
          "SELECT s.INDEX_NAME FROM information_schema.STATISTICS s JOIN information_schema.COLUMNS c ON "
          "c.TABLE_SCHEMA = s.TABLE_SCHEMA AND c.TABLE_NAME = s.TABLE_NAME AND c.COLUMN_NAME = s.COLUMN_NAME "
          "WHERE s.TABLE_SCHEMA = DATABASE() AND s.TABLE_NAME = {} AND s.NON_UNIQUE = 0 GROUP BY "
          "s.INDEX_NAME "
          "HAVING SUM(c.IS_NULLABLE = 'YES') = 0 AND SUM(c.EXTRA LIKE '%auto_increment%') = 0",
          quoted_text(table))));
  return !keys.empty();
}

Result<TargetEngine> engine_of_table(ServerConnection& connection, const std::string& table,
                                     bool is_repeatable) {
  HAILSTONE_ASSIGN(const auto rows,
                   connection.query(fmt::format(
                       "SELECT t.ENGINE, e.TRANSACTIONS FROM information_schema.TABLES t JOIN "
                       "information_schema.ENGINES e ON e.ENGINE = t.ENGINE WHERE t.TABLE_SCHEMA = "
                       "DATABASE() AND t.TABLE_NAME = {}",
                       quoted_text(table))));
  if (rows.empty()) {
    return fail(
        ErrorCode::NotFound,
        fmt::format("the database has no table '{}'; create it, or give the stream 'create', then start "
                    "again",
                    table));
  }
  TargetEngine engine{.name = rows[0][0], .has_transactions = rows[0][1] == "YES"};
  if (engine.has_transactions) return engine;
  if (!is_repeatable) {
    return fail(
        ErrorCode::InvalidArgument,
        fmt::format(
            "table '{}' is of the engine {}, which has no transactions: records could be there twice "
            "after a crash. Give it one that has: ALTER TABLE {} ENGINE=HAILSTONE; or a key that tells a "
            "record that comes again, and the stream repeatable = true",
            table, engine.name, quoted_identifier(table)));
  }
  HAILSTONE_ASSIGN(const bool has_key, has_record_key(connection, table));
  if (has_key) return engine;
  return fail(
      ErrorCode::InvalidArgument,
      fmt::format(
          "table '{}' has no unique key of columns that are NOT NULL and come with the records, which "
          "'repeatable' needs: without it records that come again would be there twice",
          table));
}

std::string table_for_engine(std::string_view prefix, std::string_view engine) {
  std::string name(prefix);
  for (const char c : engine) name += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return name;
}

std::string bookkeeping_table(std::string_view engine) {
  return table_for_engine("hailstone_collect_", engine);
}

std::string load_statement(const StreamConfig& config, const std::string& table, const RecordLayout& layout,
                           bool is_ascii) {
  std::string columns, computed;
  for (const std::string& column : layout)
    columns += (columns.empty() ? "" : ", ") + quoted_identifier(column);
  for (const auto& [column, expression] : config.computed) {
    computed +=
        fmt::format("{} {} = ({})", computed.empty() ? " SET" : ",", quoted_identifier(column), expression);
  }
  // The same text, which the server reads a sixth faster into columns that are latin1, as fast into others.
  const bool is_latin1 = is_ascii && config.character_set == "utf8mb4";
  return fmt::format(
      "LOAD DATA LOCAL INFILE 'batch' INTO TABLE {} CHARACTER SET {} FIELDS TERMINATED BY '\\t' ESCAPED "
      "BY '\\\\' LINES TERMINATED BY '\\n' ({}){}",
      quoted_identifier(table), is_latin1 ? "latin1" : config.character_set, columns, computed);
}

Status check_columns(ServerConnection& connection, const StreamConfig& config, const std::string& table,
                     const RecordLayout& layout) {
  HAILSTONE_ASSIGN(const auto rows,
                   connection.query(fmt::format("SHOW COLUMNS FROM {}", quoted_identifier(table))));
  RecordLayout wanted = layout;
  for (const auto& [column, expression] : config.computed) wanted.push_back(column);
  for (const std::string& column : wanted) {
    if (std::ranges::any_of(rows, [&](const auto& row) { return is_same_name(row.at(0), column); })) continue;
    return fail(
        ErrorCode::InvalidArgument,
        fmt::format("table '{}' has no column '{}', which the header or the configuration names; add it: "
                    "ALTER TABLE {} ADD COLUMN {} …; or let 'columns' say where fields go, \"-\" for "
                    "nowhere",
                    config.table.name, column, quoted_identifier(config.table.name),
                    quoted_identifier(column)));
  }
  return {};
}

Result<std::vector<std::string>> columns_without_value(ServerConnection& connection,
                                                       const StreamConfig& config, const std::string& table,
                                                       const RecordLayout& layout) {
  // Of a temporary table information_schema says nothing.
  HAILSTONE_ASSIGN(const auto rows, connection.query(fmt::format(
                                        "SHOW COLUMNS FROM {} WHERE `Null` = 'NO' AND `Default` IS NULL AND "
                                        "Extra NOT LIKE '%auto_increment%' AND Extra NOT LIKE '%GENERATED%'",
                                        quoted_identifier(table))));
  std::vector<std::string> columns;
  for (const auto& row : rows) {
    const std::string& name = row[0];
    const auto is_it = [&](std::string_view other) { return is_same_name(name, other); };
    if (std::ranges::any_of(layout, is_it)) continue;
    if (std::ranges::any_of(config.computed, is_it, &std::pair<std::string, std::string>::first)) continue;
    columns.push_back(name);
  }
  return columns;
}

}  // namespace hailstone
