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

/// Tables whose names begin so, of all engines.
Result<std::vector<std::string>> tables_like(ServerConnection& connection, const std::string& pattern) {
  HAILSTONE_ASSIGN(
      const auto rows,
      connection.query(fmt::format("SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = "
                                   "DATABASE() AND TABLE_NAME LIKE {}",
                                   quoted_text(pattern))));
  std::vector<std::string> names;
  for (const auto& row : rows) names.push_back(row.at(0));
  return names;
}

}  // namespace

Result<std::vector<PeriodReport>> report_of_summaries(const CollectConfig& config, uint64_t periods) {
  ServerConnection connection(config.server);
  HAILSTONE_TRY(connection.connect());
  HAILSTONE_ASSIGN(const auto counts_tables, tables_like(connection, counts_table("%")));
  HAILSTONE_ASSIGN(const auto jobs_tables, tables_like(connection, jobs_table("%")));
  std::vector<PeriodReport> reports;
  for (const SummaryConfig& summary : config.summaries) {
    std::map<WallTime, Period> found;
    for (const std::string& table : counts_tables) {
      HAILSTONE_ASSIGN(
          const auto rows,
          connection.query(fmt::format("SELECT begin, COUNT(DISTINCT value) FROM {} WHERE summary = '{}' "
                                       "GROUP BY begin ORDER BY begin DESC LIMIT {}",
                                       quoted_name(table), summary.name, periods)));
      for (const auto& row : rows) {
        const auto begin = parse_wall_time(row.at(0));
        if (begin) found[*begin].jobs += parse_uint(row.at(1)).value_or(0);
      }
    }
    while (found.size() > periods) found.erase(found.begin());
    for (const std::string& table : jobs_tables) {
      if (found.empty()) break;
      HAILSTONE_ASSIGN(
          const auto rows,
          connection.query(fmt::format("SELECT begin, started, finished FROM {} WHERE summary = '{}' AND "
                                       "begin >= '{}' ORDER BY finished",
                                       quoted_name(table), summary.name, to_text(found.begin()->first))));
      for (const auto& row : rows) {
        const auto begin = parse_wall_time(row.at(0));
        const auto period = begin ? found.find(*begin) : found.end();
        if (period == found.end()) continue;
        const double started = parse_double(row.at(1)).value_or(0);
        auto& [jobs, first, finished] = period->second;
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
