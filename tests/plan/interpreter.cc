#include "plan/interpreter.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "schema/ordered_wide.h"

namespace hailstone::plan {

Datum datum_of(const Value& value, const ScanColumn& stored) {
  if (value.null) return {};
  if (!stored.integer) {
    if (stored.type == Type::OrderedBytes && (stored.width == 16 || stored.width == 32))
      return Datum::of(native_number(value.bytes).wide());
    return Datum::of(std::string(value.bytes));
  }
  switch (stored.type) {
    case Type::Signed:
      return Datum::of(WideInteger{native_signed(value.integer, stored.width)});
    case Type::Double:
      return Datum::of(native_double(value.integer));
    case Type::Float:
      return Datum::of(static_cast<double>(native_float(value.integer)));
    default:
      return Datum::of(static_cast<WideInteger>(value.integer));
  }
}

std::string to_string(const Datum& datum) {
  switch (datum.kind) {
    case Datum::Kind::Null:
      return "NULL";
    case Datum::Kind::Number: {
      std::string digits;
      for (WideInteger left = datum.number; left != 0; left /= 10)
        digits.insert(digits.begin(), static_cast<char>('0' + std::abs(static_cast<int>(left % 10))));
      return digits.empty() ? "0" : (datum.number < 0 ? "-" : "") + digits;
    }
    case Datum::Kind::Real:
      return fmt::format("{}", datum.real);
    case Datum::Kind::Text:
      return "'" + datum.text + "'";
  }
  return "?";
}

namespace {

std::unexpected<Error> unknown(const std::string& what) {
  return fail(ErrorCode::Unsupported, "the interpreter does not know " + what);
}

std::vector<ColumnId> ids_of(const Plan& plan) {
  std::vector<ColumnId> ids;
  for (const Column& column : plan->columns) ids.push_back(column.id);
  return ids;
}

size_t place_of(const Relation& relation, ColumnId id) {
  return static_cast<size_t>(std::ranges::find(relation.columns, id) - relation.columns.begin());
}

/// Less than 0: left comes first.
int compare(const DatumRow& left, const DatumRow& right, const Relation& relation,
            const std::vector<SortKey>& order) {
  for (const SortKey& key : order) {
    const size_t place = place_of(relation, key.column);
    const auto way = left[place] <=> right[place];
    if (way != 0) return (way < 0) == key.descending ? 1 : -1;
  }
  return 0;
}

void drop_equal(std::vector<DatumRow>& rows) {
  std::ranges::sort(rows);
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
}

}  // namespace

Status Interpreter::step() {
  if (steps_left_-- == 0) {
    steps_left_ = 0;
    return fail(ErrorCode::RowTooLarge, "the plan looks at too many rows");
  }
  return {};
}

void Interpreter::bind(const Relation& relation, const Row& row) {
  for (size_t i = 0; i < row.size(); ++i) bound_[relation.columns[i]] = row[i];
}

Result<Relation> Interpreter::rows(const Plan& plan) {
  bound_.assign(next_id(plan), {});
  return of(plan);
}

// ---- expressions

Result<Datum> Interpreter::all_of(const std::vector<Expression>& conditions) {
  bool is_null = false;
  for (const Expression& condition : conditions) {
    HAILSTONE_ASSIGN(const Datum truth, value(condition));
    if (truth.is_false()) return truth;
    is_null |= truth.is_null();
  }
  return is_null ? Datum() : Datum::of(true);
}

namespace {

using Kind = Datum::Kind;

Result<Datum> called(Function function, const std::vector<Datum>& values) {
  const bool any_null = std::ranges::any_of(values, &Datum::is_null);
  const auto arithmetic = [&](auto&& of) {
    if (any_null) return Datum();
    if (values[0].kind == Kind::Real) return Datum::of(double(of(values[0].real, values[1].real)));
    return Datum::of(WideInteger(of(values[0].number, values[1].number)));
  };
  const auto compared = [&](auto&& holds) {
    return any_null ? Datum() : Datum::of(bool(holds(values[0] <=> values[1])));
  };
  switch (function) {
    case Function::Add:
      return arithmetic([](auto a, auto b) { return a + b; });
    case Function::Subtract:
      return arithmetic([](auto a, auto b) { return a - b; });
    case Function::Multiply:
      return arithmetic([](auto a, auto b) { return a * b; });
    case Function::Equal:
      return compared([](auto way) { return way == 0; });
    case Function::NotEqual:
      return compared([](auto way) { return way != 0; });
    case Function::Less:
      return compared([](auto way) { return way < 0; });
    case Function::LessEqual:
      return compared([](auto way) { return way <= 0; });
    case Function::Greater:
      return compared([](auto way) { return way > 0; });
    case Function::GreaterEqual:
      return compared([](auto way) { return way >= 0; });
    case Function::SameOrNull:
      return Datum::of(values[0] == values[1]);
    case Function::Between:
      if (!any_null) return Datum::of(values[1] <= values[0] && values[0] <= values[2]);
      // One bound that is missed is enough.
      if (!values[0].is_null() && ((!values[1].is_null() && values[0] < values[1]) ||
                                   (!values[2].is_null() && values[0] > values[2])))
        return Datum::of(false);
      return Datum();
    case Function::And:
      if (std::ranges::any_of(values, &Datum::is_false)) return Datum::of(false);
      return any_null ? Datum() : Datum::of(true);
    case Function::Or:
      if (std::ranges::any_of(values, &Datum::is_true)) return Datum::of(true);
      return any_null ? Datum() : Datum::of(false);
    case Function::Not:
      return any_null ? Datum() : Datum::of(values[0].is_false());
    case Function::IsTrue:
      return Datum::of(values[0].is_true());
    case Function::IsNull:
      return Datum::of(values[0].is_null());
    case Function::Choose:
      return values[0].is_true() ? values[1] : values[2];
    case Function::Coalesce: {
      const auto found = std::ranges::find_if_not(values, &Datum::is_null);
      return found == values.end() ? Datum() : *found;
    }
    case Function::Greatest:
      return any_null ? Datum() : *std::ranges::max_element(values);
    case Function::Least:
      return any_null ? Datum() : *std::ranges::min_element(values);
    case Function::Concat: {
      if (any_null) return Datum();
      std::string all;
      for (const Datum& part : values) all += part.text;
      return Datum::of(all);
    }
    case Function::Length:
      return any_null ? Datum() : Datum::of(static_cast<WideInteger>(values[0].text.size()));
    case Function::Among:
      if (values[0].is_null()) return Datum();
      if (std::find(values.begin() + 1, values.end(), values[0]) != values.end()) return Datum::of(true);
      return any_null ? Datum() : Datum::of(false);
    default:
      return unknown("the function " + std::string(line_of(function).name));
  }
}

}  // namespace

Result<std::vector<Datum>> Interpreter::values(const std::vector<Expression>& expressions) {
  std::vector<Datum> values;
  for (const Expression& expression : expressions) {
    HAILSTONE_ASSIGN(values.emplace_back(), value(expression));
  }
  return values;
}

Result<Datum> Interpreter::said(const Expression::Said& words) {
  static const std::map<std::string_view, Function> functions{
      {"+", Function::Add},          {"-", Function::Subtract},        {"*", Function::Multiply},
      {"=", Function::Equal},        {"<>", Function::NotEqual},       {"<", Function::Less},
      {"<=", Function::LessEqual},   {">", Function::Greater},         {">=", Function::GreaterEqual},
      {"<=>", Function::SameOrNull}, {"BETWEEN", Function::Between},   {"AND", Function::And},
      {"OR", Function::Or},          {"NOT", Function::Not},           {"IS TRUE", Function::IsTrue},
      {"IS NULL", Function::IsNull}, {"IF", Function::Choose},         {"COALESCE", Function::Coalesce},
      {"LEAST", Function::Least},    {"GREATEST", Function::Greatest}, {"CONCAT", Function::Concat},
      {"LENGTH", Function::Length},  {"IN", Function::Among},
  };
  const auto found = functions.find(words.name);
  if (found == functions.end()) return unknown("the word " + std::string(words.name));
  HAILSTONE_ASSIGN(const std::vector<Datum> arguments, values(words.arguments));
  return called(found->second, arguments);
}

Result<Datum> Interpreter::value(const Expression& expression) {
  if (expression->said != nullptr) return said(*expression->said);
  switch (expression->kind) {
    case Expression::Kind::Column:
      return bound_[expression->position];
    case Expression::Kind::Null:
      return Datum();
    case Expression::Kind::Constant:
      switch (expression->values) {
        case ValueKind::Integer:
          return Datum::of(expression->huge == HugeInteger() ? WideInteger{expression->integer}
                                                             : expression->huge.wide());
        case ValueKind::Real:
          return Datum::of(expression->real);
        case ValueKind::Text:
          return Datum::of(expression->text);
      }
      return unknown("a constant");
    case Expression::Kind::Call: {
      HAILSTONE_ASSIGN(const std::vector<Datum> arguments, values(expression->arguments));
      return called(expression->function, arguments);
    }
    default:
      return unknown("what columns are asked by the application");
  }
}

// ---- nodes

Result<Relation> Interpreter::of(const Plan& plan) {
  Relation result{.columns = ids_of(plan), .rows = {}};
  const Operation& operation = plan->operation;
  if (const auto* const scan = std::get_if<Scan>(&operation)) {
    result.rows = tables_(scan->table, scan->columns);
    return result;
  }
  if (const auto* const scan = std::get_if<HostScan>(&operation)) {
    result.rows = tables_(scan->table, scan->columns);
    return result;
  }
  if (const auto* const values = std::get_if<Values>(&operation)) {
    for (const std::vector<Expression>& each : values->rows) {
      Row& row = result.rows.emplace_back();
      for (const Expression& constant : each) {
        HAILSTONE_ASSIGN(row.emplace_back(), value(constant));
      }
    }
    return result;
  }
  if (const auto* const filter = std::get_if<Filter>(&operation)) {
    HAILSTONE_ASSIGN(const Relation input, of(plan->inputs[0]));
    for (const Row& row : input.rows) {
      HAILSTONE_TRY(step());
      bind(input, row);
      HAILSTONE_ASSIGN(const Datum truth, all_of(filter->conditions));
      if (truth.is_true()) result.rows.push_back(row);
    }
    return result;
  }
  if (const auto* const project = std::get_if<Project>(&operation)) {
    HAILSTONE_ASSIGN(const Relation input, of(plan->inputs[0]));
    for (const Row& row : input.rows) {
      HAILSTONE_TRY(step());
      bind(input, row);
      Row& made = result.rows.emplace_back();
      for (const Project::Item& item : project->items) {
        HAILSTONE_ASSIGN(made.emplace_back(), value(item.value));
      }
    }
    return result;
  }
  if (const auto* const joined = std::get_if<Join>(&operation))
    return join(plan, joined->kind, joined->conditions, false);
  if (const auto* const applied = std::get_if<Apply>(&operation))
    return join(plan, applied->kind, applied->conditions, true);
  if (const auto* const grouped = std::get_if<Aggregate>(&operation)) return aggregate(plan, *grouped);
  if (const auto* const over = std::get_if<Window>(&operation)) return window(plan, *over);
  if (const auto* const sort = std::get_if<Sort>(&operation)) {
    HAILSTONE_ASSIGN(result, of(plan->inputs[0]));
    std::ranges::stable_sort(result.rows, [&](const Row& left, const Row& right) {
      return compare(left, right, result, sort->order) < 0;
    });
    return result;
  }
  if (const auto* const cut = std::get_if<Limit>(&operation)) return limit(plan, *cut);
  if (const auto* const set = std::get_if<SetOperation>(&operation)) return set_operation(plan, *set);
  if (std::holds_alternative<Materialize>(operation)) {
    HAILSTONE_ASSIGN(Relation input, of(plan->inputs[0]));
    result.rows = std::move(input.rows);
    return result;
  }
  if (const auto* const recursion = std::get_if<Recurse>(&operation)) return recurse(plan, *recursion);
  const auto& round = std::get<RoundRows>(operation);
  for (const auto& [number, rows] : rounds_) {
    if (number == round.number) result.rows = rows;
  }
  return result;
}

Result<Relation> Interpreter::join(const Plan& plan, JoinKind kind, const std::vector<Expression>& conditions,
                                   bool depends) {
  Relation result{.columns = ids_of(plan), .rows = {}};
  HAILSTONE_ASSIGN(const Relation left, of(plan->inputs[0]));
  Relation right;
  if (!depends) {
    HAILSTONE_ASSIGN(right, of(plan->inputs[1]));
  }
  for (const Row& row : left.rows) {
    HAILSTONE_TRY(step());
    bind(left, row);
    if (depends) {
      HAILSTONE_ASSIGN(right, of(plan->inputs[1]));
      bind(left, row);
    }
    size_t partners = 0;
    bool any_null = false;
    for (const Row& other : right.rows) {
      HAILSTONE_TRY(step());
      bind(right, other);
      HAILSTONE_ASSIGN(const Datum truth, all_of(conditions));
      any_null |= truth.is_null();
      if (!truth.is_true()) continue;
      ++partners;
      if (!shows_right(kind)) continue;
      Row& pair = result.rows.emplace_back(row);
      pair.insert(pair.end(), other.begin(), other.end());
    }
    switch (kind) {
      case JoinKind::Inner:
        break;
      case JoinKind::Single:
        if (partners > 1) return fail(ErrorCode::InvalidArgument, "a second partner");
        [[fallthrough]];
      case JoinKind::Left:
        if (partners == 0) {
          Row& alone = result.rows.emplace_back(row);
          alone.resize(result.columns.size());
        }
        break;
      case JoinKind::Semi:
        if (partners != 0) result.rows.push_back(row);
        break;
      case JoinKind::Anti:
        if (partners == 0) result.rows.push_back(row);
        break;
      case JoinKind::NullAnti:
        if (partners == 0 && !any_null) result.rows.push_back(row);
        break;
      case JoinKind::Mark:
        result.rows.push_back(row);
        result.rows.back().push_back(partners != 0 ? Datum::of(true) : any_null ? Datum() : Datum::of(false));
        break;
    }
  }
  return result;
}

Result<Datum> Interpreter::aggregated(hailstone::Aggregate::Kind kind, bool distinct,
                                      std::vector<Datum> values, size_t rows, const ScanColumn& stored) {
  using Kind = hailstone::Aggregate::Kind;
  if (kind == Kind::Rows) return Datum::of(static_cast<WideInteger>(rows));
  std::erase_if(values, [](const Datum& value) { return value.is_null(); });
  if (distinct) {
    std::ranges::sort(values);
    values.erase(std::unique(values.begin(), values.end()), values.end());
  }
  const auto bits = [&](uint64_t first, auto&& of) {
    for (const Datum& value : values) first = of(first, static_cast<uint64_t>(value.number));
    return Datum::of(static_cast<WideInteger>(first));
  };
  switch (kind) {
    case Kind::Values:
      return Datum::of(static_cast<WideInteger>(values.size()));
    case Kind::Minimum:
      return values.empty() ? Datum() : *std::ranges::min_element(values);
    case Kind::Maximum:
      return values.empty() ? Datum() : *std::ranges::max_element(values);
    case Kind::Sum: {
      if (values.empty()) return Datum();
      Datum sum = stored.type == Type::Double ? Datum::of(0.0) : Datum::of(WideInteger{0});
      for (const Datum& value : values) {
        sum.number += value.number;
        sum.real += value.real;
      }
      return sum;
    }
    case Kind::BitAnd:
      return bits(~uint64_t{0}, [](uint64_t a, uint64_t b) { return a & b; });
    case Kind::BitOr:
      return bits(0, [](uint64_t a, uint64_t b) { return a | b; });
    case Kind::BitXor:
      return bits(0, [](uint64_t a, uint64_t b) { return a ^ b; });
    default:
      return unknown("spreads");
  }
}

Result<Relation> Interpreter::aggregate(const Plan& plan, const Aggregate& aggregate) {
  Relation result{.columns = ids_of(plan), .rows = {}};
  HAILSTONE_ASSIGN(const Relation input, of(plan->inputs[0]));
  std::vector<std::vector<ColumnId>> sets = aggregate.sets;
  if (sets.empty()) sets.push_back(aggregate.keys);
  for (const std::vector<ColumnId>& set : sets) {
    std::map<Row, std::vector<const Row*>> groups;
    if (aggregate.keys.empty()) groups[{}];
    for (const Row& row : input.rows) {
      HAILSTONE_TRY(step());
      Row key;
      for (const ColumnId id : aggregate.keys) {
        const bool is_of_set = std::ranges::find(set, id) != set.end();
        key.push_back(is_of_set ? row[place_of(input, id)] : Datum());
      }
      groups[key].push_back(&row);
    }
    for (const auto& [key, rows] : groups) {
      Row group = key;
      for (const Aggregate::Item& item : aggregate.aggregates) {
        std::vector<Datum> values;
        for (const Row* const row : rows) {
          if (item.argument) values.push_back((*row)[place_of(input, *item.argument)]);
        }
        HAILSTONE_ASSIGN(group.emplace_back(), aggregated(item.kind, item.distinct, std::move(values),
                                                          rows.size(), item.column.stored));
      }
      result.rows.push_back(std::move(group));
    }
  }
  return result;
}

Result<Relation> Interpreter::window(const Plan& plan, const Window& window) {
  HAILSTONE_ASSIGN(Relation input, of(plan->inputs[0]));
  Relation result{.columns = ids_of(plan), .rows = {}};
  std::map<Row, std::vector<Row>> partitions;
  for (const Row& row : input.rows) {
    Row key;
    for (const ColumnId id : window.partition) key.push_back(row[place_of(input, id)]);
    partitions[key].push_back(row);
  }
  for (auto& [key, rows] : partitions) {
    const auto precedes = [&](const Row& left, const Row& right) {
      return compare(left, right, input, window.order) < 0;
    };
    std::ranges::stable_sort(rows, precedes);
    for (size_t i = 0; i < rows.size(); ++i) {
      // Rows before the first one that is equal in the order, and up to the last one.
      size_t first = i, last = i + 1;
      while (first > 0 && !precedes(rows[first - 1], rows[i])) --first;
      while (last < rows.size() && !precedes(rows[i], rows[last])) ++last;
      size_t ranks = 1;
      for (size_t k = 1; k <= first; ++k) ranks += precedes(rows[k - 1], rows[k]) ? 1U : 0U;
      Row made = rows[i];
      for (const Window::Item& item : window.items) {
        HAILSTONE_TRY(step());
        switch (item.kind) {
          case Window::Kind::RowNumber:
            made.push_back(Datum::of(static_cast<WideInteger>(i + 1)));
            break;
          case Window::Kind::Rank:
            made.push_back(Datum::of(static_cast<WideInteger>(first + 1)));
            break;
          case Window::Kind::DenseRank:
            made.push_back(Datum::of(static_cast<WideInteger>(ranks)));
            break;
          case Window::Kind::Aggregate: {
            std::vector<Datum> values;
            for (size_t k = 0; item.argument && k < last; ++k)
              values.push_back(rows[k][place_of(input, *item.argument)]);
            HAILSTONE_ASSIGN(made.emplace_back(),
                             aggregated(item.aggregate, false, std::move(values), last, item.column.stored));
            break;
          }
        }
      }
      result.rows.push_back(std::move(made));
    }
  }
  return result;
}

Result<Relation> Interpreter::limit(const Plan& plan, const Limit& limit) {
  HAILSTONE_ASSIGN(Relation input, of(plan->inputs[0]));
  const size_t first = std::min<uint64_t>(limit.offset, input.rows.size());
  size_t last = input.rows.size();
  if (limit.most) last = first + std::min<uint64_t>(*limit.most, input.rows.size() - first);
  if (limit.with_ties && last != first) {
    const auto& sort = std::get<Sort>(plan->inputs[0]->operation);
    while (last < input.rows.size() &&
           compare(input.rows[last - 1], input.rows[last], input, sort.order) == 0)
      ++last;
  }
  input.rows = std::vector<Row>(input.rows.begin() + static_cast<ptrdiff_t>(first),
                                input.rows.begin() + static_cast<ptrdiff_t>(last));
  return input;
}

Result<Relation> Interpreter::set_operation(const Plan& plan, const SetOperation& operation) {
  Relation result{.columns = ids_of(plan), .rows = {}};
  std::vector<std::vector<Row>> inputs;
  for (const Plan& each : plan->inputs) {
    HAILSTONE_ASSIGN(Relation input, of(each));
    if (!operation.all) drop_equal(input.rows);
    inputs.push_back(std::move(input.rows));
  }
  if (operation.kind == SetOperation::Kind::Union) {
    for (const std::vector<Row>& rows : inputs)
      result.rows.insert(result.rows.end(), rows.begin(), rows.end());
    if (!operation.all) drop_equal(result.rows);
    return result;
  }
  for (const Row& row : inputs[0]) {
    HAILSTONE_TRY(step());
    const auto found = std::ranges::find(inputs[1], row);
    const bool is_there = found != inputs[1].end();
    if (is_there == (operation.kind == SetOperation::Kind::Intersect)) result.rows.push_back(row);
    // Each row has a partner of its own.
    if (is_there && operation.all) inputs[1].erase(found);
  }
  return result;
}

Result<Relation> Interpreter::recurse(const Plan& plan, const Recurse& recurse) {
  Relation result{.columns = ids_of(plan), .rows = {}};
  HAILSTONE_ASSIGN(Relation round, of(plan->inputs[0]));
  for (;;) {
    if (!recurse.all) {
      drop_equal(round.rows);
      std::erase_if(round.rows,
                    [&](const Row& row) { return std::ranges::find(result.rows, row) != result.rows.end(); });
    }
    if (round.rows.empty()) return result;
    result.rows.insert(result.rows.end(), round.rows.begin(), round.rows.end());
    rounds_.emplace_back(recurse.number, std::move(round.rows));
    HAILSTONE_TRY(step());
    const auto next = of(plan->inputs[1]);
    rounds_.pop_back();
    if (!next) return next;
    round = *next;
  }
}

}  // namespace hailstone::plan
