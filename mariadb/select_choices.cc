// Choices by values in programs: CASE with a value, NULLIF, GREATEST and LEAST, IN; and truths of truths.
#include <algorithm>
#include <array>
#include <typeinfo>
#include <utility>

#include "collation.h"
#include "decimal_numbers.h"
#include "pushdown_warnings.h"
#include "select_numbers.h"

namespace hailstone {

namespace {

bool is_any_number(const Item& item) { return is_exact(item) || item.cmp_type() == REAL_RESULT; }
bool is_null_literal(Item& item) { return item.real_item()->type() == Item::NULL_ITEM; }

bool is_extreme_of_arguments(const Item_func& function) {
  return typeid(function) == typeid(Item_func_min) || typeid(function) == typeid(Item_func_max);
}

/// A constant with so many digits behind the point. Nothing: it has others than 0 behind these, or is beyond
/// 64 bits, so that no number of 64 bits is equal to it.
std::optional<int64_t> with_digits(int64_t constant, unsigned scale, unsigned wanted) {
  for (; scale > wanted; --scale) {
    if (constant % 10 != 0) return std::nullopt;
    constant /= 10;
  }
  for (; scale < wanted; ++scale) {
    if (__builtin_mul_overflow(constant, int64_t{10}, &constant)) return std::nullopt;
  }
  return constant;
}

}  // namespace

std::optional<Number> NumberTranslator::chosen_by_value(Item_func& function) {
  const ValueKind kind = function.cmp_type() == REAL_RESULT ? ValueKind::Real : ValueKind::Integer;
  const unsigned scale = function.cmp_type() == DECIMAL_RESULT ? function.decimals : 0U;
  unsigned whole_digits = 0;
  std::optional<Register> result;
  if (typeid(function) == typeid(Item_func_case_simple)) {
    result = switched_by_value(function, kind, numbers_of(function, whole_digits));
  } else if (typeid(function) == typeid(Item_func_nullif)) {
    result = null_if(function, kind, numbers_of(function, whole_digits));
  } else if (is_extreme_of_arguments(function)) {
    result = extreme(function, numbers_of(function, whole_digits));
  }
  if (!result) return std::nullopt;
  return Number{.result = checked(function, *result), .scale = scale, .whole_digits = whole_digits};
}

std::optional<Program::Register> NumberTranslator::switched_by_value(Item_func& function, ValueKind kind,
                                                                     const ResultOf& result_of) {
  Item** const arguments = function.arguments();
  const uint values = (function.argument_count() - 1) / 2;
  const bool has_else = function.argument_count() % 2 == 0;
  const std::span<Item*> compared(arguments, 1 + values);
  const auto holds_for_all = [&](const auto& test) {
    return std::ranges::all_of(compared, [&](Item* item) { return is_null_literal(*item) || test(*item); });
  };
  std::vector<Register> conditions;
  if (holds_for_all([](Item& item) { return is_exact(item); })) {
    // The server asks for the value once for each way of comparing it.
    const bool is_one_way =
        std::ranges::all_of(compared, [](const Item* item) { return item->cmp_type() == INT_RESULT; }) ||
        compared.front()->cmp_type() == DECIMAL_RESULT;
    if (!is_one_way && may_warn(columns_.sources().thd(), *compared.front())) return std::nullopt;
    auto value = translate(*compared.front());
    if (!value) return std::nullopt;
    for (Item* const item : compared.subspan(1)) {
      const auto other = translate(*item);
      if (!other) return std::nullopt;
      const auto equal = exact_comparison(Function::Equal, *value, *other);
      if (!equal) return std::nullopt;
      conditions.push_back(*equal);
      value->result = call(Function::Silenced, {value->result});
    }
  } else if (holds_for_all([](Item& item) { return is_plain_text(item); })) {
    const CHARSET_INFO* const charset = static_cast<Item_func_case_simple&>(function).compare_collation();
    const Collation* const collation = charset != nullptr ? collation_of(*charset) : nullptr;
    if (collation == nullptr) return std::nullopt;
    auto value = translate_text(*compared.front(), *charset);
    if (!value) return std::nullopt;
    for (Item* const item : compared.subspan(1)) {
      const auto other = translate_text(*item, *charset);
      if (!other) return std::nullopt;
      conditions.push_back(
          program_.call(Function::Equal, std::array{*value, *other}, {.collation = collation}));
      value = call(Function::Silenced, {*value});
    }
  } else {
    return std::nullopt;
  }
  std::vector<Register> results;
  for (uint i = 0; i < values; ++i) {
    const auto result = result_of(*arguments[1 + values + i]);
    if (!result) return std::nullopt;
    results.push_back(*result);
  }
  auto result =
      has_else ? result_of(*arguments[function.argument_count() - 1]) : std::optional(program_.null(kind));
  for (size_t i = values; result && i-- > 0;)
    result = call(Function::Choose, {conditions[i], results[i], *result});
  return result;
}

/// The server asks for the value twice: as what is compared, and as the result.
std::optional<Program::Register> NumberTranslator::null_if(Item_func& function, ValueKind kind,
                                                           const ResultOf& result_of) {
  if (function.argument_count() != 3) return std::nullopt;
  Item &first = *function.arguments()[0], &second = *function.arguments()[1];
  std::optional<Register> equal;
  if (is_any_number(first) && is_any_number(second)) {
    const bool are_exact = is_exact(first) && is_exact(second);
    equal =
        number_comparison(Function::Equal, are_exact ? ComparedAs::Exact : ComparedAs::Real, first, second);
  } else if (first.cmp_type() == TIME_RESULT || second.cmp_type() == TIME_RESULT) {
    equal = equal_moments(first, second);
  } else {
    equal = equal_texts(first, second);
  }
  if (!equal) return std::nullopt;
  const auto result = result_of(*function.arguments()[2]);
  return result ? std::optional(call(Function::Choose, {*equal, program_.null(kind), *result}))
                : std::nullopt;
}

std::optional<Program::Register> NumberTranslator::extreme(Item_func& function, const ResultOf& result_of) {
  const Function called = typeid(function) == typeid(Item_func_max) ? Function::Greatest : Function::Least;
  std::optional<Register> result;
  for (uint i = 0; i < function.argument_count(); ++i) {
    const auto next = result_of(*function.arguments()[i]);
    if (!next) return std::nullopt;
    result = result ? call(called, {*result, *next}) : *next;
  }
  return result;
}

std::optional<Program::Register> NumberTranslator::truth_of_truth(Item_func& function) {
  Item** const arguments = function.arguments();
  if (function.functype() == Item_func::XOR_FUNC) {
    // It rounds numbers before it looks at them.
    if (arguments[0]->cmp_type() != INT_RESULT || arguments[1]->cmp_type() != INT_RESULT) return std::nullopt;
    const auto first = truth_of_number(*arguments[0]);
    if (!first) return std::nullopt;
    const auto second = truth_of_number(*arguments[1]);
    if (!second) return std::nullopt;
    return call(Function::NotEqual, {call(Function::Not, {*first}), call(Function::Not, {*second})});
  }
  const std::type_info& type = typeid(function);
  const bool is_true = type == typeid(Item_func_istrue), is_not_true = type == typeid(Item_func_isnottrue);
  const bool is_false = type == typeid(Item_func_isfalse),
             is_not_false = type == typeid(Item_func_isnotfalse);
  if (!is_true && !is_not_true && !is_false && !is_not_false) return std::nullopt;
  const auto of = truth_of_number(*arguments[0]);
  if (!of) return std::nullopt;
  const bool of_opposite = is_false || is_not_false;
  const Register result = call(Function::IsTrue, {of_opposite ? call(Function::Not, {*of}) : *of});
  return is_true || is_false ? result : call(Function::Not, {result});
}

std::optional<Program::Register> NumberTranslator::truth_of_number(Item& item) {
  const auto number = exact_or_real(item);
  if (!number) return std::nullopt;
  if (program_.kind(number->result) == ValueKind::Integer) return number->result;
  return call(Function::NotEqual, {number->result, program_.constant(0.0)});
}

Program::Register NumberTranslator::among(Register value, std::vector<int64_t> constants, bool has_null) {
  constexpr size_t most_compared = 3;
  std::optional<Register> result;
  if (constants.size() > most_compared || (constants.empty() && !has_null)) {
    result =
        program_.call(Function::Among, std::array{value}, {.of_numbers = is_among(std::move(constants))});
  } else {
    for (const int64_t constant : constants) {
      const Register equal = call(Function::Equal, {value, program_.constant(constant)});
      result = result ? call(Function::Or, {*result, equal}) : equal;
      value = call(Function::Silenced, {value});
    }
  }
  if (has_null) {
    const Register null = call(Function::Equal, {value, program_.null(ValueKind::Integer)});
    result = result ? call(Function::Or, {*result, null}) : null;
  }
  return *result;
}

/// Constants that follow one another are one step.
std::optional<Program::Register> NumberTranslator::in_list(Item_func& function) {
  const std::span<Item*> arguments(function.arguments(), function.argument_count());
  if (arguments[0]->cmp_type() == TIME_RESULT) return in_moments(function);
  if (!is_exact(*arguments[0]) ||
      !std::ranges::all_of(arguments, [](Item* item) { return is_exact(*item) || is_null_literal(*item); }))
    return std::nullopt;
  auto value = translate(*arguments[0]);
  if (!value || program_.kind(value->result) != ValueKind::Integer) return std::nullopt;
  std::optional<Register> result;
  const auto add = [&](Register found) {
    result = result ? call(Function::Or, {*result, found}) : found;
    // The server asks for the value once.
    value->result = call(Function::Silenced, {value->result});
  };
  // Numbers of more bits are not looked up.
  constexpr size_t most_compared_one_by_one = 17;
  const bool is_narrow =
      arguments[0]->cmp_type() == INT_RESULT
          ? !arguments[0]->unsigned_flag || arguments[0]->max_length < Number::digits_of_bigint
          : value->whole_digits + value->scale <= most_int64_digits;
  if (!is_narrow && arguments.size() > most_compared_one_by_one) return std::nullopt;
  std::vector<int64_t> constants;
  bool any_constant = false, has_null = false;
  const auto add_constants = [&] {
    if (std::exchange(any_constant, false))
      add(among(value->result, std::exchange(constants, {}), std::exchange(has_null, false)));
  };
  for (Item* const item : arguments.subspan(1)) {
    const auto other = translate(*item);
    if (!other) return std::nullopt;
    const Program::Instruction& made = program_.instructions()[other->result];
    if (made.operation == Program::Opcode::Null) {
      any_constant = has_null = true;
    } else if (made.operation == Program::Opcode::Constant && is_narrow) {
      any_constant = true;
      const bool is_huge = made.huge != HugeInteger();
      if (const auto constant =
              is_huge ? std::nullopt : with_digits(made.integer, other->scale, value->scale))
        constants.push_back(*constant);
    } else {
      add_constants();
      const auto equal = exact_comparison(Function::Equal, *value, *other);
      if (!equal) return std::nullopt;
      add(*equal);
    }
  }
  add_constants();
  return static_cast<Item_func_in&>(function).negated ? call(Function::Not, {*result}) : *result;
}

}  // namespace hailstone
