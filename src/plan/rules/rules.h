// Rules: each makes another plan of one, with the same rows, that costs less. A rule is a file. It knows
// nothing of the others, and leaves a plan that it finds nothing in as it is, the same node.
//
// Plans that rules are given pass validate(), and so do those that they make. Stateless; any thread.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "plan/plan.h"
#include "plan/statistics.h"

namespace hailstone::plan {

/// constants.cc: what reads no column is computed; what can have no rows becomes Values without rows.
Plan fold_constants(const Plan& plan);
/// outer_to_inner.cc: a left join whose rows without a partner pass no condition above is an inner one.
Plan make_outer_inner(const Plan& plan);
/// membership.cc: IN and NOT IN look rows up instead of comparing all pairs.
Plan look_up_members(const Plan& plan);
/// conditions_down.cc: conditions go through joins, groups, windows and set operations, towards the scans.
Plan move_conditions_down(const Plan& plan);
/// dependent_keys.cc: keys of groups that are equal to others, or to constants, are keys no more.
Plan drop_dependent_keys(const Plan& plan);
/// limits_down.cc: limits, and sorts with limits, go into the inputs of left joins and unions.
Plan move_limits_down(const Plan& plan);
/// unread_columns.cc: what no node reads is not computed.
Plan drop_unread_columns(const Plan& plan);

struct Rule {
  std::string_view name;
  Plan (*apply)(const Plan& plan);
};
/// In the order in which optimized() applies them.
std::span<const Rule> rules();

/// What comes of all rules, again and again while they find something, for some rounds. `after`: is told of
/// each plan that a rule has made; may be empty.
Plan optimized(Plan plan, const std::function<void(const Rule& rule, const Plan& made)>& after = {});

/// What comes of all rules, of the order of joins (plan/join_order.h), and of the rules once more.
Plan planned(const Plan& plan, Statistics& statistics);

/// For rules: each node, inputs first, becomes what `change` makes of it. It is given a node whose inputs are
/// changed already, and asked once of a node that several share.
Plan changed(const Plan& plan, const std::function<Plan(const Plan& node)>& change);

}  // namespace hailstone::plan
