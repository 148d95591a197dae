// Conditions go towards the scans: what leaves rows out early makes all above cheaper, and a scan looks at
// some by its blocks. A condition that may fail does not go below what leaves rows out: those would fail,
// too.
#include <algorithm>
#include <functional>
#include <utility>

#include "plan/expressions.h"
#include "plan/rules/rules.h"

namespace hailstone::plan {

namespace {

using Conditions = std::vector<Expression>;

bool are_same(const Conditions& some, const Conditions& others) {
  return std::ranges::equal(some, others,
                            [](const Expression& one, const Expression& other) { return &*one == &*other; });
}

Plan filtered(const Plan& input, Conditions conditions) {
  if (conditions.empty()) return input;
  return make(Filter{.conditions = std::move(conditions)}, {input});
}

/// Whether equal values of these columns are the same for every condition: of equal texts, as a collation has
/// it, a condition may tell one from another.
bool are_same_where_equal(const Plan& node, const ColumnSet& columns) {
  return std::ranges::all_of(columns, [&](ColumnId id) {
    const Column* const column = find_column(node->columns, id);
    return column == nullptr || column->stored.integer || column->stored.collation == nullptr ||
           column->stored.collation->equality() == Collation::Equality::Bytes;
  });
}

/// Takes those out of the list for which `goes` holds.
Conditions taken(Conditions& conditions, const std::function<bool(const Expression&)>& goes) {
  Conditions going;
  std::erase_if(conditions, [&](const Expression& condition) {
    if (!goes(condition)) return false;
    going.push_back(condition);
    return true;
  });
  return going;
}

Plan pushed(const Plan& node, Conditions conditions);

Plan into_project(const Plan& node, const Project& project, const Conditions& conditions) {
  Conditions below;
  for (const Expression& condition : conditions) {
    below.push_back(replaced(condition, [&](ColumnId id) -> std::optional<Expression> {
      for (const Project::Item& item : project.items) {
        if (item.column.id == id) return item.value;
      }
      return std::nullopt;
    }));
  }
  return with_inputs(node, {pushed(node->inputs[0], std::move(below))});
}
/// Whether the place of a column in a condition can be taken by what the Project has for it.
bool goes_into(const Project& project, const Expression& condition) {
  bool goes = true;
  each_column(condition, [&](const Expression::Node& read) {
    for (const Project::Item& item : project.items) {
      if (item.column.id == read.position && item.value->kind != Expression::Kind::Column)
        goes &= read.kind == Expression::Kind::Column;
    }
  });
  return goes;
}

/// `above`: conditions of a filter above; the join's own go into its inputs, too.
Plan into_join(const Plan& node, const Join& join, Conditions above) {
  const ColumnSet left(node->inputs[0]->columns), right(node->inputs[1]->columns);
  const auto is_of = [](const ColumnSet& side) {
    return [&side](const Expression& condition) {
      return side.has_all(columns_read(condition)) && !may_fail(condition);
    };
  };
  Conditions own = join.conditions, of_left, of_right;
  const auto move = [&](Conditions& from, const ColumnSet& side, Conditions& to) {
    std::ranges::move(taken(from, is_of(side)), std::back_inserter(to));
  };
  move(above, left, of_left);
  if (join.kind == JoinKind::Inner) {
    move(above, right, of_right);
    std::ranges::move(taken(above, [](const Expression& condition) { return !may_fail(condition); }),
                      std::back_inserter(own));
  }
  if (join.kind == JoinKind::Inner || join.kind == JoinKind::Semi) move(own, left, of_left);
  // Rows of the right side that pass none of these are in no pair. NOT IN and marks want to know of NULL.
  if (join.kind != JoinKind::NullAnti && join.kind != JoinKind::Mark) move(own, right, of_right);
  Join made = join;
  made.conditions = own;
  const auto input_with = [&](size_t number, Conditions going) {
    const Plan& input = node->inputs[number];
    return going.empty() ? input : pushed(input, std::move(going));
  };
  std::vector<Plan> inputs{input_with(0, std::move(of_left)), input_with(1, std::move(of_right))};
  const Plan joined = are_same(own, join.conditions) ? with_inputs(node, std::move(inputs))
                                                     : make(std::move(made), std::move(inputs));
  return filtered(joined, std::move(above));
}

Plan into_set_operation(const Plan& node, const SetOperation& operation, const Conditions& conditions) {
  std::vector<Plan> inputs;
  for (const Plan& input : node->inputs) {
    Conditions of_input;
    for (const Expression& condition : conditions) {
      of_input.push_back(renumbered(condition, [&](ColumnId id) {
        const auto found = std::ranges::find(operation.columns, id, &Column::id);
        // A column of the row that an Apply around is at.
        if (found == operation.columns.end()) return id;
        return input->columns[static_cast<size_t>(found - operation.columns.begin())].id;
      }));
    }
    inputs.push_back(pushed(input, std::move(of_input)));
  }
  return with_inputs(node, std::move(inputs));
}

/// The node with conditions above it, as far below as they go.
Plan pushed(const Plan& node, Conditions conditions) {
  if (const auto* const filter = as<Filter>(node)) {
    Conditions all = filter->conditions;
    std::ranges::move(conditions, std::back_inserter(all));
    return pushed(node->inputs[0], std::move(all));
  }
  if (const auto* const join = as<Join>(node)) return into_join(node, *join, std::move(conditions));
  if (conditions.empty()) return node;
  const auto input_with = [&](Conditions going) {
    return going.empty() ? node : with_inputs(node, {pushed(node->inputs[0], std::move(going))});
  };
  if (as<Sort>(node) != nullptr) return input_with(std::move(conditions));
  if (const auto* const project = as<Project>(node)) {
    const Conditions going =
        taken(conditions, [&](const Expression& condition) { return goes_into(*project, condition); });
    return filtered(going.empty() ? node : into_project(node, *project, going), std::move(conditions));
  }
  if (const auto* const apply = as<Apply>(node)) {
    const ColumnSet left(node->inputs[0]->columns);
    Conditions of_left = taken(conditions, [&](const Expression& condition) {
      return left.has_all(columns_read(condition)) && !may_fail(condition);
    });
    if (of_left.empty()) return filtered(node, std::move(conditions));
    return filtered(with_inputs(node, {pushed(node->inputs[0], std::move(of_left)), node->inputs[1]}),
                    std::move(conditions));
  }
  if (const auto* const aggregate = as<Aggregate>(node)) {
    // Whole groups go, or none. Without keys there is a group of no rows.
    ColumnSet keys;
    for (const ColumnId key : aggregate->keys) {
      const bool is_of_all = std::ranges::all_of(aggregate->sets, [key](const std::vector<ColumnId>& set) {
        return std::ranges::find(set, key) != set.end();
      });
      if (is_of_all) keys.add(key);
    }
    Conditions going = taken(conditions, [&](const Expression& condition) {
      const ColumnSet read = columns_read(condition);
      return !aggregate->keys.empty() && keys.has_all(read) && are_same_where_equal(node, read);
    });
    return filtered(input_with(std::move(going)), std::move(conditions));
  }
  if (const auto* const window = as<Window>(node)) {
    // Whole partitions go.
    ColumnSet partition;
    for (const ColumnId id : window->partition) partition.add(id);
    Conditions going = taken(conditions, [&](const Expression& condition) {
      const ColumnSet read = columns_read(condition);
      return partition.has_all(read) && are_same_where_equal(node, read);
    });
    return filtered(input_with(std::move(going)), std::move(conditions));
  }
  if (const auto* const set = as<SetOperation>(node)) {
    const bool keeps_all = set->kind == SetOperation::Kind::Union && set->all;
    const Conditions going = taken(conditions, [&](const Expression& condition) {
      return keeps_all || (!may_fail(condition) && are_same_where_equal(node, columns_read(condition)));
    });
    return filtered(going.empty() ? node : into_set_operation(node, *set, going), std::move(conditions));
  }
  return filtered(node, std::move(conditions));
}

Conditions parts_of(const Conditions& conditions) {
  Conditions parts;
  for (const Expression& condition : conditions) add_parts(condition, parts);
  return parts;
}

Plan node_with_conditions_moved(const Plan& node) {
  if (const auto* const filter = as<Filter>(node)) {
    const Plan moved = pushed(node->inputs[0], parts_of(filter->conditions));
    const auto* const left = as<Filter>(moved);
    const bool is_same =
        left != nullptr && moved->inputs == node->inputs && are_same(left->conditions, filter->conditions);
    return is_same ? node : moved;
  }
  const auto* const join = as<Join>(node);
  if (join == nullptr) return node;
  const Conditions parts = parts_of(join->conditions);
  if (are_same(parts, join->conditions)) return into_join(node, *join, {});
  Join made = *join;
  made.conditions = parts;
  return into_join(make(made, node->inputs), made, {});
}

}  // namespace

Plan move_conditions_down(const Plan& plan) { return changed(plan, node_with_conditions_moved); }

}  // namespace hailstone::plan
