#include "collect/target_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace hailstone {
namespace {

/// Names of columns are equal whatever the case of their letters.
bool is_same_name(std::string_view one, std::string_view other) {
  return std::ranges::equal(
      one, other, [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
}

}  // namespace

Status set_session(ServerConnection& connection, const StreamConfig& config) {
  std::string settings = fmt::format(
      "SET SESSION sql_mode = 'STRICT_ALL_TABLES', max_error_count = {}, sql_notes = 1, autocommit = 1, "
      "lc_messages = 'en_US'",
      most_warnings);
  if (!config.time_zone.empty()) settings += ", time_zone = " + quoted_text(config.time_zone);
  HAILSTONE_TRY(connection.execute(settings));
  return {};
}

Result<std::string> engine_of_table(ServerConnection& connection, const StreamConfig& config) {
  HAILSTONE_ASSIGN(const auto rows,
                   connection.query(fmt::format(
                       "SELECT t.ENGINE, e.TRANSACTIONS FROM information_schema.TABLES t JOIN "
                       "information_schema.ENGINES e ON e.ENGINE = t.ENGINE WHERE t.TABLE_SCHEMA = "
                       "DATABASE() AND t.TABLE_NAME = {}",
                       quoted_text(config.table))));
  if (rows.empty()) {
    return fail(ErrorCode::InvalidArgument,
                fmt::format("the database has no table '{}'; create it, then start again", config.table));
  }
  if (rows[0][1] != "YES") {
    return fail(
        ErrorCode::InvalidArgument,
        fmt::format("table '{}' is of the engine {}, which has no transactions: records could be there twice "
                    "after a crash. Give it one that has: ALTER TABLE {} ENGINE=HAILSTONE",
                    config.table, rows[0][0], quoted_name(config.table)));
  }
  return rows[0][0];
}

std::string bookkeeping_table(std::string_view engine) {
  std::string name("hailstone_collect_");
  for (const char c : engine) name += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return name;
}

std::string load_statement(const StreamConfig& config, const RecordLayout& layout) {
  std::string columns, computed;
  for (const std::string& column : layout) columns += (columns.empty() ? "" : ", ") + quoted_name(column);
  for (const auto& [column, expression] : config.computed) {
    computed += fmt::format("{} {} = ({})", computed.empty() ? " SET" : ",", quoted_name(column), expression);
  }
  return fmt::format(
      "LOAD DATA LOCAL INFILE 'batch' INTO TABLE {} CHARACTER SET {} FIELDS TERMINATED BY '\\t' ESCAPED "
      "BY '\\\\' LINES TERMINATED BY '\\n' ({}){}",
      quoted_name(config.table), config.character_set, columns, computed);
}

Result<std::vector<std::string>> columns_without_value(ServerConnection& connection,
                                                       const StreamConfig& config,
                                                       const RecordLayout& layout) {
  HAILSTONE_ASSIGN(const auto rows,
                   connection.query(fmt::format(
                       "SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() "
                       "AND TABLE_NAME = {} AND IS_NULLABLE = 'NO' AND COLUMN_DEFAULT IS NULL AND EXTRA NOT "
                       "LIKE '%auto_increment%' AND IS_GENERATED = 'NEVER' ORDER BY ORDINAL_POSITION",
                       quoted_text(config.table))));
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
