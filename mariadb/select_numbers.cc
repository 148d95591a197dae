#include "select_numbers.h"

#include <algorithm>
#include <array>
#include <typeinfo>
#include <utility>

#include "decimal_numbers.h"
#include "expression/moment.h"
#include "item_parts.h"
#include "pushdown.h"
#include "select_functions.h"
#include "source_tables.h"

namespace hailstone {

namespace {

bool is_real(const Item& item) { return item.result_type() == REAL_RESULT; }

constexpr unsigned most_words = 9;  // of a number of the server's
constexpr unsigned digits_of_huge = 76;
constexpr unsigned digits_of_bigint = Number::digits_of_bigint;
constexpr unsigned most_decimals = 38;

bool is_sure(const Number& number) { return number.scale_is != Number::Scale::Unsure; }

NumberRange range_of(const Item& item) {
  if (item.cmp_type() != INT_RESULT) return NumberRange::Any;
  return item.unsigned_flag ? NumberRange::Unsigned : NumberRange::Signed;
}

/// Of a sum, a difference or a product. The server looks at a second DECIMAL only where the first is not
/// NULL.
FunctionSettings exact_settings(const Item_func& function) {
  return {.in_order = function.cmp_type() == DECIMAL_RESULT, .range = range_of(function)};
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
      return digits_of_bigint;
  }
}

}  // namespace

bool compares_moments(const Type_handler& compared) {
  const enum_mysql_timestamp_type type = compared.mysql_timestamp_type();
  return (type == MYSQL_TIMESTAMP_DATE || type == MYSQL_TIMESTAMP_DATETIME) &&
         compared.field_type() != MYSQL_TYPE_TIMESTAMP;
}

std::optional<ScanColumn> scan_column(const Field& field) {
  const auto stored = column_for(field);
  if (!stored) return std::nullopt;
  return ScanColumn{.integer = stored->is_integer(), .type = stored->type, .width = stored->width};
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

std::optional<PlainField> ScanColumns::field_of(Item& item) const {
  Field* const field = stored_field_of(item);
  return field != nullptr ? PlainField::of(*field) : std::nullopt;
}

Field* ScanColumns::stored_field_of(Item& item) const {
  Item* const real = item.real_item();
  if (real->type() != Item::FIELD_ITEM) return nullptr;
  Field* const field = static_cast<Item_field*>(real)->field;
  const auto source = sources_->number_of(*field);
  if (!source) return nullptr;
  const HailstoneHandler& reader = sources_->all()[*source].reader();
  if (reader.column_of_field(field->field_index) == RecordFormat::not_stored) return nullptr;
  // A virtual column that is no key's is stored where the table has no other column. The server need not have
  // computed what is stored.
  return field->stored_in_db() || field->table->s->keys != 0 ? field : nullptr;
}

uint16_t ScanColumns::column_of(const Field& field) const {
  return sources_->all()[source_of(field)].reader().column_of_field(field.field_index);
}

size_t ScanColumns::position_of_number(size_t source, uint16_t number) const {
  size_t position = 0;
  while (position < numbers_.size() && (numbers_[position] != number || of_sources_[position] != source))
    ++position;
  return position;
}

uint16_t ScanColumns::position_for_items(const Field& field) {
  const auto found = std::ranges::find(fields_, &field);
  const auto position = static_cast<uint16_t>(found - fields_.begin());
  if (found == fields_.end()) {
    fields_.push_back(&field);
    numbers_.push_back(column_of(field));
    of_sources_.push_back(source_of(field));
    for_items_.push_back(true);
  }
  return position;
}

uint16_t ScanColumns::position_in_record(const Field& field) {
  const uint16_t position = position_for_items(field);
  for_items_[position] = false;
  return position;
}

std::vector<uint16_t> ScanColumns::numbers_without_unread(
    const std::vector<const Field*>& read_by_items) const {
  std::vector<uint16_t> numbers = numbers_;
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (for_items_[i] && position_of_number(of_sources_[i], scaled(numbers[i])) != numbers_.size() &&
        std::ranges::find(read_by_items, fields_[i]) == read_by_items.end())
      numbers[i] = scaled(numbers[i]);
  }
  return numbers;
}

