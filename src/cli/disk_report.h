// `hailstone disk report`: results as tables on the terminal, as an HTML page that needs nothing else, and as
// plots.
#pragma once

#include <string>
#include <vector>

#include "cli/disk_results.h"

namespace hailstone {

/// Tables of the results: percent of `sync` for each size, and all figures of the greatest one (or of all).
std::string report_text(const DiskResults& results, bool all_sizes);
std::string report_html(const std::vector<DiskResults>& all);

struct NamedPlot {
  std::string name;  // of a file, without its end
  std::string svg;
};
/// Seconds over bytes, and the share of `sync` at the greatest size, for each job.
std::vector<NamedPlot> report_plots(const DiskResults& results);

}  // namespace hailstone
