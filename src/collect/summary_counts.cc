#include "collect/summary_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "collect/summary_tables.h"

namespace hailstone {
namespace {

constexpr size_t counts_at_once = 1000;

/// A literal of the bytes in this character set.
std::string text_literal(std::string_view character_set, std::string_view bytes) {
  std::string literal = fmt::format("_{} X'", character_set);
  for (const char c : bytes)
    fmt::format_to(std::back_inserter(literal), "{:02X}", static_cast<unsigned char>(c));
  return literal + "'";
}

}  // namespace

SummaryCounts::SummaryCounts(const CollectConfig& config, const StreamConfig& stream) : stream_(stream) {
  for (const SummaryConfig& summary : config.summaries) {
    if (summary.stream == stream.name) summaries_.push_back(&summary);
  }
}

Status SummaryCounts::prepare(ServerConnection& connection, const std::string& table,
                              const std::string& engine, const std::string& spool) {
  if (empty()) return {};
  for (const SummaryConfig* summary : summaries_)
    HAILSTONE_TRY(check_value_column(connection, *summary, table));
  HAILSTONE_TRY(make_counts_table(connection, engine));
  table_ = quoted_identifier(counts_table(engine));
  spool_ = spool;
  return {};
}

bool SummaryCounts::is_in_records(const RecordLayout& layout, const std::string& column) const {
  return column.empty() || (place_of(layout, column) && !stream_.is_computed(column));
}

bool SummaryCounts::is_made_by_server(const RecordLayout& layout) const {
  return std::ranges::any_of(summaries_, [&](const SummaryConfig* summary) {
    return !is_in_records(layout, stream_.table.time_column) || !is_in_records(layout, summary->for_each);
  });
}

Status SummaryCounts::check_layout(ServerConnection& connection, const std::string& table,
                                   const RecordLayout& layout) {
  if (layout == checked_) return {};
  for (const SummaryConfig* summary : summaries_) {
    HAILSTONE_TRY(check_counted_columns(connection, *summary, stream_, table, layout));
  }
  checked_ = layout;
  return {};
}

void SummaryCounts::add(const SummaryConfig& summary, WallTime time, std::string value, uint64_t records) {
  counts_[{summary.name, beginning_of(time, summary.every), std::move(value)}] += records;
}

void SummaryCounts::take(const Batch& batch, const Batch::Places& places) {
  if (empty()) return;
  character_set_ = stream_.character_set;
  const auto time_place = place_of(batch.layout(), stream_.table.time_column);
  for (const SummaryConfig* summary : summaries_) {
    const auto value_place =
        summary->for_each.empty() ? std::nullopt : place_of(batch.layout(), summary->for_each);
    for (const size_t place : places) {
      const auto text = time_place ? load_field(batch.record(place), *time_place) : std::nullopt;
      const auto time = text ? parse_wall_time(*text) : std::nullopt;
      if (!time) continue;  // it is NULL: of no period
      std::string value;
      if (!summary->for_each.empty()) {
        auto field = value_place ? load_field(batch.record(place), *value_place) : std::nullopt;
        if (!field) continue;
        value = std::move(*field);
      }
      add(*summary, *time, std::move(value), 1);
    }
  }
}

Status SummaryCounts::take_rows(ServerConnection& connection, const std::string& table) {
  character_set_ = "utf8mb4";
  const std::string time = quoted_identifier(stream_.table.time_column);
  for (const SummaryConfig* summary : summaries_) {
    // No period is shorter than a minute. Values that a collation takes for equal are several.
    std::string value = "''", is_value;
    if (!summary->for_each.empty()) {
      value = fmt::format("CAST(CONVERT({} USING utf8mb4) AS BINARY)", quoted_identifier(summary->for_each));
      is_value = fmt::format(" AND {} IS NOT NULL", quoted_identifier(summary->for_each));
    }
    HAILSTONE_ASSIGN(
        const auto rows,
        connection.query(fmt::format("SELECT DATE_FORMAT({0}, '%Y-%m-%d %H:%i:00') AS minute, {1} AS value, "
                                     "COUNT(*) FROM {2} WHERE {0} IS NOT NULL{3} GROUP BY minute, value",
                                     time, value, quoted_identifier(table), is_value)));
    for (const auto& row : rows) {
      // A day that does not exist, as 0000-00-00, is of no period.
      if (const auto begin = parse_wall_time(row.at(0)))
        add(*summary, *begin, row.at(1), number_of(row.at(2)));
    }
  }
  return {};
}

Status SummaryCounts::store(ServerConnection& connection) const {
  std::string statement;
  size_t rows = 0;
  const auto flush = [&]() -> Status {
    if (rows == 0) return {};
    statement += " ON DUPLICATE KEY UPDATE records = records + VALUES(records)";
    HAILSTONE_TRY(connection.execute(statement));
    rows = 0;
    return {};
  };
  for (const auto& [job, records] : counts_) {
    const auto& [summary, begin, value] = job;
    if (rows == 0)
      statement = fmt::format("INSERT INTO {} (summary, begin, value, spool, records) VALUES ", table_);
    statement += fmt::format("{}('{}', '{}', {}, '{}', {})", rows == 0 ? "" : ", ", summary, to_text(begin),
                             text_literal(character_set_, value), spool_, records);
    if (++rows == counts_at_once) HAILSTONE_TRY(flush());
  }
  return flush();
}

}  // namespace hailstone
