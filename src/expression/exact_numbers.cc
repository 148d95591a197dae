#include "expression/exact_numbers.h"

#include <algorithm>

namespace hailstone {

namespace {

/// Of a sum, a difference or a product. The server looks at a second DECIMAL only where the first is not
/// NULL.
FunctionSettings exact_settings(const ValueType& declared) {
  return {.in_order = declared.kind == ValueType::Kind::Decimal, .range = range_of(declared)};
}

ValueType exact_type(const ValueType& declared, unsigned scale, unsigned whole_digits) {
  ValueType type = declared;
  type.scale = scale;
  type.whole_digits = whole_digits;
  type.scale_is = ValueType::Scale::Unsure;
  return type;
}

}  // namespace

std::optional<Expression> with_scale(const Expression& number, unsigned scale) {
  const ValueType& type = number.type();
  if (number->values != ValueKind::Integer || type.scale > scale) return std::nullopt;
  if (type.scale == scale) return number;
  if (type.whole_digits + scale > digits_of_huge) return std::nullopt;
  ValueType wider = type;
  wider.kind = ValueType::Kind::Decimal;
  wider.scale = scale;
  return Expression::call(Function::Multiply,
                          {number, Expression::constant(power_of_ten(scale - type.scale))})
      .as(wider);
}

std::optional<Expression> rounded_to(const Expression& number, unsigned scale) {
  if (number.type().scale <= scale) return with_scale(number, scale);
  return Expression::call(Function::Round, {number}, {.digits = number.type().scale - scale})
      .as(exact_type(number.type(), scale, number.type().whole_digits + 1));
}

Expression as_real(const Expression& number) {
  if (number.is_real()) return number;
  return Expression::call(Function::ToReal, {number}, {.digits = number.type().scale});
}

/// Zero, which two numbers may give, has no digits behind the point. So the scale of what is made of that is
/// sure only where it is another one's, too.
std::optional<Expression> sum(Function called, const Expression& left, const Expression& right,
                              const ValueType& declared) {
  const ValueType &first = left.type(), &second = right.type();
  ValueType type = exact_type(declared, std::max(first.scale, second.scale),
                              std::max(first.whole_digits, second.whole_digits) + 1);
  if (declared.kind != ValueType::Kind::Integer &&
      words_of(type.whole_digits - 1) + 1 + words_of(type.scale) > most_words)
    return std::nullopt;
  const auto a = with_scale(left, type.scale), b = with_scale(right, type.scale);
  if (!a || !b || type.whole_digits + type.scale > digits_of_huge) return std::nullopt;
  const auto may_lose_scale = [](const ValueType& one, const ValueType& other) {
    return one.scale > other.scale && one.scale_is != ValueType::Scale::Sure;
  };
  if (first.is_sure() && second.is_sure() && !may_lose_scale(first, second) && !may_lose_scale(second, first))
    type.scale_is = ValueType::Scale::SureUnlessZero;
  return Expression::call(called, {*a, *b}, exact_settings(declared)).as(type);
}

std::optional<Expression> product(const Expression& left, const Expression& right,
                                  const ValueType& declared) {
  const ValueType &first = left.type(), &second = right.type();
  ValueType type = exact_type(declared, first.scale + second.scale, first.whole_digits + second.whole_digits);
  const unsigned used = words_of(first.whole_digits) + words_of(second.whole_digits) + words_of(first.scale) +
                        words_of(second.scale);
  if (type.scale > most_decimals || type.whole_digits + type.scale > digits_of_huge ||
      (declared.kind != ValueType::Kind::Integer && used > most_words))
    return std::nullopt;
  if (first.is_sure() && second.is_sure()) type.scale_is = ValueType::Scale::SureUnlessZero;
  return Expression::call(Function::Multiply, {left, right}, exact_settings(declared)).as(type);
}

std::optional<Expression> quotient(const Expression& dividend, const Expression& divisor, unsigned increment,
                                   bool tells_zero) {
  const ValueType &first = dividend.type(), &second = divisor.type();
  if (!first.is_sure() || !second.is_sure()) return std::nullopt;
  const ValueType type =
      ValueType::decimal(quotient_decimals(first.scale, second.scale, increment),
                         first.whole_digits + second.scale, ValueType::Scale::SureUnlessZero);
  const unsigned digits = type.scale + second.scale - first.scale;
  if (words_of(type.whole_digits + 1) + words_of(type.scale) > most_words ||
      first.whole_digits + first.scale + digits > digits_of_huge)
    return std::nullopt;
  return Expression::call(Function::DecimalDivide, {dividend, divisor},
                          {.tells_zero = tells_zero, .digits = digits})
      .as(type);
}

std::optional<Expression> whole_division(Function called, const Expression& dividend,
                                         const Expression& divisor, const ValueType& declared,
                                         bool tells_zero) {
  const ValueType &first = dividend.type(), &second = divisor.type();
  const unsigned scale = std::max(first.scale, second.scale);
  if (words_of(first.whole_digits + second.scale + 1) > most_words) return std::nullopt;
  const auto a = with_scale(dividend, scale), b = with_scale(divisor, scale);
  if (!a || !b) return std::nullopt;
  return Expression::call(called, {*a, *b}, {.tells_zero = tells_zero, .range = range_of(declared)})
      .as(declared);
}

Expression negative(const Expression& number, const ValueType& declared) {
  if (number.is_real()) return Expression::call(Function::Multiply, {number, Expression::constant(-1.0)});
  return Expression::call(Function::Subtract, {Expression::constant(int64_t{0}), number},
                          {.range = range_of(declared)})
      .as(number.type());
}

Expression without_digits(Function called, const Expression& number, unsigned digits) {
  if (digits == 0) return number;
  return Expression::call(called, {number}, {.digits = digits})
      .as(exact_type(number.type(), number.type().scale - std::min(digits, number.type().scale),
                     number.type().whole_digits + 1));
}

std::optional<Expression> compared(Function called, const Expression& left, const Expression& right) {
  const unsigned scale = std::max(left.type().scale, right.type().scale);
  const auto a = with_scale(left, scale), b = with_scale(right, scale);
  if (!a || !b) return std::nullopt;
  return Expression::call(called, {*a, *b});
}

}  // namespace hailstone
