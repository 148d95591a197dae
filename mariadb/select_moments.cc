// Days and times in expressions, as moments (expression/moment.h): columns, constants, and functions of
// them. Of a day that is none, or a result that leaves the calendar, the server is asked, which then warns.
#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <typeinfo>
#include <utility>

#include "expression/conditions.h"
#include "expression/moment.h"
#include "expression/span.h"
#include "raised_conditions.h"
#include "select_expressions.h"
#include "select_functions.h"
#include "statement_items.h"
// clang-format off
#include <item_timefunc.h>
// clang-format on

namespace hailstone {

namespace {

/// Whether the item is of days, or of days with times.
bool is_moment(const Item& item) {
  const enum_mysql_timestamp_type type = item.type_handler()->mysql_timestamp_type();
  return item.cmp_type() == TIME_RESULT && (type == MYSQL_TIMESTAMP_DATE || type == MYSQL_TIMESTAMP_DATETIME);
}

bool has_time(const Item& item) {
  return item.type_handler()->mysql_timestamp_type() == MYSQL_TIMESTAMP_DATETIME;
}

int64_t moment_at(const MYSQL_TIME& time) {
  return moment_of({.year = time.year,
                    .month = time.month,
                    .day = time.day,
                    .hour = time.hour,
                    .minute = time.minute,
                    .second = time.second,
                    .microsecond = time.second_part});
}

/// Of a constant, as comparisons take it; nothing: NULL. What the server keeps as a DATE for one has its time
/// besides, which get_date() would not tell.
std::optional<int64_t> compared_constant(THD& thd, Item& item) {
  const longlong packed = item.val_datetime_packed(&thd);
  if (item.null_value) return std::nullopt;
  MYSQL_TIME time;
  unpack_time(packed, &time, MYSQL_TIMESTAMP_DATETIME);
  return moment_at(time);
}

/// Of a constant text that is a time, or a day with one, without a warning.
std::optional<MYSQL_TIME> time_of_text(THD& thd, Item& constant) {
  const RaisedConditions conditions(thd);
  MYSQL_TIME time;
  const bool is_null = constant.get_date(&thd, &time, Datetime::Options(TIME_CONV_NONE, &thd));
  return conditions.any() || is_null ? std::nullopt : std::optional(time);
}

std::optional<MomentUnit> unit_of(interval_type unit) {
  switch (unit) {
    case INTERVAL_YEAR:
      return MomentUnit::Year;
    case INTERVAL_QUARTER:
      return MomentUnit::Quarter;
    case INTERVAL_MONTH:
      return MomentUnit::Month;
    case INTERVAL_WEEK:
      return MomentUnit::Week;
    case INTERVAL_DAY:
      return MomentUnit::Day;
    case INTERVAL_HOUR:
      return MomentUnit::Hour;
    case INTERVAL_MINUTE:
      return MomentUnit::Minute;
    case INTERVAL_SECOND:
      return MomentUnit::Second;
    case INTERVAL_MICROSECOND:
      return MomentUnit::Microsecond;
    default:
      return std::nullopt;
  }
}

/// What EXTRACT tells of a moment; weeks are another matter.
std::optional<MomentPart> part_of(interval_type unit) {
  switch (unit) {
    case INTERVAL_YEAR:
      return MomentPart::Year;
    case INTERVAL_QUARTER:
      return MomentPart::Quarter;
    case INTERVAL_MONTH:
      return MomentPart::Month;
    case INTERVAL_DAY:
      return MomentPart::Day;
    case INTERVAL_YEAR_MONTH:
      return MomentPart::YearMonth;
    case INTERVAL_HOUR:
      return MomentPart::Hour;
    case INTERVAL_MINUTE:
      return MomentPart::Minute;
    case INTERVAL_SECOND:
      return MomentPart::Second;
    case INTERVAL_MICROSECOND:
      return MomentPart::Microsecond;
    case INTERVAL_DAY_HOUR:
      return MomentPart::DayHour;
    case INTERVAL_DAY_MINUTE:
      return MomentPart::DayMinute;
    case INTERVAL_DAY_SECOND:
      return MomentPart::DaySecond;
    case INTERVAL_DAY_MICROSECOND:
      return MomentPart::DayMicrosecond;
    case INTERVAL_HOUR_MINUTE:
      return MomentPart::HourMinute;
    case INTERVAL_HOUR_SECOND:
      return MomentPart::HourSecond;
    case INTERVAL_HOUR_MICROSECOND:
      return MomentPart::HourMicrosecond;
    case INTERVAL_MINUTE_SECOND:
      return MomentPart::MinuteSecond;
    case INTERVAL_MINUTE_MICROSECOND:
      return MomentPart::MinuteMicrosecond;
    case INTERVAL_SECOND_MICROSECOND:
      return MomentPart::SecondMicrosecond;
    default:
      return std::nullopt;
  }
}

/// Whether nothing but the day is looked at.
bool is_of_day(MomentPart part) {
  return part < MomentPart::Hour ||
         (part > MomentPart::SecondMicrosecond && part != MomentPart::MomentNumber);
}

/// Whether a TIME has it, too. EXTRACT of units with days asks for the days of a TIME.
bool is_of_span(MomentPart part) {
  switch (part) {
    case MomentPart::Hour:
    case MomentPart::Minute:
    case MomentPart::Second:
    case MomentPart::Microsecond:
    case MomentPart::HourMinute:
    case MomentPart::HourSecond:
    case MomentPart::HourMicrosecond:
    case MomentPart::MinuteSecond:
    case MomentPart::MinuteMicrosecond:
    case MomentPart::SecondMicrosecond:
      return true;
    default:
      return false;
  }
}

/// What a function tells of the moment that is its only argument; nothing: it is another one.
std::optional<MomentPart> part_of(Item_func& function) {
  if (const auto* const extract = dynamic_cast<Item_extract*>(&function)) return part_of(extract->int_type);
  static constexpr std::array<std::pair<std::string_view, MomentPart>, 13> names{
      {{"year", MomentPart::Year},
       {"quarter", MomentPart::Quarter},
       {"month", MomentPart::Month},
       {"dayofmonth", MomentPart::Day},
       {"hour", MomentPart::Hour},
       {"minute", MomentPart::Minute},
       {"second", MomentPart::Second},
       {"microsecond", MomentPart::Microsecond},
       {"to_seconds", MomentPart::SecondNumber},
       {"dayofyear", MomentPart::DayOfYear},
       {"weekday", MomentPart::Weekday},
       {"dayofweek", MomentPart::DayOfWeek},
       {"to_days", MomentPart::DayNumber}}};
  const std::string_view name = function.func_name();
  const auto* const found = std::ranges::find(names, name, &std::pair<std::string_view, MomentPart>::first);
  return found == names.end() ? std::nullopt : std::optional(found->second);
}

Expression part_called(std::shared_ptr<const NumberFunction> part, const Expression& moment) {
  return Expression::call(Function::PartOfMoment, {moment}, {.of_numbers = std::move(part)});
}

/// As the text of an interval says it.
std::optional<int64_t> whole_number(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

}  // namespace

std::optional<Expression> ExpressionTranslator::moment(Item& item) {
  const auto found = moment_of(item);
  return found ? std::optional(found->as({.kind = ValueType::Kind::Moment})) : std::nullopt;
}

std::optional<Expression> ExpressionTranslator::moment_of_column(Item& item) {
  const auto field = columns_.field_of(item);
  if (!field) return std::nullopt;
  auto moment = moment_of_time(*field);
  const auto scanned = scan_column(**field);
  if (moment == nullptr || !scanned) return std::nullopt;
  return Expression::of_column(columns_.position_of(*field), *scanned, std::move(moment));
}

std::optional<Expression> ExpressionTranslator::moment_of(Item& item) {
  if (!is_moment(item)) return std::nullopt;
  Item& real = *item.real_item();
  if (real.type() == Item::FIELD_ITEM) return moment_of_column(real);
  if (real.const_item()) return moment_of_constant(real);
  if (real.type() == Item::CACHE_ITEM) {
    Item* const example = static_cast<Item_cache&>(real).get_example();
    return example != nullptr ? moment_of(*example) : std::nullopt;
  }
  if (real.type() != Item::FUNC_ITEM) return std::nullopt;
  auto& function = static_cast<Item_func&>(real);
  if (auto* const moved = dynamic_cast<Item_date_add_interval*>(&function)) return moved_moment(*moved);
  if (dynamic_cast<Item_func_coalesce*>(&function) != nullptr ||
      dynamic_cast<Item_func_ifnull*>(&function) != nullptr)
    return first_moment(function);
  if (const auto result = chosen_moment(function)) return result;
  if (const auto result = moment_by_zone(function)) return result;
  if (const auto result = moment_of_numbers(function)) return result;
  std::optional<MomentPart> part;
  if (typeid(function) == typeid(Item_datetime_typecast) &&
      function.decimals >= function.arguments()[0]->decimals)
    part = MomentPart::Whole;
  if (dynamic_cast<Item_func_last_day*>(&function) != nullptr) part = MomentPart::LastDay;
  if (dynamic_cast<Item_date_typecast*>(&function) != nullptr) part = MomentPart::Midnight;
  if (!part) return std::nullopt;
  const auto of = moment(*function.arguments()[0]);
  return of ? std::optional(part_called(part_of_moment(*part), *of)) : std::nullopt;
}

/// Of a day that is none, the server's modes say whether it is NULL.
std::optional<Expression> ExpressionTranslator::whole_moment(Item& item) {
  if (item.real_item()->type() == Item::NULL_ITEM) return Expression::null(ValueKind::Integer);
  const auto of = moment(item);
  return of ? std::optional(part_called(part_of_moment(MomentPart::Whole), *of)) : std::nullopt;
}

std::optional<Expression> ExpressionTranslator::chosen_moment(Item_func& function) {
  const std::type_info& type = typeid(function);
  const auto result_of = [this](Item& argument) { return whole_moment(argument); };
  if (type == typeid(Item_func_case_searched) || type == typeid(Item_func_if))
    return chosen_argument(function, ValueKind::Integer, result_of);
  if (type == typeid(Item_func_case_simple))
    return switched_by_value(function, ValueKind::Integer, result_of);
  if (type == typeid(Item_func_min) || type == typeid(Item_func_max))
    return extreme_argument(function, result_of);
  if (type == typeid(Item_func_nullif)) return null_if(function, ValueKind::Integer, result_of);
  return std::nullopt;
}

std::optional<Expression> ExpressionTranslator::moment_of_numbers(Item_func& function) {
  const bool is_of_days = typeid(function) == typeid(Item_func_from_days);
  if (!is_of_days && typeid(function) != typeid(Item_func_makedate)) return std::nullopt;
  const auto inputs = arguments_of(function, [this](Item& argument) { return count(argument); });
  if (!inputs) return std::nullopt;
  return Expression::call(Function::MomentOf, *inputs,
                          {.of_numbers = is_of_days ? day_of_number() : day_of_year_and_number()});
}

std::optional<Expression> ExpressionTranslator::number_of_moment(Item& item) {
  const auto of = moment(item);
  if (!of) return std::nullopt;
  const MomentPart part = has_time(item) ? MomentPart::MomentNumber : MomentPart::DateNumber;
  return part_called(part_of_moment(part), *of);
}

std::optional<Expression> ExpressionTranslator::week(Item_func& function) {
  const std::type_info& type = typeid(function);
  const auto* const extract = dynamic_cast<Item_extract*>(&function);
  const bool is_part = extract != nullptr && extract->int_type == INTERVAL_WEEK;
  const bool is_of_year = type == typeid(Item_func_yearweek);
  if (!is_part && !is_of_year && type != typeid(Item_func_week)) return std::nullopt;
  auto mode = static_cast<unsigned>(columns_.sources().thd().variables.default_week_format);
  if (function.argument_count() == 2) {
    Item& wanted = *function.arguments()[1];
    if (!is_plain_constant(wanted) || wanted.cmp_type() != INT_RESULT) return std::nullopt;
    mode = static_cast<unsigned>(wanted.val_int());
    if (wanted.null_value) return std::nullopt;
  }
  constexpr unsigned of_other_year = 2;
  const auto of = moment_of_argument(*function.arguments()[0]);
  if (!of) return std::nullopt;
  return part_called(is_of_year ? year_and_week_of_moment({mode | of_other_year}) : week_of_moment({mode}),
                     *of);
}

std::optional<Expression> ExpressionTranslator::moment_of_constant(Item& item) {
  THD& thd = columns_.sources().thd();
  if (item.is_expensive() || item.with_subquery() || !item.can_eval_in_optimize() ||
      !has_silent_constants(thd, item))
    return std::nullopt;
  // A literal of a day that is none warns whenever it is asked.
  const RaisedConditions conditions(thd);
  const auto constant = compared_constant(thd, item);
  if (conditions.any()) return std::nullopt;
  return constant ? Expression::constant(*constant) : Expression::null(ValueKind::Integer);
}

std::optional<Expression> ExpressionTranslator::first_moment(Item_func& function) {
  return first_argument(function, [this](Item& argument) { return whole_moment(argument); });
}

std::optional<Expression> ExpressionTranslator::moved_moment(Item_date_add_interval& function) {
  const auto unit = unit_of(function.int_type);
  if (!unit) return std::nullopt;
  const auto from = moment(*function.arguments()[0]);
  if (!from) return std::nullopt;
  const auto by = units(*function.arguments()[1]);
  if (!by) return std::nullopt;
  return Expression::call(Function::MomentAfter, {*from, *by},
                          {.of_numbers = moment_after(*unit, function.date_sub_interval)});
}

std::optional<Expression> ExpressionTranslator::units(Item& item) {
  if (item.cmp_type() == INT_RESULT) return translate(item);
  // INTERVAL '5' DAY
  if (item.cmp_type() != STRING_RESULT || !item.basic_const_item()) return std::nullopt;
  StringBuffer<STRING_BUFFER_USUAL_SIZE> buffer;
  const String* const text = item.val_str(&buffer);
  if (text == nullptr || text->charset()->mbminlen != 1) return std::nullopt;
  const auto number = whole_number({text->ptr(), text->length()});
  return number ? std::optional(Expression::constant(*number)) : std::nullopt;
}

std::optional<Expression> ExpressionTranslator::compared_moment(Item& item, const Type_handler& compared) {
  if (item.cmp_type() != STRING_RESULT || !item.basic_const_item()) return moment(item);
  THD& thd = columns_.sources().thd();
  Item_cache* const converted = compared.Item_get_cache(&thd, &item);
  if (converted == nullptr) return std::nullopt;
  const RaisedConditions conditions(thd);
  converted->setup(&thd, &item);
  const auto constant = compared_constant(thd, *converted);
  if (conditions.any()) return std::nullopt;
  return constant ? Expression::constant(*constant) : Expression::null(ValueKind::Integer);
}

std::optional<Expression> ExpressionTranslator::moment_of_argument(Item& item) {
  if (item.cmp_type() != STRING_RESULT || !item.basic_const_item()) return moment(item);
  const auto time = time_of_text(columns_.sources().thd(), item);
  return time && time->time_type != MYSQL_TIMESTAMP_TIME
             ? std::optional(Expression::constant(moment_at(*time)))
             : std::nullopt;
}

std::optional<Expression> ExpressionTranslator::between_moments(Item_func& function) {
  const auto inputs = arguments_of(function, [this](Item& argument) { return moment(argument); });
  if (!inputs) return std::nullopt;
  return negated(Expression::call(Function::Between, *inputs),
                 static_cast<Item_func_between&>(function).negated);
}

const Type_handler* ExpressionTranslator::compared_moments(const Item& first, const Item& second) {
  Type_handler_hybrid_field_type handler(first.type_handler());
  if (handler.aggregate_for_comparison(second.type_handler())) return nullptr;
  const Type_handler* const compared = handler.type_handler();
  return compared->cmp_type() == TIME_RESULT && compares_moments(*compared) ? compared : nullptr;
}

std::optional<Expression> ExpressionTranslator::equal_moments(Item& first, Item& second) {
  const Type_handler* const compared = compared_moments(first, second);
  if (compared == nullptr) return std::nullopt;
  const auto one = compared_moment(first, *compared);
  if (!one) return std::nullopt;
  const auto other = compared_moment(second, *compared);
  return other ? std::optional(Expression::call(Function::Equal, {*one, *other})) : std::nullopt;
}

std::optional<Expression> ExpressionTranslator::in_moments(Item_func& function) {
  const std::span<Item*> arguments(function.arguments(), function.argument_count());
  const auto value = moment(*arguments[0]);
  if (!value) return std::nullopt;
  std::vector<Expression> list;
  for (Item* const item : arguments.subspan(1)) {
    std::optional<Expression> other;
    if (item->real_item()->type() == Item::NULL_ITEM) {
      other = Expression::null(ValueKind::Integer);
    } else if (const Type_handler* const compared = compared_moments(*arguments[0], *item);
               compared != nullptr) {
      other = compared_moment(*item, *compared);
    }
    if (!other) return std::nullopt;
    list.push_back(*other);
  }
  return negated(*or_equal({}, *value, list), static_cast<Item_func_in&>(function).negated);
}

std::optional<Expression> ExpressionTranslator::of_span(Item_func& function) {
  if (function.argument_count() != 1 || function.cmp_type() != INT_RESULT) return std::nullopt;
  const auto field = columns_.field_of(*function.arguments()[0]);
  if (!field) return std::nullopt;
  auto span = span_of_time(*field);
  const auto scanned = scan_column(**field);
  if (span == nullptr || !scanned) return std::nullopt;
  const auto part = part_of(function);
  const bool is_extract = dynamic_cast<Item_extract*>(&function) != nullptr;
  std::shared_ptr<const NumberFunction> of;
  if (function.func_name() == std::string_view("time_to_sec")) {
    of = seconds_of_span();
  } else if (part && is_of_span(*part)) {
    of = part_of_span(*part, is_extract);
  } else {
    return std::nullopt;
  }
  const Expression input = Expression::of_column(columns_.position_of(*field), *scanned, std::move(span));
  return part_called(std::move(of), input.as({.kind = ValueType::Kind::Span}));
}

std::optional<Expression> ExpressionTranslator::text_of_moment(Item_func& function) {
  Item** const arguments = function.arguments();
  if (function.argument_count() != 2 || !arguments[1]->basic_const_item()) return std::nullopt;
  StringBuffer<STRING_BUFFER_USUAL_SIZE> buffer;
  const String* const format = arguments[1]->val_str(&buffer);
  if (format == nullptr || format->charset()->mbminlen != 1 ||
      !knows_format({format->ptr(), format->length()}))
    return std::nullopt;
  const auto of = moment(*arguments[0]);
  if (!of) return std::nullopt;
  return Expression::call(Function::DateFormat,
                          {*of, Expression::constant(std::string(format->ptr(), format->length()))});
}

std::optional<Expression> ExpressionTranslator::text_of_moved_day(Item_date_add_interval& function) {
  const auto unit = unit_of(function.int_type);
  Item& day = *function.arguments()[0];
  if (!unit || *unit < MomentUnit::Day || day.cmp_type() != STRING_RESULT || !day.basic_const_item())
    return std::nullopt;
  const auto from = time_of_text(columns_.sources().thd(), day);
  if (!from || from->time_type != MYSQL_TIMESTAMP_DATE) return std::nullopt;
  const auto by = units(*function.arguments()[1]);
  if (!by) return std::nullopt;
  const Expression moved =
      Expression::call(Function::MomentAfter, {Expression::constant(moment_at(*from)), *by},
                       {.of_numbers = moment_after(*unit, function.date_sub_interval)});
  return Expression::call(Function::DateFormat, {moved, Expression::constant(std::string("%Y-%m-%d"))});
}

std::optional<Expression> ExpressionTranslator::of_moments(Item_func& function) {
  Item** const arguments = function.arguments();
  if (const auto* const difference = dynamic_cast<Item_func_timestamp_diff*>(&function)) {
    const auto unit = unit_of(difference->get_int_type());
    if (!unit) return std::nullopt;
    const auto from = moment_of_argument(*arguments[0]);
    if (!from) return std::nullopt;
    const auto to = moment_of_argument(*arguments[1]);
    return to ? std::optional(Expression::call(Function::UnitsBetween, {*from, *to},
                                               {.of_numbers = units_between(*unit)}))
              : std::nullopt;
  }
  if (typeid(function) == typeid(Item_func_unix_timestamp)) return seconds_of_moment(function);
  if (const auto result = week(function)) return result;
  if (function.argument_count() != 1) return std::nullopt;
  if (const auto result = of_span(function)) return result;
  const auto part = part_of(function);
  if (!part || (!is_of_day(*part) && !has_time(*arguments[0]))) return std::nullopt;
  const auto of = moment_of_argument(*arguments[0]);
  return of ? std::optional(part_called(part_of_moment(*part), *of)) : std::nullopt;
}

}  // namespace hailstone
