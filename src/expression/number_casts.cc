#include "expression/number_casts.h"

#include <algorithm>

namespace hailstone {

Expression in_range(const Expression& number, NumberRange range, bool may_be_beyond) {
  if (range == NumberRange::Any || (range == NumberRange::Signed && !may_be_beyond)) return number;
  return Expression::call(Function::InRange, {number}, {.range = range}).as(number.type());
}

Expression as_integer(const Expression& number, bool is_unsigned) {
  ValueType type = number.type();
  type.kind = ValueType::Kind::Integer;
  type.is_unsigned = is_unsigned;
  type.whole_digits = std::min(type.whole_digits, ValueType::digits_of_bigint);
  type.scale_is = ValueType::Scale::Sure;
  return number.as(type);
}

std::optional<Expression> rounded_at(Function called, const Expression& number, int digits, unsigned shown) {
  const int dropped = static_cast<int>(number.type().scale) - digits;
  if (dropped > static_cast<int>(digits_of_huge)) return std::nullopt;
  Expression result = number;
  if (dropped > 0) result = without_digits(called, result, static_cast<unsigned>(dropped));
  if (digits < 0) {
    const Expression power = Expression::constant(power_of_ten(static_cast<unsigned>(-digits)));
    result = Expression::call(Function::Multiply, {result, power}).as(result.type());
  }
  return with_scale(result, shown);
}

Expression whole_below_or_above(Function called, const Expression& number) {
  if (number.is_real()) return Expression::call(called, {number});
  return without_digits(called, number, number.type().scale)
      .as(ValueType::decimal(0, number.type().whole_digits + 1));
}

Expression cast_to_whole(const Expression& number, bool is_unsigned) {
  // What is below 0 becomes a number beyond 2^63, with a note.
  const auto not_negative = [is_unsigned](const Expression& result) {
    return is_unsigned ? in_range(result, NumberRange::Unsigned) : result;
  };
  if (number.is_real()) return not_negative(Expression::call(Function::ToInteger, {number}));
  return without_digits(Function::Round, not_negative(number), number.type().scale);
}

std::optional<Expression> cast_to_digits(const Expression& number, unsigned digits, unsigned scale) {
  const auto result = rounded_to(number, scale);
  if (!result) return std::nullopt;
  return Expression::call(Function::InDigits, {*result}, {.digits = digits})
      .as(ValueType::decimal(scale, digits - scale));
}

const Expression& bits_of(const Expression& number) {
  return number.is_call(Function::AsUnsigned) ? number->arguments.front() : number;
}

Expression number_of_bits(const Expression& bits) {
  const auto is_constant = [](const Expression& of, int64_t least, int64_t most) {
    const auto number = of.whole_constant();
    return number && *number >= least && *number <= most;
  };
  const std::vector<Expression>& of = bits->arguments;
  const bool is_masked = bits.is_call(Function::BitAnd) &&
                         (is_constant(of[0], 0, INT64_MAX) || is_constant(of[1], 0, INT64_MAX));
  const bool is_shifted = bits.is_call(Function::ShiftRight) && is_constant(of[1], 1, 63);
  return is_masked || is_shifted ? bits : Expression::call(Function::AsUnsigned, {bits});
}

}  // namespace hailstone
