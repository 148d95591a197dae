#include "collect/summary_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "collect/server_connection.h"
#include "collect/summary_tables.h"
#include "collect/target_table.h"
#include "text/value_text.h"

namespace hailstone {
namespace {

struct Period {
  uint64_t jobs = 0;
  double started = 0;
  std::vector<double> finished;
};

/// When this share of all jobs was done.
std::optional<double> share_done(const Period& period, double share) {
  const auto count = static_cast<size_t>(std::ceil(share * static_cast<double>(period.jobs)));
  if (count == 0 || period.finished.size() < count) return std::nullopt;
  return period.finished[count - 1] - period.started;
}

/// The rows of the tables of all engines, `columns` of each, as a table of a statement; empty: there is none.
Result<std::string> rows_of_tables(ServerConnection& connection, std::string_view beginning,
                                   std::string_view columns, const std::string& summary) {
  // The names end with the engine's, in small letters.
  HAILSTONE_ASSIGN(
      const auto tables,
      connection.query(fmt::format(
          "SELECT t.TABLE_NAME FROM information_schema.TABLES t JOIN information_schema.ENGINES e ON "
          "t.TABLE_NAME = CONCAT({}, LOWER(e.ENGINE)) WHERE t.TABLE_SCHEMA = DATABASE()",
          quoted_text(beginning))));
  std::string rows;
  for (const auto& table : tables) {
    rows += fmt::format("{}SELECT {} FROM {} WHERE summary = '{}'", rows.empty() ? "(" : " UNION ", columns,
                        quoted_identifier(table.at(0)), summary);
  }
  return rows.empty() ? rows : rows + ") AS all_rows";
}

}  // namespace

Result<std::vector<PeriodReport>> report_of_summaries(const CollectConfig& config, uint64_t periods) {
  ServerConnection connection(config.server);
  HAILSTONE_TRY(connection.connect());
  std::vector<PeriodReport> reports;
  for (const SummaryConfig& summary : config.summaries) {
    std::map<WallTime, Period> found;
    // Engines that the tables had at different times may both have a job.
    HAILSTONE_ASSIGN(const std::string counts,
                     rows_of_tables(connection, counts_table(""), "begin, value", summary.name));
    if (!counts.empty()) {
      HAILSTONE_ASSIGN(const auto rows,
                       connection.query(fmt::format(
                           "SELECT begin, COUNT(*) FROM {} GROUP BY begin ORDER BY begin DESC LIMIT {}",
                           counts, periods)));
      for (const auto& row : rows) {
        const auto begin = parse_wall_time(row.at(0));
        if (begin) found[*begin].jobs = parse_uint(row.at(1)).value_or(0);
      }
    }
    HAILSTONE_ASSIGN(const std::string jobs, rows_of_tables(connection, jobs_table(""),
                                                            "begin, value, started, finished", summary.name));
    if (!jobs.empty() && !found.empty()) {
      HAILSTONE_ASSIGN(const auto rows,
                       connection.query(fmt::format(
                           "SELECT begin, MIN(started), MIN(finished) FROM {} WHERE begin >= '{}' GROUP BY "
                           "begin, value",
                           jobs, to_text(found.begin()->first))));
      for (const auto& row : rows) {
        const auto begin = parse_wall_time(row.at(0));
        const auto period = begin ? found.find(*begin) : found.end();
        if (period == found.end()) continue;
        const double started = parse_double(row.at(1)).value_or(0);
        auto& [all, first, finished] = period->second;
        first = finished.empty() ? started : std::min(first, started);
        finished.push_back(parse_double(row.at(2)).value_or(0));
      }
    }
    for (auto& [begin, period] : found) {
      std::ranges::sort(period.finished);
      reports.push_back({.summary = summary.name,
                         .begin = begin,
                         .jobs = period.jobs,
                         .done = period.finished.size(),
                         .started = period.started,
                         .half = share_done(period, half_share),
                         .most = share_done(period, most_share),
                         .all = share_done(period, 1)});
    }
  }
  return reports;
}

}  // namespace hailstone