std::optional<uint16_t> ScanColumns::scaled_position_of(PlainField field) {
  const uint16_t column = column_of(*field);
  const size_t source = source_of(*field);
  for (const HailstoneHandler* const reader : sources_->all()[source].readers) {
    if (!reader->stored_table()->layout()->decimal(column)) return std::nullopt;
  }
  const auto position = static_cast<uint16_t>(position_of_number(source, scaled(column)));
  if (position == numbers_.size()) {
    fields_.push_back(nullptr);
    numbers_.push_back(scaled(column));
    of_sources_.push_back(source);
    for_items_.push_back(false);
  }
  return position;
}

template <typename Translate>
auto NumberTranslator::or_nothing(Translate&& translate) {
  const Program program = program_;
  const ScanColumns columns = columns_;
  auto result = translate();
  if (!result) {
    program_ = program;
    columns_ = columns;
    numbers_.clear();
    texts_.clear();
  }
  return result;
}

std::optional<Number> NumberTranslator::number(Item& item) {
  return or_nothing([&] { return translate(item); });
}

std::optional<Number> NumberTranslator::to_decimals(const Number& number, unsigned scale) {
  if (number.scale <= scale) {
    const auto result = scaled(number, scale);
    if (!result) return std::nullopt;
    Number same = number;
    same.result = *result;
    same.scale = scale;
    return same;
  }
  return Number{.result = call(Function::Round, {number.result}, {.digits = number.scale - scale}),
                .scale = scale,
                .whole_digits = number.whole_digits + 1,
                .scale_is = Number::Scale::Unsure};
}

std::optional<Program::Register> NumberTranslator::text(Item& item) {
  return or_nothing([&]() -> std::optional<Register> {
    if (!is_plain_text(item) && !is_json_extract(item)) return std::nullopt;
    return translate_text(item, *item.collation.collation);
  });
}

std::optional<Program::Register> NumberTranslator::moment_as_value(Item& item) {
  return or_nothing([&]() -> std::optional<Register> {
    const auto type = item.type_handler()->field_type();
    const bool is_day = type == MYSQL_TYPE_DATE;
    if ((!is_day && type != MYSQL_TYPE_DATETIME) || item.decimals > TIME_SECOND_PART_DIGITS)
      return std::nullopt;
    const auto of = moment(item);
    if (!of) return std::nullopt;
    const auto digits = is_day ? std::nullopt : std::optional<unsigned>(item.decimals);
    return program_.of_moments(moment_with(digits), *of);
  });
}

std::optional<Program::Register> NumberTranslator::condition(Item& item) {
  return or_nothing([&] { return is_true(item); });
}

std::optional<Number> NumberTranslator::translate(Item& item) {
  if (const auto known = numbers_.find(&item); known != numbers_.end()) return known->second;
  auto number = translate_new(item);
  if (!number) return std::nullopt;
  if (item.cmp_type() == INT_RESULT) {
    number->whole_digits = std::min(number->whole_digits, digits_of_bigint);
    number->scale_is = Number::Scale::Sure;
  }
  numbers_.emplace(&item, *number);
  return number;
}

