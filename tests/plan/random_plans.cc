#include "plan/random_plans.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "expression/calls.h"
#include "plan/join_order.h"
#include "plan/made_plans.h"
#include "plan/plan_statistics.h"
#include "plan/rules/rules.h"
#include "plan/validate.h"

namespace hailstone::plan {

namespace {

using Kind = hailstone::Aggregate::Kind;

ValueKind kind_of(const Column& column) { return read(column)->values; }
/// Whether a Project can compute one.
bool is_computable(const Column& column) {
  if (!column.stored.integer) return true;
  return column.stored.width == sizeof(uint64_t) && column.stored.type <= Type::Double;
}

}  // namespace

const Column* RandomPlans::any_of(const Columns& columns,
                                  const std::function<bool(const Column&)>& is_wanted) {
  std::vector<const Column*> found;
  for (const Column& column : columns) {
    if (is_wanted(column)) found.push_back(&column);
  }
  return found.empty() ? nullptr : found[below(found.size())];
}

Column RandomPlans::column_of(ValueKind kind, std::string name) {
  switch (kind) {
    case ValueKind::Integer:
      return number_column(new_id(), std::move(name));
    case ValueKind::Real:
      return made_column(new_id(), std::move(name),
                         {.integer = true, .type = Type::Double, .width = sizeof(double)});
    case ValueKind::Text:
      break;
  }
  return text_column(new_id(), std::move(name));
}

// ---- expressions

Expression RandomPlans::called(std::string_view name, std::vector<Expression> arguments) {
  const auto made = sql_call(name, arguments);
  return made ? *made : arguments.front();
}

Expression RandomPlans::of_kind(const Expression& value, const Column& column) {
  const ValueKind kind = kind_of(column);
  return value->values == kind && !value.is_null() ? value : Expression::null(kind).as(column.type);
}

Expression RandomPlans::constant(ValueKind kind) {
  if (one_in(12)) return constant_null();
  switch (kind) {
    case ValueKind::Integer: {
      const Expression number = *constant_number(fmt::format("{}", below(6)));
      return one_in(4) ? called("-", {number}) : number;
    }
    case ValueKind::Real:
      return *constant_number(fmt::format("{}e0", static_cast<double>(below(6)) / 4));
    case ValueKind::Text:
      break;
  }
  return constant_bytes(std::array<std::string, 4>{"", "a", "ab", "b"}[below(4)]);
}

Expression RandomPlans::value(const Columns& columns, ValueKind kind, unsigned depth) {
  const Column* const column = any_of(columns, [&](const Column& each) {
    return kind_of(each) == kind && (kind != ValueKind::Integer || each.stored.type == Type::Signed ||
                                     (takes_all_numbers_ && each.stored.type != Type::Unsigned));
  });
  if (depth == 0 || one_in(3)) {
    if (column == nullptr || one_in(5)) return constant(kind);
    return read(*column);
  }
  const auto again = [&] { return value(columns, kind, depth - 1); };
  switch (below(5)) {
    case 0:
      return called("IF", {truth(columns, depth - 1), again(), again()});
    case 1:
      return called("COALESCE", {again(), again()});
    case 2:
      if (kind == ValueKind::Text) return called("CONCAT", {again(), again()});
      return called(one_in(2) ? "GREATEST" : "LEAST", {again(), again()});
    case 3:
      if (kind == ValueKind::Text) return again();
      return called(one_in(2) ? "+" : "-", {again(), again()});
    default:
      if (kind == ValueKind::Integer && one_in(3))
        return called("LENGTH", {value(columns, ValueKind::Text, depth - 1)});
      if (kind == ValueKind::Integer)
        return called("*", {again(), *constant_number(std::to_string(below(3)))});
      return again();
  }
}

Expression RandomPlans::truth(const Columns& columns, unsigned depth) {
  // Where values are not compared, as NULL and a text, whether the first is NULL.
  const auto called = [](std::string_view name, std::vector<Expression> arguments) {
    const auto made = sql_call(name, arguments);
    return made && (*made)->values == ValueKind::Integer ? *made : *sql_call("IS NULL", {arguments.front()});
  };
  const auto again = [&] { return truth(columns, depth == 0 ? 0 : depth - 1); };
  if (depth != 0 && one_in(3)) {
    switch (below(5)) {
      case 0:
        return called("AND", {again(), again()});
      case 1:
      case 2:
        return called("OR", {again(), again()});
      case 3:
        return called("NOT", {again()});
      default:
        return called("IS TRUE", {again()});
    }
  }
  if (one_in(6)) {
    const Expression is_null = called("IS NULL", {read(any(columns))});
    return one_in(2) ? is_null : called("NOT", {is_null});
  }
  if (one_in(30)) return one_in(2) ? constant_truth(one_in(2)) : constant_null();
  const ValueKind kind = kind_of(any(columns));
  constexpr std::array comparisons{"=", "<>", "<", "<=", ">", ">=", "<=>"};
  const unsigned below_it = one_in(3) ? 1 : 0;
  Expression left = value(columns, kind, below_it);
  if (const Column* const column = any_of(columns, [&](const Column& each) { return kind_of(each) == kind; });
      column != nullptr && one_in(2))
    left = read(*column);
  const Expression right = one_in(2) ? constant(kind) : value(columns, kind, below_it);
  if (one_in(10)) return called("BETWEEN", {left, constant(kind), right});
  if (one_in(10)) return called("IN", {left, constant(kind), right});
  const std::string_view comparison = comparisons[below(comparisons.size())];
  return one_in(4) ? called(comparison, {right, left}) : called(comparison, {left, right});
}

// ---- nodes

Plan RandomPlans::next() {
  next_id_ = 1;
  recursions_ = 0;
  takes_all_numbers_ = true;
  Plan made = plan(wanted_.depth);
  if (one_in(4)) made = sort(made);
  return made;
}

Plan RandomPlans::plan(unsigned depth) {
  if (depth == 0) return leaf();
  const unsigned other = static_cast<unsigned>(below(depth));
  if (wanted_.all_kinds && one_in(6)) {
    switch (below(3)) {
      case 0:
        return apply(depth);
      case 1:
        return window(plan(depth - 1));
      default:
        return recurse(other);
    }
  }
  switch (below(12)) {
    case 0:
      return leaf();
    case 1:
    case 2:
    case 3:
      return filter(plan(depth - 1));
    case 4:
    case 5:
      return project(plan(depth - 1));
    case 6:
    case 7:
      return join(depth);
    case 8:
      return aggregate(plan(depth - 1));
    case 9:
      if (one_in(3)) return limited_join(depth);
      if (one_in(3)) return limit(set_operation(depth));
      return one_in(2) ? limit(plan(depth - 1)) : sort(plan(depth - 1));
    case 10:
      return set_operation(depth);
    default:
      return one_in(3) ? twice(other) : aggregate(plan(depth - 1));
  }
}

Plan RandomPlans::leaf() {
  if (one_in(8)) {
    Values values;
    for (size_t i = 0; i <= below(3); ++i)
      values.columns.push_back(column_of(static_cast<ValueKind>(below(3)), fmt::format("v{}", i)));
    for (size_t rows = below(5); rows > 0; --rows) {
      std::vector<Expression>& row = values.rows.emplace_back();
      for (const Column& column : values.columns) row.push_back(of_kind(constant(kind_of(column)), column));
    }
    return make(std::move(values));
  }
  const std::vector<std::string> names = PlanTables::names();
  const std::string& table = names[below(one_in(4) ? 3 : 2)];
  Columns all = tables_.columns(table, next_id_);
  next_id_ = static_cast<ColumnId>(next_id_ + all.size());
  std::erase_if(all, [this](const Column&) { return one_in(3); });
  if (all.empty()) return leaf();
  std::ranges::shuffle(all, random_);
  return make(Scan{.table = table, .columns = std::move(all)});
}

Plan RandomPlans::filter(const Plan& input) {
  std::vector<Expression> conditions;
  for (size_t i = 0; i <= below(3); ++i) conditions.push_back(truth(input->columns, 2));
  return make(Filter{.conditions = std::move(conditions)}, {input});
}

Plan RandomPlans::project(const Plan& input) {
  Project project;
  for (const Column& column : input->columns) {
    if (!one_in(3)) project.items.push_back({.column = column, .value = read(column)});
  }
  for (size_t i = below(3) + (project.items.empty() ? 1 : 0); i > 0; --i) {
    const auto kind = static_cast<ValueKind>(below(3));
    if (one_in(4)) {
      Column copy = any(input->columns);
      const Expression of = read(copy);
      copy.id = new_id();
      project.items.push_back({.column = copy, .value = of});
    } else {
      Column made = column_of(kind, "x");
      // Of 64 bits, and then of such columns only, or of more.
      takes_all_numbers_ = kind == ValueKind::Integer && one_in(2);
      if (takes_all_numbers_) {
        made.stored = {.integer = false,
                       .type = Type::OrderedBytes,
                       .width = sizeof(WideInteger),
                       .collation = &binary_collation()};
        made.type = type_of(SqlType::decimal(38, 0));
      }
      const Expression computed = of_kind(value(input->columns, kind, 2), made);
      project.items.push_back({.column = std::move(made), .value = computed});
      takes_all_numbers_ = true;
    }
  }
  std::ranges::shuffle(project.items, random_);
  return make(std::move(project), {input});
}

std::vector<Expression> RandomPlans::join_conditions(const Columns& left, const Columns& right) {
  std::vector<Expression> conditions;
  for (size_t i = below(3); i > 0 || (conditions.empty() && !one_in(5)); i = i > 0 ? i - 1 : 0) {
    const Column& one = any(left);
    const Column* const other =
        any_of(right, [&](const Column& each) { return kind_of(each) == kind_of(one); });
    if (other == nullptr) break;
    std::vector<Expression> sides{read(one), read(*other)};
    if (one_in(2)) std::swap(sides[0], sides[1]);
    conditions.push_back(called(one_in(6) ? "<=>" : "=", std::move(sides)));
  }
  if (one_in(3)) {
    Columns both = left;
    both.insert(both.end(), right.begin(), right.end());
    conditions.push_back(truth(both, 1));
  }
  return conditions;
}

Plan RandomPlans::one_row(unsigned depth) {
  const Plan input = plan(depth);
  return make(Aggregate{.aggregates = {{.column = aggregate_column(new_id(), "n", Kind::Rows, nullptr)}}},
              {input});
}

Plan RandomPlans::inner_joins(unsigned depth) {
  std::vector<Plan> parts;
  for (size_t members = 3 + below(3); members > 0; --members)
    parts.push_back(one_in(4) ? plan(static_cast<unsigned>(below(depth))) : leaf());
  while (parts.size() > 1) {
    const auto taken = [&] {
      const auto at = parts.begin() + static_cast<ptrdiff_t>(below(parts.size()));
      const Plan part = *at;
      parts.erase(at);
      return part;
    };
    const Plan left = taken(), right = taken();
    Plan joined = make(Join{.conditions = join_conditions(left->columns, right->columns)}, {left, right});
    if (one_in(4)) joined = filter(joined);
    parts.push_back(std::move(joined));
  }
  return parts.front();
}

Plan RandomPlans::join(unsigned depth) {
  if (one_in(4)) return inner_joins(depth);
  const auto small = [&] { return static_cast<unsigned>(below(depth)); };
  const Plan left = plan(depth - 1);
  if (one_in(8)) return make(Join{.kind = JoinKind::Single}, {left, one_row(small())});
  const Plan right = plan(small());
  constexpr std::array kinds{JoinKind::Inner, JoinKind::Inner, JoinKind::Left,    JoinKind::Left,
                             JoinKind::Semi,  JoinKind::Anti,  JoinKind::NullAnti};
  Join join{.kind = kinds[below(kinds.size())], .conditions = join_conditions(left->columns, right->columns)};
  if (one_in(6)) {
    join.kind = JoinKind::Mark;
    join.mark = truth_column(new_id(), "mark");
  }
  return make(std::move(join), {left, right});
}

Plan RandomPlans::apply(unsigned depth) {
  const Plan left = plan(depth - 1);
  Plan right = plan(static_cast<unsigned>(below(depth)));
  Columns both = left->columns;
  both.insert(both.end(), right->columns.begin(), right->columns.end());
  std::vector<Expression> dependent = join_conditions(left->columns, right->columns);
  dependent.push_back(truth(both, 1));
  right = make(Filter{.conditions = std::move(dependent)}, {right});
  if (one_in(2)) right = aggregate(right);
  constexpr std::array kinds{JoinKind::Inner, JoinKind::Left, JoinKind::Semi, JoinKind::Anti,
                             JoinKind::NullAnti};
  Apply apply{.kind = kinds[below(kinds.size())]};
  if (one_in(2)) apply.conditions = join_conditions(left->columns, right->columns);
  return make(std::move(apply), {left, right});
}

Plan RandomPlans::aggregate(Plan input) {
  if (one_in(4)) {
    // Some columns are equal to others, or to constants.
    const auto whole = [&] {
      return any_of(input->columns, [](const Column& column) {
        return column.stored.integer && kind_of(column) == ValueKind::Integer;
      });
    };
    if (const Column* const column = whole()) {
      const Expression other = one_in(2) ? read(*whole()) : *constant_number(std::to_string(below(3)));
      input = make(Filter{.conditions = {called("=", {read(*column), other})}}, {input});
    }
  }
  Aggregate aggregate;
  for (const Column& column : input->columns) {
    if (aggregate.keys.size() < 4 && one_in(2)) aggregate.keys.push_back(column.id);
  }
  const auto add = [&](Kind kind, const Column* argument, bool distinct) {
    aggregate.aggregates.push_back(
        {.column = aggregate_column(new_id(), "g", kind, argument),
         .kind = kind,
         .argument = argument == nullptr ? std::nullopt : std::optional(argument->id),
         .distinct = distinct});
  };
  for (size_t i = below(4) + (aggregate.keys.empty() ? 1 : 0); i > 0; --i) {
    const Column* const number =
        any_of(input->columns, [](const Column& column) { return kind_of(column) != ValueKind::Text; });
    const Column* const bits = any_of(input->columns, [](const Column& column) {
      return column.stored.integer && column.stored.width == 8 &&
             (column.stored.type == Type::Unsigned || column.stored.type == Type::Signed);
    });
    switch (below(6)) {
      case 0:
        add(Kind::Values, &any(input->columns), one_in(2));
        break;
      case 1:
        add(one_in(2) ? Kind::Minimum : Kind::Maximum, &any(input->columns), false);
        break;
      case 2:
      case 3:
        if (number != nullptr) {
          add(Kind::Sum, number, one_in(4));
          break;
        }
        [[fallthrough]];
      case 4:
        if (bits != nullptr && one_in(3)) {
          add(std::array{Kind::BitAnd, Kind::BitOr, Kind::BitXor}[below(3)], bits, false);
          break;
        }
        [[fallthrough]];
      default:
        add(Kind::Rows, nullptr, false);
        break;
    }
  }
  if (!aggregate.keys.empty() && one_in(5)) {
    for (size_t keys = aggregate.keys.size() + 1; keys-- > 0;)
      aggregate.sets.emplace_back(aggregate.keys.begin(),
                                  aggregate.keys.begin() + static_cast<ptrdiff_t>(keys));
  }
  return make(std::move(aggregate), {input});
}

std::vector<SortKey> RandomPlans::total_order(const Columns& columns) {
  std::vector<SortKey> order;
  for (const Column& column : columns) order.push_back({.column = column.id, .descending = one_in(2)});
  std::ranges::shuffle(order, random_);
  return order;
}

Plan RandomPlans::window(const Plan& input) {
  Window window;
  for (const Column& column : input->columns) {
    if (one_in(4)) window.partition.push_back(column.id);
  }
  window.order = total_order(input->columns);
  // Rows that are equal in all columns have numbers in any order, and the same rank.
  const Column count = aggregate_column(new_id(), "n", Kind::Rows, nullptr);
  window.items.push_back({.column = count, .kind = one_in(2) ? Window::Kind::Rank : Window::Kind::RowNumber});
  if (window.items[0].kind == Window::Kind::Rank) window.order.resize(1 + below(window.order.size()));
  const Column& argument = any(input->columns);
  window.items.push_back({.column = aggregate_column(new_id(), "m", Kind::Maximum, &argument),
                          .kind = Window::Kind::Aggregate,
                          .aggregate = Kind::Maximum,
                          .argument = argument.id});
  return make(std::move(window), {input});
}

Plan RandomPlans::sort(const Plan& input) {
  std::vector<SortKey> order = total_order(input->columns);
  order.resize(1 + below(order.size()));
  return make(Sort{.order = std::move(order)}, {input});
}

Plan RandomPlans::limit(const Plan& input) {
  const Plan sorted = make(Sort{.order = total_order(input->columns)}, {input});
  Limit limit{.offset = one_in(2) ? 0 : below(6)};
  if (!one_in(6)) limit.most = one_in(8) ? 5000 : below(12);
  return make(std::move(limit), {sorted});
}

/// The first rows by the columns of the left input, of which nothing else is told: which rows of the right
/// input are among them is open.
Plan RandomPlans::limited_join(unsigned depth) {
  const Plan left = plan(depth - 1), right = plan(static_cast<unsigned>(below(depth)));
  const Plan joined =
      make(Join{.kind = JoinKind::Left, .conditions = join_conditions(left->columns, right->columns)},
           {left, right});
  const Plan sorted = make(Sort{.order = total_order(left->columns)}, {joined});
  Project project;
  for (const Column& column : left->columns)
    project.items.push_back({.column = column, .value = read(column)});
  const Limit limit{.offset = below(3), .most = below(6)};
  if (one_in(2)) return make(std::move(project), {make(limit, {sorted})});
  return make(limit, {make(std::move(project), {sorted})});
}

Plan RandomPlans::with_types(const Plan& input, const Columns& types) {
  Project project;
  for (const Column& type : types) {
    Column column = type;
    column.id = new_id();
    const Column* const same = any_of(input->columns, [&](const Column& each) {
      return each.stored == type.stored && each.type == type.type;
    });
    const ValueKind kind = kind_of(type);
    Expression value = same != nullptr ? read(*same) : of_kind(constant(kind), column);
    if (same == nullptr && type.stored.type == Type::Unsigned) value = *constant_number("3");
    project.items.push_back({.column = std::move(column), .value = std::move(value)});
  }
  return make(std::move(project), {input});
}

Plan RandomPlans::set_operation(unsigned depth) {
  const Plan first = plan(depth - 1), second = plan(static_cast<unsigned>(below(depth)));
  Columns types;
  for (const Column& column : first->columns) {
    if (is_computable(column) && types.size() < 3) types.push_back(column);
  }
  if (types.empty()) types.push_back(column_of(ValueKind::Integer, "c"));
  SetOperation operation;
  for (const Column& type : types) {
    Column column = type;
    column.id = new_id();
    operation.columns.push_back(std::move(column));
  }
  std::vector<Plan> inputs{with_types(first, types), with_types(second, types)};
  switch (below(5)) {
    case 0:
      operation.kind = SetOperation::Kind::Intersect;
      operation.all = wanted_.all_kinds && one_in(2);
      break;
    case 1:
      operation.kind = SetOperation::Kind::Except;
      operation.all = wanted_.all_kinds && one_in(2);
      break;
    default:
      operation.all = !one_in(3);
      if (one_in(4)) inputs.push_back(with_types(leaf(), types));
      break;
  }
  return make(std::move(operation), std::move(inputs));
}

/// Rows that are made once, joined with themselves.
Plan RandomPlans::twice(unsigned depth) {
  const Plan made = plan(depth);
  const auto reader = [&] {
    Materialize all;
    for (Column column : made->columns) {
      column.id = new_id();
      all.columns.push_back(std::move(column));
    }
    return make(std::move(all), {made});
  };
  const Plan left = reader(), right = reader();
  Join join{.kind = one_in(2) ? JoinKind::Inner : JoinKind::Anti,
            .conditions = join_conditions(left->columns, right->columns)};
  return make(std::move(join), {left, right});
}

/// Numbers that grow up to a bound.
Plan RandomPlans::recurse(unsigned depth) {
  const Column number = column_of(ValueKind::Integer, "n");
  const Plan base = with_types(plan(depth), {number});
  Recurse recurse{.number = ++recursions_, .all = one_in(2), .columns = {number}};
  Column of_round = number;
  of_round.id = new_id();
  const Plan round = make(RoundRows{.number = recurse.number, .columns = {of_round}});
  const Plan wanted =
      make(Filter{.conditions = {called("<", {read(of_round), *constant_number("4")})}}, {round});
  const Plan step = make(Project{.items = {{.column = column_of(ValueKind::Integer, "next"),
                                            .value = called("+", {read(of_round), *constant_number("2")})}}},
                         {wanted});
  return make(std::move(recurse), {base, step});
}

// ---- smallest plans

namespace {

/// What an expression was made of.
const std::vector<Expression>& parts_of(const Expression& expression) {
  return expression->said == nullptr ? expression->arguments : expression->said->arguments;
}

/// Plans with one thing less, at the root or below it.
std::vector<Plan> smaller(const Plan& plan) {
  std::vector<Plan> plans;
  for (const Plan& input : plan->inputs) plans.push_back(input);
  const auto each_without = [&](auto operation, auto&& list) {
    for (size_t i = 0; i < list(operation).size(); ++i) {
      auto less = operation;
      list(less).erase(list(less).begin() + static_cast<ptrdiff_t>(i));
      plans.push_back(make(std::move(less), plan->inputs));
    }
  };
  if (const auto* scan = as<Scan>(plan)) {
    each_without(
        *scan, [](auto& of) -> auto& { return of.columns; });
  } else if (const auto* values = as<Values>(plan)) {
    each_without(
        *values, [](auto& of) -> auto& { return of.rows; });
  } else if (const auto* filter = as<Filter>(plan)) {
    each_without(
        *filter, [](auto& of) -> auto& { return of.conditions; });
    for (size_t i = 0; i < filter->conditions.size(); ++i) {
      for (const Expression& part : parts_of(filter->conditions[i])) {
        if (part->values != ValueKind::Integer) continue;
        Filter less = *filter;
        less.conditions[i] = part;
        plans.push_back(make(std::move(less), plan->inputs));
      }
    }
  } else if (const auto* project = as<Project>(plan)) {
    each_without(
        *project, [](auto& of) -> auto& { return of.items; });
    for (size_t i = 0; i < project->items.size(); ++i) {
      for (const Expression& part : parts_of(project->items[i].value)) {
        if (part->values != project->items[i].value->values) continue;
        Project less = *project;
        less.items[i].value = part;
        plans.push_back(make(std::move(less), plan->inputs));
      }
    }
  } else if (const auto* join = as<Join>(plan)) {
    each_without(
        *join, [](auto& of) -> auto& { return of.conditions; });
  } else if (const auto* aggregate = as<Aggregate>(plan)) {
    each_without(
        *aggregate, [](auto& of) -> auto& { return of.keys; });
    each_without(
        *aggregate, [](auto& of) -> auto& { return of.aggregates; });
    each_without(
        *aggregate, [](auto& of) -> auto& { return of.sets; });
  } else if (const auto* sort = as<Sort>(plan)) {
    each_without(
        *sort, [](auto& of) -> auto& { return of.order; });
  } else if (const auto* set = as<SetOperation>(plan); set != nullptr && plan->inputs.size() > 2) {
    plans.push_back(make(*set, {plan->inputs[0], plan->inputs[1]}));
    plans.push_back(make(*set, {plan->inputs[1], plan->inputs[2]}));
  }
  for (size_t i = 0; i < plan->inputs.size(); ++i) {
    for (Plan& less : smaller(plan->inputs[i])) {
      std::vector<Plan> inputs = plan->inputs;
      // Readers of rows that are made once share them.
      for (Plan& each : inputs) {
        if (each == plan->inputs[i]) each = less;
      }
      plans.push_back(with_inputs(plan, std::move(inputs)));
    }
  }
  return plans;
}

}  // namespace

Plan smallest(Plan plan, const std::function<bool(const Plan&)>& goes_wrong) {
  for (bool found = true; found;) {
    found = false;
    for (const Plan& less : smaller(plan)) {
      if (!validate(less) || !goes_wrong(less)) continue;
      plan = less;
      found = true;
      break;
    }
  }
  return plan;
}

Plan planned_by(PlanTables& tables, const Plan& plan, const Way& way) {
  if (!way.by_rules) return plan;
  StoredStatistics stored = tables.statistics();
  ArbitraryStatistics arbitrary;
  return planned(plan, way.by_statistics ? static_cast<Statistics&>(stored) : arbitrary);
}

bool is_answer(const Plan& plan, const Way& way, const Relation& expected, const Relation& answer) {
  if (expected.columns != answer.columns) return false;
  std::vector<DatumRow> some = expected.rows, others = answer.rows;
  std::ranges::sort(some);
  std::ranges::sort(others);
  if (some != others) return false;
  const auto* const sort = as<Sort>(plan);
  if (sort == nullptr || !way.pulled) return true;
  for (size_t row = 0; row < expected.rows.size(); ++row) {
    for (const SortKey& key : sort->order) {
      const auto place =
          static_cast<size_t>(std::ranges::find(expected.columns, key.column) - expected.columns.begin());
      if (expected.rows[row][place] != answer.rows[row][place]) return false;
    }
  }
  return true;
}

std::string to_string(const Relation& relation) {
  std::string text;
  for (const DatumRow& row : relation.rows) {
    for (const Datum& value : row) text += to_string(value) + " ";
    text += "\n";
  }
  return text;
}

}  // namespace hailstone::plan
