#include "plan/scan_conditions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "column/segment_columns.h"
#include "expression/stored_values.h"
#include "expression/text_tests.h"

namespace hailstone::plan {

namespace {

/// The comparison with its sides exchanged. Nothing: it is none.
std::optional<Function> exchanged(Function comparison) {
  switch (comparison) {
    case Function::Equal:
    case Function::NotEqual:
      return comparison;
    case Function::Less:
      return Function::Greater;
    case Function::LessEqual:
      return Function::GreaterEqual;
    case Function::Greater:
      return Function::Less;
    case Function::GreaterEqual:
      return Function::LessEqual;
    default:
      return std::nullopt;
  }
}

/// A number among those of a column, which are ordered from `first` to `last`: where it stands, and whether
/// it is one of them.
struct Place {
  uint64_t first = 0, last = 0;
  uint64_t low = 0, high = 0;  // ordered values that are equal to it; high = low - 1: it is right below `low`
  bool is_below = false, is_above = false;
};

WideInteger number_of(const Expression& constant) {
  return constant->huge == HugeInteger() ? WideInteger{constant->integer} : constant->huge.wide();
}

/// Of a column, or, as a DECIMAL is compared with one, of its numbers times `factor`.
std::optional<Place> place_of_whole(const ScanColumn& column, const Expression& constant, int64_t factor) {
  if (constant->values != ValueKind::Integer || !constant->huge.has_128_bits()) return std::nullopt;
  const WideInteger number = number_of(constant);
  const WideInteger floor = number / factor - (number % factor < 0 ? 1 : 0);
  const bool is_there = floor * factor == number;
  Place place{.first = 0, .last = bits_of_width(column.width)};
  const bool is_signed = column.type == Type::Signed;
  const WideInteger first = is_signed ? native_signed(place.first, column.width) : WideInteger{0};
  const WideInteger last =
      is_signed ? WideInteger{native_signed(place.last, column.width)} : WideInteger{place.last};
  place.is_below = floor < first;
  place.is_above = is_there ? floor > last : floor >= last;
  if (place.is_below || place.is_above) return place;
  const WideInteger next = is_there ? floor : floor + 1;
  place.low =
      is_signed ? order_signed(static_cast<int64_t>(next), column.width) : static_cast<uint64_t>(next);
  place.high = is_there ? place.low : place.low - 1;
  return place;
}

/// Among the numbers of a function, which are in the order of the stored ones.
std::optional<Place> place_of_function(const Expression& column, const Expression& constant) {
  const auto* const function = dynamic_cast<const AscendingFunction*>(column->of_column.get());
  const auto value = constant.whole_constant();
  if (function == nullptr || !value) return std::nullopt;
  Place place{.first = 0, .last = bits_of_width(column->column.width)};
  // The first one of which `is_behind` is true, or the one behind the last one.
  const auto first_behind = [&](auto&& is_behind) -> std::optional<uint64_t> {
    if (!is_behind(*function->of(Value::of(place.last)))) return std::nullopt;
    uint64_t low = place.first, high = place.last;
    while (low < high) {
      const uint64_t middle = low + (high - low) / 2;
      if (is_behind(*function->of(Value::of(middle)))) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  };
  const auto low = first_behind([&](int64_t number) { return number >= *value; });
  const auto behind = first_behind([&](int64_t number) { return number > *value; });
  place.is_above = !low;
  place.is_below = behind && *behind == place.first;
  place.low = low.value_or(place.last);
  place.high = behind ? *behind - 1 : place.last;
  return place;
}

/// Of Float and Double. Not a number is in no order.
template <typename Real, typename Order>
std::optional<Place> place_of_real(double value, const Order& order) {
  constexpr auto infinite = std::numeric_limits<Real>::infinity();
  if (value != value) return std::nullopt;
  Place place{.first = order(-infinite), .last = order(infinite)};
  auto below = static_cast<Real>(value);
  if (static_cast<double>(below) > value) below = std::nextafter(below, -infinite);
  // Of the two zeros one stands right below the other.
  place.low = order(below == 0 ? -Real{0} : below);
  place.high = order(below == 0 ? Real{0} : below);
  if (static_cast<double>(below) != value) place.low = place.high + 1;
  return place;
}

using Ranges = std::vector<IntegerRange>;

/// The ordered numbers in none of the ranges.
Ranges all_but(Ranges ranges) {
  std::ranges::sort(ranges, {}, &IntegerRange::low);
  Ranges rest;
  uint64_t next = 0;
  for (const IntegerRange& range : ranges) {
    if (range.low > next) rest.push_back({.low = next, .high = range.low - 1});
    if (range.high == ~uint64_t{0}) return rest;
    next = std::max(next, range.high + 1);
  }
  rest.push_back({.low = next, .high = ~uint64_t{0}});
  return rest;
}

/// A value that is no number in the column's order is different from all others, and not less or greater.
Ranges compared(Function comparison, const Place& place) {
  if (comparison == Function::NotEqual) return all_but(compared(Function::Equal, place));
  Ranges ranges;
  const auto add = [&](uint64_t low, uint64_t high) { ranges.push_back({.low = low, .high = high}); };
  const bool is_there = !place.is_below && !place.is_above;
  const bool wants_less = comparison == Function::Less || comparison == Function::LessEqual;
  const bool wants_greater = comparison == Function::Greater || comparison == Function::GreaterEqual;
  const bool wants_equal = comparison == Function::Equal || comparison == Function::LessEqual ||
                           comparison == Function::GreaterEqual;
  if (wants_equal && is_there && place.low <= place.high) add(place.low, place.high);
  if (wants_less && place.is_above) add(place.first, place.last);
  if (wants_less && is_there && place.low > place.first) add(place.first, place.low - 1);
  if (wants_greater && place.is_below) add(place.first, place.last);
  if (wants_greater && is_there && place.high < place.last) add(place.high + 1, place.last);
  return ranges;
}

/// The values in the ranges, or, if not `truth`, all others but NULL.
Predicate in_ranges(uint16_t ordinal, Ranges ranges, bool truth) {
  if (!truth) ranges = all_but(std::move(ranges));
  return ranges.empty() ? Predicate::never() : Predicate::integer(ordinal, std::move(ranges));
}

/// The value itself, where another part of the condition reports its failures.
const Expression& asked_for(const Expression& value) {
  return value.is_call(Function::Silenced) ? asked_for(value->arguments[0]) : value;
}

bool is_column(const Expression& value) {
  return value->kind == Expression::Kind::Column || value->kind == Expression::Kind::OfColumn;
}

/// What is compared with constants: a column, an ascending function of one, or a whole one's numbers times a
/// power of ten, which stand in their order.
struct Subject {
  Expression column;
  uint16_t ordinal = 0;
  int64_t factor = 1;
};
std::optional<Subject> subject_of(const Expression& value, const Ordinal& ordinal) {
  const Expression& asked = asked_for(value);
  if (is_column(asked)) {
    const auto number = ordinal(asked->position);
    return number ? std::optional(Subject{.column = asked, .ordinal = *number}) : std::nullopt;
  }
  if (!asked.is_call(Function::Multiply) || asked->settings.range != NumberRange::Any) return std::nullopt;
  const Expression& of = asked->arguments[0];
  const auto factor = asked->arguments[1].whole_constant();
  if (of->kind != Expression::Kind::Column || of->values != ValueKind::Integer || !factor || *factor <= 0)
    return std::nullopt;
  const auto number = ordinal(of->position);
  return number ? std::optional(Subject{.column = of, .ordinal = *number, .factor = *factor}) : std::nullopt;
}

std::optional<Place> place_of(const Subject& subject, const Expression& constant) {
  const Expression& column = subject.column;
  if (!constant.is_constant() || !column->column.integer || column->values != constant->values)
    return std::nullopt;
  if (column->kind == Expression::Kind::OfColumn) return place_of_function(column, constant);
  switch (column->column.type) {
    case Type::Signed:
    case Type::Unsigned:
      return place_of_whole(column->column, constant, subject.factor);
    case Type::Float:
      return place_of_real<float>(constant->real, order_float);
    case Type::Double:
      return place_of_real<double>(constant->real, order_double);
    default:
      return std::nullopt;
  }
}

/// A text beside a constant one, by the order of bytes.
std::optional<Predicate> of_text(const Subject& subject, Function comparison, const Expression& constant,
                                 const Collation* collation, bool truth) {
  if (subject.column->kind != Expression::Kind::Column || subject.column->values != ValueKind::Text ||
      !constant.is_constant() || constant->values != ValueKind::Text || collation == nullptr)
    return std::nullopt;
  auto test = test_of_comparison(comparison, constant->text, *collation);
  if (test == nullptr) return std::nullopt;
  return Predicate::bytes(subject.ordinal, truth ? std::move(test) : opposite_of(std::move(test)));
}

std::optional<Predicate> of_constant(const Subject& subject, Function comparison, const Expression& constant,
                                     const Collation* collation, bool truth) {
  if (constant.is_null()) return Predicate::never();
  if (const auto place = place_of(subject, constant))
    return in_ranges(subject.ordinal, compared(comparison, *place), truth);
  return of_text(subject, comparison, constant, collation, truth);
}

std::optional<Predicate> of_comparison(const Expression& condition, const Ordinal& ordinal, bool truth) {
  const auto other_way = exchanged(condition->function);
  if (!other_way) return std::nullopt;
  const Expression &left = condition->arguments[0], &right = condition->arguments[1];
  const bool is_constant_right = right.is_constant() || right.is_null();
  const auto subject = subject_of(is_constant_right ? left : right, ordinal);
  if (!subject) return std::nullopt;
  return of_constant(*subject, is_constant_right ? condition->function : *other_way,
                     is_constant_right ? right : left, condition->settings.collation, truth);
}

/// BETWEEN of two constants.
std::optional<Predicate> of_between(const Expression& condition, const Ordinal& ordinal, bool truth) {
  const std::vector<Expression>& arguments = condition->arguments;
  const auto subject = subject_of(arguments[0], ordinal);
  if (!subject || !arguments[1].is_constant() || !arguments[2].is_constant()) return std::nullopt;
  const Collation* const collation = condition->settings.collation;
  auto low = of_constant(*subject, Function::GreaterEqual, arguments[1], collation, truth);
  auto high = of_constant(*subject, Function::LessEqual, arguments[2], collation, truth);
  if (!low || !high) return std::nullopt;
  std::vector<Predicate> both{std::move(*low), std::move(*high)};
  return truth ? Predicate::all_of(std::move(both)) : Predicate::any_of(std::move(both));
}

/// IN of many constants.
std::optional<Predicate> of_list(const Expression& condition, const Ordinal& ordinal, bool truth) {
  const auto numbers =
      condition->settings.of_numbers == nullptr ? std::nullopt : condition->settings.of_numbers->listed();
  const auto subject = subject_of(condition->arguments[0], ordinal);
  if (!numbers || !subject) return std::nullopt;
  Ranges ranges;
  for (const int64_t number : *numbers) {
    const auto place = place_of(*subject, Expression::constant(number));
    if (!place) return std::nullopt;
    const Ranges equal = compared(Function::Equal, *place);
    ranges.insert(ranges.end(), equal.begin(), equal.end());
  }
  return in_ranges(subject->ordinal, std::move(ranges), truth);
}

/// Rows for which the condition is TRUE or, if not `truth`, FALSE.
std::optional<Predicate> predicate_where(const Expression& condition, const Ordinal& ordinal, bool truth) {
  if (condition->kind == Expression::Kind::Column && condition->values == ValueKind::Integer) {
    const auto subject = subject_of(condition, ordinal);
    if (!subject) return std::nullopt;
    return of_constant(*subject, Function::NotEqual, Expression::constant(int64_t{0}), nullptr, truth);
  }
  if (condition->kind != Expression::Kind::Call) return std::nullopt;
  const std::vector<Expression>& arguments = condition->arguments;
  switch (condition->function) {
    case Function::And:
    case Function::Or: {
      auto left = predicate_where(arguments[0], ordinal, truth);
      if (!left) return std::nullopt;
      auto right = predicate_where(arguments[1], ordinal, truth);
      if (!right) return std::nullopt;
      std::vector<Predicate> parts{std::move(*left), std::move(*right)};
      return (condition->function == Function::And) == truth ? Predicate::all_of(std::move(parts))
                                                             : Predicate::any_of(std::move(parts));
    }
    case Function::Not:
      return predicate_where(arguments[0], ordinal, !truth);
    case Function::IsNull: {
      // A function of a column may be NULL of a value that is none.
      if (arguments[0]->kind != Expression::Kind::Column) return std::nullopt;
      const auto number = ordinal(arguments[0]->position);
      if (!number) return std::nullopt;
      return truth ? Predicate::is_null(*number) : Predicate::is_not_null(*number);
    }
    case Function::Passes: {
      if (condition->settings.test == nullptr || arguments[0]->kind != Expression::Kind::Column)
        return std::nullopt;
      const auto number = ordinal(arguments[0]->position);
      if (!number) return std::nullopt;
      return Predicate::bytes(*number,
                              truth ? condition->settings.test : opposite_of(condition->settings.test));
    }
    case Function::Among:
      return of_list(condition, ordinal, truth);
    case Function::Between:
      return of_between(condition, ordinal, truth);
    default:
      return of_comparison(condition, ordinal, truth);
  }
}

}  // namespace

std::optional<Predicate> predicate_of(const Expression& condition, const Ordinal& ordinal) {
  return predicate_where(condition, ordinal, true);
}

Result<Ordinals> ordinals_of(const Scan& scan, const TableDefinition& table) {
  Ordinals ordinals;
  for (const Column& column : scan.columns) {
    const auto found = std::ranges::find(table.columns, column.name, &hailstone::Column::name);
    if (found == table.columns.end())
      return fail(ErrorCode::InvalidArgument,
                  fmt::format("table {} has no column {}", scan.table, column.name));
    const auto ordinal = static_cast<uint16_t>(found - table.columns.begin());
    // A DECIMAL is read as a number.
    const bool is_number = found->decimal.any() && column.type.is_exact();
    ordinals.emplace(column.id, is_number ? scaled(ordinal) : ordinal);
  }
  return ordinals;
}

Predicate taken_by_scan(std::vector<Expression>& conditions, const Ordinals& ordinals) {
  std::vector<Predicate> predicates;
  std::erase_if(conditions, [&](const Expression& condition) {
    auto predicate = predicate_of(condition, [&](ColumnId id) -> std::optional<uint16_t> {
      const auto ordinal = ordinals.find(id);
      // Not a column of the row that an Apply around is at.
      if (ordinal == ordinals.end() || is_scaled(ordinal->second)) return std::nullopt;
      return ordinal->second;
    });
    if (predicate) predicates.push_back(std::move(*predicate));
    return predicate.has_value();
  });
  return Predicate::all_of(std::move(predicates));
}

}  // namespace hailstone::plan
