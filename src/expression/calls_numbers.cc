// Numbers by the names of SQL: arithmetic, rounding, bits.
#include "expression/call_rules.h"
#include "expression/number_casts.h"

namespace hailstone {

namespace {

constexpr unsigned digits_of_day = 8, digits_of_moment = 14, digits_of_bits = 21;

using Kind = SqlType::Kind;

/// Of zero the scale is forgotten, and of choices it is that of the value that was chosen. Here a number has
/// the scale of its type.
Expression with_sure_scale(const Expression& number) {
  if (number.type().is_sure()) return number;
  ValueType type = number.type();
  type.scale_is = ValueType::Scale::SureUnlessZero;
  return number.as(type);
}

struct Numbers {
  Expression first, second;
  bool any_real() const { return first.sql().is_real() || second.sql().is_real(); }
  bool any_decimal() const { return first.sql().kind == Kind::Decimal || second.sql().kind == Kind::Decimal; }
  unsigned scale() const { return std::max(first.sql().scale, second.sql().scale); }
  unsigned whole_digits() const { return std::max(first.sql().whole_digits(), second.sql().whole_digits()); }
  /// An INT is unsigned where one of the two is; a DECIMAL where both are.
  bool is_unsigned(bool is_decimal) const {
    const bool one = first.sql().is_unsigned, other = second.sql().is_unsigned;
    return is_decimal ? one && other : one || other;
  }
};

Result<Numbers> numbers_of(const CallRule& call) {
  HAILSTONE_ASSIGN(const Expression first, number_of(call, call.argument(0)));
  HAILSTONE_ASSIGN(const Expression second, number_of(call, call.argument(1)));
  return Numbers{first, second};
}

ValueType declared(const SqlType& type) {
  return {.kind = type.kind == Kind::Decimal ? ValueType::Kind::Decimal : ValueType::Kind::Integer,
          .is_unsigned = type.is_unsigned};
}

/// An exact result of the type.
Result<Expression> exact(const CallRule& call, const std::optional<Expression>& result, SqlType type) {
  HAILSTONE_ASSIGN(const Expression value, or_too_long(call, result));
  return typed(call, type.kind == Kind::Integer ? as_integer(value, type.is_unsigned) : value, type);
}

Result<Expression> real(const CallRule& call, Function called, const Numbers& of,
                        const FunctionSettings& settings = {}) {
  const unsigned more = called == Function::Divide ? call.settings.quotient_digits : 0;
  const unsigned scale = std::min(of.scale() + more, SqlType::any_scale);
  return typed(call, Expression::call(called, {as_real(of.first), as_real(of.second)}, settings),
               SqlType::real(scale));
}

Result<Expression> add_or_subtract(const CallRule& call, Function called) {
  HAILSTONE_ASSIGN(const Numbers of, numbers_of(call));
  if (of.any_real()) return real(call, called, of);
  const bool is_unsigned = of.is_unsigned(of.any_decimal());
  const unsigned digits = of.whole_digits() + 1 + of.scale();
  const SqlType type = of.any_decimal() ? SqlType::decimal(digits, of.scale(), is_unsigned)
                                        : SqlType::integer(digits, is_unsigned);
  return exact(call, sum(called, of.first, of.second, declared(type)), type);
}

}  // namespace

Result<Expression> number_of(const CallRule& call, const Expression& argument) {
  const SqlType& type = argument.sql();
  if (type.kind == Kind::Null) return null_number(SqlType::real());
  if (type.is_number()) return argument;
  if (!type.is_moment()) return call.refuse("numbers", type);
  if (type.scale != 0) return call.left_out("a fraction of seconds as a number");
  const unsigned digits = type.kind == Kind::Date ? digits_of_day : digits_of_moment;
  return typed_nullable(number_of_moment(argument), SqlType::integer(digits));
}

Expression null_number(const SqlType& type) {
  if (type.is_real()) return Expression::null(ValueKind::Real).as(type);
  return Expression::null(ValueKind::Integer).as(ValueType{.whole_digits = 1, .sql = type});
}

Result<Expression> exact_or_null(const CallRule& call, const Expression& argument) {
  return argument.sql().kind == Kind::Null ? null_number(SqlType::integer(0)) : number_of(call, argument);
}

Result<Expression> compared_number(const CallRule& call, const Expression& argument) {
  HAILSTONE_ASSIGN(const Expression number, exact_or_null(call, argument));
  if (number.is_real() || number.type().scale <= number.sql().scale) return number;
  HAILSTONE_ASSIGN(const Expression shown, or_too_long(call, rounded_to(number, number.sql().scale)));
  return shown.as(number.sql());
}

Result<Expression> whole_of(const CallRule& call, const Expression& argument) {
  const SqlType& type = argument.sql();
  if (type.kind == Kind::Null) return null_number(SqlType::integer(0));
  if (type.kind != Kind::Integer) return call.refuse("a whole number", type);
  return argument;
}

Result<Expression> make_sum(const CallRule& call) { return add_or_subtract(call, Function::Add); }

Result<Expression> make_difference(const CallRule& call) {
  if (call.arguments.size() == 1) return make_negative(call);
  return add_or_subtract(call, Function::Subtract);
}

Result<Expression> make_product(const CallRule& call) {
  HAILSTONE_ASSIGN(const Numbers of, numbers_of(call));
  if (of.any_real()) return real(call, Function::Multiply, of);
  const bool is_unsigned = of.is_unsigned(of.any_decimal());
  const SqlType &one = of.first.sql(), &other = of.second.sql();
  const unsigned digits = one.digits + other.digits;
  const SqlType type = of.any_decimal() ? SqlType::decimal(digits, one.scale + other.scale, is_unsigned)
                                        : SqlType::integer(digits, is_unsigned);
  return exact(call, product(of.first, of.second, declared(type)), type);
}

Result<Expression> make_quotient(const CallRule& call) {
  HAILSTONE_ASSIGN(const Numbers of, numbers_of(call));
  const LanguageSettings& settings = call.settings;
  if (of.any_real()) {
    HAILSTONE_ASSIGN(const Expression value,
                     real(call, Function::Divide, of, {.tells_zero = settings.tells_zero}));
    return typed_nullable(value, value.sql());
  }
  const SqlType &dividend = of.first.sql(), &divisor = of.second.sql();
  const unsigned digits = dividend.digits + divisor.scale + settings.quotient_digits;
  const SqlType type =
      SqlType::decimal(digits, dividend.scale + settings.quotient_digits, of.is_unsigned(true));
  const auto value = quotient(with_sure_scale(of.first), with_sure_scale(of.second), settings.quotient_digits,
                              settings.tells_zero);
  HAILSTONE_ASSIGN(const Expression result, or_too_long(call, value));
  return typed_nullable(result, type);
}

namespace {

Result<Expression> divide_whole(const CallRule& call, Function called) {
  HAILSTONE_ASSIGN(const Expression dividend, exact_or_null(call, call.argument(0)));
  HAILSTONE_ASSIGN(const Expression divisor, exact_or_null(call, call.argument(1)));
  const Numbers of{dividend, divisor};
  if (of.any_real()) return call.left_out("DOUBLE; CAST it AS DECIMAL");
  const bool is_quotient = called == Function::IntegerDivide;
  if (!is_quotient && (dividend.is_null() || divisor.is_null())) return null_number(SqlType::real());
  const bool is_whole = is_quotient || !of.any_decimal();
  const bool is_unsigned = of.is_unsigned(false);
  // A digit less, where there is a sign.
  const unsigned whole_digits = of.first.sql().whole_digits();
  SqlType type = SqlType::integer(is_unsigned ? whole_digits : std::max(whole_digits, 1U) - 1, is_unsigned);
  if (!is_quotient) {
    const unsigned digits = std::max(of.first.sql().digits, of.second.sql().digits);
    type = is_whole ? SqlType::integer(digits, of.first.sql().is_unsigned)
                    : SqlType::decimal(digits, of.scale(), of.first.sql().is_unsigned);
  }
  ValueType value = declared(type);
  if (!is_whole) {
    value.scale = std::max(of.first.type().scale, of.second.type().scale);
    value.whole_digits = std::min(of.first.type().whole_digits, of.second.type().whole_digits);
    value.scale_is = ValueType::Scale::SureUnlessZero;
  }
  HAILSTONE_ASSIGN(
      const Expression result,
      exact(call, whole_division(called, of.first, of.second, value, call.settings.tells_zero), type));
  return typed_nullable(result, type);
}

}  // namespace

Result<Expression> make_whole_quotient(const CallRule& call) {
  return divide_whole(call, Function::IntegerDivide);
}

Result<Expression> make_remainder(const CallRule& call) { return divide_whole(call, Function::Remainder); }

Result<Expression> make_negative(const CallRule& call) {
  HAILSTONE_ASSIGN(const Expression number, number_of(call, call.argument(0)));
  SqlType type = number.sql();
  // A DECIMAL without its sign.
  if (type.kind == Kind::Decimal && !type.is_unsigned) ++type.digits;
  type.is_unsigned = false;
  if (number.is_real()) {
    type.kind = Kind::Double;
    return typed(call, negative(number, {}), type);
  }
  if (type.kind == Kind::Decimal) type.digits = std::min(type.digits, SqlType::most_digits);
  return exact(call, negative(number, declared(type)), type);
}

Result<Expression> make_magnitude(const CallRule& call) {
  HAILSTONE_ASSIGN(const Expression number, number_of(call, call.argument(0)));
  SqlType type = number.sql();
  if (type.kind == Kind::Float) type.kind = Kind::Double;
  return typed(call, Expression::call(Function::Absolute, {number}), type);
}

Result<Expression> make_sign(const CallRule& call) {
  HAILSTONE_ASSIGN(const Expression number, number_of(call, call.argument(0)));
  return typed(call, Expression::call(Function::Sign, {number}), SqlType::integer(1));
}

namespace {

Result<Expression> floor_or_ceiling(const CallRule& call, Function called) {
  HAILSTONE_ASSIGN(const Expression number, number_of(call, call.argument(0)));
  const SqlType& of = number.sql();
  const Expression result = whole_below_or_above(called, number);
  if (number.is_real()) return typed(call, result, SqlType::real(0));
  if (of.kind == Kind::Integer) return typed(call, as_integer(result, of.is_unsigned), of);
  constexpr unsigned most_digits_of_integer = 18;
  const bool grows = of.scale > 0 && (called == Function::Ceiling || !of.is_unsigned);
  const unsigned digits = std::max(of.whole_digits() + (grows ? 1 : 0), 1U);
  if (digits > most_digits_of_integer)
    return typed(call, result, SqlType::decimal(digits, 0, of.is_unsigned));
  return typed(call, as_integer(in_range(result, range_of({.is_unsigned = of.is_unsigned})), of.is_unsigned),
               SqlType::integer(digits, of.is_unsigned));
}

Result<Expression> round_or_truncate(const CallRule& call, Function called) {
  HAILSTONE_ASSIGN(const Expression number, number_of(call, call.argument(0)));
  int64_t digits = 0;
  if (call.arguments.size() == 2) {
    const auto constant = call.argument(1).whole_constant();
    if (!constant || call.type(1).kind != Kind::Integer) return call.left_out("digits that are no constant");
    // A number has no more digits than these.
    constexpr int64_t most = SqlType::most_digits;
    digits = std::clamp(*constant, -most, most);
  }
  const SqlType& of = number.sql();
  if (number.is_real()) {
    if (digits < 0 || digits > int64_t{most_int64_digits})
      return call.left_out("DOUBLE with digits below 0 or above 18");
    const auto kept = static_cast<unsigned>(digits);
    return typed(call, Expression::call(called, {number}, {.digits = kept}), SqlType::real(kept));
  }
  const unsigned shown = static_cast<unsigned>(std::clamp<int64_t>(digits, 0, SqlType::most_scale));
  const bool may_grow = called == Function::Round && digits < int64_t{of.scale};
  if (of.kind == Kind::Integer) {
    HAILSTONE_ASSIGN(
        const Expression result,
        or_too_long(call, rounded_at(called, number, static_cast<int>(std::min<int64_t>(digits, 0)), 0)));
    const Expression checked =
        may_grow ? in_range(result, range_of({.is_unsigned = of.is_unsigned})) : result;
    return typed(call, as_integer(checked, of.is_unsigned),
                 SqlType::integer(of.digits + (may_grow ? 1 : 0), of.is_unsigned));
  }
  HAILSTONE_ASSIGN(const Expression result,
                   or_too_long(call, rounded_at(called, number,
                                                static_cast<int>(std::min<int64_t>(digits, shown)), shown)));
  const int changed = static_cast<int>(of.scale) - static_cast<int>(shown);
  const int all = static_cast<int>(of.digits) - changed + (changed > 0 && called == Function::Round ? 1 : 0);
  return typed(call, result,
               SqlType::decimal(static_cast<unsigned>(std::max(all, 1)), shown, of.is_unsigned));
}

/// The bits of a whole number.
Result<Expression> bits(const CallRule& call, size_t number) {
  HAILSTONE_ASSIGN(const Expression of, whole_of(call, call.argument(number)));
  return bits_of(of);
}

Result<Expression> call_of_bits(const CallRule& call, Function called) {
  std::vector<Expression> inputs;
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    HAILSTONE_ASSIGN(const Expression of, bits(call, i));
    inputs.push_back(of);
  }
  return typed(call, as_integer(number_of_bits(Expression::call(called, inputs)), true),
               SqlType::integer(digits_of_bits, true));
}

}  // namespace

