#include "plan/join_order.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plan/estimates.h"
#include "plan/expressions.h"
#include "plan/join_group.h"
#include "plan/key_limits.h"

namespace hailstone::plan {

namespace {

/// Estimates are not so exact that less were worth another order.
constexpr double most_share_of_cost = 0.9;

bool any_may_fail(const std::vector<Expression>& conditions) {
  return std::ranges::any_of(conditions, may_fail);
}

/// Whether the node is an inner join, or filters above one, and what may fail stands above all else.
/// `is_top`: nothing of the group that is above it may fail.
bool is_of_group(const Plan& node, bool is_top) {
  const std::vector<Expression>* const conditions = conditions_of(node->operation);
  if (conditions == nullptr || (!is_top && any_may_fail(*conditions))) return false;
  if (as<Filter>(node) != nullptr) return is_of_group(node->inputs[0], is_top && !any_may_fail(*conditions));
  const auto* const join = as<Join>(node);
  return join != nullptr && join->kind == JoinKind::Inner;
}

size_t members_of(const Plan& node, bool is_top) {
  if (!is_of_group(node, is_top)) return 1;
  if (as<Filter>(node) != nullptr)
    return members_of(node->inputs[0], is_top && !any_may_fail(*conditions_of(node->operation)));
  return members_of(node->inputs[0], false) + members_of(node->inputs[1], false);
}

class Ordering {
 public:
  explicit Ordering(Statistics& statistics) : statistics_(statistics), estimates_(statistics) {}

  Plan of(const Plan& node) {
    if (const auto known = known_.find(node.get()); known != known_.end()) return known->second.second;
    Plan made;
    if (is_of_group(node, /*is_top=*/true) && members_of(node, /*is_top=*/true) <= most_join_members) {
      made = of_group(node);
    } else {
      std::vector<Plan> inputs;
      for (const Plan& input : node->inputs) inputs.push_back(of(input));
      made = with_inputs(node, std::move(inputs));
    }
    known_.emplace(node.get(), std::pair{node, made});
    return made;
  }

 private:
  /// Of joins in the order in which they are written.
  static constexpr size_t first_join = most_join_members + 1;

  /// Returns the number of the member, or, from `first_join` on, of the join.
  static size_t collect(const Plan& node, bool is_top, JoinGroup& group) {
    if (!is_of_group(node, is_top)) {
      group.members.push_back(node);
      return group.members.size() - 1;
    }
    const std::vector<Expression>& conditions = *conditions_of(node->operation);
    for (const Expression& condition : conditions) {
      if (may_fail(condition)) {
        group.failing.push_back(condition);
      } else {
        add_parts(condition, group.conditions);
      }
    }
    if (as<Filter>(node) != nullptr)
      return collect(node->inputs[0], is_top && !any_may_fail(conditions), group);
    const size_t probe = collect(node->inputs[0], false, group),
                 build = collect(node->inputs[1], false, group);
    group.steps.push_back({.probe = probe, .build = build});
    return first_join + group.steps.size() - 1;
  }

  /// The group as it is written, over members that are planned.
  Plan as_written(const Plan& node, bool is_top) {
    if (!is_of_group(node, is_top)) return of(node);
    const bool is_top_below =
        is_top && as<Filter>(node) != nullptr && !any_may_fail(*conditions_of(node->operation));
    std::vector<Plan> inputs;
    for (const Plan& input : node->inputs) inputs.push_back(as_written(input, is_top_below));
    return with_inputs(node, std::move(inputs));
  }

  Plan of_group(const Plan& node) {
    JoinGroup group;
    collect(node, /*is_top=*/true, group);
    for (JoinStep& step : group.steps) {
      for (size_t* const number : {&step.probe, &step.build})
        if (*number >= first_join) *number = *number - first_join + group.members.size();
    }
    group.arrange();
    // With the conditions that have come to them.
    for (Plan& member : group.members) member = of(member);
    JoinGraph graph = group.graph(estimates_);
    add_key_limits(group, statistics_, graph);
    const std::vector<JoinStep> better = search_better_joins(graph, group.steps, most_share_of_cost);
    if (better.empty()) {
      const Plan written = as_written(node, /*is_top=*/true);
      estimates_.set_rows(written, graph.rows_of(bit_of(group.members.size()) - 1));
      return written;
    }
    Plan made = group.joined(better);
    estimates_.set_rows(made, better.back().rows);
    if (!group.failing.empty()) made = make(Filter{.conditions = group.failing}, {made});
    if (made->columns == node->columns) return made;
    // In the order in which the columns stood.
    Project kept;
    for (const Column& column : node->columns)
      kept.items.push_back({.column = column, .value = read(column)});
    return make(std::move(kept), {made});
  }

  Statistics& statistics_;
  Estimates estimates_;
  /// What became of nodes, which are kept, so that no other gets their addresses.
  std::unordered_map<const Node*, std::pair<Plan, Plan>> known_;
};

}  // namespace

Plan order_joins(const Plan& plan, Statistics& statistics) { return Ordering(statistics).of(plan); }

}  // namespace hailstone::plan
