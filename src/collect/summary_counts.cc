#include "collect/summary_counts.h"

#include <fmt/format.h>

#include <iterator>
#include <optional>

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
  table_ = quoted_name(counts_table(engine));
  spool_ = spool;
  return {};
}

Status SummaryCounts::add(ServerConnection& connection, const Batch& batch,
                          const Batch::Places& places) const {
  if (empty()) return {};
  const auto time_place = place_of(batch.layout(), stream_.table.time_column);
  // In order, so that two deliveries never wait for each other.
  std::map<std::tuple<std::string, WallTime, std::string>, uint64_t> counts;
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
      ++counts[{summary->name, beginning_of(*time, summary->every), std::move(value)}];
    }
  }
  std::string statement;
  size_t rows = 0;
  const auto store = [&]() -> Status {
    if (rows == 0) return {};
    statement += " ON DUPLICATE KEY UPDATE records = records + VALUES(records)";
    HAILSTONE_TRY(connection.execute(statement));
    rows = 0;
    return {};
  };
  for (const auto& [job, records] : counts) {
    const auto& [summary, begin, value] = job;
    if (rows == 0)
      statement = fmt::format("INSERT INTO {} (summary, begin, value, spool, records) VALUES ", table_);
    statement += fmt::format("{}('{}', '{}', {}, '{}', {})", rows == 0 ? "" : ", ", summary, to_text(begin),
                             text_literal(stream_.character_set, value), spool_, records);
    if (++rows == counts_at_once) HAILSTONE_TRY(store());
  }
  return store();
}

}  // namespace hailstone