std::optional<Number> NumberTranslator::translate_new(Item& item) {
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
    const auto result = truth(real);
    return result ? std::optional(Number{*result, 0}) : std::nullopt;
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
  if (dynamic_cast<Item_func_neg*>(&function) != nullptr) return negative(function);
  if (dynamic_cast<Item_func_case_searched*>(&function) != nullptr ||
      dynamic_cast<Item_func_if*>(&function) != nullptr)
    return switched(function);
  if (dynamic_cast<Item_func_coalesce*>(&function) != nullptr ||
      dynamic_cast<Item_func_ifnull*>(&function) != nullptr)
    return first_not_null(function);
  if (const auto result = chosen_by_value(function)) return result;
  if (const auto result = of_number(function)) return result;
  if (const auto result = truth(function)) return Number{*result, 0};
  if (const auto result = number_of_text(function)) return Number{*result, 0};
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

std::optional<NumberTranslator::EqualSides> NumberTranslator::equal_sides(Item_bool_func2& equality,
                                                                          ScanColumns& columns,
                                                                          Program& of_first,
                                                                          Program& of_second) {
  if (compares_texts(equality)) {
    const CHARSET_INFO* const charset = equality.compare_collation();
    if (charset == nullptr) return std::nullopt;
    const auto first = NumberTranslator(columns, of_first).translate_text(*equality.arguments()[0], *charset);
    const auto second =
        NumberTranslator(columns, of_second).translate_text(*equality.arguments()[1], *charset);
    return first && second ? std::optional(EqualSides{*first, *second}) : std::nullopt;
  }
  const auto as = compared_as(*equality.compare_type_handler());
  if (!as) return std::nullopt;
  const std::array<Compared, 2> sides{
      {{equality.arguments()[0], &of_first}, {equality.arguments()[1], &of_second}}};
  const auto numbers = compared_numbers(*as, sides, columns);
  if (!numbers) return std::nullopt;
  return EqualSides{numbers->registers.front(), numbers->registers.back(), numbers->are_huge};
}

std::optional<NumberTranslator::ComparedNumbers> NumberTranslator::compared_numbers(
    ComparedAs as, std::span<const Compared> items, ScanColumns& columns) {
  ComparedNumbers compared;
  if (as == ComparedAs::Moment) {
    for (const Compared& each : items) {
      const auto moment = NumberTranslator(columns, *each.program).moment(*each.item);
      if (!moment) return std::nullopt;
      compared.registers.push_back(*moment);
    }
    return compared;
  }
  // Of a fixed number of decimals both, numbers are compared as DOUBLE with a tolerance.
  const auto is_fixed = [](const Compared& each) { return each.item->decimals < NOT_FIXED_DEC; };
  if (as == ComparedAs::Real && is_fixed(items.front()) && std::ranges::any_of(items.subspan(1), is_fixed))
    return std::nullopt;
  std::vector<Number> numbers;
  unsigned scale = 0;
  for (const Compared& each : items) {
    const auto number = NumberTranslator(columns, *each.program).number(*each.item);
    // Which of its digits are compared goes by the condition.
    if (!number || (as == ComparedAs::Exact && number->scale > decimals_of(*each.item))) return std::nullopt;
    numbers.push_back(*number);
    scale = std::max(scale, number->scale);
  }
  for (size_t i = 0; i < items.size(); ++i) {
    NumberTranslator translator(columns, *items[i].program);
    const auto result =
        as == ComparedAs::Exact ? translator.scaled(numbers[i], scale) : translator.as_real(numbers[i]);
    if (!result) return std::nullopt;
    compared.registers.push_back(*result);
    // An INT with a sign has 64 bits, as long as it is not multiplied.
    const bool is_narrow = numbers[i].whole_digits + scale <= most_int64_digits ||
                           (range_of(*items[i].item) == NumberRange::Signed && scale == 0);
    compared.are_huge |= as == ComparedAs::Exact && !is_narrow;
  }
  return compared;
}

std::optional<Program::Register> NumberTranslator::moment_of_column(Item& item) {
  const auto field = columns_.field_of(item);
  if (!field) return std::nullopt;
  auto moment = moment_of_time(*field);
  const auto scanned = scan_column(**field);
  if (moment == nullptr || !scanned) return std::nullopt;
  return program_.of_column(columns_.position_of(*field), *scanned, std::move(moment));
}

std::optional<Number> NumberTranslator::column(Item& item) {
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
    case MYSQL_TYPE_FLOAT:
    case MYSQL_TYPE_DOUBLE:
      return Number{.result = program_.column(columns_.position_of(field), *scanned),
                    .whole_digits = digits_of(*field)};
    case MYSQL_TYPE_NEWDECIMAL: {
      const auto& decimal = static_cast<const Field_new_decimal&>(*field);
      Number number{.scale = decimal.decimals(),
                    .whole_digits = static_cast<unsigned>(decimal.precision) - decimal.decimals(),
                    .scale_is = Number::Scale::Sure};
      const bool is_short = decimal.precision <= most_int64_digits;
      if (const auto position = columns_.scaled_position_of(field)) {
        if (is_short) {
          number.result =
              program_.column(*position, {.integer = true, .type = Type::Signed, .width = sizeof(int64_t)});
        } else {
          number.result = program_.column_of_numbers(
              *position,
              {.integer = false, .type = Type::OrderedBytes, .width = scaled_bytes(decimal_digits(decimal))});
        }
        return number;
      }
      number.result = program_.of_column(columns_.position_of(field), *scanned, decimal_number(decimal));
      return number;
    }
    default:
      return std::nullopt;
  }
}

