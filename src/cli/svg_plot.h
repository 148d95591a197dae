// Plots as SVG: lines over logarithmic axes, and horizontal bars. Self-contained, readable on light and dark
// backgrounds.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace hailstone {

struct PlotLine {
  std::string name;
  std::vector<std::pair<double, double>> points;  // both above 0, by x
};

struct PlotBar {
  std::string name;
  double value = 0;
  std::string label;  // at the bar's end
};

/// Both axes are logarithmic.
std::string line_plot(const std::string& title, const std::string& x_title, const std::string& y_title,
                      const std::vector<PlotLine>& lines);
std::string bar_plot(const std::string& title, const std::vector<PlotBar>& bars);

/// With &, < and the like as SVG and HTML want them.
std::string markup_text(const std::string& text);

}  // namespace hailstone
