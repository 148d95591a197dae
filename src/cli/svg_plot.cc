#include "cli/svg_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace hailstone {
namespace {

// They differ for people who do not see all colours, and on white and on black.
constexpr std::array<const char*, 6> colors{"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#7f7f7f"};
constexpr double width = 720, height = 420, left = 80, right = 130, top = 44, bottom = 56;

std::string begin(double high, const std::string& title) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "font-family=\"sans-serif\" font-size=\"12\" role=\"img\">\n<title>{2}</title>\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n"
      "<text x=\"{3}\" y=\"24\" font-size=\"15\" font-weight=\"bold\">{2}</text>\n",
      width, high, markup_text(title), left);
}

/// 0.001, 1, 1,000, 1M: short enough for an axis.
std::string power_label(int power) {
  static constexpr std::array<const char*, 5> ends{"", "k", "M", "G", "T"};
  if (power < 0) return fmt::format("{:.{}f}", std::pow(10, power), -power);
  const auto group = static_cast<size_t>(power / 3);
  if (group >= ends.size()) return fmt::format("1e{}", power);
  return fmt::format("{:.0f}{}", std::pow(10, power % 3), ends[group]);
}

struct LogAxis {
  int low, high;  // powers of ten
  double from, to;
  double place(double value) const {
    return from + (to - from) * (std::log10(value) - low) / std::max(1, high - low);
  }
};

}  // namespace

std::string markup_text(const std::string& text) {
  std::string result;
  for (const char character : text) {
    switch (character) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += character;
    }
  }
  return result;
}

std::string line_plot(const std::string& title, const std::string& x_title, const std::string& y_title,
                      const std::vector<PlotLine>& lines) {
  double x_low = 1e300, x_high = 0, y_low = 1e300, y_high = 0;
  for (const PlotLine& line : lines) {
    for (const auto& [x, y] : line.points) {
      x_low = std::min(x_low, x);
      x_high = std::max(x_high, x);
      y_low = std::min(y_low, y);
      y_high = std::max(y_high, y);
    }
  }
  std::string svg = begin(height, title);
  if (x_high <= 0 || y_high <= 0) return svg + "</svg>\n";
  const auto power = [](double value, bool up) {
    return static_cast<int>(up ? std::ceil(std::log10(value)) : std::floor(std::log10(value)));
  };
  LogAxis x{power(x_low, false), power(x_high, true), left, width - right};
  LogAxis y{power(y_low, false), power(y_high, true), height - bottom, top};
  for (int at = x.low; at <= x.high; ++at) {
    const double place = x.place(std::pow(10, at));
    svg += fmt::format(
        "<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\" stroke=\"#dddddd\"/>\n"
        "<text x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">{4}</text>\n",
        place, top, height - bottom, height - bottom + 18, power_label(at));
  }
  for (int at = y.low; at <= y.high; ++at) {
    const double place = y.place(std::pow(10, at));
    svg += fmt::format(
        "<line x1=\"{0}\" y1=\"{1:.1f}\" x2=\"{2}\" y2=\"{1:.1f}\" stroke=\"#dddddd\"/>\n"
        "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>\n",
        left, place, width - right, left - 8, place + 4, power_label(at));
  }
  svg += fmt::format(
      "<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n"
      "<text transform=\"translate(20 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
      (left + width - right) / 2, height - 14, markup_text(x_title), (top + height - bottom) / 2,
      markup_text(y_title));
  for (size_t i = 0; i < lines.size(); ++i) {
    const char* const color = colors[i % colors.size()];
    std::string points;
    for (const auto& [px, py] : lines[i].points) {
      points += fmt::format("{:.1f},{:.1f} ", x.place(px), y.place(py));
      svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n", x.place(px),
                         y.place(py), color);
    }
    svg += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n", points,
                       color);
    const double key = top + 10 + 20 * static_cast<double>(i);
    svg += fmt::format(
        "<rect x=\"{}\" y=\"{}\" width=\"14\" height=\"4\" fill=\"{}\"/>\n<text x=\"{}\" "
        "y=\"{}\">{}</text>\n",
        width - right + 14, key, color, width - right + 34, key + 6, markup_text(lines[i].name));
  }
  return svg + "</svg>\n";
}

std::string bar_plot(const std::string& title, const std::vector<PlotBar>& bars) {
  const double high = top + 30 * static_cast<double>(bars.size()) + 12;
  double longest = 0;
  for (const PlotBar& bar : bars) longest = std::max(longest, bar.value);
  std::string svg = begin(high, title);
  for (size_t i = 0; i < bars.size(); ++i) {
    const double y = top + 30 * static_cast<double>(i);
    const double length = longest > 0 ? (width - left - right) * bars[i].value / longest : 0;
    svg += fmt::format(
        "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n"
        "<rect x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"20\" fill=\"{}\"/>\n<text x=\"{:.1f}\" "
        "y=\"{}\">{}</text>\n",
        left - 8, y + 15, markup_text(bars[i].name), left, y, std::max(length, 1.0),
        colors[i % colors.size()], left + length + 8, y + 15, markup_text(bars[i].label));
  }
  return svg + "</svg>\n";
}

}  // namespace hailstone