std::optional<Number> NumberTranslator::constant(Item& item) {
  switch (item.cmp_type()) {
    case INT_RESULT: {
      const longlong value = item.val_int();
      if (item.null_value) return Number{program_.null(Program::Kind::Integer), 0};
      if (item.unsigned_flag)
        return Number{program_.constant(HugeInteger{{static_cast<uint64_t>(value), 0, 0, 0}}), 0};
      return Number{program_.constant(int64_t{value}), 0};
    }
    case REAL_RESULT: {
      const double value = item.val_real();
      if (item.null_value) return Number{program_.null(Program::Kind::Real), 0};
      return Number{program_.constant(value), 0};
    }
    case DECIMAL_RESULT: {
      my_decimal buffer;
      const my_decimal* const value = item.val_decimal(&buffer);
      if (item.null_value || value == nullptr) return Number{program_.null(Program::Kind::Integer), 0};
      Number number{.scale = static_cast<unsigned>(value->frac),
                    .whole_digits = static_cast<unsigned>(value->intg),
                    .scale_is = Number::Scale::Sure};
      if (number.scale > most_decimals || number.whole_digits + number.scale >= digits_of_huge)
        return std::nullopt;
      number.result = program_.constant(huge_number(*value, number.scale));
      return number;
    }
    default:
      // NULL itself.
      if (item.real_item()->type() == Item::NULL_ITEM)
        return Number{program_.null(Program::Kind::Integer), 0};
      return std::nullopt;
  }
}

std::optional<Program::Register> NumberTranslator::as_real(const Number& number) {
  if (program_.kind(number.result) == Program::Kind::Real) return number.result;
  return program_.to_real(number.result, number.scale);
}

std::optional<Number> NumberTranslator::real(const Number& number) {
  const auto result = as_real(number);
  return result ? std::optional(Number{.result = *result}) : std::nullopt;
}

std::optional<Program::Register> NumberTranslator::scaled(const Number& number, unsigned scale) {
  if (program_.kind(number.result) == Program::Kind::Real || number.scale > scale) return std::nullopt;
  if (number.scale == scale) return number.result;
  if (number.whole_digits + scale > digits_of_huge) return std::nullopt;
  return call(Function::Multiply, {number.result, program_.constant(power_of_ten(scale - number.scale))});
}

Program::Register NumberTranslator::checked(const Item_func& function, Register result) {
  const auto may_be_beyond = [](const Item* argument) {
    return argument->cmp_type() == DECIMAL_RESULT ||
           (argument->cmp_type() == INT_RESULT && argument->unsigned_flag);
  };
  const std::span<Item* const> arguments(function.arguments(), function.argument_count());
  const NumberRange range = range_of(function);
  if (range == NumberRange::Any ||
      (range == NumberRange::Signed && std::ranges::none_of(arguments, may_be_beyond)))
    return result;
  return call(Function::InRange, {result}, {.range = range});
}

