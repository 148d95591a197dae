#include "plan/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "plan/expressions.h"

namespace hailstone::plan {

namespace {

using Outer = std::vector<Column>;  // of the left inputs of Applys that a node is below

class Validator {
 public:
  Status check(const Plan& plan, const Outer& outer) {
    if (plan == nullptr) return fail(ErrorCode::InvalidArgument, "a plan has no node where one is wanted");
    if (outer.empty() && done_.contains(plan.get())) return {};
    HAILSTONE_TRY(check_inputs(*plan, outer));
    HAILSTONE_TRY(check_made(*plan));
    HAILSTONE_TRY(
        std::visit([&](const auto& operation) { return of(*plan, operation, outer); }, plan->operation));
    HAILSTONE_TRY(check_columns(*plan, outer));
    if (outer.empty() && rounds_.empty()) done_.insert(plan.get());
    return {};
  }

 private:
  template <typename... Values>
  static std::unexpected<Error> wrong(const Node& node, fmt::format_string<Values...> format,
                                      Values&&... values) {
    std::string name(name_of(node.operation));
    if (const auto* join = std::get_if<Join>(&node.operation))
      name = fmt::format("{} join", name_of(join->kind));
    if (const auto* scan = std::get_if<Scan>(&node.operation)) name += " " + scan->table;
    std::string columns;
    for (const Column& column : node.columns)
      columns += fmt::format("{}{}#{}", columns.empty() ? "" : ", ", column.name, column.id);
    return fail(ErrorCode::InvalidArgument,
                fmt::format("the node {} ({}): {}", name, columns,
                            fmt::format(format, std::forward<Values>(values)...)));
  }

  // Inputs.
  static std::pair<size_t, size_t> inputs_of(const Operation& operation) {
    if (const auto* set = std::get_if<SetOperation>(&operation))
      return {2, set->kind == SetOperation::Kind::Union ? ~size_t{0} : 2};
    if (std::holds_alternative<Join>(operation) || std::holds_alternative<Apply>(operation) ||
        std::holds_alternative<Recurse>(operation))
      return {2, 2};
    const bool is_leaf =
        std::holds_alternative<Scan>(operation) || std::holds_alternative<HostScan>(operation) ||
        std::holds_alternative<plan::Values>(operation) || std::holds_alternative<RoundRows>(operation);
    return is_leaf ? std::pair<size_t, size_t>{0, 0} : std::pair<size_t, size_t>{1, 1};
  }

  Status check_inputs(const Node& node, const Outer& outer) {
    const auto [least, most] = inputs_of(node.operation);
    if (node.inputs.size() < least || node.inputs.size() > most)
      return wrong(node, "it has {} inputs", node.inputs.size());
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const bool depends = std::holds_alternative<Apply>(node.operation) && i == 1;
      const auto* const recurse = std::get_if<Recurse>(&node.operation);
      Outer visible = outer;
      if (depends) std::ranges::copy(node.inputs[0]->columns, std::back_inserter(visible));
      if (recurse != nullptr && i == 1 && !rounds_.emplace(recurse->number, &recurse->columns).second)
        return wrong(node, "another recursion around it has its number, {}", recurse->number);
      HAILSTONE_TRY(check(node.inputs[i], visible));
      if (recurse != nullptr && i == 1) rounds_.erase(recurse->number);
    }
    return {};
  }

  // Columns.
  Status check_made(const Node& node) {
    // What make() could not find is missing here, and told of with the operation.
    for (const Column& column : node.columns) {
      if (column.id == no_column) return wrong(node, "{} is no id of a column", column.id);
      if (column.stored.may_be_huge)
        return wrong(node, "column {} may be huge, which only sums take", column.id);
      const auto [at, is_new] = columns_.emplace(column.id, column);
      if (!is_new && !(at->second == column)) {
        return wrong(node, "column {} is not the one that has this id elsewhere in the plan, {}", column.id,
                     at->second.name);
      }
    }
    return {};
  }
  /// That ids are unique where they are seen together.
  static Status check_columns(const Node& node, const Outer& outer) {
    std::set<ColumnId> met;
    for (const Column& column : node.columns) {
      if (!met.insert(column.id).second) return wrong(node, "it has column {} twice", column.id);
      if (find_column(outer, column.id) != nullptr)
        return wrong(node, "column {} is one of those that it is applied to", column.id);
    }
    return {};
  }
  /// That a column which the operation makes is not one of its input's.
  static Status check_new(const Node& node, const Column& column) {
    for (const Plan& input : node.inputs) {
      if (find_column(input->columns, column.id) != nullptr)
        return wrong(node, "column {} is new, but its input has it", column.id);
    }
    return {};
  }
  static Status check_has(const Node& node, ColumnId id) {
    if (find_column(node.inputs[0]->columns, id) != nullptr) return {};
    return wrong(node, "it reads column {}, which its input does not have", id);
  }
  static Status check_same(const Node& node, std::span<const Column> own, std::span<const Column> others) {
    if (own.size() != others.size())
      return wrong(node, "it has {} columns, and an input {}", own.size(), others.size());
    for (size_t i = 0; i < own.size(); ++i) {
      if (own[i].stored != others[i].stored || own[i].type != others[i].type)
        return wrong(node, "column {} and column {} of an input are of different types", own[i].id,
                     others[i].id);
    }
    return {};
  }

