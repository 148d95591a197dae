// Functions of one number in programs: without its sign, with fewer digits, of another type; and its bits.
#include <array>
#include <typeinfo>
#include <utility>

#include "decimal_numbers.h"
#include "select_numbers.h"

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

std::optional<Number> NumberTranslator::of_number(Item_func& function) {
  if (is_of_type(function, typeid(Item_func_round))) return rounded(function);
  if (is_of_type(function, typeid(Item_func_signed)) || is_of_type(function, typeid(Item_func_unsigned)))
    return cast_to_integer(function);
  if (is_of_type(function, typeid(Item_decimal_typecast))) return cast_to_decimal(function);
  if (is_of_type(function, typeid(Item_func_bit_count))) {
    const auto of = bits(*function.arguments()[0]);
    return of ? std::optional(Number{call(Function::BitCount, {*of}), 0}) : std::nullopt;
  }
  if (function_of_bits(function)) {
    const auto result = bits(function);
    return result ? std::optional(Number{not_wide(*result), 0}) : std::nullopt;
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
  if (is_double) {
    const auto real = as_real(*number);
    return real ? std::optional(Number{*real, 0}) : std::nullopt;
  }
  if (is_sign) return Number{call(Function::Sign, {number->result}), 0};
  const bool is_real = program_.kind(number->result) == ValueKind::Real;
  if (is_real != (function.cmp_type() == REAL_RESULT)) return std::nullopt;
  if (is_absolute) {
    Number absolute = *number;
    absolute.result = call(Function::Absolute, {number->result});
    return absolute;
  }
  const Function called = is_floor ? Function::Floor : Function::Ceiling;
  if (is_real) return Number{call(called, {number->result}), 0};
  return Number{.result = divided(called, number->result, number->scale),
                .whole_digits = number->whole_digits + 1};
}

std::optional<Number> NumberTranslator::exact_or_real(Item& item) {
  const auto number = translate(item);
  if (!number) return std::nullopt;
  const ValueKind kind = program_.kind(number->result);
  if (kind != ValueKind::Integer) return kind == ValueKind::Real ? number : std::nullopt;
  // Of more than 64 bits most functions that take these tell nothing.
  const bool is_long_column = item.real_item()->type() == Item::FIELD_ITEM &&
                              number->whole_digits + number->scale > most_int64_digits &&
                              item.cmp_type() == DECIMAL_RESULT;
  return is_long_column || number->scale > most_int64_digits ? std::nullopt : number;
}

Program::Register NumberTranslator::divided(Function called, Register number, unsigned digits) {
  if (digits == 0) return number;
  return program_.call(called, std::array{number}, {.digits = digits});
}

std::optional<Number> NumberTranslator::rounded(Item_func& function) {
  if (function.argument_count() != 2) return std::nullopt;
  const Function called =
      std::string_view(function.func_name()) == "truncate" ? Function::Truncate : Function::Round;
  const auto number = exact_or_real(*function.arguments()[0]);
  if (!number) return std::nullopt;
  const auto digits = wanted_digits(*function.arguments()[1]);
  if (!digits) return std::nullopt;
  if (program_.kind(number->result) == ValueKind::Real) {
    if (function.cmp_type() != REAL_RESULT || *digits < 0) return std::nullopt;
    return Number{
        program_.call(called, std::array{number->result}, {.digits = static_cast<unsigned>(*digits)}), 0};
  }
  if (function.cmp_type() != INT_RESULT && function.cmp_type() != DECIMAL_RESULT) return std::nullopt;
  const auto scale = static_cast<int>(number->scale);
  const unsigned shown = function.cmp_type() == DECIMAL_RESULT ? function.decimals : 0;
  const int dropped = scale - *digits;
  if (dropped > static_cast<int>(most_int64_digits)) return std::nullopt;
  Number result = *number;
  if (dropped > 0)
    result = {.result = divided(called, number->result, static_cast<unsigned>(dropped)),
              .scale = static_cast<unsigned>(std::max(*digits, 0)),
              .whole_digits = number->whole_digits + 1};
  if (*digits < 0)
    result.result =
        call(Function::Multiply,
             {result.result, program_.constant(int64_powers_of_ten[static_cast<size_t>(-*digits)])});
  const auto with_scale = scaled(result, shown);
  if (!with_scale) return std::nullopt;
  result.result = checked(function, *with_scale);
  result.scale = shown;
  result.scale_is = Number::Scale::Unsure;
  return result;
}

std::optional<Number> NumberTranslator::cast_to_integer(Item_func& function) {
  if (function.arguments()[0]->cmp_type() == TIME_RESULT) return number_of_moment(*function.arguments()[0]);
  const auto number = exact_or_real(*function.arguments()[0]);
  if (!number) return std::nullopt;
  Register result = number->result;
  if (program_.kind(result) == ValueKind::Real) {
    const Register whole = call(Function::ToInteger, {result});
    return Number{
        function.unsigned_flag ? call(Function::InRange, {whole}, {.range = NumberRange::Unsigned}) : whole,
        0};
  }
  // What is below 0 becomes a number beyond 2^63, with a note.
  if (function.unsigned_flag) result = call(Function::InRange, {result}, {.range = NumberRange::Unsigned});
  return Number{checked(function, divided(Function::Round, result, number->scale)), 0};
}

std::optional<Number> NumberTranslator::cast_to_decimal(Item_func& function) {
  const decimal_digits_t scale = function.decimals;
  const uint digits = function.decimal_precision();
  if (function.unsigned_flag || digits > most_int64_digits) return std::nullopt;
  const auto number = exact_or_real(*function.arguments()[0]);
  if (!number || program_.kind(number->result) == ValueKind::Real) return std::nullopt;
  const auto result = number->scale > scale
                          ? std::optional(divided(Function::Round, number->result, number->scale - scale))
                          : scaled(*number, scale);
  if (!result) return std::nullopt;
  return Number{.result = program_.call(Function::InDigits, std::array{*result}, {.digits = digits}),
                .scale = scale,
                .whole_digits = digits - scale,
                .scale_is = Number::Scale::Unsure};
}

std::optional<Program::Register> NumberTranslator::bits(Item& item) {
  if (item.cmp_type() != INT_RESULT) return std::nullopt;
  Item& real = *item.real_item();
  const auto called =
      real.type() == Item::FUNC_ITEM ? function_of_bits(static_cast<Item_func&>(real)) : std::nullopt;
  if (!called) {
    const auto number = translate(item);
    return number ? std::optional(number->result) : std::nullopt;
  }
  auto& function = static_cast<Item_func&>(real);
  std::vector<Register> inputs;
  for (uint i = 0; i < function.argument_count(); ++i) {
    const auto input = bits(*function.arguments()[i]);
    if (!input) return std::nullopt;
    inputs.push_back(*input);
  }
  return program_.call(*called, inputs);
}

Program::Register NumberTranslator::not_wide(Register bits) {
  const auto is_constant = [this](Register number, int64_t least, int64_t most) {
    const Program::Instruction& of = program_.instructions()[number];
    return of.operation == Program::Opcode::Constant && of.huge == HugeInteger() && of.integer >= least &&
           of.integer <= most;
  };
  const Program::Instruction& made = program_.instructions()[bits];
  const bool is_masked =
      made.operation == Program::Opcode::Call && made.function == Function::BitAnd &&
      (is_constant(made.inputs[0], 0, INT64_MAX) || is_constant(made.inputs[1], 0, INT64_MAX));
  const bool is_shifted = made.operation == Program::Opcode::Call && made.function == Function::ShiftRight &&
                          is_constant(made.inputs[1], 1, 63);
  return is_masked || is_shifted ? bits : call(Function::AsUnsigned, {bits});
}

}  // namespace hailstone
