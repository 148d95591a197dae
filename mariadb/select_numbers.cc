// Numbers in expressions: columns, constants, arithmetic, and choices among them.
#include <algorithm>
#include <typeinfo>
#include <utility>

#include "decimal_numbers.h"
#include "expression/conditions.h"
#include "expression/number_casts.h"
#include "select_expressions.h"
#include "select_functions.h"

namespace hailstone {

namespace {

bool is_real(const Item& item) { return item.result_type() == REAL_RESULT; }

constexpr unsigned year_digits = 4;
constexpr unsigned most_bits = 64;

/// NULL has no digits.
Expression null_number(const Item& item) {
  if (item.cmp_type() == REAL_RESULT) return Expression::null(ValueKind::Real);
  return Expression::null(ValueKind::Integer).as(ValueType{.whole_digits = 1});
}

unsigned digits_of(const Field& field) {
  switch (field.real_type()) {
    case MYSQL_TYPE_TINY:
      return 3;
    case MYSQL_TYPE_SHORT:
      return 5;
    case MYSQL_TYPE_INT24:
      return 8;
    case MYSQL_TYPE_LONG:
      return 10;
    default:
      return ValueType::digits_of_bigint;
  }
}

/// Not known where an INT result is none.
Expression checked(const Item_func& function, const Expression& result) {
  const auto may_be_beyond = [](const Item* argument) {
    return argument->cmp_type() == DECIMAL_RESULT ||
           (argument->cmp_type() == INT_RESULT && argument->unsigned_flag);
  };
  const std::span<Item* const> arguments(function.arguments(), function.argument_count());
  return in_range(result, range_of(declared_type(function)), std::ranges::any_of(arguments, may_be_beyond));
}

}  // namespace

std::optional<Expression> ExpressionTranslator::column(Item& item) {
  const auto plain = columns_.field_of(item);
  if (!plain) return std::nullopt;
  const PlainField field = *plain;
  const auto scanned = scan_column(*field);
  if (!scanned) return std::nullopt;
  switch (field->real_type()) {
    case MYSQL_TYPE_TINY:
    case MYSQL_TYPE_SHORT:
    case MYSQL_TYPE_INT24:
    case MYSQL_TYPE_LONG:
    case MYSQL_TYPE_LONGLONG:
      return Expression::column(columns_.position_of(field), *scanned)
          .as(ValueType{.is_unsigned = (field->flags & UNSIGNED_FLAG) != 0,
                        .whole_digits = digits_of(*field)});
    case MYSQL_TYPE_BIT:
      // Its bytes are the number. Of 64 bits the server makes negative ones, as a DOUBLE.
      if (field->field_length >= most_bits) return std::nullopt;
      return Expression::column(columns_.position_of(field),
                                {.integer = true, .type = Type::Unsigned, .width = scanned->width})
          .as(ValueType{.is_unsigned = true});
    case MYSQL_TYPE_YEAR:
      if (field->field_length != year_digits) return std::nullopt;
      return Expression::of_column(columns_.position_of(field), *scanned, number_of_year())
          .as(ValueType{.is_unsigned = true, .whole_digits = year_digits});
    case MYSQL_TYPE_FLOAT:
    case MYSQL_TYPE_DOUBLE:
      return Expression::column(columns_.position_of(field), *scanned);
    case MYSQL_TYPE_NEWDECIMAL:
      return decimal_column(field, *scanned);
    default:
      return std::nullopt;
  }
}

/// As numbers, where the table says which columns hold them.
std::optional<Expression> ExpressionTranslator::decimal_column(PlainField field, const ScanColumn& scanned) {
  const auto& decimal = static_cast<const Field_new_decimal&>(*field);
  const auto type =
      ValueType::decimal(decimal.decimals(), decimal.precision - decimal.decimals(), ValueType::Scale::Sure);
  const auto position = columns_.scaled_position_of(field);
  if (!position)
    return Expression::of_column(columns_.position_of(field), scanned, decimal_number(decimal)).as(type);
  if (decimal.precision <= most_int64_digits)
    return Expression::column(*position, {.integer = true, .type = Type::Signed, .width = sizeof(int64_t)})
        .as(type);
  return Expression::column_of_numbers(
             *position,
             {.integer = false, .type = Type::OrderedBytes, .width = scaled_bytes(decimal_digits(decimal))})
      .as(type);
}

std::optional<Expression> ExpressionTranslator::constant(Item& item) {
  switch (item.cmp_type()) {
    case INT_RESULT: {
      const longlong value = item.val_int();
      if (item.null_value) return null_number(item);
      if (item.unsigned_flag)
        return Expression::constant(HugeInteger{{static_cast<uint64_t>(value), 0, 0, 0}});
      return Expression::constant(int64_t{value});
    }
    case REAL_RESULT: {
      const double value = item.val_real();
      return item.null_value ? null_number(item) : Expression::constant(value);
    }
    case DECIMAL_RESULT: {
      my_decimal buffer;
      const my_decimal* const value = item.val_decimal(&buffer);
      if (item.null_value || value == nullptr) return null_number(item);
      const auto type = ValueType::decimal(static_cast<unsigned>(value->frac),
                                           static_cast<unsigned>(value->intg), ValueType::Scale::Sure);
      if (type.scale > most_decimals || type.whole_digits + type.scale >= digits_of_huge) return std::nullopt;
      return Expression::constant(huge_number(*value, type.scale)).as(type);
    }
    default:
      if (item.real_item()->type() == Item::NULL_ITEM) return null_number(item);
      return std::nullopt;
  }
}

std::optional<Expression> ExpressionTranslator::arithmetic(Item_func& function, Function called) {
  const auto left = translate(*function.arguments()[0]);
  if (!left) return std::nullopt;
  const auto right = translate(*function.arguments()[1]);
  if (!right) return std::nullopt;
  if (is_real(function)) {
    const FunctionSettings settings{.tells_zero = called == Function::Divide && tells_zero()};
    return Expression::call(called, {as_real(*left), as_real(*right)}, settings);
  }
  if (left->is_real() || right->is_real()) return std::nullopt;
  const ValueType declared = declared_type(function);
  switch (called) {
    case Function::Divide:
      return quotient(*left, *right, static_cast<Item_func_div&>(function).prec_increment, tells_zero());
    case Function::Multiply:
      return product(*left, *right, declared);
    default:
      return sum(called, *left, *right, declared);
  }
}

std::optional<Expression> ExpressionTranslator::whole_division(Item_func& function, Function called) {
  // The zero that is left of a DECIMAL below 0 has its sign, and differs from 0 to the server.
  if (function.cmp_type() != INT_RESULT) return std::nullopt;
  const auto left = translate(*function.arguments()[0]);
  if (!left) return std::nullopt;
  const auto right = translate(*function.arguments()[1]);
  if (!right) return std::nullopt;
  return hailstone::whole_division(called, *left, *right, declared_type(function), tells_zero());
}

bool ExpressionTranslator::tells_zero() const {
  return (columns_.sources().thd().variables.sql_mode & MODE_ERROR_FOR_DIVISION_BY_ZERO) != 0;
}

std::optional<Expression> ExpressionTranslator::negative_number(Item_func& function) {
  const auto number = translate(*function.arguments()[0]);
  if (!number || number->is_real() != is_real(function)) return std::nullopt;
  return negative(*number, declared_type(function));
}

ExpressionTranslator::ResultOf ExpressionTranslator::numbers_of(Item_func& function, unsigned& whole_digits) {
  return [&](Item& argument) -> std::optional<Expression> {
    const auto number = translate(argument);
    if (!number) return std::nullopt;
    whole_digits = std::max(whole_digits, number->type().whole_digits);
    if (is_real(function)) return as_real(*number);
    return is_exact(function) ? with_scale(*number, decimals_of(function)) : std::nullopt;
  };
}

Expression ExpressionTranslator::number_of_choice(Item_func& function, const Expression& result,
                                                  unsigned scale, unsigned whole_digits) {
  if (is_real(function)) return result;
  return checked(function, result).as(ValueType::decimal(scale, whole_digits));
}

/// An exact one has the digits of that with the most: the server does not round it.
std::optional<Expression> ExpressionTranslator::one_of(
    Item_func& function, std::span<Item* const> results,
    const std::function<std::optional<Expression>(const ResultOf&)>& choose) {
  if (!is_real(function) && !is_exact(function)) return std::nullopt;
  unsigned scale = decimals_of(function), whole_digits = 0;
  for (Item* const result : results) {
    const auto number = translate(*result);
    if (!number) return std::nullopt;
    scale = std::max(scale, number->type().scale);
    whole_digits = std::max(whole_digits, number->type().whole_digits);
  }
  const auto result = choose([&](Item& argument) -> std::optional<Expression> {
    const auto number = translate(argument);
    if (!number) return std::nullopt;
    return is_real(function) ? as_real(*number) : with_scale(*number, scale);
  });
  return result ? std::optional(number_of_choice(function, *result, scale, whole_digits)) : std::nullopt;
}

std::optional<Expression> ExpressionTranslator::switched(Item_func& function) {
  const bool is_if = dynamic_cast<Item_func_if*>(&function) != nullptr;
  const uint conditions = is_if ? 1 : function.argument_count() / 2;
  const std::span<Item* const> results(function.arguments() + conditions,
                                       function.argument_count() - conditions);
  const ValueKind kind = is_real(function) ? ValueKind::Real : ValueKind::Integer;
  return one_of(function, results,
                [&](const ResultOf& result_of) { return chosen_argument(function, kind, result_of); });
}

std::optional<Expression> ExpressionTranslator::first_number(Item_func& function) {
  const std::span<Item* const> results(function.arguments(), function.argument_count());
  return one_of(function, results,
                [&](const ResultOf& result_of) { return first_argument(function, result_of); });
}

}  // namespace hailstone