std::optional<Number> NumberTranslator::arithmetic(Item_func& function, Function called) {
  const auto left = translate(*function.arguments()[0]);
  if (!left) return std::nullopt;
  const auto right = translate(*function.arguments()[1]);
  if (!right) return std::nullopt;
  if (is_real(function)) {
    const auto a = as_real(*left), b = as_real(*right);
    if (!a || !b) return std::nullopt;
    return Number{called == Function::Divide ? divide(called, *a, *b) : call(called, {*a, *b}), 0};
  }
  if (program_.kind(left->result) == ValueKind::Real || program_.kind(right->result) == ValueKind::Real)
    return std::nullopt;
  if (called == Function::Divide) return quotient(static_cast<Item_func_div&>(function), *left, *right);
  if (called == Function::Multiply) return product(function, *left, *right);
  return sum_or_difference(function, called, *left, *right);
}

/// Zero, which two numbers may give, has no digits behind the point. So the scale of what is made of that is
/// sure only where it is another one's, too.
std::optional<Number> NumberTranslator::sum_or_difference(Item_func& function, Function called,
                                                          const Number& left, const Number& right) {
  const unsigned scale = std::max(left.scale, right.scale);
  Number sum{.scale = scale, .whole_digits = std::max(left.whole_digits, right.whole_digits) + 1};
  if (function.cmp_type() != INT_RESULT && words_of(sum.whole_digits - 1) + 1 + words_of(scale) > most_words)
    return std::nullopt;
  const auto a = scaled(left, scale), b = scaled(right, scale);
  if (!a || !b || sum.whole_digits + scale > digits_of_huge) return std::nullopt;
  const auto may_lose_scale = [](const Number& one, const Number& other) {
    return one.scale > other.scale && one.scale_is != Number::Scale::Sure;
  };
  if (is_sure(left) && is_sure(right) && !may_lose_scale(left, right) && !may_lose_scale(right, left))
    sum.scale_is = Number::Scale::SureUnlessZero;
  sum.result = call(called, {*a, *b}, exact_settings(function));
  return sum;
}

std::optional<Number> NumberTranslator::product(Item_func& function, const Number& left,
                                                const Number& right) {
  Number product{.scale = left.scale + right.scale, .whole_digits = left.whole_digits + right.whole_digits};
  const unsigned used = words_of(left.whole_digits) + words_of(right.whole_digits) + words_of(left.scale) +
                        words_of(right.scale);
  if (product.scale > most_decimals || product.whole_digits + product.scale > digits_of_huge ||
      (function.cmp_type() != INT_RESULT && used > most_words))
    return std::nullopt;
  if (is_sure(left) && is_sure(right)) product.scale_is = Number::Scale::SureUnlessZero;
  product.result = call(Function::Multiply, {left.result, right.result}, exact_settings(function));
  return product;
}

/// The server divides as far as to the end of a word.
std::optional<Number> NumberTranslator::quotient(const Item_func_div& function, const Number& left,
                                                 const Number& right) {
  if (!is_sure(left) || !is_sure(right)) return std::nullopt;
  Number quotient{.scale = quotient_decimals(left.scale, right.scale, function.prec_increment),
                  .whole_digits = left.whole_digits + right.scale,
                  .scale_is = Number::Scale::SureUnlessZero};
  const unsigned digits = quotient.scale + right.scale - left.scale;
  if (words_of(quotient.whole_digits + 1) + words_of(quotient.scale) > most_words ||
      left.whole_digits + left.scale + digits > digits_of_huge)
    return std::nullopt;
  quotient.result = program_.divide_decimals(left.result, right.result, digits, tells_zero());
  return quotient;
}

