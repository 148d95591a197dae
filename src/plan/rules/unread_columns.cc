// From the root down with what is read: columns, computed values and aggregates that nothing reads go.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "plan/expressions.h"
#include "plan/rules/rules.h"

namespace hailstone::plan {

namespace {

Plan trimmed(const Plan& node, const ColumnSet& wanted);

/// Those of a node's columns that are among these.
ColumnSet of_node(const Plan& node, const ColumnSet& wanted) {
  ColumnSet columns;
  for (const Column& column : node->columns) {
    if (wanted.has(column.id)) columns.add(column.id);
  }
  return columns;
}

/// The node over inputs that have what it reads, and what is wanted of them.
Plan with_trimmed_inputs(const Plan& node, const ColumnSet& wanted) {
  ColumnSet read = columns_read(*node);
  read.add(wanted);
  std::vector<Plan> inputs;
  for (const Plan& input : node->inputs) inputs.push_back(trimmed(input, of_node(input, read)));
  if (as<Apply>(node) != nullptr) {
    // The right input reads columns of the left.
    each_node(inputs[1], [&read](const Plan& below) { read.add(columns_read(*below)); });
    inputs[0] = trimmed(node->inputs[0], of_node(node->inputs[0], read));
  }
  return with_inputs(node, std::move(inputs));
}

/// Leaves those of a list whose column is wanted, or, if `keeps_one`, the first. Whether any went.
template <typename Item, typename IdOf>
bool leave(std::vector<Item>& items, const ColumnSet& wanted, bool keeps_one, const IdOf& id_of) {
  if (items.empty()) return false;
  const size_t before = items.size();
  const Item first = items.front();
  std::erase_if(items, [&](const Item& item) { return !wanted.has(id_of(item)); });
  if (items.empty() && keeps_one) items.push_back(first);
  return items.size() != before;
}
constexpr auto id_of_column = [](const Column& column) { return column.id; };
constexpr auto id_of_item = [](const auto& item) { return item.column.id; };

Plan of_values(const Plan& node, const Values& values, const ColumnSet& wanted) {
  Values made = values;
  if (!leave(made.columns, wanted, true, id_of_column)) return node;
  for (std::vector<Expression>& row : made.rows) {
    std::vector<Expression> left;
    for (size_t i = 0; i < row.size(); ++i) {
      if (find_column(made.columns, values.columns[i].id) != nullptr) left.push_back(row[i]);
    }
    row = std::move(left);
  }
  return make(std::move(made));
}

Plan of_project(const Plan& node, const Project& project, const ColumnSet& wanted) {
  Project made = project;
  const bool any_went = leave(made.items, wanted, true, id_of_item);
  const Plan left = with_trimmed_inputs(any_went ? make(std::move(made), node->inputs) : node, {});
  // What keeps all columns as they are is nothing.
  const auto& items = std::get<Project>(left->operation).items;
  const bool keeps_all = left->columns == left->inputs[0]->columns &&
                         std::ranges::all_of(items, [](const Project::Item& item) { return item.is_kept(); });
  return keeps_all ? left->inputs[0] : left;
}

/// The columns at these places, and no others.
Plan cut(const Plan& input, std::span<const size_t> places) {
  Project project;
  ColumnSet wanted;
  for (const size_t place : places) {
    const Column& column = input->columns[place];
    project.items.push_back({.column = column, .value = read(column)});
    wanted.add(column.id);
  }
  const Plan made = trimmed(input, wanted);
  const bool is_same = std::ranges::equal(made->columns, project.items, {}, {}, &Project::Item::column);
  return is_same ? made : make(std::move(project), {made});
}

Plan of_union(const Plan& node, const SetOperation& operation, const ColumnSet& wanted) {
  SetOperation made = operation;
  if (!leave(made.columns, wanted, true, id_of_column)) return with_trimmed_inputs(node, {});
  std::vector<size_t> places;
  for (size_t i = 0; i < operation.columns.size(); ++i) {
    if (find_column(made.columns, operation.columns[i].id) != nullptr) places.push_back(i);
  }
  std::vector<Plan> inputs;
  for (const Plan& input : node->inputs) inputs.push_back(cut(input, places));
  return make(std::move(made), std::move(inputs));
}

Plan trimmed(const Plan& node, const ColumnSet& wanted) {
  if (const auto* const scan = as<Scan>(node)) {
    Scan made = *scan;
    return leave(made.columns, wanted, true, id_of_column) ? make(std::move(made)) : node;
  }
  if (const auto* const scan = as<HostScan>(node)) {
    HostScan made = *scan;
    return leave(made.columns, wanted, true, id_of_column) ? make(std::move(made)) : node;
  }
  if (const auto* const values = as<Values>(node)) return of_values(node, *values, wanted);
  if (const auto* const project = as<Project>(node)) return of_project(node, *project, wanted);
  if (const auto* const join = as<Join>(node)) {
    if (join->kind == JoinKind::Mark && !wanted.has(join->mark->id)) return trimmed(node->inputs[0], wanted);
    return with_trimmed_inputs(node, wanted);
  }
  if (const auto* const aggregate = as<Aggregate>(node)) {
    Aggregate made = *aggregate;
    const bool any_went = leave(made.aggregates, wanted, made.keys.empty(), id_of_item);
    return with_trimmed_inputs(any_went ? make(std::move(made), node->inputs) : node, {});
  }
  if (const auto* const window = as<Window>(node)) {
    Window made = *window;
    const bool any_went = leave(made.items, wanted, false, id_of_item);
    if (made.items.empty()) return trimmed(node->inputs[0], wanted);
    return with_trimmed_inputs(any_went ? make(std::move(made), node->inputs) : node, wanted);
  }
  if (const auto* const set = as<SetOperation>(node)) {
    const bool keeps_all = set->kind == SetOperation::Kind::Union && set->all;
    return keeps_all ? of_union(node, *set, wanted) : with_trimmed_inputs(node, {});
  }
  // Several nodes read what is made once.
  if (as<Materialize>(node) != nullptr) return node;
  return with_trimmed_inputs(node, wanted);
}

}  // namespace

Plan drop_unread_columns(const Plan& plan) {
  // What several read is looked at by itself, once, and stays one node.
  std::unordered_map<const Node*, std::pair<Plan, Plan>> made;
  const Plan shared = changed(plan, [&made](const Plan& node) {
    if (as<Materialize>(node) == nullptr) return node;
    const Plan& input = node->inputs[0];
    auto [at, is_new] = made.try_emplace(input.get());
    if (is_new) at->second = {input, trimmed(input, ColumnSet(input->columns))};
    return with_inputs(node, {at->second.second});
  });
  return trimmed(shared, ColumnSet(shared->columns));
}

}  // namespace hailstone::plan
