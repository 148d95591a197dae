// Functions of one number in expressions: without its sign, with fewer digits, of another type; and its bits.
#include <array>
#include <typeinfo>
#include <utility>

#include "decimal_numbers.h"
#include "expression/number_casts.h"
#include "select_expressions.h"

namespace hailstone {

namespace {

bool is_of_type(const Item_func& function, const std::type_info& type) { return typeid(function) == type; }

/// How many digits behind the point a constant asks ROUND and TRUNCATE for. Nothing: it is no constant, or
/// more of them, in front of the point or behind it, than numbers of 64 bits have.
std::optional<int> wanted_digits(Item& item) {
  constexpr longlong most = most_int64_digits;
  if (!is_plain_constant(item) || item.cmp_type() != INT_RESULT) return std::nullopt;
  const longlong digits = item.val_int();
  if (item.null_value || digits > most || digits < (item.unsigned_flag ? 0 : -most)) return std::nullopt;
  return static_cast<int>(digits);
}

std::optional<Function> function_of_bits(const Item_func& function) {
  static const std::array<std::pair<const std::type_info*, Function>, 6> functions{
      {{&typeid(Item_func_bit_and), Function::BitAnd},
       {&typeid(Item_func_bit_or), Function::BitOr},
       {&typeid(Item_func_bit_xor), Function::BitXor},
       {&typeid(Item_func_bit_neg), Function::BitNot},
       {&typeid(Item_func_shift_left), Function::ShiftLeft},
       {&typeid(Item_func_shift_right), Function::ShiftRight}}};
  for (const auto& [type, called] : functions) {
    if (is_of_type(function, *type)) return called;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Expression> ExpressionTranslator::of_number(Item_func& function) {
  if (is_of_type(function, typeid(Item_func_round))) return rounded(function);
  if (is_of_type(function, typeid(Item_func_signed)) || is_of_type(function, typeid(Item_func_unsigned)))
    return cast_to_integer(function);
  if (is_of_type(function, typeid(Item_decimal_typecast))) return cast_to_decimal(function);
  if (is_of_type(function, typeid(Item_func_bit_count))) {
    const auto of = bits(*function.arguments()[0]);
    return of ? std::optional(Expression::call(Function::BitCount, {*of})) : std::nullopt;
  }
  if (function_of_bits(function)) {
    const auto result = bits(function);
    return result ? std::optional(number_of_bits(*result)) : std::nullopt;
  }
  const bool is_floor = is_of_type(function, typeid(Item_func_floor)),
             is_absolute = is_of_type(function, typeid(Item_func_abs)),
             is_sign = is_of_type(function, typeid(Item_func_sign)),
             is_double = is_of_type(function, typeid(Item_double_typecast));
  if (!is_floor && !is_absolute && !is_sign && !is_double && !is_of_type(function, typeid(Item_func_ceiling)))
    return std::nullopt;
  // Of a fixed number of decimals, the cast rounds.
  if (is_double && function.decimals < NOT_FIXED_DEC) return std::nullopt;
  const auto number = exact_or_real(*function.arguments()[0]);
  if (!number) return std::nullopt;
  if (is_double) return as_real(*number);
  if (is_sign) return Expression::call(Function::Sign, {*number});
  if (number->is_real() != (function.cmp_type() == REAL_RESULT)) return std::nullopt;
  if (is_absolute) return Expression::call(Function::Absolute, {*number});
  const Function called = is_floor ? Function::Floor : Function::Ceiling;
  return whole_below_or_above(called, *number);
}

std::optional<Expression> ExpressionTranslator::exact_or_real(Item& item) {
  const auto number = translate(item);
  if (!number) return std::nullopt;
  if ((*number)->values != ValueKind::Integer) return number->is_real() ? number : std::nullopt;
  // Of more than 64 bits most functions that take these tell nothing.
  const bool is_long_column = item.real_item()->type() == Item::FIELD_ITEM &&
                              number->type().whole_digits + number->type().scale > most_int64_digits &&
                              item.cmp_type() == DECIMAL_RESULT;
  return is_long_column || number->type().scale > most_int64_digits ? std::nullopt : number;
}

std::optional<Expression> ExpressionTranslator::rounded(Item_func& function) {
  if (function.argument_count() != 2) return std::nullopt;
  const Function called =
      std::string_view(function.func_name()) == "truncate" ? Function::Truncate : Function::Round;
  const auto number = exact_or_real(*function.arguments()[0]);
  if (!number) return std::nullopt;
  const auto digits = wanted_digits(*function.arguments()[1]);
  if (!digits) return std::nullopt;
  if (number->is_real()) {
    if (function.cmp_type() != REAL_RESULT || *digits < 0) return std::nullopt;
    return Expression::call(called, {*number}, {.digits = static_cast<unsigned>(*digits)});
  }
  if (function.cmp_type() != INT_RESULT && function.cmp_type() != DECIMAL_RESULT) return std::nullopt;
  // What the kernels take at once.
  if (static_cast<int>(number->type().scale) - *digits > static_cast<int>(most_int64_digits))
    return std::nullopt;
  const auto shown = rounded_at(called, *number, *digits, decimals_of(function));
  if (!shown) return std::nullopt;
  return number_of_choice(function, *shown, decimals_of(function), shown->type().whole_digits);
}

std::optional<Expression> ExpressionTranslator::cast_to_integer(Item_func& function) {
  if (function.arguments()[0]->cmp_type() == TIME_RESULT) return number_of_moment(*function.arguments()[0]);
  const auto number = exact_or_real(*function.arguments()[0]);
  if (!number) return std::nullopt;
  const Expression whole = cast_to_whole(*number, function.unsigned_flag);
  return number->is_real() ? whole : number_of_choice(function, whole, 0, whole.type().whole_digits);
}

std::optional<Expression> ExpressionTranslator::cast_to_decimal(Item_func& function) {
  const decimal_digits_t scale = function.decimals;
  const uint digits = function.decimal_precision();
  if (function.unsigned_flag || digits > most_int64_digits) return std::nullopt;
  const auto number = exact_or_real(*function.arguments()[0]);
  if (!number || number->is_real()) return std::nullopt;
  return cast_to_digits(*number, digits, scale);
}

std::optional<Expression> ExpressionTranslator::bits(Item& item) {
  if (item.cmp_type() != INT_RESULT) return std::nullopt;
  Item& real = *item.real_item();
  const auto called =
      real.type() == Item::FUNC_ITEM ? function_of_bits(static_cast<Item_func&>(real)) : std::nullopt;
  if (!called) return translate(item);
  auto& function = static_cast<Item_func&>(real);
  const auto inputs = arguments_of(function, [this](Item& argument) { return bits(argument); });
  return inputs ? std::optional(Expression::call(*called, *inputs)) : std::nullopt;
}

}  // namespace hailstone