  // Expressions.
  static Status check(const Node& node, const Expression& expression, const Outer& outer) {
    Status status;
    each_column(expression, [&](const Expression::Node& read) {
      if (!status) return;
      const Column* column = find_column(outer, read.position);
      for (const Plan& input : node.inputs) {
        if (column == nullptr) column = find_column(input->columns, read.position);
      }
      if (column == nullptr) {
        status = wrong(node, "an expression reads column {}, which its input does not have", read.position);
      } else if (plan::read(*column)->column != read.column) {
        status = wrong(node, "an expression takes column {} for one of another type", read.position);
      }
    });
    return status;
  }
  static Status check_conditions(const Node& node, std::span<const Expression> conditions,
                                 const Outer& outer) {
    for (const Expression& condition : conditions) {
      if (condition->values != ValueKind::Integer) return wrong(node, "a condition is not a truth");
      HAILSTONE_TRY(check(node, condition, outer));
    }
    return {};
  }
  /// Whether the column can have the values of the expression.
  static bool has_room(const Column& column, const Expression& value) {
    const ScanColumn& stored = column.stored;
    // NULL is one of any column's.
    if (value.is_null()) return read(column)->values == value->values;
    switch (value->values) {
      case ValueKind::Real:
        return stored.integer && stored.type == Type::Double;
      case ValueKind::Text:
        return !stored.integer;
      case ValueKind::Integer:
        break;
    }
    if (!stored.integer)
      return stored.type == Type::OrderedBytes && (stored.width == 16 || stored.width == 32);
    return (stored.type == Type::Signed || stored.type == Type::Unsigned) && stored.width == sizeof(int64_t);
  }

