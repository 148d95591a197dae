#include "collect/summary_tables.h"

#include <fmt/format.h>

#include <charconv>

#include "collect/target_table.h"

namespace hailstone {
namespace {

/// Makes the table when it is not there; asked first, as the user need not have the right to do it.
Status make_table(ServerConnection& connection, const std::string& name, const std::string& engine,
                  std::string_view columns, std::string_view comment) {
  HAILSTONE_ASSIGN(const bool there, table_exists(connection, name));
  if (there) return {};
  HAILSTONE_TRY(connection.execute(
      fmt::format("CREATE TABLE IF NOT EXISTS {} ({}) ENGINE={} COMMENT='hailstone collect: {}'",
                  quoted_identifier(name), columns, engine, comment)));
  return {};
}

// Not padded: values that differ by spaces are two.
constexpr std::string_view job_columns =
    "summary VARCHAR(64) CHARACTER SET ascii NOT NULL, begin DATETIME NOT NULL, value VARCHAR(191) CHARACTER "
    "SET "
    "utf8mb4 COLLATE utf8mb4_nopad_bin NOT NULL, ";

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
}

}  // namespace

std::string counts_table(std::string_view engine) { return table_for_engine("hailstone_counts_", engine); }
std::string jobs_table(std::string_view engine) { return table_for_engine("hailstone_jobs_", engine); }

Status make_counts_table(ServerConnection& connection, const std::string& engine) {
  return make_table(
      connection, counts_table(engine), engine,
      fmt::format("{}spool CHAR(32) CHARACTER SET ascii NOT NULL, records BIGINT UNSIGNED NOT NULL, "
                  "PRIMARY KEY (summary, begin, value, spool)",
                  job_columns),
      "how many records each job of a summary reads");
}

Status make_jobs_table(ServerConnection& connection, const std::string& engine) {
  return make_table(
      connection, jobs_table(engine), engine,
      fmt::format("{}records BIGINT UNSIGNED NOT NULL, started DECIMAL(20,6) NOT NULL, finished "
                  "DECIMAL(20,6) NOT NULL, runs INT UNSIGNED NOT NULL, PRIMARY KEY (summary, begin, "
                  "value)",
                  job_columns),
      "which jobs of summaries are done; times are seconds since 1970");
}

Status check_value_column(ServerConnection& connection, const SummaryConfig& summary,
                          const std::string& table) {
  if (summary.for_each.empty()) return {};
  HAILSTONE_ASSIGN(const auto found, column_type(connection, table, summary.for_each));
  if (!found) {
    return fail(ErrorCode::InvalidArgument,
                fmt::format("table '{}' has no column '{}', which 'for_each' of summary '{}' names", table,
                            summary.for_each, summary.name));
  }
  const std::string& type = *found;
  const size_t at = type.find("char(");
  size_t length = longest_value;
  if (at != std::string::npos) {
    std::from_chars(type.data() + at + 5, type.data() + type.size(), length);
  } else if (type.find("text") != std::string::npos || type.find("blob") != std::string::npos ||
             type.find("binary") != std::string::npos) {
    length = longest_value + 1;
  }
  if (length <= longest_value) return {};
  return fail(
      ErrorCode::InvalidArgument,
      fmt::format(
          "summary '{}' is divided by '{}', which is of the type {}; it must be a number, a time, or a text "
          "of at most {} characters",
          summary.name, summary.for_each, type, longest_value));
}

Status check_counted_columns(ServerConnection& connection, const SummaryConfig& summary,
                             const StreamConfig& stream, const std::string& table,
                             const RecordLayout& layout) {
  for (const std::string& column : {stream.table.time_column, summary.for_each}) {
    if (column.empty() || place_of(layout, column) || stream.is_computed(column)) continue;
    HAILSTONE_ASSIGN(
        const auto rows,
        connection.query(fmt::format("SHOW COLUMNS FROM {} WHERE Field = {} AND (`Default` IS NOT NULL OR "
                                     "Extra LIKE '%GENERATED%')",
                                     quoted_identifier(table), quoted_text(column))));
    if (!rows.empty()) continue;
    return fail(
        ErrorCode::InvalidArgument,
        fmt::format("summary '{}' reads column '{}' of table '{}', which nothing gives a value; add it "
                    "to the stream's 'columns' or 'computed'",
                    summary.name, column, stream.table.name));
  }
  return {};
}

std::string select_statement(const SummaryConfig& summary, const std::string& table, WallTime begin,
                             const std::string& value) {
  std::string statement = summary.select;
  replace_all(statement, "{table}", quoted_identifier(table));
  replace_all(statement, "{begin}", quoted_text(to_text(begin)));
  replace_all(statement, "{end}", quoted_text(to_text(plus(begin, summary.every))));
  // Last, as a value may be any text.
  replace_all(statement, "{value}", quoted_text(value));
  return statement;
}

std::string select_statement(const SummaryConfig& summary, const StreamConfig& stream, WallTime begin,
                             const std::string& value) {
  return select_statement(summary, stream.table.name_of(begin), begin, value);
}

}  // namespace hailstone
