// A left join gives rows without a partner, with NULL on the right. Where a condition above is never TRUE of
// such a row, an inner join has the same rows that pass, and more can be done with it.
#include <algorithm>
#include <utility>

#include "plan/expressions.h"
#include "plan/rules/rules.h"

namespace hailstone::plan {

namespace {

/// Whether a value is NULL wherever these columns are.
bool is_null(const Expression& value, const ColumnSet& nulls) {
  const Expression::Node& node = *value;
  const auto is_null_here = [&](const Expression& argument) { return is_null(argument, nulls); };
  switch (node.kind) {
    case Expression::Kind::Null:
      return true;
    case Expression::Kind::Column:
    case Expression::Kind::OfColumn:
    case Expression::Kind::Matches:
      return nulls.has(node.position);
    case Expression::Kind::Constant:
      return false;
    case Expression::Kind::Call:
      break;
  }
  if (node.function == Function::Coalesce || node.function == Function::And || node.function == Function::Or)
    return std::ranges::all_of(node.arguments, is_null_here);
  if (node.function == Function::Choose)
    return is_null_here(node.arguments[1]) && is_null_here(node.arguments[2]);
  // Of others the line says whether NULL makes NULL.
  return line_of(node.function).marks != Marks::OfKernel && std::ranges::any_of(node.arguments, is_null_here);
}

/// Whether a condition is TRUE nowhere where these columns are NULL. A value that is NULL, or whose failure
/// makes a row fail, is no TRUE.
bool is_never_true(const Expression& condition, const ColumnSet& nulls) {
  const auto is_never = [&](const Expression& argument) { return is_never_true(argument, nulls); };
  if (condition.is_call(Function::And)) return std::ranges::any_of(condition->arguments, is_never);
  if (condition.is_call(Function::Or)) return std::ranges::all_of(condition->arguments, is_never);
  if (condition.is_call(Function::IsTrue)) return is_never(condition->arguments[0]);
  if (condition.is_call(Function::Not) && condition->arguments[0].is_call(Function::IsNull))
    return is_null(condition->arguments[0]->arguments[0], nulls);
  return is_null(condition, nulls);
}

Plan made_inner(const Plan& input, const std::vector<Expression>& conditions) {
  // Below what keeps rows as they are.
  if (as<Filter>(input) != nullptr || as<Sort>(input) != nullptr) {
    return with_inputs(input, {made_inner(input->inputs[0], conditions)});
  }
  const auto* const join = as<Join>(input);
  if (join == nullptr) return input;
  std::vector<Plan> inputs = input->inputs;
  // Rows of a left input, and both of an inner join's, come out as they are.
  inputs[0] = made_inner(inputs[0], conditions);
  if (join->kind == JoinKind::Inner) inputs[1] = made_inner(inputs[1], conditions);
  if (join->kind != JoinKind::Left) return with_inputs(input, std::move(inputs));
  const ColumnSet nulls(input->inputs[1]->columns);
  const bool becomes_inner = std::ranges::any_of(
      conditions, [&](const Expression& condition) { return is_never_true(condition, nulls); });
  if (!becomes_inner) return with_inputs(input, std::move(inputs));
  // Now its own conditions tell of both of its inputs.
  for (Plan& each : inputs) each = made_inner(each, join->conditions);
  return make(Join{.kind = JoinKind::Inner, .conditions = join->conditions}, std::move(inputs));
}

Plan node_made_inner(const Plan& node) {
  if (const auto* const filter = as<Filter>(node))
    return with_inputs(node, {made_inner(node->inputs[0], filter->conditions)});
  const auto* const join = as<Join>(node);
  if (join == nullptr) return node;
  std::vector<Plan> inputs = node->inputs;
  // Of which input rows that pass no condition do not matter.
  const bool of_left = join->kind == JoinKind::Inner || join->kind == JoinKind::Semi;
  const bool of_right = of_left || join->kind == JoinKind::Left || join->kind == JoinKind::Anti;
  if (of_left) inputs[0] = made_inner(inputs[0], join->conditions);
  if (of_right) inputs[1] = made_inner(inputs[1], join->conditions);
  return with_inputs(node, std::move(inputs));
}

}  // namespace

Plan make_outer_inner(const Plan& plan) { return changed(plan, node_made_inner); }

}  // namespace hailstone::plan
