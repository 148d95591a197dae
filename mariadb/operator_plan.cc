#include "operator_plan.h"

namespace hailstone {

std::vector<std::string> lines_of(const OperatorPlan& plan) {
  std::vector<std::string> lines;
  for (const PlannedOperator& each : plan) {
    std::string& line = lines.emplace_back(2 * lines.size(), ' ');
    line += operator_names[static_cast<size_t>(each.kind)];
    line += ": ";
    line += each.what;
  }
  return lines;
}

}  // namespace hailstone