  // Operations.
  Status of(const Node& node, const Scan& scan, const Outer&) { return check_not_empty(node, scan.columns); }
  Status of(const Node& node, const HostScan& scan, const Outer&) {
    return check_not_empty(node, scan.columns);
  }
  static Status check_not_empty(const Node& node, std::span<const Column> columns) {
    if (columns.empty()) return wrong(node, "it has no columns");
    return {};
  }
  Status of(const Node& node, const plan::Values& values, const Outer&) {
    HAILSTONE_TRY(check_not_empty(node, values.columns));
    for (const std::vector<Expression>& row : values.rows) {
      if (row.size() != values.columns.size()) return wrong(node, "a row has {} values", row.size());
      for (size_t i = 0; i < row.size(); ++i) {
        if (!row[i].is_constant() && !row[i].is_null()) return wrong(node, "a value is not a constant");
        if (!has_room(values.columns[i], row[i]))
          return wrong(node, "a value is not one of column {}", values.columns[i].id);
      }
    }
    return {};
  }
  Status of(const Node& node, const Filter& filter, const Outer& outer) {
    if (filter.conditions.empty()) return wrong(node, "it has no condition");
    return check_conditions(node, filter.conditions, outer);
  }
  Status of(const Node& node, const Project& project, const Outer& outer) {
    if (project.items.empty()) return wrong(node, "it has no columns");
    for (const Project::Item& item : project.items) {
      HAILSTONE_TRY(check(node, item.value, outer));
      if (item.is_kept()) {
        HAILSTONE_TRY(check_has(node, item.column.id));
        if (!(*find_column(node.inputs[0]->columns, item.column.id) == item.column))
          return wrong(node, "column {} is kept, and changed", item.column.id);
        continue;
      }
      HAILSTONE_TRY(check_new(node, item.column));
      if (!item.is_copy() && !has_room(item.column, item.value))
        return wrong(node, "column {} is not of the kind that its value is", item.column.id);
    }
    return {};
  }
  Status of_join(const Node& node, JoinKind kind, std::span<const Expression> conditions,
                 const std::optional<Column>& mark, const Outer& outer) {
    for (const Column& column : node.inputs[0]->columns) {
      if (find_column(node.inputs[1]->columns, column.id) != nullptr)
        return wrong(node, "both inputs have column {}", column.id);
    }
    if ((kind == JoinKind::Mark) != mark.has_value())
      return wrong(node, "it has a mark where none is wanted, or lacks one");
    if (mark) {
      HAILSTONE_TRY(check_new(node, *mark));
      if (mark->stored != truth_column(mark->id, {}).stored) return wrong(node, "its mark is not a truth");
    }
    return check_conditions(node, conditions, outer);
  }
  Status of(const Node& node, const Join& join, const Outer& outer) {
    return of_join(node, join.kind, join.conditions, join.mark, outer);
  }
  Status of(const Node& node, const Apply& apply, const Outer& outer) {
    return of_join(node, apply.kind, apply.conditions, apply.mark, outer);
  }
  Status of(const Node& node, const plan::Aggregate& aggregate, const Outer&) {
    for (const ColumnId key : aggregate.keys) HAILSTONE_TRY(check_has(node, key));
    if (aggregate.keys.empty() && aggregate.aggregates.empty())
      return wrong(node, "it has neither keys nor aggregates");
    for (const plan::Aggregate::Item& item : aggregate.aggregates)
      HAILSTONE_TRY(check_aggregate(node, item.column, item.kind, item.argument));
    for (const std::vector<ColumnId>& set : aggregate.sets) {
      for (const ColumnId key : set) {
        if (std::ranges::find(aggregate.keys, key) == aggregate.keys.end())
          return wrong(node, "column {} of a set is not one of the keys", key);
      }
    }
    return {};
  }
  static Status check_aggregate(const Node& node, const Column& column, hailstone::Aggregate::Kind kind,
                                const std::optional<ColumnId>& argument) {
    HAILSTONE_TRY(check_new(node, column));
    if ((kind == hailstone::Aggregate::Kind::Rows) == argument.has_value())
      return wrong(node, "the aggregate {} has an argument where none is wanted, or lacks one", column.id);
    if (argument) HAILSTONE_TRY(check_has(node, *argument));
    const Column* const of = argument ? find_column(node.inputs[0]->columns, *argument) : nullptr;
    if (aggregate_column(column.id, column.name, kind, of).stored != column.stored)
      return wrong(node, "the column of aggregate {} is not what it gives", column.id);
    return {};
  }
  Status of(const Node& node, const Window& window, const Outer&) {
    for (const ColumnId id : window.partition) HAILSTONE_TRY(check_has(node, id));
    for (const SortKey& key : window.order) HAILSTONE_TRY(check_has(node, key.column));
    if (window.items.empty()) return wrong(node, "it computes nothing");
    for (const Window::Item& item : window.items) {
      if (item.kind == Window::Kind::Aggregate) {
        HAILSTONE_TRY(check_aggregate(node, item.column, item.aggregate, item.argument));
        continue;
      }
      HAILSTONE_TRY(check_new(node, item.column));
      const Column number = aggregate_column(item.column.id, {}, hailstone::Aggregate::Kind::Rows, nullptr);
      if (item.argument || item.column.stored != number.stored)
        return wrong(node, "column {} is not a number of rows", item.column.id);
    }
    return {};
  }
  Status of(const Node& node, const Sort& sort, const Outer&) {
    if (sort.order.empty()) return wrong(node, "it has no order");
    for (const SortKey& key : sort.order) HAILSTONE_TRY(check_has(node, key.column));
    return {};
  }
  Status of(const Node& node, const Limit& limit, const Outer&) {
    if (limit.with_ties && (!limit.most || as<Sort>(node.inputs[0]) == nullptr))
      return wrong(node, "ties are those of a sort right below, and of a last row");
    return {};
  }
  Status of(const Node& node, const SetOperation& operation, const Outer&) {
    for (const Plan& input : node.inputs) HAILSTONE_TRY(check_same(node, operation.columns, input->columns));
    for (const Column& column : operation.columns) HAILSTONE_TRY(check_new(node, column));
    return {};
  }
  Status of(const Node& node, const Materialize& materialize, const Outer& outer) {
    if (!outer.empty()) {
      // What is made once cannot depend on a row.
      HAILSTONE_TRY(check(node.inputs[0], {}));
    }
    for (const Column& column : materialize.columns) HAILSTONE_TRY(check_new(node, column));
    return check_same(node, materialize.columns, node.inputs[0]->columns);
  }
  Status of(const Node& node, const Recurse& recurse, const Outer&) {
    for (const Plan& input : node.inputs) HAILSTONE_TRY(check_same(node, recurse.columns, input->columns));
    for (const Column& column : recurse.columns) HAILSTONE_TRY(check_new(node, column));
    return {};
  }
  Status of(const Node& node, const RoundRows& rows, const Outer&) {
    const auto found = rounds_.find(rows.number);
    if (found == rounds_.end()) return wrong(node, "no recursion around it has the number {}", rows.number);
    return check_same(node, rows.columns, *found->second);
  }

  std::map<ColumnId, Column> columns_;  // of the whole plan
  std::set<const Node*> done_;
  std::map<uint32_t, const std::vector<Column>*> rounds_;  // of recursions around the node
};

}  // namespace

Status validate(const Plan& plan) { return Validator().check(plan, {}); }

}  // namespace hailstone::plan
