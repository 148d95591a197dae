#include "operator_plan.h"

namespace hailstone {

std::vector<std::string> lines_of(const OperatorPlan& plan) {
  std::vector<std::string> lines;
  size_t depth = 0;
  for (const PlannedOperator& each : plan) {
    // What a join takes stands below the join itself.
    if (each.inside == 0) depth = lines.size();
    std::string& line = lines.emplace_back(2 * (depth + each.inside), ' ');
    line += operator_names[static_cast<size_t>(each.kind)];
    line += ": ";
    line += each.what;
  }
  return lines;
}

}  // namespace hailstone
