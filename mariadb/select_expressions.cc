#include "select_expressions.h"

#include <algorithm>
#include <array>
#include <utility>

#include "expression/moment.h"
#include "expression/number_casts.h"
#include "item_parts.h"
#include "text_charsets.h"

namespace hailstone {

bool compares_moments(const Type_handler& compared) {
  const enum_mysql_timestamp_type type = compared.mysql_timestamp_type();
  return (type == MYSQL_TIMESTAMP_DATE || type == MYSQL_TIMESTAMP_DATETIME) &&
         compared.field_type() != MYSQL_TYPE_TIMESTAMP;
}

bool is_plain_constant(Item& item) {
  Item& real = *item.real_item();
  if (real.basic_const_item()) return true;
  if (!real.const_item() || real.is_expensive() || real.with_subquery()) return false;
  if (real.type() == Item::CACHE_ITEM) {
    Item* const example = static_cast<Item_cache&>(real).get_example();
    return example != nullptr && is_plain_constant(*example);
  }
  return dynamic_cast<Item_func_neg*>(&real) != nullptr &&
         is_plain_constant(*static_cast<Item_func&>(real).arguments()[0]);
}

uint decimals_of(const Item& item) { return item.cmp_type() == DECIMAL_RESULT ? item.decimals : 0; }

ValueType declared_type(const Item& item) {
  switch (item.cmp_type()) {
    case REAL_RESULT:
      return {.kind = ValueType::Kind::Double};
    case DECIMAL_RESULT:
      return ValueType::decimal(item.decimals);
    default:
      return {.is_unsigned = item.unsigned_flag};
  }
}

template <typename Translate>
auto ExpressionTranslator::or_nothing(Translate&& translate) {
  const ScanColumns columns = columns_;
  auto result = translate();
  if (!result) {
    columns_ = columns;
    numbers_.clear();
    texts_.clear();
  }
  return result;
}

std::optional<std::vector<Expression>> ExpressionTranslator::arguments_of(Item_func& function,
                                                                          const ResultOf& result_of) {
  std::vector<Expression> all;
  for (uint i = 0; i < function.argument_count(); ++i) {
    const auto argument = result_of(*function.arguments()[i]);
    if (!argument) return std::nullopt;
    all.push_back(*argument);
  }
  return all;
}

std::optional<Expression> ExpressionTranslator::number(Item& item) {
  return or_nothing([&] { return translate(item); });
}

std::optional<Expression> ExpressionTranslator::text(Item& item) {
  return or_nothing([&]() -> std::optional<Expression> {
    if (!is_plain_text(item) && !is_json_extract(item)) return std::nullopt;
    return translate_text(item, *item.collation.collation);
  });
}

std::optional<Expression> ExpressionTranslator::moment_as_value(Item& item) {
  return or_nothing([&]() -> std::optional<Expression> {
    const auto type = item.type_handler()->field_type();
    const bool is_day = type == MYSQL_TYPE_DATE;
    if ((!is_day && type != MYSQL_TYPE_DATETIME) || item.decimals > TIME_SECOND_PART_DIGITS)
      return std::nullopt;
    const auto of = moment(item);
    if (!of) return std::nullopt;
    const auto digits = is_day ? std::nullopt : std::optional<unsigned>(item.decimals);
    return Expression::call(Function::PartOfMoment, {*of}, {.of_numbers = moment_with(digits)})
        .as(of->type());
  });
}

std::optional<Expression> ExpressionTranslator::condition(Item& item) {
  return or_nothing([&] { return is_true(item); });
}

std::optional<Expression> ExpressionTranslator::translate(Item& item) {
  if (const auto known = numbers_.find(&item); known != numbers_.end()) return known->second;
  auto number = translate_new(item);
  if (!number) return std::nullopt;
  if (item.cmp_type() == INT_RESULT) number = as_integer(*number, item.unsigned_flag);
  numbers_.emplace(&item, *number);
  return number;
}

std::optional<Expression> ExpressionTranslator::translate_new(Item& item) {
  if (is_plain_constant(item)) return constant(item);
  if (!is_exact(item) && item.cmp_type() != REAL_RESULT) return std::nullopt;
  Item& real = *item.real_item();
  if (real.type() == Item::FIELD_ITEM) return column(real);
  if (real.type() == Item::CACHE_ITEM) {
    // A constant that the server keeps once it has computed it.
    Item* const example = static_cast<Item_cache&>(real).get_example();
    return example != nullptr ? translate(*example) : std::nullopt;
  }
  if (real.type() == Item::COND_ITEM) {
    return truth(real);
  }
  if (real.type() != Item::FUNC_ITEM) return std::nullopt;
  auto& function = static_cast<Item_func&>(real);
  if (dynamic_cast<Item_func_plus*>(&function) != nullptr) return arithmetic(function, Function::Add);
  if (dynamic_cast<Item_func_minus*>(&function) != nullptr) return arithmetic(function, Function::Subtract);
  if (dynamic_cast<Item_func_mul*>(&function) != nullptr) return arithmetic(function, Function::Multiply);
  if (dynamic_cast<Item_func_div*>(&function) != nullptr) return arithmetic(function, Function::Divide);
  if (dynamic_cast<Item_func_int_div*>(&function) != nullptr)
    return whole_division(function, Function::IntegerDivide);
  if (dynamic_cast<Item_func_mod*>(&function) != nullptr)
    return whole_division(function, Function::Remainder);
  if (dynamic_cast<Item_func_neg*>(&function) != nullptr) return negative_number(function);
  if (dynamic_cast<Item_func_case_searched*>(&function) != nullptr ||
      dynamic_cast<Item_func_if*>(&function) != nullptr)
    return switched(function);
  if (dynamic_cast<Item_func_coalesce*>(&function) != nullptr ||
      dynamic_cast<Item_func_ifnull*>(&function) != nullptr)
    return first_number(function);
  if (const auto result = chosen_by_value(function)) return result;
  if (const auto result = of_number(function)) return result;
  if (const auto result = truth(function)) return result;
  if (const auto result = number_of_text(function)) return result;
  return of_moments(function);
}

std::optional<ComparedAs> compared_as(const Type_handler& compared) {
  switch (compared.cmp_type()) {
    case INT_RESULT:
    case DECIMAL_RESULT:
      return ComparedAs::Exact;
    case REAL_RESULT:
      return ComparedAs::Real;
    case TIME_RESULT:
      return compares_moments(compared) ? std::optional(ComparedAs::Moment) : std::nullopt;
    default:
      return std::nullopt;
  }
}

std::optional<ExpressionTranslator::EqualSides> ExpressionTranslator::equal_sides(Item_bool_func2& equality) {
  Item &one = *equality.arguments()[0], &other = *equality.arguments()[1];
  if (compares_texts(equality)) {
    const CHARSET_INFO* const charset = equality.compare_collation();
    if (charset == nullptr) return std::nullopt;
    const auto first = translate_text(one, *charset);
    const auto second = translate_text(other, *charset);
    return first && second ? std::optional(EqualSides{*first, *second}) : std::nullopt;
  }
  const auto as = compared_as(*equality.compare_type_handler());
  if (!as) return std::nullopt;
  const auto sides = compared_numbers(*as, std::array{&one, &other});
  if (!sides) return std::nullopt;
  return EqualSides{sides->numbers.front(), sides->numbers.back(), sides->are_huge};
}

std::optional<ExpressionTranslator::ComparedNumbers> ExpressionTranslator::compared_numbers(
    ComparedAs as, std::span<Item* const> items) {
  ComparedNumbers compared;
  if (as == ComparedAs::Moment) {
    for (Item* const item : items) {
      const auto of = moment(*item);
      if (!of) return std::nullopt;
      compared.numbers.push_back(*of);
    }
    return compared;
  }
  // Of a fixed number of decimals both, numbers are compared as DOUBLE with a tolerance.
  const auto is_fixed = [](const Item* item) { return item->decimals < NOT_FIXED_DEC; };
  if (as == ComparedAs::Real && is_fixed(items.front()) && std::ranges::any_of(items.subspan(1), is_fixed))
    return std::nullopt;
  std::vector<Expression> numbers;
  unsigned scale = 0;
  for (Item* const item : items) {
    const auto of = translate(*item);
    // Which of its digits are compared goes by the condition.
    if (!of || (as == ComparedAs::Exact && of->type().scale > decimals_of(*item))) return std::nullopt;
    numbers.push_back(*of);
    scale = std::max(scale, of->type().scale);
  }
  for (size_t i = 0; i < items.size(); ++i) {
    const auto result = as == ComparedAs::Exact ? with_scale(numbers[i], scale) : as_real(numbers[i]);
    if (!result) return std::nullopt;
    compared.numbers.push_back(*result);
    // An INT with a sign has 64 bits, as long as it is not multiplied.
    const bool is_narrow = numbers[i].type().whole_digits + scale <= most_int64_digits ||
                           (range_of(declared_type(*items[i])) == NumberRange::Signed && scale == 0);
    compared.are_huge |= as == ComparedAs::Exact && !is_narrow;
  }
  return compared;
}

}  // namespace hailstone