std::optional<Number> NumberTranslator::whole_division(Item_func& function, Function called) {
  if (function.cmp_type() != INT_RESULT) return std::nullopt;
  const auto left = translate(*function.arguments()[0]);
  if (!left) return std::nullopt;
  const auto right = translate(*function.arguments()[1]);
  if (!right) return std::nullopt;
  const unsigned scale = std::max(left->scale, right->scale);
  if (words_of(left->whole_digits + right->scale + 1) > most_words) return std::nullopt;
  const auto a = scaled(*left, scale), b = scaled(*right, scale);
  if (!a || !b) return std::nullopt;
  return Number{call(called, {*a, *b}, {.tells_zero = tells_zero(), .range = range_of(function)}), 0};
}

bool NumberTranslator::tells_zero() const {
  return (columns_.sources().thd().variables.sql_mode & MODE_ERROR_FOR_DIVISION_BY_ZERO) != 0;
}

Program::Register NumberTranslator::divide(Function called, Register dividend, Register divisor) {
  return program_.divide(called, dividend, divisor, tells_zero());
}

std::optional<Number> NumberTranslator::negative(Item_func& function) {
  const auto number = translate(*function.arguments()[0]);
  if (!number) return std::nullopt;
  const bool real = program_.kind(number->result) == Program::Kind::Real;
  if (real != is_real(function)) return std::nullopt;
  const Register result = real ? call(Function::Multiply, {number->result, program_.constant(-1.0)})
                               : call(Function::Subtract, {program_.constant(int64_t{0}), number->result},
                                      {.range = range_of(function)});
  Number negative = *number;
  negative.result = result;
  return negative;
}

std::optional<Program::Register> NumberTranslator::chosen(Item_func& function, ValueKind kind,
                                                          const ResultOf& result_of) {
  // The conditions, their results, and what is left when none of them is TRUE.
  Item** const arguments = function.arguments();
  const bool is_if = dynamic_cast<Item_func_if*>(&function) != nullptr;
  const uint conditions = is_if ? 1 : function.argument_count() / 2;
  const bool has_else = is_if || function.argument_count() % 2 != 0;
  std::vector<std::pair<Register, Register>> cases;
  for (uint i = 0; i < conditions; ++i) {
    const auto condition = is_true(*arguments[i]);
    if (!condition) return std::nullopt;
    const auto result = result_of(*arguments[conditions + i]);
    if (!result) return std::nullopt;
    cases.emplace_back(*condition, *result);
  }
  auto result =
      has_else ? result_of(*arguments[function.argument_count() - 1]) : std::optional(program_.null(kind));
  for (size_t i = cases.size(); result && i-- > 0;)
    result = call(Function::Choose, {cases[i].first, cases[i].second, *result});
  return result;
}

std::optional<Program::Register> NumberTranslator::first(Item_func& function, const ResultOf& result_of) {
  std::vector<Register> results;
  for (uint i = 0; i < function.argument_count(); ++i) {
    const auto result = result_of(*function.arguments()[i]);
    if (!result) return std::nullopt;
    results.push_back(*result);
  }
  Register result = results.back();
  for (size_t i = results.size() - 1; i-- > 0;) result = call(Function::Coalesce, {results[i], result});
  return result;
}

NumberTranslator::ResultOf NumberTranslator::numbers_of(Item_func& function, unsigned& whole_digits) {
  return [&](Item& argument) -> std::optional<Register> {
    const auto number = translate(argument);
    if (!number) return std::nullopt;
    whole_digits = std::max(whole_digits, number->whole_digits);
    if (is_real(function)) return as_real(*number);
    return is_exact(function) ? scaled(*number, decimals_of(function)) : std::nullopt;
  };
}

