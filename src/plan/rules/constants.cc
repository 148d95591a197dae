// What reads no column is computed once, here. A condition that is always TRUE goes; what one that never is
// leaves no rows, nor has what is made of no rows.
#include <algorithm>
#include <optional>
#include <utility>

#include "plan/expressions.h"
#include "plan/rules/rules.h"

namespace hailstone::plan {

namespace {

Plan no_rows(const Plan& node) { return make(Values{.columns = node->columns}); }
bool has_no_rows(const Plan& node) {
  const auto* const values = as<Values>(node);
  return values != nullptr && values->rows.empty();
}

bool is_known(const Expression& expression) { return expression.is_constant() || expression.is_null(); }

/// The expression whose parts without columns are constants. A part that fails stays: rows decide whether it
/// is asked for. So does a part that is NULL, which would no longer say of what type it is.
Expression folded(const Expression& expression) {
  const Expression made = rebuilt(expression, [](const Expression& part) {
    if (part->kind != Expression::Kind::Call || !std::ranges::all_of(part->arguments, is_known)) return part;
    const auto constant = constant_value(part);
    return constant && !constant->is_null() ? *constant : part;
  });
  if (is_known(made) || !columns_read(made).is_empty()) return made;
  return constant_value(made).value_or(made);
}

bool is_zero(const Expression& constant) { return constant->integer == 0 && constant->huge == HugeInteger(); }

/// The condition without the parts that decide nothing about whether it is TRUE.
Expression condition_folded(const Expression& condition) {
  const bool is_or = joins_by(condition, Function::Or);
  if (!is_or && !joins_by(condition, Function::And)) return folded(condition);
  const Expression left = condition_folded(condition->arguments[0]);
  const Expression right = condition_folded(condition->arguments[1]);
  for (const auto& [constant, other] : {std::pair{left, right}, std::pair{right, left}}) {
    if (!is_known(constant)) continue;
    const bool is_true = constant.is_constant() && !is_zero(constant);
    // TRUE OR x, x AND FALSE; else the other one decides.
    return is_true == is_or ? constant : other;
  }
  const bool is_same = &*left == &*condition->arguments[0] && &*right == &*condition->arguments[1];
  if (is_same) return condition;
  return Expression::call(condition->function, {left, right}, condition->settings)
      .as(condition.type())
      .said({.name = is_or ? "OR" : "AND", .arguments = {left, right}, .word = {}});
}

/// What is left of conditions that are all to be TRUE. Nothing: they never are.
std::optional<std::vector<Expression>> conditions_folded(const std::vector<Expression>& conditions) {
  std::vector<Expression> left;
  for (const Expression& each : conditions) {
    const Expression condition = condition_folded(each);
    if (condition.is_null()) return std::nullopt;
    if (!condition.is_constant()) {
      left.push_back(condition);
    } else if (is_zero(condition)) {
      return std::nullopt;
    }
  }
  return left;
}

bool are_same(const std::vector<Expression>& some, const std::vector<Expression>& others) {
  return std::ranges::equal(some, others,
                            [](const Expression& one, const Expression& other) { return &*one == &*other; });
}

/// The rows of the left input of a join whose right one has none.
Plan without_partners(const Plan& node) {
  Project project;
  const ColumnSet of_left(node->inputs[0]->columns);
  for (const Column& column : node->columns) {
    Expression value = read(column);
    if (!of_left.has(column.id)) value = Expression::null(value->values).as(column.type);
    project.items.push_back({.column = column, .value = std::move(value)});
  }
  return make(std::move(project), {node->inputs[0]});
}

Plan of_filter(const Plan& node, const Filter& filter) {
  const auto conditions = conditions_folded(filter.conditions);
  if (!conditions) return no_rows(node);
  if (conditions->empty()) return node->inputs[0];
  if (are_same(*conditions, filter.conditions)) return node;
  return make(Filter{.conditions = *conditions}, node->inputs);
}

Plan of_project(const Plan& node, const Project& project) {
  Project made;
  bool is_same = true;
  for (const Project::Item& item : project.items) {
    made.items.push_back({.column = item.column, .value = folded(item.value)});
    is_same &= &*made.items.back().value == &*item.value;
  }
  return is_same ? node : make(std::move(made), node->inputs);
}

Plan of_join(const Plan& node, const Join& join) {
  const bool left_is_empty = has_no_rows(node->inputs[0]);
  if (left_is_empty) return no_rows(node);
  // Of NOT IN and marks FALSE and NULL are not alike.
  if (join.kind == JoinKind::NullAnti || join.kind == JoinKind::Mark) return node;
  const auto conditions = conditions_folded(join.conditions);
  if (!conditions || has_no_rows(node->inputs[1])) {
    const bool wants_partners = join.kind == JoinKind::Inner || join.kind == JoinKind::Semi;
    if (wants_partners) return no_rows(node);
    return join.kind == JoinKind::Anti ? node->inputs[0] : without_partners(node);
  }
  if (are_same(*conditions, join.conditions)) return node;
  Join made = join;
  made.conditions = *conditions;
  return make(std::move(made), node->inputs);
}

Plan node_folded(const Plan& node) {
  if (const auto* const filter = as<Filter>(node)) {
    return has_no_rows(node->inputs[0]) ? no_rows(node) : of_filter(node, *filter);
  }
  if (const auto* const project = as<Project>(node)) {
    return has_no_rows(node->inputs[0]) ? no_rows(node) : of_project(node, *project);
  }
  if (const auto* const join = as<Join>(node)) return of_join(node, *join);
  if (const auto* const aggregate = as<Aggregate>(node))
    return has_no_rows(node->inputs[0]) && !aggregate->keys.empty() ? no_rows(node) : node;
  if (const auto* const limit = as<Limit>(node))
    return has_no_rows(node->inputs[0]) || limit->most == 0 ? no_rows(node) : node;
  if (as<Sort>(node) != nullptr || as<Window>(node) != nullptr)
    return has_no_rows(node->inputs[0]) ? no_rows(node) : node;
  return node;
}

}  // namespace

Plan fold_constants(const Plan& plan) { return changed(plan, node_folded); }

}  // namespace hailstone::plan
