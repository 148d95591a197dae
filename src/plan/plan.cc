#include "plan/plan.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "expression/exact_numbers.h"
#include "expression/typed_column.h"
#include "plan/expressions.h"
#include "query/grouped_rows.h"

namespace hailstone::plan {

namespace {

/// What the rows of an operation have, over inputs with these columns.
class Columns {
 public:
  explicit Columns(std::span<const Plan> inputs) : inputs_(inputs) {}

  std::vector<Column> operator()(const Scan& scan) const { return scan.columns; }
  std::vector<Column> operator()(const HostScan& scan) const { return scan.columns; }
  std::vector<Column> operator()(const plan::Values& values) const { return values.columns; }
  std::vector<Column> operator()(const Filter&) const { return of_input(0); }
  std::vector<Column> operator()(const Project& project) const {
    std::vector<Column> columns;
    for (const Project::Item& item : project.items) columns.push_back(item.column);
    return columns;
  }
  std::vector<Column> operator()(const Join& join) const { return of_join(join.kind, join.mark); }
  std::vector<Column> operator()(const Apply& apply) const { return of_join(apply.kind, apply.mark); }
  std::vector<Column> operator()(const plan::Aggregate& aggregate) const {
    std::vector<Column> columns;
    const std::vector<Column> below = of_input(0);
    for (const ColumnId key : aggregate.keys) {
      if (const Column* const column = find_column(below, key)) columns.push_back(*column);
    }
    for (const plan::Aggregate::Item& item : aggregate.aggregates) columns.push_back(item.column);
    return columns;
  }
  std::vector<Column> operator()(const Window& window) const {
    std::vector<Column> columns = of_input(0);
    for (const Window::Item& item : window.items) columns.push_back(item.column);
    return columns;
  }
  std::vector<Column> operator()(const Sort&) const { return of_input(0); }
  std::vector<Column> operator()(const Limit&) const { return of_input(0); }
  std::vector<Column> operator()(const SetOperation& operation) const { return operation.columns; }
  std::vector<Column> operator()(const Materialize& materialize) const { return materialize.columns; }
  std::vector<Column> operator()(const Recurse& recurse) const { return recurse.columns; }
  std::vector<Column> operator()(const RoundRows& rows) const { return rows.columns; }