/// An exact one has the digits of that with the most: the server does not round it.
std::optional<Number> NumberTranslator::one_of(
    Item_func& function, std::span<Item* const> results,
    const std::function<std::optional<Register>(const ResultOf&)>& choose) {
  if (!is_real(function) && !is_exact(function)) return std::nullopt;
  Number one{.scale = function.cmp_type() == DECIMAL_RESULT ? function.decimals : 0U, .whole_digits = 0};
  for (Item* const result : results) {
    const auto number = translate(*result);
    if (!number) return std::nullopt;
    one.scale = std::max(one.scale, number->scale);
    one.whole_digits = std::max(one.whole_digits, number->whole_digits);
  }
  const auto result = choose([&](Item& argument) -> std::optional<Register> {
    const auto number = translate(argument);
    if (!number) return std::nullopt;
    return is_real(function) ? as_real(*number) : scaled(*number, one.scale);
  });
  if (!result) return std::nullopt;
  one.result = checked(function, *result);
  if (is_real(function)) one.scale = 0;
  return one;
}

std::optional<Number> NumberTranslator::switched(Item_func& function) {
  const bool is_if = dynamic_cast<Item_func_if*>(&function) != nullptr;
  const uint conditions = is_if ? 1 : function.argument_count() / 2;
  const std::span<Item* const> results(function.arguments() + conditions,
                                       function.argument_count() - conditions);
  const ValueKind kind = is_real(function) ? ValueKind::Real : ValueKind::Integer;
  return one_of(function, results,
                [&](const ResultOf& result_of) { return chosen(function, kind, result_of); });
}

std::optional<Number> NumberTranslator::first_not_null(Item_func& function) {
  const std::span<Item* const> results(function.arguments(), function.argument_count());
  return one_of(function, results, [&](const ResultOf& result_of) { return first(function, result_of); });
}

std::optional<Program::Register> NumberTranslator::truth(Item& item) {
  if (item.type() == Item::COND_ITEM) {
    auto& condition = static_cast<Item_cond&>(item);
    const bool all = condition.functype() == Item_func::COND_AND_FUNC;
    if (!all && condition.functype() != Item_func::COND_OR_FUNC) return std::nullopt;
    std::optional<Register> result;
    List_iterator<Item> parts(*condition.argument_list());
    while (Item* part = parts++) {
      const auto next = truth(*part->real_item());
      if (!next) return std::nullopt;
      result = result ? call(all ? Function::And : Function::Or, {*result, *next}) : *next;
    }
    return result;
  }
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
      return inner ? std::optional(call(Function::Not, {*inner})) : std::nullopt;
    }
    case Item_func::ISNULL_FUNC:
      // The server asks no further, either.
      if (!function.arguments()[0]->maybe_null()) return program_.constant(int64_t{0});
      [[fallthrough]];
    case Item_func::ISNOTNULL_FUNC: {
      const auto inner = value(*function.arguments()[0]);
      if (!inner) return std::nullopt;
      const Register null = call(Function::IsNull, {*inner});
      return function.functype() == Item_func::ISNULL_FUNC ? null : call(Function::Not, {null});
    }
    case Item_func::BETWEEN:
      if (compares_texts(function)) return text_between(function);
      return between(function);
    case Item_func::IN_FUNC:
      if (compares_texts(function)) return text_in_list(function);
      return in_list(function);
    case Item_func::LIKE_FUNC:
      return text_like(function);
    default:
      if (typeid(function) != typeid(Item_func_regex)) return truth_of_truth(function);
      return of_pattern(function, Function::MatchesPattern,
                        static_cast<Item_func_regex&>(function).compare_collation());
  }
}

/// The operators compare the digits that show; BETWEEN and IN all of them.
std::optional<Number> NumberTranslator::as_compared(const Item& item, const Number& number) {
  return number.scale > decimals_of(item) ? to_decimals(number, decimals_of(item)) : number;
}

std::optional<Program::Register> NumberTranslator::exact_comparison(Function called, const Number& left,
                                                                    const Number& right) {
  const unsigned scale = std::max(left.scale, right.scale);
  const auto a = scaled(left, scale), b = scaled(right, scale);
  if (!a || !b) return std::nullopt;
  return call(called, {*a, *b});
}

