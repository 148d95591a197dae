#include "plan/estimates.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plan/expressions.h"

namespace hailstone::plan {

namespace {

/// Where nothing is known of a condition, or of an equality.
constexpr double share_of_condition = 0.3, share_of_equality = 0.05;
/// Of rows without a partner some are expected where all seem to have one.
constexpr double least_share_without_partner = 0.1;
/// Of tables of other engines, and for each row that WITH RECURSIVE begins with.
constexpr double rows_of_host = 10'000, rows_of_recursion = 10;

const Plan* input_with(const Plan& node, ColumnId id) {
  for (const Plan& input : node->inputs) {
    if (find_column(input->columns, id) != nullptr) return &input;
  }
  return nullptr;
}

}  // namespace

Estimates::Origin Estimates::origin_of(const Plan& node, ColumnId id) {
  if (const auto* const scan = as<Scan>(node)) return {scan, find_column(scan->columns, id)};
  if (const auto* const project = as<Project>(node)) {
    const auto item = std::ranges::find(project->items, id, [](const auto& each) { return each.column.id; });
    if (item == project->items.end() || item->value->kind != Expression::Kind::Column) return {};
    id = item->value->position;
  }
  if (const auto* const materialized = as<Materialize>(node)) {
    const auto found = std::ranges::find(materialized->columns, id, &Column::id);
    if (found == materialized->columns.end()) return {};
    id = node->inputs[0]->columns[static_cast<size_t>(found - materialized->columns.begin())].id;
  }
  const Plan* const input = input_with(node, id);
  return input == nullptr ? Origin() : origin_of(*input, id);
}

double Estimates::rows(const Plan& node) {
  if (const auto known = rows_.find(node.get()); known != rows_.end()) return known->second.second;
  const double found = std::max(1.0, estimated(node));
  set_rows(node, found);
  return found;
}

double Estimates::estimated(const Plan& node) {
  const auto of_input = [&](size_t number = 0) { return rows(node->inputs[number]); };
  if (const auto* const scan = as<Scan>(node)) return statistics_.rows(scan->table);
  if (as<HostScan>(node) != nullptr) return rows_of_host;
  if (const auto* const values = as<plan::Values>(node)) return static_cast<double>(values->rows.size());
  if (const auto* const filter = as<Filter>(node)) {
    if (const auto* const scan = as<Scan>(node->inputs[0]))
      return statistics_.rows({.scan = *scan, .conditions = filter->conditions});
    double left = of_input();
    for (const Expression& condition : filter->conditions) left *= share_left(condition, node->inputs);
    return left;
  }
  if (const auto* const join = as<Join>(node)) return of_join(node, join->kind, join->conditions);
  if (const auto* const apply = as<Apply>(node)) return of_join(node, apply->kind, apply->conditions);
  if (const auto* const aggregate = as<Aggregate>(node)) return of_groups(node, *aggregate);
  if (const auto* const limit = as<Limit>(node)) {
    const double behind = of_input() - static_cast<double>(limit->offset);
    return limit->most ? std::min(behind, static_cast<double>(*limit->most)) : behind;
  }
  if (const auto* const set = as<SetOperation>(node)) {
    if (set->kind != SetOperation::Kind::Union) return of_input();
    double all = 0;
    for (size_t i = 0; i < node->inputs.size(); ++i) all += of_input(i);
    return all;
  }
  if (as<Recurse>(node) != nullptr) return of_input() * rows_of_recursion;
  return node->inputs.empty() ? rows_of_recursion : of_input();
}

double Estimates::of_join(const Plan& node, JoinKind kind, std::span<const Expression> conditions) {
  const double left = rows(node->inputs[0]);
  if (kind == JoinKind::Mark || kind == JoinKind::Single) return left;
  double pairs = left * rows(node->inputs[1]);
  for (const Expression& condition : conditions) pairs *= share_left(condition, node->inputs);
  switch (kind) {
    case JoinKind::Semi:
      return std::min(left, pairs);
    case JoinKind::Anti:
    case JoinKind::NullAnti:
      return std::max(left - pairs, left * least_share_without_partner);
    case JoinKind::Left:
      return std::max(left, pairs);
    default:
      return pairs;
  }
}

double Estimates::of_groups(const Plan& node, const Aggregate& aggregate) {
  const double most = rows(node->inputs[0]);
  const auto of_keys = [&](std::span<const ColumnId> keys) {
    return keys.empty() ? 1.0 : std::min(most, distinct(node->inputs[0], keys).values);
  };
  if (aggregate.sets.empty()) return of_keys(aggregate.keys);
  double all = 0;
  for (const std::vector<ColumnId>& set : aggregate.sets) all += of_keys(set);
  return all;
}

DistinctValues Estimates::distinct(const Plan& node, std::span<const ColumnId> columns) {
  // Groups have each value of their only key once.
  if (const auto* const aggregate = as<plan::Aggregate>(node); aggregate != nullptr && columns.size() == 1) {
    if (aggregate->sets.empty() && aggregate->keys.size() == 1 && aggregate->keys[0] == columns[0])
      return {.values = rows(node), .is_known = true};
  }
  std::map<const Scan*, std::vector<std::string>> of_scans;
  for (const ColumnId id : columns) {
    const Origin origin = origin_of(node, id);
    if (origin.column == nullptr) return {.values = rows(node), .is_known = false};
    of_scans[origin.scan].push_back(origin.column->name);
  }
  DistinctValues all{.values = 1, .is_known = true};
  for (const auto& [scan, names] : of_scans) {
    const DistinctValues found = statistics_.distinct(scan->table, names);
    all.values *= std::max(1.0, found.values);
    all.is_known = all.is_known && found.is_known;
  }
  return all;
}

double Estimates::share_left(const Expression& condition, std::span<const Plan> nodes) {
  if (!condition.is_call(Function::Equal) && !condition.is_call(Function::SameOrNull))
    return share_of_condition;
  double most = 0, least_at_most = 0;
  for (const Expression& side : condition->arguments) {
    if (side.is_constant()) continue;
    if (side->kind != Expression::Kind::Column) return share_of_equality;
    for (const Plan& node : nodes) {
      const ColumnId id = side->position;
      if (find_column(node->columns, id) == nullptr) continue;
      const DistinctValues found = distinct(node, {&id, 1});
      if (found.is_known) {
        most = std::max(most, found.values);
      } else {
        least_at_most = least_at_most == 0 ? found.values : std::min(least_at_most, found.values);
      }
    }
  }
  // A column whose values are not known is taken for a reference to the other one.
  if (most == 0 && condition->arguments[0]->kind == condition->arguments[1]->kind) most = least_at_most;
  return most == 0 ? share_of_equality : 1 / most;
}

}  // namespace hailstone::plan
