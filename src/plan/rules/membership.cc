// IN and NOT IN by keys. l NOT IN (r, …) is TRUE where no r is equal to l, none is NULL, and l is not NULL,
// or there is no r at all. As a condition these are three questions, which three anti joins answer: each row
// is looked up, or compared with one row, instead of with all. As a value IN is a left join with the distinct
// values of r, and a row that tells how many there are, and how many are NULL.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "expression/calls.h"
#include "plan/expressions.h"
#include "plan/rules/rules.h"

namespace hailstone::plan {

namespace {

/// Whether the rows are the same whenever they are read: they depend on no row of an Apply around, nor on a
/// round of a recursion.
bool is_of_its_own(const Plan& plan) {
  ColumnSet made, read;
  bool has_rounds = false;
  each_node(plan, [&](const Plan& node) {
    made.add(node->columns);
    read.add(columns_read(*node));
    has_rounds |= as<RoundRows>(node) != nullptr;
  });
  return !has_rounds && made.has_all(read);
}

/// The sides of l = r, of which the second is a column of the right input.
struct Sides {
  Expression left;
  Column right;
};
std::optional<Sides> sides_of(const Plan& node, const Join& join) {
  const bool is_in = join.kind == JoinKind::NullAnti || join.kind == JoinKind::Mark;
  if (!is_in || join.conditions.size() != 1) return std::nullopt;
  const Expression& condition = join.conditions.front();
  if (!condition.is_call(Function::Equal) || may_fail(condition)) return std::nullopt;
  const ColumnSet of_left(node->inputs[0]->columns);
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const Expression &left = condition->arguments[1 - side], &right = condition->arguments[side];
    if (right->kind != Expression::Kind::Column || !of_left.has_all(columns_read(left))) continue;
    const Column* const column = find_column(node->inputs[1]->columns, right->position);
    if (column == nullptr) continue;
    // What is distinct must be what is equal.
    const bool is_text = right->values == ValueKind::Text;
    if (is_text && condition->settings.collation != column->stored.collation) continue;
    return Sides{.left = left, .right = *column};
  }
  return std::nullopt;
}

Expression called(std::string_view name, std::vector<Expression> arguments) {
  auto made = sql_call(name, std::move(arguments));
  HAILSTONE_CHECK(made, "{} of what a rule has made: {}", name, made.error().message());
  return *made;
}
Expression is_null(const Expression& value) { return called("IS NULL", {value}); }

/// Makes the joins; all readers of the right side have the key alone.
class Membership {
 public:
  Membership(const Plan& node, const Join& join, const Sides& sides, uint32_t& next)
      : node_(node), join_(join), left_(sides.left), key_(sides.right), next_(next) {
    keys_ = make(Project{.items = {{.column = key_, .value = read(key_)}}}, {node->inputs[1]});
  }
  static constexpr uint32_t most_columns = 6;

  /// NOT IN as a condition.
  Plan condition() {
    const Plan looked_up = reader(), with_nulls = reader(), all = reader();
    Plan rows = anti(node_->inputs[0], looked_up, {equal_to(looked_up->columns[0])});
    const Plan nulls = make(Filter{.conditions = {is_null(read(with_nulls->columns[0]))}}, {with_nulls});
    rows = anti(rows, one_of(nulls), {});
    return anti(rows, one_of(all), {is_null(left_)});
  }

  /// IN as a value.
  Plan value() {
    using Kind = hailstone::Aggregate::Kind;
    const Plan looked_up = reader(), counted = reader();
    const Column key = looked_up->columns[0], &number = counted->columns[0];
    const Plan distinct = make(Aggregate{.keys = {key.id}}, {looked_up});
    const Column hit = computed_column(new_id(), "hit", constant_truth(true));
    const Plan hits = make(Project{.items = {{.column = key, .value = read(key)},
                                             {.column = hit, .value = constant_truth(true)}}},
                           {distinct});
    const Column rows = aggregate_column(new_id(), "rows", Kind::Rows, nullptr);
    const Column values = aggregate_column(new_id(), "values", Kind::Values, &number);
    const Plan counts =
        make(Aggregate{.aggregates = {{.column = rows, .kind = Kind::Rows},
                                      {.column = values, .kind = Kind::Values, .argument = number.id}}},
             {counted});
    const Plan found =
        make(Join{.kind = JoinKind::Left, .conditions = {equal_to(key)}}, {node_->inputs[0], hits});
    const Plan joined = make(Join{.kind = JoinKind::Single}, {found, counts});
    Project project;
    for (const Column& column : node_->inputs[0]->columns)
      project.items.push_back({.column = column, .value = read(column)});
    const Expression is_unknown =
        called("AND", {called(">", {read(rows), *constant_number("0")}),
                       called("OR", {is_null(left_), called(">", {read(rows), read(values)})})});
    const Expression without = called("IF", {is_unknown, constant_null(), constant_truth(false)});
    project.items.push_back(
        {.column = *join_.mark, .value = called("IF", {is_null(read(hit)), without, constant_truth(true)})});
    return make(std::move(project), {joined});
  }

 private:
  ColumnId new_id() { return static_cast<ColumnId>(next_++); }
  Plan reader() {
    Column column = key_;
    column.id = new_id();
    return make(Materialize{.columns = {column}}, {keys_});
  }
  Expression equal_to(const Column& column) const {
    return replaced(join_.conditions.front(),
                    [&](ColumnId id) { return id == key_.id ? std::optional(read(column)) : std::nullopt; });
  }
  static Plan anti(const Plan& left, const Plan& right, std::vector<Expression> conditions) {
    return make(Join{.kind = JoinKind::Anti, .conditions = std::move(conditions)}, {left, right});
  }
  static Plan one_of(const Plan& rows) { return make(Limit{.most = 1}, {rows}); }

  const Plan& node_;
  const Join& join_;
  const Expression left_;
  const Column key_;
  uint32_t& next_;
  Plan keys_;
};

Plan by_keys(const Plan& node, uint32_t& next) {
  const auto* const join = as<Join>(node);
  if (join == nullptr) return node;
  const auto sides = sides_of(node, *join);
  if (!sides || !is_of_its_own(node->inputs[1]) || next + Membership::most_columns > no_column) return node;
  Membership membership(node, *join, *sides, next);
  return join->kind == JoinKind::Mark ? membership.value() : membership.condition();
}

}  // namespace

Plan look_up_members(const Plan& plan) {
  uint32_t next = next_id(plan);
  return changed(plan, [&next](const Plan& node) { return by_keys(node, next); });
}

}  // namespace hailstone::plan
