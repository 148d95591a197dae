#include "cli/disk_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/number_text.h"
#include "cli/session.h"
#include "cli/svg_plot.h"
#include "cli/text_table.h"

namespace hailstone {
namespace {

constexpr std::array jobs{DiskJob::Write, DiskJob::Read};

std::string percent(const DiskSummary& summary) {
  return summary.percent_of_sync ? fmt::format("{:.0f} %", *summary.percent_of_sync) : "-";
}

std::vector<std::string> figures(const DiskSummary& summary) {
  const DiskCost& cost = summary.cost;
  return {with_commas(cost.records),
          human_bytes(cost.bytes),
          std::string(to_string(cost.method)),
          percent(summary),
          fmt::format("{:.3f}", cost.seconds),
          fmt::format("{:.3f}", cost.user_seconds),
          fmt::format("{:.3f}", cost.system_seconds),
          with_commas(cost.counts.calls),
          fmt::format("{:.0f}", summary.megabytes_per_second())};
}

const std::vector<std::string> figure_heads{">records",  ">bytes",        "method",
                                            ">of sync",  ">elapsed s",    ">user s",
                                            ">system s", ">system calls", ">MB/s"};

/// The summaries of one job.
struct JobFigures {
  std::vector<DiskSummary> summaries;
  std::set<IoMethod> methods;
  uint64_t most = 0;  // records

  JobFigures(const DiskResults& results, DiskJob job) {
    for (DiskSummary& summary : summarise(results)) {
      if (summary.job != job) continue;
      methods.insert(summary.cost.method);
      most = std::max(most, summary.cost.records);
      summaries.push_back(summary);
    }
  }
  const DiskSummary* find(uint64_t records, IoMethod method) const {
    for (const DiskSummary& summary : summaries) {
      if (summary.cost.records == records && summary.cost.method == method) return &summary;
    }
    return nullptr;
  }
  std::vector<uint64_t> sizes() const {
    std::set<uint64_t> all;
    for (const DiskSummary& summary : summaries) all.insert(summary.cost.records);
    return {all.begin(), all.end()};
  }
};

std::string html_row(const std::vector<std::string>& cells, const char* tag) {
  std::string row = "<tr>";
  for (const std::string& cell : cells) row += fmt::format("<{0}>{1}</{0}>", tag, markup_text(cell));
  return row + "</tr>\n";
}

}  // namespace

std::string report_text(const DiskResults& results, bool all_sizes) {
  std::string text;
  for (const DiskJob job : jobs) {
    const JobFigures figures_of(results, job);
    if (figures_of.summaries.empty()) continue;
    const std::string title = title_of(results.conditions, job);
    const auto sizes = figures_of.sizes();
    if (sizes.size() > 1) {
      std::vector<std::string> head{">records", ">bytes"};
      for (const IoMethod method : figures_of.methods) head.push_back(fmt::format(">{}", to_string(method)));
      TextTable shares(head);
      for (const uint64_t records : sizes) {
        std::vector<std::string> row{with_commas(records),
                                     human_bytes(records * results.conditions.record_bytes)};
        for (const IoMethod method : figures_of.methods) {
          const DiskSummary* const found = figures_of.find(records, method);
          row.push_back(found != nullptr ? percent(*found) : "-");
        }
        shares.add(std::move(row));
      }
      text += fmt::format("{}: elapsed time in percent of sync's\n{}\n", title, shares.text(2));
    }
    TextTable table(figure_heads);
    for (const DiskSummary& summary : figures_of.summaries) {
      if (all_sizes || summary.cost.records == figures_of.most) table.add(figures(summary));
    }
    text += fmt::format("{}\n{}\n", title, table.text(2));
  }
  return text + description_of(results.conditions) + "\n";
}

std::vector<NamedPlot> report_plots(const DiskResults& results) {
  std::vector<NamedPlot> plots;
  for (const DiskJob job : jobs) {
    const JobFigures figures_of(results, job);
    if (figures_of.summaries.empty()) continue;
    const std::string title = title_of(results.conditions, job);
    std::vector<PlotLine> lines;
    std::vector<PlotBar> bars;
    for (const IoMethod method : figures_of.methods) {
      PlotLine& line = lines.emplace_back();
      line.name = to_string(method);
      for (const DiskSummary& summary : figures_of.summaries) {
        if (summary.cost.method == method && summary.cost.seconds > 0)
          line.points.emplace_back(static_cast<double>(summary.cost.bytes), summary.cost.seconds);
      }
      const DiskSummary* const greatest = figures_of.find(figures_of.most, method);
      if (greatest == nullptr) continue;
      bars.push_back({line.name, greatest->percent_of_sync.value_or(greatest->cost.seconds),
                      greatest->percent_of_sync ? fmt::format("{:.0f} %", *greatest->percent_of_sync)
                                                : fmt::format("{:.3f} s", greatest->cost.seconds)});
    }
    plots.push_back(
        {fmt::format("{}-time", to_string(job)),
         line_plot(title + ": time over size", "bytes of the file", "seconds (lower is better)", lines)});
    plots.push_back({fmt::format("{}-share", to_string(job)),
                     bar_plot(fmt::format("{}: {} in percent of sync's time (lower is better)", title,
                                          human_bytes(figures_of.most * results.conditions.record_bytes)),
                              bars)});
  }
  return plots;
}

std::string report_html(const std::vector<DiskResults>& all) {
  std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>hailstone disk</title>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<style>\n"
      "body{font:15px/1.5 sans-serif;max-width:960px;margin:2em auto;padding:0 "
      "1em;color:#222;background:#fff}\n"
      "table{border-collapse:collapse;margin:1em 0;font-variant-numeric:tabular-nums}\n"
      "th,td{padding:.2em .7em;text-align:right;border-bottom:1px solid #ddd}\n"
      "svg{max-width:100%;height:auto}\nsummary{cursor:pointer}\n</style></head><body>\n"
      "<h1>How fast files are written and read</h1>\n";
  std::vector<std::string> heads;
  heads.reserve(figure_heads.size());
  for (const std::string& head : figure_heads) heads.push_back(head.starts_with('>') ? head.substr(1) : head);
  for (const DiskResults& results : all) {
    html += fmt::format("<p>{}</p>\n", markup_text(description_of(results.conditions)));
    const auto plots = report_plots(results);
    for (const DiskJob job : jobs) {
      const JobFigures figures_of(results, job);
      if (figures_of.summaries.empty()) continue;
      html += fmt::format("<h2>{}</h2>\n", markup_text(title_of(results.conditions, job)));
      for (const NamedPlot& plot : plots) {
        if (plot.name.starts_with(to_string(job))) html += plot.svg;
      }
      std::string greatest, rows;
      for (const DiskSummary& summary : figures_of.summaries) {
        const std::string row = html_row(figures(summary), "td");
        rows += row;
        if (summary.cost.records == figures_of.most) greatest += row;
      }
      html += fmt::format(
          "<table>\n{0}{1}</table>\n<details><summary>all sizes</summary><table>\n{0}{2}</table>"
          "</details>\n",
          html_row(heads, "th"), greatest, rows);
    }
  }
  return html + "</body></html>\n";
}

}  // namespace hailstone
