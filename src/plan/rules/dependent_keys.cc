// Keys of groups that follow from others: a = b, or a = 5, holds for all rows below, so a alone, or nothing,
// decides about groups. Such a key becomes the minimum of its group, in which all values are the same.
#include <algorithm>
#include <utility>

#include "plan/expressions.h"
#include "plan/rules/rules.h"

namespace hailstone::plan {

namespace {

/// What is TRUE for each row of a node.
void add_known(const Plan& node, std::vector<Expression>& known) {
  if (const auto* const conditions = conditions_of(node->operation)) {
    const auto* const join = as<Join>(node);
    const bool holds = as<Filter>(node) != nullptr ||
                       (join != nullptr && (join->kind == JoinKind::Inner || join->kind == JoinKind::Semi));
    if (holds) {
      for (const Expression& condition : *conditions) add_parts(condition, known);
    }
    add_known(node->inputs[0], known);
    if (join != nullptr && join->kind == JoinKind::Inner) add_known(node->inputs[1], known);
  } else if (as<Sort>(node) != nullptr || as<Limit>(node) != nullptr || as<Window>(node) != nullptr ||
             as<Project>(node) != nullptr) {
    // A column that a Project does not keep is none of the keys.
    add_known(node->inputs[0], known);
  }
}

bool is_whole(const Column& column) {
  return column.stored.integer &&
         (column.stored.type == Type::Signed || column.stored.type == Type::Unsigned);
}

/// Whether the value of the key is decided by the other keys, or by none.
bool follows(const Column& key, std::span<const ColumnId> others, std::span<const Expression> known) {
  if (!is_whole(key)) return false;
  return std::ranges::any_of(known, [&](const Expression& condition) {
    if (!condition.is_call(Function::Equal)) return false;
    for (const size_t side : {size_t{0}, size_t{1}}) {
      const Expression& of_key = condition->arguments[side];
      const Expression& other = condition->arguments[1 - side];
      if (of_key->kind != Expression::Kind::Column || of_key->position != key.id) continue;
      if (other.is_constant()) return true;
      if (other->kind == Expression::Kind::Column &&
          std::ranges::find(others, other->position) != others.end())
        return true;
    }
    return false;
  });
}

Plan without_dependent_keys(const Plan& node, uint32_t& next) {
  const auto* const aggregate = as<Aggregate>(node);
  if (aggregate == nullptr || !aggregate->sets.empty() || aggregate->keys.size() < 2) return node;
  std::vector<Expression> known;
  add_known(node->inputs[0], known);
  Aggregate made = *aggregate;
  std::vector<std::pair<ColumnId, ColumnId>> minima;  // of keys, and the columns that have them
  for (size_t i = made.keys.size(); i-- > 0 && made.keys.size() > 1;) {
    const ColumnId id = made.keys[i];
    const Column& key = *find_column(node->columns, id);
    std::vector<ColumnId> others = made.keys;
    std::erase(others, id);
    if (others.empty() || !follows(key, others, known) || next >= no_column) continue;
    made.keys = std::move(others);
    const auto minimum = static_cast<ColumnId>(next++);
    made.aggregates.push_back(
        {.column = aggregate_column(minimum, key.name, hailstone::Aggregate::Kind::Minimum, &key),
         .kind = hailstone::Aggregate::Kind::Minimum,
         .argument = id});
    minima.emplace_back(id, minimum);
  }
  if (minima.empty()) return node;
  const Plan groups = make(std::move(made), node->inputs);
  Project project;
  for (const Column& column : node->columns) {
    const auto found = std::ranges::find(minima, column.id, &std::pair<ColumnId, ColumnId>::first);
    const ColumnId from = found == minima.end() ? column.id : found->second;
    project.items.push_back({.column = column, .value = read(*find_column(groups->columns, from))});
  }
  return make(std::move(project), {groups});
}

}  // namespace

Plan drop_dependent_keys(const Plan& plan) {
  uint32_t next = next_id(plan);
  return changed(plan, [&next](const Plan& node) { return without_dependent_keys(node, next); });
}

}  // namespace hailstone::plan