 private:
  std::vector<Column> of_input(size_t number) const {
    return number < inputs_.size() && inputs_[number] != nullptr ? inputs_[number]->columns
                                                                 : std::vector<Column>();
  }
  std::vector<Column> of_join(JoinKind kind, const std::optional<Column>& mark) const {
    std::vector<Column> columns = of_input(0);
    if (shows_right(kind)) std::ranges::copy(of_input(1), std::back_inserter(columns));
    if (kind == JoinKind::Mark && mark) columns.push_back(*mark);
    return columns;
  }
  std::span<const Plan> inputs_;
};

template <typename... Works>
struct Each : Works... {
  using Works::operator()...;
};

void visit(const Plan& plan, std::unordered_set<const Node*>& met,
           const std::function<void(const Plan& node)>& work) {
  if (!met.insert(plan.get()).second) return;
  for (const Plan& input : plan->inputs) visit(input, met, work);
  work(plan);
}

void add(std::span<const Expression> expressions, ColumnSet& to) {
  for (const Expression& expression : expressions) to.add(columns_read(expression));
}

}  // namespace

ValueType type_of(const SqlType& declared) {
  using Kind = SqlType::Kind;
  ValueType type{.sql = declared};
  switch (declared.kind) {
    case Kind::Unknown:
    case Kind::Null:
      break;
    case Kind::Integer:
      type.is_unsigned = declared.is_unsigned;
      type.whole_digits = declared.digits;
      break;
    case Kind::Decimal:
      type.kind = ValueType::Kind::Decimal;
      type.scale = declared.scale;
      type.whole_digits = declared.whole_digits();
      break;
    case Kind::Float:
    case Kind::Double:
      type.kind = ValueType::Kind::Double;
      break;
    case Kind::Text:
      type.kind = ValueType::Kind::Text;
      break;
    case Kind::Date:
    case Kind::DateTime:
    case Kind::Instant:
      type.kind = ValueType::Kind::Moment;
      break;
    case Kind::Time:
      type.kind = ValueType::Kind::Span;
      break;
  }
  return type;
}

ValueType usual_type(const ScanColumn& stored) {
  hailstone::Column column;
  column.type = stored.type;
  column.width = stored.width;
  const auto found = stored_type(column, CollationResolver());
  SqlType type = found ? *found : SqlType::text(stored.width, binary_collation());
  if (!stored.integer && stored.collation != nullptr) type.collation = stored.collation;
  return type_of(type);
}

Column truth_column(ColumnId id, std::string name) {
  return {.id = id,
          .name = std::move(name),
          .stored = {.integer = true, .type = Type::Signed, .width = sizeof(int64_t)},
          .type = type_of(SqlType::truth())};
}

bool Project::Item::is_kept() const {
  return value->kind == Expression::Kind::Column && value->position == column.id;
}

bool Project::Item::is_copy() const {
  return value->kind == Expression::Kind::Column && value->column == column.stored;
}

Plan make(Operation operation, std::vector<Plan> inputs) {
  std::vector<Column> columns = std::visit(Columns(inputs), operation);
  return std::make_shared<const Node>(
      Node{.operation = std::move(operation), .inputs = std::move(inputs), .columns = std::move(columns)});
}

Plan with_inputs(const Plan& node, std::vector<Plan> inputs) {
  if (inputs == node->inputs) return node;
  return make(node->operation, std::move(inputs));
}

std::string_view name_of(JoinKind kind) {
  switch (kind) {
    case JoinKind::Inner:
      return "inner";
    case JoinKind::Left:
      return "left";
    case JoinKind::Semi:
      return "semi";
    case JoinKind::Anti:
      return "anti";
    case JoinKind::NullAnti:
      return "null-anti";
    case JoinKind::Mark:
      return "mark";
    case JoinKind::Single:
      return "single";
  }
  std::unreachable();
}

std::string_view name_of(const Operation& operation) {
  return std::visit(Each{
                        [](const Scan&) { return "scan"; },
                        [](const HostScan&) { return "host-scan"; },
                        [](const plan::Values&) { return "values"; },
                        [](const Filter&) { return "filter"; },
                        [](const Project&) { return "project"; },
                        [](const Join&) { return "join"; },
                        [](const Apply&) { return "apply"; },
                        [](const plan::Aggregate&) { return "aggregate"; },
                        [](const Window&) { return "window"; },
                        [](const Sort&) { return "sort"; },
                        [](const Limit&) { return "limit"; },
                        [](const SetOperation& set) {
                          switch (set.kind) {
                            case SetOperation::Kind::Union:
                              return "union";
                            case SetOperation::Kind::Intersect:
                              return "intersect";
                            case SetOperation::Kind::Except:
                              return "except";
                          }
                          std::unreachable();
                        },
                        [](const Materialize&) { return "materialize"; },
                        [](const Recurse&) { return "recurse"; },
                        [](const RoundRows&) { return "round"; },
                    },
                    operation);
}

const Column* find_column(std::span<const Column> columns, ColumnId id) {
  const auto found = std::ranges::find(columns, id, &Column::id);
  return found == columns.end() ? nullptr : &*found;
}

uint32_t next_id(const Plan& plan) {
  uint32_t next = 0;
  each_node(plan, [&](const Plan& node) {
    for (const Column& column : node->columns) next = std::max(next, column.id + uint32_t{1});
  });
  return next;
}

Expression read(const Column& column) {
  const ScanColumn& stored = column.stored;
  const bool is_computed = stored.type == Type::Signed;
  const bool is_time =
      column.type.kind == ValueType::Kind::Moment || column.type.kind == ValueType::Kind::Span;
  if (stored.integer && !is_computed && (is_time || stored.type == Type::OrderedBytes)) {
    const hailstone::Column of_table{.name = column.name, .type = stored.type, .width = stored.width};
    const auto typed = typed_column(column.id, of_table, column.type.sql);
    if (typed) return typed->value.as(column.type);
  }
  const bool is_number = !stored.integer && column.type.is_exact();
  return (is_number ? Expression::column_of_numbers(column.id, stored)
                    : Expression::column(column.id, stored))
      .as(column.type);
}

Column computed_column(ColumnId id, std::string name, const Expression& value) {
  Column column{.id = id, .name = std::move(name), .stored = {}, .type = value.type()};
  ScanColumn& stored = column.stored;
  if (value->kind == Expression::Kind::Column) {
    stored = value->column;
  } else if (value->values == ValueKind::Real) {
    stored.type = Type::Double;
  } else if (value->values == ValueKind::Text) {
    const Collation* const collation = value.sql().collation;
    stored = {.integer = false,
              .type = Type::Blob,
              .width = 0,
              .collation = collation == nullptr ? &binary_collation() : collation};
  } else if (column.type.kind != ValueType::Kind::Decimal) {
    stored.type = column.type.is_unsigned ? Type::Unsigned : Type::Signed;
  } else if (column.type.whole_digits + column.type.scale <= most_int64_digits) {
    stored.type = Type::Signed;
  } else {
    constexpr unsigned most_wide_digits = 38;
    const bool is_wide = column.type.whole_digits + column.type.scale <= most_wide_digits;
    stored = {.integer = false,
              .type = Type::OrderedBytes,
              .width = is_wide ? unsigned{sizeof(WideInteger)} : unsigned{sizeof(HugeInteger)},
              .collation = &binary_collation()};
  }
  return column;
}

Column aggregate_column(ColumnId id, std::string name, hailstone::Aggregate::Kind kind,
                        const Column* argument) {
  Column column{.id = id, .name = std::move(name)};
  column.stored = GroupedRows::column_of(
      {.wanted = {.kind = kind}, .column = argument == nullptr ? ScanColumn() : argument->stored});
  using Kind = hailstone::Aggregate::Kind;
  if (kind == Kind::Minimum || kind == Kind::Maximum) {
    column.type = argument->type;
    column.type.sql.is_nullable = true;
  } else if (kind == Kind::Sum && column.stored.type != Type::Double) {
    // So many digits more has the sum of 2^64 numbers, as the server declares it.
    constexpr unsigned more_digits = 22;
    const ValueType& of = argument->type;
    const unsigned whole_digits = std::min(of.whole_digits + more_digits, SqlType::most_digits - of.scale);
    column.type = ValueType::decimal(of.scale, whole_digits, of.scale_is);
    column.type.sql = SqlType::decimal(of.sql.digits + more_digits, of.sql.scale);
  } else {
    column.type = usual_type(column.stored);
    column.type.sql.is_nullable = kind == Kind::Sum || kind == Kind::Spread;
  }
  return column;
}

const std::vector<Expression>* conditions_of(const Operation& operation) {
  if (const auto* filter = std::get_if<Filter>(&operation)) return &filter->conditions;
  if (const auto* join = std::get_if<Join>(&operation)) return &join->conditions;
  if (const auto* apply = std::get_if<Apply>(&operation)) return &apply->conditions;
  return nullptr;
}

void each_node(const Plan& plan, const std::function<void(const Plan& node)>& work) {
  std::unordered_set<const Node*> met;
  visit(plan, met, work);
}

void ColumnSet::add(ColumnId id) {
  const auto at = std::ranges::lower_bound(ids_, id);
  if (at == ids_.end() || *at != id) ids_.insert(at, id);
}
void ColumnSet::add(std::span<const Column> columns) {
  for (const Column& column : columns) add(column.id);
}
void ColumnSet::add(const ColumnSet& other) {
  for (const ColumnId id : other) add(id);
}
void ColumnSet::remove(ColumnId id) { std::erase(ids_, id); }
bool ColumnSet::has(ColumnId id) const { return std::ranges::binary_search(ids_, id); }
bool ColumnSet::has_all(const ColumnSet& other) const { return std::ranges::includes(ids_, other.ids_); }
bool ColumnSet::has_any(const ColumnSet& other) const {
  return std::ranges::any_of(other.ids_, [this](ColumnId id) { return has(id); });
}

ColumnSet columns_read(const Node& node) {
  ColumnSet read;
  const auto all_inputs = [&] {
    for (const Plan& input : node.inputs) read.add(input->columns);
  };
  std::visit(Each{
                 [](const Scan&) {},
                 [](const HostScan&) {},
                 [](const plan::Values&) {},
                 [&](const Filter& filter) { add(filter.conditions, read); },
                 [&](const Project& project) {
                   for (const Project::Item& item : project.items) read.add(columns_read(item.value));
                 },
                 [&](const Join& join) { add(join.conditions, read); },
                 [&](const Apply& apply) { add(apply.conditions, read); },
                 [&](const plan::Aggregate& aggregate) {
                   for (const ColumnId key : aggregate.keys) read.add(key);
                   for (const plan::Aggregate::Item& item : aggregate.aggregates) {
                     if (item.argument) read.add(*item.argument);
                   }
                 },
                 [&](const Window& window) {
                   for (const ColumnId id : window.partition) read.add(id);
                   for (const SortKey& key : window.order) read.add(key.column);
                   for (const Window::Item& item : window.items) {
                     if (item.argument) read.add(*item.argument);
                   }
                 },
                 [&](const Sort& sort) {
                   for (const SortKey& key : sort.order) read.add(key.column);
                 },
                 [](const Limit&) {},
                 [&](const SetOperation&) { all_inputs(); },
                 [&](const Materialize&) { all_inputs(); },
                 [&](const Recurse&) { all_inputs(); },
                 [](const RoundRows&) {},
             },
             node.operation);
  return read;
}

}  // namespace hailstone::plan
