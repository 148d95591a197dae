// Conditions in expressions: truths, comparisons, and what the engine has as predicates already.
#include <algorithm>
#include <array>
#include <span>
#include <typeinfo>
#include <utility>

#include "expression/conditions.h"
#include "expression/exact_numbers.h"
#include "item_parts.h"
#include "pushdown.h"
#include "select_expressions.h"
#include "source_tables.h"

namespace hailstone {

namespace {

/// The operators compare the digits that show; BETWEEN and IN all of them.
std::optional<Expression> as_compared(const Item& item, const Expression& number) {
  return number.type().scale > decimals_of(item) ? rounded_to(number, decimals_of(item)) : number;
}

/// AND or OR of what `of` makes of each part. Nothing: of another condition, or where a part is nothing.
template <typename Of>
std::optional<Expression> united_parts(Item_cond& condition, Of&& of) {
  const bool all = condition.functype() == Item_func::COND_AND_FUNC;
  if (!all && condition.functype() != Item_func::COND_OR_FUNC) return std::nullopt;
  std::optional<Expression> result;
  List_iterator<Item> parts(*condition.argument_list());
  while (Item* part = parts++) {
    const auto next = of(*part);
    if (!next) return std::nullopt;
    result = united(all ? Function::And : Function::Or, result, *next);
  }
  return result;
}

}  // namespace

std::optional<Expression> ExpressionTranslator::chosen_argument(Item_func& function, ValueKind kind,
                                                                const ResultOf& result_of) {
  // The conditions, their results, and what is left when none of them is TRUE.
  Item** const arguments = function.arguments();
  const bool is_if = dynamic_cast<Item_func_if*>(&function) != nullptr;
  const uint conditions = is_if ? 1 : function.argument_count() / 2;
  const bool has_else = is_if || function.argument_count() % 2 != 0;
  std::vector<std::pair<Expression, Expression>> cases;
  for (uint i = 0; i < conditions; ++i) {
    const auto condition = is_true(*arguments[i]);
    if (!condition) return std::nullopt;
    const auto result = result_of(*arguments[conditions + i]);
    if (!result) return std::nullopt;
    cases.emplace_back(*condition, *result);
  }
  const auto otherwise =
      has_else ? result_of(*arguments[function.argument_count() - 1]) : std::optional(Expression::null(kind));
  return otherwise ? std::optional(chosen(cases, *otherwise)) : std::nullopt;
}

std::optional<Expression> ExpressionTranslator::first_argument(Item_func& function,
                                                               const ResultOf& result_of) {
  const auto results = arguments_of(function, result_of);
  return results ? std::optional(first_not_null(*results)) : std::nullopt;
}

std::optional<Expression> ExpressionTranslator::truth(Item& item) {
  if (item.type() == Item::COND_ITEM)
    return united_parts(static_cast<Item_cond&>(item), [&](Item& part) { return truth(*part.real_item()); });
  if (item.type() != Item::FUNC_ITEM) return std::nullopt;
  auto& function = static_cast<Item_func&>(item);
  switch (function.functype()) {
    case Item_func::EQ_FUNC:
      return comparison(function, Function::Equal);
    case Item_func::EQUAL_FUNC:
      return comparison(function, Function::SameOrNull);
    case Item_func::NE_FUNC:
      return comparison(function, Function::NotEqual);
    case Item_func::LT_FUNC:
      return comparison(function, Function::Less);
    case Item_func::LE_FUNC:
      return comparison(function, Function::LessEqual);
    case Item_func::GT_FUNC:
      return comparison(function, Function::Greater);
    case Item_func::GE_FUNC:
      return comparison(function, Function::GreaterEqual);
    case Item_func::NOT_FUNC: {
      const auto inner = truth(*function.arguments()[0]->real_item());
      return inner ? std::optional(negated(*inner)) : std::nullopt;
    }
    case Item_func::ISNULL_FUNC:
      // The server asks no further, either.
      if (!function.arguments()[0]->maybe_null()) return Expression::constant(int64_t{0});
      [[fallthrough]];
    case Item_func::ISNOTNULL_FUNC: {
      const auto inner = value(*function.arguments()[0]);
      if (!inner) return std::nullopt;
      return negated(Expression::call(Function::IsNull, {*inner}),
                     function.functype() == Item_func::ISNOTNULL_FUNC);
    }
    case Item_func::BETWEEN:
      if (compares_texts(function)) return text_between(function);
      return between(function);
    case Item_func::IN_FUNC:
      if (compares_texts(function)) return text_in_list(function);
      return in_numbers(function);
    case Item_func::LIKE_FUNC:
      return text_like(function);
    default:
      if (typeid(function) != typeid(Item_func_regex)) return truth_of_truth(function);
      return of_pattern(function, Function::MatchesPattern,
                        static_cast<Item_func_regex&>(function).compare_collation());
  }
}

std::optional<Expression> ExpressionTranslator::between(Item_func& function) {
  Item** const arguments = function.arguments();
  const auto is_moment = [](const Item* item) {
    return item->cmp_type() == TIME_RESULT && compares_moments(*item->type_handler());
  };
  if (std::ranges::all_of(std::span(arguments, 3), is_moment)) return between_moments(function);
  if (!std::ranges::all_of(std::span(arguments, 3), [](const Item* item) { return is_exact(*item); }))
    return std::nullopt;
  const auto value = translate(*arguments[0]);
  if (!value) return std::nullopt;
  const auto low = translate(*arguments[1]);
  if (!low) return std::nullopt;
  const auto high = translate(*arguments[2]);
  if (!high) return std::nullopt;
  const unsigned scale = std::max({value->type().scale, low->type().scale, high->type().scale});
  const auto a = with_scale(*value, scale), b = with_scale(*low, scale), c = with_scale(*high, scale);
  if (!a || !b || !c) return std::nullopt;
  return negated(Expression::call(Function::Between, {*a, *b, *c}),
                 static_cast<Item_func_between&>(function).negated);
}

std::optional<Expression> ExpressionTranslator::comparison(Item_func& function, Function called) {
  const auto* const compares = dynamic_cast<Item_bool_rowready_func2*>(&function);
  if (compares == nullptr) return std::nullopt;
  Item& first = *function.arguments()[0];
  Item& second = *function.arguments()[1];
  if (compares_texts(function)) return text_comparison(function, called);
  if (compares->compare_type_handler()->cmp_type() == STRING_RESULT &&
      (is_json_extract(first) || is_json_extract(second)))
    return document_comparison(function, called);
  const auto as = compared_as(*compares->compare_type_handler());
  if (!as) return std::nullopt;
  if (*as == ComparedAs::Moment) {
    const auto a = compared_moment(first, *compares->compare_type_handler()),
               b = compared_moment(second, *compares->compare_type_handler());
    return a && b ? std::optional(Expression::call(called, {*a, *b})) : std::nullopt;
  }
  return number_comparison(called, *as, first, second);
}

std::optional<Expression> ExpressionTranslator::number_comparison(Function called, ComparedAs as, Item& first,
                                                                  Item& second) {
  const auto left = translate(first);
  if (!left) return std::nullopt;
  const auto right = translate(second);
  if (!right) return std::nullopt;
  if (as == ComparedAs::Exact) {
    const auto a = as_compared(first, *left), b = as_compared(second, *right);
    return a && b ? compared(called, *a, *b) : std::nullopt;
  }
  // Of a fixed number of decimals both, they are compared with a tolerance.
  if (first.decimals < NOT_FIXED_DEC && second.decimals < NOT_FIXED_DEC) return std::nullopt;
  return Expression::call(called, {as_real(*left), as_real(*right)});
}

std::optional<Expression> ExpressionTranslator::of_predicate(const Predicate& predicate, size_t source) {
  switch (predicate.kind()) {
    case Predicate::Kind::And:
    case Predicate::Kind::Or: {
      std::optional<Expression> result;
      for (const Predicate& part : predicate.parts()) {
        const auto next = of_predicate(part, source);
        if (!next) return std::nullopt;
        const Function called = predicate.kind() == Predicate::Kind::And ? Function::And : Function::Or;
        result = united(called, result, *next);
      }
      return result;
    }
    case Predicate::Kind::Always:
    case Predicate::Kind::Never:
      return Expression::matches(predicate, 0, {});
    default:
      break;
  }
  // Of others the server evaluates what the predicate was made of.
  const auto field = PlainField::of(columns_.field_of_column(source, predicate.column()));
  if (!field) return std::nullopt;
  const auto scanned = scan_column(**field);
  if (!scanned) return std::nullopt;
  return Expression::matches(predicate, columns_.position_of(*field), *scanned);
}

std::optional<Expression> ExpressionTranslator::is_true(Item& item) {
  Item& real = *item.real_item();
  // What an outer join has no row of may be NULL, though the column is not.
  const auto source = columns_.sources().only_one_of(real);
  if (source && !columns_.sources().all()[*source].may_be_missing) {
    const PushedCondition pushed = columns_.sources().all()[*source].reader().condition(&real);
    if (pushed.complete) return of_predicate(*pushed.predicate, *source);
  }
  if (real.type() == Item::COND_ITEM)
    return united_parts(static_cast<Item_cond&>(real), [&](Item& part) { return is_true(part); });
  if (const auto result = truth(real)) return Expression::call(Function::IsTrue, {*result});
  if (item.cmp_type() != INT_RESULT) return std::nullopt;
  const auto number = translate(item);
  return number ? std::optional(Expression::call(Function::IsTrue, {*number})) : std::nullopt;
}

}  // namespace hailstone