std::optional<Program::Register> NumberTranslator::between(Item_func& function) {
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
  const unsigned scale = std::max({value->scale, low->scale, high->scale});
  const auto a = scaled(*value, scale), b = scaled(*low, scale), c = scaled(*high, scale);
  if (!a || !b || !c) return std::nullopt;
  const Register result = call(Function::Between, {*a, *b, *c});
  return static_cast<Item_func_between&>(function).negated ? call(Function::Not, {result}) : result;
}

std::optional<Program::Register> NumberTranslator::comparison(Item_func& function, Function called) {
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
    return a && b ? std::optional(call(called, {*a, *b})) : std::nullopt;
  }
  return number_comparison(called, *as, first, second);
}

std::optional<Program::Register> NumberTranslator::number_comparison(Function called, ComparedAs as,
                                                                     Item& first, Item& second) {
  const auto left = translate(first);
  if (!left) return std::nullopt;
  const auto right = translate(second);
  if (!right) return std::nullopt;
  if (as == ComparedAs::Exact) {
    const auto a = as_compared(first, *left), b = as_compared(second, *right);
    return a && b ? exact_comparison(called, *a, *b) : std::nullopt;
  }
  // Of a fixed number of decimals both, they are compared with a tolerance.
  if (first.decimals < NOT_FIXED_DEC && second.decimals < NOT_FIXED_DEC) return std::nullopt;
  const auto a = as_real(*left), b = as_real(*right);
  return a && b ? std::optional(call(called, {*a, *b})) : std::nullopt;
}

std::optional<Program::Register> NumberTranslator::of_predicate(const Predicate& predicate, size_t source) {
  switch (predicate.kind()) {
    case Predicate::Kind::And:
    case Predicate::Kind::Or: {
      std::optional<Register> result;
      for (const Predicate& part : predicate.parts()) {
        const auto next = of_predicate(part, source);
        if (!next) return std::nullopt;
        const Function called = predicate.kind() == Predicate::Kind::And ? Function::And : Function::Or;
        result = result ? call(called, {*result, *next}) : *next;
      }
      return result;
    }
    case Predicate::Kind::Always:
    case Predicate::Kind::Never:
      return program_.matches(predicate, 0, {});
    default:
      break;
  }
  // Of others the server evaluates what the predicate was made of.
  const auto field = PlainField::of(columns_.field_of_column(source, predicate.column()));
  if (!field) return std::nullopt;
  const auto scanned = scan_column(**field);
  if (!scanned) return std::nullopt;
  return program_.matches(predicate, columns_.position_of(*field), *scanned);
}

std::optional<Program::Register> NumberTranslator::is_true(Item& item) {
  Item& real = *item.real_item();
  // What an outer join has no row of may be NULL, though the column is not.
  const auto source = columns_.sources().only_one_of(real);
  if (source && !columns_.sources().all()[*source].may_be_missing) {
    const PushedCondition pushed = columns_.sources().all()[*source].reader().condition(&real);
    if (pushed.complete) return of_predicate(*pushed.predicate, *source);
  }
  if (real.type() == Item::COND_ITEM) {
    auto& condition = static_cast<Item_cond&>(real);
    const bool all = condition.functype() == Item_func::COND_AND_FUNC;
    if (!all && condition.functype() != Item_func::COND_OR_FUNC) return std::nullopt;
    std::optional<Register> result;
    List_iterator<Item> parts(*condition.argument_list());
    while (Item* part = parts++) {
      const auto next = is_true(*part);
      if (!next) return std::nullopt;
      result = result ? call(all ? Function::And : Function::Or, {*result, *next}) : *next;
    }
    return result;
  }
  if (const auto result = truth(real)) return call(Function::IsTrue, {*result});
  if (item.cmp_type() != INT_RESULT) return std::nullopt;
  const auto number = translate(item);
  return number ? std::optional(call(Function::IsTrue, {number->result})) : std::nullopt;
}

}  // namespace hailstone