Result<Expression> make_floor(const CallRule& call) { return floor_or_ceiling(call, Function::Floor); }
Result<Expression> make_ceiling(const CallRule& call) { return floor_or_ceiling(call, Function::Ceiling); }
Result<Expression> make_round(const CallRule& call) { return round_or_truncate(call, Function::Round); }
Result<Expression> make_truncate(const CallRule& call) { return round_or_truncate(call, Function::Truncate); }

Result<Expression> make_bit_and(const CallRule& call) { return call_of_bits(call, Function::BitAnd); }
Result<Expression> make_bit_or(const CallRule& call) { return call_of_bits(call, Function::BitOr); }
Result<Expression> make_bit_xor(const CallRule& call) { return call_of_bits(call, Function::BitXor); }
Result<Expression> make_bit_not(const CallRule& call) { return call_of_bits(call, Function::BitNot); }
Result<Expression> make_shift_left(const CallRule& call) { return call_of_bits(call, Function::ShiftLeft); }
Result<Expression> make_shift_right(const CallRule& call) { return call_of_bits(call, Function::ShiftRight); }
Result<Expression> make_bit_count(const CallRule& call) {
  HAILSTONE_ASSIGN(const Expression of, bits(call, 0));
  return typed(call, Expression::call(Function::BitCount, {of}), SqlType::integer(1));
}

}  // namespace hailstone
