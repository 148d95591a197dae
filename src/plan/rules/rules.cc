#include "plan/rules/rules.h"

#include <array>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "plan/join_order.h"
#include "plan/validate.h"

namespace hailstone::plan {

namespace {

constexpr std::array all_rules{
    Rule{"constants", fold_constants},           Rule{"outer_to_inner", make_outer_inner},
    Rule{"membership", look_up_members},         Rule{"conditions_down", move_conditions_down},
    Rule{"dependent_keys", drop_dependent_keys}, Rule{"limits_down", move_limits_down},
    Rule{"unread_columns", drop_unread_columns},
};
/// A condition that has moved may make another rule find something. Two rounds are nearly always all.
constexpr int most_rounds = 8;

/// In builds with assertions.
void check_plan([[maybe_unused]] std::string_view rule, [[maybe_unused]] const Plan& made) {
#ifndef NDEBUG
  const Status valid = validate(made);
  HAILSTONE_CHECK(valid, "the rule {} makes what is no plan: {}", rule, valid.error().message());
#endif
}

class Changing {
 public:
  explicit Changing(const std::function<Plan(const Plan& node)>& change) : change_(change) {}

  Plan of(const Plan& node) {
    if (const auto known = known_.find(node.get()); known != known_.end()) return known->second.second;
    std::vector<Plan> inputs;
    for (const Plan& input : node->inputs) inputs.push_back(of(input));
    Plan made = change_(with_inputs(node, std::move(inputs)));
    known_.emplace(node.get(), std::pair{node, made});
    return made;
  }

 private:
  const std::function<Plan(const Plan& node)>& change_;
  /// What became of nodes, which are kept, so that no other gets their addresses.
  std::unordered_map<const Node*, std::pair<Plan, Plan>> known_;
};

}  // namespace

std::span<const Rule> rules() { return all_rules; }

Plan optimized(Plan plan, const std::function<void(const Rule& rule, const Plan& made)>& after) {
  for (int round = 0; round < most_rounds; ++round) {
    const Plan before = plan;
    for (const Rule& rule : all_rules) {
      Plan made = rule.apply(plan);
      if (made == plan) continue;
      plan = std::move(made);
      check_plan(rule.name, plan);
      if (after) after(rule, plan);
    }
    if (plan == before) break;
  }
  return plan;
}

Plan planned(const Plan& plan, Statistics& statistics) {
  Plan made = order_joins(optimized(plan), statistics);
  check_plan("join_order", made);
  return optimized(std::move(made));
}

Plan changed(const Plan& plan, const std::function<Plan(const Plan& node)>& change) {
  return Changing(change).of(plan);
}

}  // namespace hailstone::plan
