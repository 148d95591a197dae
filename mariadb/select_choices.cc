// Choices by values in expressions: CASE with a value, NULLIF, GREATEST and LEAST, IN; and truths of truths.
#include <algorithm>
#include <array>
#include <typeinfo>
#include <utility>

#include "collation.h"
#include "expression/conditions.h"
#include "expression/exact_numbers.h"
#include "pushdown_warnings.h"
#include "select_expressions.h"

namespace hailstone {

namespace {

bool is_any_number(const Item& item) { return is_exact(item) || item.cmp_type() == REAL_RESULT; }
bool is_null_literal(Item& item) { return item.real_item()->type() == Item::NULL_ITEM; }

bool is_extreme_of_arguments(const Item_func& function) {
  return typeid(function) == typeid(Item_func_min) || typeid(function) == typeid(Item_func_max);
}

}  // namespace

std::optional<Expression> ExpressionTranslator::chosen_by_value(Item_func& function) {
  const ValueKind kind = function.cmp_type() == REAL_RESULT ? ValueKind::Real : ValueKind::Integer;
  unsigned whole_digits = 0;
  std::optional<Expression> result;
  if (typeid(function) == typeid(Item_func_case_simple)) {
    result = switched_by_value(function, kind, numbers_of(function, whole_digits));
  } else if (typeid(function) == typeid(Item_func_nullif)) {
    result = null_if(function, kind, numbers_of(function, whole_digits));
  } else if (is_extreme_of_arguments(function)) {
    result = extreme_argument(function, numbers_of(function, whole_digits));
  }
  if (!result) return std::nullopt;
  return number_of_choice(function, *result, decimals_of(function), whole_digits);
}

std::optional<Expression> ExpressionTranslator::switched_by_value(Item_func& function, ValueKind kind,
                                                                  const ResultOf& result_of) {
  Item** const arguments = function.arguments();
  const uint values = (function.argument_count() - 1) / 2;
  const bool has_else = function.argument_count() % 2 == 0;
  const std::span<Item*> values_compared(arguments, 1 + values);
  const auto holds_for_all = [&](const auto& test) {
    return std::ranges::all_of(values_compared,
                               [&](Item* item) { return is_null_literal(*item) || test(*item); });
  };
  std::vector<Expression> conditions;
  if (holds_for_all([](Item& item) { return is_exact(item); })) {
    // The server asks for the value once for each way of comparing it.
    const bool is_one_way =
        std::ranges::all_of(values_compared,
                            [](const Item* item) { return item->cmp_type() == INT_RESULT; }) ||
        values_compared.front()->cmp_type() == DECIMAL_RESULT;
    if (!is_one_way && may_warn(columns_.sources().thd(), *values_compared.front())) return std::nullopt;
    auto value = translate(*values_compared.front());
    if (!value) return std::nullopt;
    for (Item* const item : values_compared.subspan(1)) {
      const auto other = translate(*item);
      if (!other) return std::nullopt;
      const auto equal = compared(Function::Equal, *value, *other);
      if (!equal) return std::nullopt;
      conditions.push_back(*equal);
      value = silenced(*value);
    }
  } else if (holds_for_all([](Item& item) { return is_plain_text(item); })) {
    const CHARSET_INFO* const charset = static_cast<Item_func_case_simple&>(function).compare_collation();
    const Collation* const collation = charset != nullptr ? collation_of(*charset) : nullptr;
    if (collation == nullptr) return std::nullopt;
    auto value = translate_text(*values_compared.front(), *charset);
    if (!value) return std::nullopt;
    for (Item* const item : values_compared.subspan(1)) {
      const auto other = translate_text(*item, *charset);
      if (!other) return std::nullopt;
      conditions.push_back(Expression::call(Function::Equal, {*value, *other}, {.collation = collation}));
      value = silenced(*value);
    }
  } else {
    return std::nullopt;
  }
  std::vector<std::pair<Expression, Expression>> cases;
  for (uint i = 0; i < values; ++i) {
    const auto result = result_of(*arguments[1 + values + i]);
    if (!result) return std::nullopt;
    cases.emplace_back(conditions[i], *result);
  }
  const auto otherwise =
      has_else ? result_of(*arguments[function.argument_count() - 1]) : std::optional(Expression::null(kind));
  return otherwise ? std::optional(chosen(cases, *otherwise)) : std::nullopt;
}

/// The server asks for the value twice: as what is compared, and as the result.
std::optional<Expression> ExpressionTranslator::null_if(Item_func& function, ValueKind kind,
                                                        const ResultOf& result_of) {
  if (function.argument_count() != 3) return std::nullopt;
  Item &first = *function.arguments()[0], &second = *function.arguments()[1];
  std::optional<Expression> equal;
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
  // It has the type of the value, as NULL has none.
  return result ? std::optional(Expression::call(Function::Choose, {*equal, Expression::null(kind), *result})
                                    .as(result->type()))
                : std::nullopt;
}

std::optional<Expression> ExpressionTranslator::extreme_argument(Item_func& function,
                                                                 const ResultOf& result_of) {
  const Function called = typeid(function) == typeid(Item_func_max) ? Function::Greatest : Function::Least;
  const auto values = arguments_of(function, result_of);
  return values ? std::optional(extreme(called, *values)) : std::nullopt;
}

std::optional<Expression> ExpressionTranslator::truth_of_truth(Item_func& function) {
  Item** const arguments = function.arguments();
  if (function.functype() == Item_func::XOR_FUNC) {
    // It rounds numbers before it looks at them.
    if (arguments[0]->cmp_type() != INT_RESULT || arguments[1]->cmp_type() != INT_RESULT) return std::nullopt;
    const auto first = truth_of_number(*arguments[0]);
    if (!first) return std::nullopt;
    const auto second = truth_of_number(*arguments[1]);
    if (!second) return std::nullopt;
    return Expression::call(Function::NotEqual, {negated(*first), negated(*second)});
  }
  const std::type_info& type = typeid(function);
  const bool is_true = type == typeid(Item_func_istrue), is_not_true = type == typeid(Item_func_isnottrue);
  const bool is_false = type == typeid(Item_func_isfalse),
             is_not_false = type == typeid(Item_func_isnotfalse);
  if (!is_true && !is_not_true && !is_false && !is_not_false) return std::nullopt;
  const auto of = truth_of_number(*arguments[0]);
  if (!of) return std::nullopt;
  const bool of_opposite = is_false || is_not_false;
  const Expression result = Expression::call(Function::IsTrue, {negated(*of, of_opposite)});
  return negated(result, is_not_true || is_not_false);
}

std::optional<Expression> ExpressionTranslator::truth_of_number(Item& item) {
  const auto number = exact_or_real(item);
  if (!number) return std::nullopt;
  if (!number->is_real()) return number;
  return Expression::call(Function::NotEqual, {*number, Expression::constant(0.0)});
}

std::optional<Expression> ExpressionTranslator::in_numbers(Item_func& function) {
  const std::span<Item*> arguments(function.arguments(), function.argument_count());
  if (arguments[0]->cmp_type() == TIME_RESULT) return in_moments(function);
  if (!is_exact(*arguments[0]) ||
      !std::ranges::all_of(arguments, [](Item* item) { return is_exact(*item) || is_null_literal(*item); }))
    return std::nullopt;
  const auto value = translate(*arguments[0]);
  if (!value || (*value)->values != ValueKind::Integer) return std::nullopt;
  const bool is_narrow =
      arguments[0]->cmp_type() == INT_RESULT
          ? !arguments[0]->unsigned_flag || arguments[0]->max_length < ValueType::digits_of_bigint
          : value->type().whole_digits + value->type().scale <= most_int64_digits;
  std::vector<Expression> list;
  for (Item* const item : arguments.subspan(1)) {
    const auto other = translate(*item);
    if (!other) return std::nullopt;
    list.push_back(*other);
  }
  const auto found = in_list(*value, list, is_narrow);
  return found ? std::optional(negated(*found, static_cast<Item_func_in&>(function).negated)) : std::nullopt;
}

}  // namespace hailstone
