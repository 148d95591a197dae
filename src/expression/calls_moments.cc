// Days and times by the names of SQL.
#include <array>
#include <charconv>

#include "expression/call_rules.h"
#include "expression/moment.h"
#include "expression/span.h"

namespace hailstone {

namespace {

using Kind = SqlType::Kind;

constexpr unsigned digits_of_microseconds = 6;

template <typename Value>
struct Named {
  std::string_view name;
  Value value;
};
template <typename Value, size_t size>
std::optional<Value> find_named(const std::array<Named<Value>, size>& all, std::string_view name) {
  const auto* const found = std::ranges::find(all, name, &Named<Value>::name);
  return found == all.end() ? std::nullopt : std::optional(found->value);
}

constexpr std::array<Named<MomentUnit>, 9> named_units{{{"MICROSECOND", MomentUnit::Microsecond},
                                                        {"SECOND", MomentUnit::Second},
                                                        {"MINUTE", MomentUnit::Minute},
                                                        {"HOUR", MomentUnit::Hour},
                                                        {"DAY", MomentUnit::Day},
                                                        {"WEEK", MomentUnit::Week},
                                                        {"MONTH", MomentUnit::Month},
                                                        {"QUARTER", MomentUnit::Quarter},
                                                        {"YEAR", MomentUnit::Year}}};

/// What functions of one moment tell, by the first of their names.
constexpr std::array<Named<MomentPart>, 14> named_parts{{{"YEAR", MomentPart::Year},
                                                         {"QUARTER", MomentPart::Quarter},
                                                         {"MONTH", MomentPart::Month},
                                                         {"DAY", MomentPart::Day},
                                                         {"HOUR", MomentPart::Hour},
                                                         {"MINUTE", MomentPart::Minute},
                                                         {"SECOND", MomentPart::Second},
                                                         {"MICROSECOND", MomentPart::Microsecond},
                                                         {"TO_SECONDS", MomentPart::SecondNumber},
                                                         {"DAYOFYEAR", MomentPart::DayOfYear},
                                                         {"WEEKDAY", MomentPart::Weekday},
                                                         {"DAYOFWEEK", MomentPart::DayOfWeek},
                                                         {"TO_DAYS", MomentPart::DayNumber},
                                                         {"DAYOFMONTH", MomentPart::Day}}};

/// What EXTRACT tells, by its units.
constexpr std::array<Named<MomentPart>, 19> named_extracts{
    {{"YEAR", MomentPart::Year},
     {"QUARTER", MomentPart::Quarter},
     {"MONTH", MomentPart::Month},
     {"DAY", MomentPart::Day},
     {"YEAR_MONTH", MomentPart::YearMonth},
     {"HOUR", MomentPart::Hour},
     {"MINUTE", MomentPart::Minute},
     {"SECOND", MomentPart::Second},
     {"MICROSECOND", MomentPart::Microsecond},
     {"DAY_HOUR", MomentPart::DayHour},
     {"DAY_MINUTE", MomentPart::DayMinute},
     {"DAY_SECOND", MomentPart::DaySecond},
     {"DAY_MICROSECOND", MomentPart::DayMicrosecond},
     {"HOUR_MINUTE", MomentPart::HourMinute},
     {"HOUR_SECOND", MomentPart::HourSecond},
     {"HOUR_MICROSECOND", MomentPart::HourMicrosecond},
     {"MINUTE_SECOND", MomentPart::MinuteSecond},
     {"MINUTE_MICROSECOND", MomentPart::MinuteMicrosecond},
     {"SECOND_MICROSECOND", MomentPart::SecondMicrosecond}}};

/// Digits of a number that a part is, about as the server has them.
unsigned digits_of(MomentPart part) {
  switch (part) {
    case MomentPart::Year:
      return 4;
    case MomentPart::YearMonth:
    case MomentPart::DayNumber:
      return 6;
    case MomentPart::Microsecond:
      return digits_of_microseconds;
    case MomentPart::DayHour:
    case MomentPart::HourMinute:
    case MomentPart::MinuteSecond:
      return 4;
    case MomentPart::DayMinute:
    case MomentPart::HourSecond:
      return 6;
    case MomentPart::DaySecond:
    case MomentPart::SecondMicrosecond:
      return 8;
    case MomentPart::MinuteMicrosecond:
      return 10;
    case MomentPart::SecondNumber:
      return 11;
    case MomentPart::HourMicrosecond:
      return 12;
    case MomentPart::DayMicrosecond:
      return 14;
    case MomentPart::DayOfYear:
      return 3;
    case MomentPart::Quarter:
    case MomentPart::Weekday:
    case MomentPart::DayOfWeek:
      return 1;
    default:
      return 2;
  }
}

Expression called_of(Function called, std::vector<Expression> arguments,
                     std::shared_ptr<const NumberFunction> function) {
  return Expression::call(called, std::move(arguments), {.of_numbers = std::move(function)});
}
Expression part_called(MomentPart part, const Expression& moment) {
  return called_of(Function::PartOfMoment, {moment}, part_of_moment(part));
}

constexpr ValueType moment_type(SqlType type) { return {.kind = ValueType::Kind::Moment, .sql = type}; }

/// What tells something of a moment is NULL of a day that is none.
Expression told(const Expression& number, unsigned digits) {
  return typed_nullable(number, SqlType::integer(digits));
}
Expression told_moment(const Expression& moment, SqlType type) {
  type.is_nullable = true;
  return moment.as(moment_type(type));
}

/// Reads a text from the front.
class TimeText {
 public:
  explicit TimeText(std::string_view text) : rest_(text) {}
  bool take(char byte) {
    if (rest_.empty() || rest_.front() != byte) return false;
    rest_.remove_prefix(1);
    return true;
  }
  /// A number of so many digits.
  bool take_number(size_t least, size_t most, uint64_t& number) {
    size_t digits = 0;
    number = 0;
    while (digits < most && digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9')
      number = number * 10 + static_cast<uint64_t>(rest_[digits++] - '0');
    rest_.remove_prefix(digits);
    return digits >= least;
  }
  /// What stands behind the point of seconds, as microseconds; `digits`: how many.
  bool take_fraction(uint64_t& microseconds, unsigned& digits) {
    const size_t before = rest_.size();
    if (!take_number(1, digits_of_microseconds, microseconds)) return false;
    digits = static_cast<unsigned>(before - rest_.size());
    for (unsigned i = digits; i < digits_of_microseconds; ++i) microseconds *= 10;
    return true;
  }
  bool is_at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

bool is_time_of_day(const MomentParts& parts) { return parts.minute < 60 && parts.second < 60; }

}  // namespace

std::optional<Expression> time_of_text(std::string_view text, Kind kind) {
  TimeText rest(text);
  MomentParts parts;
  unsigned digits = 0;
  const auto take_time = [&](size_t most_digits_of_hour) {
    if (!rest.take_number(1, most_digits_of_hour, parts.hour) || !rest.take(':') ||
        !rest.take_number(1, 2, parts.minute))
      return false;
    if (!rest.take(':')) return true;
    if (!rest.take_number(1, 2, parts.second)) return false;
    return !rest.take('.') || rest.take_fraction(parts.microsecond, digits);
  };
  if (kind == Kind::Time) {
    constexpr size_t digits_of_hour = 3;
    constexpr uint64_t most_hours = 838;
    const bool is_negative = rest.take('-');
    if (!take_time(digits_of_hour) || !rest.is_at_end() || !is_time_of_day(parts) || parts.hour > most_hours)
      return std::nullopt;
    return Expression::constant(span_of(is_negative, parts))
        .as(ValueType{.kind = ValueType::Kind::Span, .sql = SqlType::moment(Kind::Time, digits)});
  }
  constexpr size_t digits_of_year = 4;
  if (!rest.take_number(digits_of_year, digits_of_year, parts.year) || !rest.take('-') ||
      !rest.take_number(1, 2, parts.month) || !rest.take('-') || !rest.take_number(1, 2, parts.day))
    return std::nullopt;
  if (kind != Kind::Date && !rest.is_at_end()) {
    if ((!rest.take(' ') && !rest.take('T')) || !take_time(2)) return std::nullopt;
  }
  if (!rest.is_at_end() || !is_in_calendar(parts) || !is_time_of_day(parts) || parts.hour > 23)
    return std::nullopt;
  return Expression::constant(moment_of(parts)).as(moment_type(SqlType::moment(kind, digits)));
}

Result<Expression> moment_of(const CallRule& call, const Expression& argument) {
  const SqlType& type = argument.sql();
  if (type.is_moment()) return argument;
  if (type.kind == Kind::Null)
    return told_moment(Expression::null(ValueKind::Integer), SqlType::moment(Kind::DateTime));
  if (type.kind != Kind::Text || !argument.is_constant()) return call.refuse("a date or a datetime", type);
  const bool is_day = argument->text.find(':') == std::string::npos;
  if (const auto moment = time_of_text(argument->text, is_day ? Kind::Date : Kind::DateTime)) return *moment;
  return fail(ErrorCode::InvalidArgument,
              fmt::format("{}: '{}' is no date", call.line.name(), argument->text));
}

Expression number_of_moment(const Expression& moment) {
  const bool is_day = moment.sql().kind == Kind::Date;
  return part_called(is_day ? MomentPart::DateNumber : MomentPart::MomentNumber, moment);
}

Expression text_of_moment(const Expression& moment, const LanguageSettings& settings) {
  constexpr uint64_t day = 10, second = 19;
  const SqlType& type = moment.sql();
  std::string format = "%Y-%m-%d";
  if (type.kind != Kind::Date) format += " %H:%i:%s";
  uint64_t characters = type.kind == Kind::Date ? day : second;
  Expression text = Expression::call(Function::DateFormat, {moment, Expression::constant(format)});
  if (type.scale != 0) {
    characters += 1 + type.scale;
    text = Expression::call(Function::DateFormat, {moment, Expression::constant(format + ".%f")});
    text = Expression::call(Function::Left, {text, Expression::constant(static_cast<int64_t>(characters))},
                            {.collation = settings.collation});
  }
  SqlType result = SqlType::text(characters, *settings.collation);
  result.gives_way = true;
  result.is_nullable = type.is_nullable;
  return text.as(result);
}

Result<Expression> make_part(const CallRule& call) {
  const Expression& argument = call.argument(0);
  const bool is_second_of_day = call.line.name() == "TIME_TO_SEC";
  const auto part = find_named(named_parts, call.line.name());
  if (argument.sql().kind == Kind::Time) {
    constexpr unsigned digits_of_seconds = 16;
    if (is_second_of_day) {
      if (argument.sql().scale != 0) return call.left_out("a fraction of seconds");
      return told(called_of(Function::PartOfMoment, {argument}, seconds_of_span()), digits_of_seconds);
    }
    if (part < MomentPart::Hour || part > MomentPart::Microsecond)
      return call.refuse("a date or a datetime", argument.sql());
    return told(called_of(Function::PartOfMoment, {argument}, part_of_span(*part, false)), digits_of(*part));
  }
  if (is_second_of_day) return call.refuse("a TIME", argument.sql());
  HAILSTONE_ASSIGN(const Expression moment, moment_of(call, argument));
  return told(part_called(*part, moment), digits_of(*part));
}

Result<Expression> make_extract(const CallRule& call) {
  if (call.word == "WEEK") return make_week(call);
  const auto part = find_named(named_extracts, call.word);
  if (!part) return fail(ErrorCode::InvalidArgument, fmt::format("EXTRACT has no unit '{}'", call.word));
  const Expression& argument = call.argument(0);
  if (argument.sql().kind == Kind::Time) {
    const bool has_day =
        *part < MomentPart::Hour || (*part >= MomentPart::DayHour && *part <= MomentPart::DayMicrosecond);
    if (has_day) return call.left_out("a unit with days of a TIME");
    return told(called_of(Function::PartOfMoment, {argument}, part_of_span(*part, true)), digits_of(*part));
  }
  HAILSTONE_ASSIGN(const Expression moment, moment_of(call, argument));
  return told(part_called(*part, moment), digits_of(*part));
}

namespace {

Result<WeekMode> week_mode(const CallRule& call) {
  if (call.arguments.size() == 1) return WeekMode{call.settings.week_mode};
  const auto mode = call.argument(1).whole_constant();
  if (!mode) return call.left_out("a mode that is no constant");
  return WeekMode{static_cast<unsigned>(*mode) & 7U};
}

Result<MomentUnit> unit_of(const CallRule& call) {
  const auto unit = find_named(named_units, call.word);
  if (unit) return *unit;
  return fail(
      ErrorCode::InvalidArgument,
      fmt::format("'{}' is no unit here; there are MICROSECOND, SECOND, MINUTE, HOUR, DAY, WEEK, MONTH, "
                  "QUARTER and YEAR",
                  call.word));
}

Result<Expression> move_moment(const CallRule& call, MomentUnit unit, bool before) {
  const Expression& from = call.argument(0);
  if (!from.sql().is_moment()) return call.refuse("a date or a datetime", from.sql());
  HAILSTONE_ASSIGN(const Expression by, whole_of(call, call.argument(1)));
  SqlType type = from.sql();
  if (type.kind == Kind::Instant || (type.kind == Kind::Date && unit < MomentUnit::Day))
    type.kind = Kind::DateTime;
  if (unit == MomentUnit::Microsecond) type.scale = digits_of_microseconds;
  return told_moment(called_of(Function::MomentAfter, {from, by}, moment_after(unit, before)), type);
}

}  // namespace

Result<Expression> make_week(const CallRule& call) {
  HAILSTONE_ASSIGN(const WeekMode mode, week_mode(call));
  HAILSTONE_ASSIGN(const Expression moment, moment_of(call, call.argument(0)));
  return told(called_of(Function::PartOfMoment, {moment}, week_of_moment(mode)), 2);
}

Result<Expression> make_year_and_week(const CallRule& call) {
  constexpr unsigned of_other_year = 2, digits = 5;
  HAILSTONE_ASSIGN(WeekMode mode, week_mode(call));
  mode.mode |= of_other_year;
  HAILSTONE_ASSIGN(const Expression moment, moment_of(call, call.argument(0)));
  return told(called_of(Function::PartOfMoment, {moment}, year_and_week_of_moment(mode)), digits);
}

Result<Expression> make_later(const CallRule& call) {
  HAILSTONE_ASSIGN(const MomentUnit unit, unit_of(call));
  return move_moment(call, unit, false);
}
Result<Expression> make_earlier(const CallRule& call) {
  HAILSTONE_ASSIGN(const MomentUnit unit, unit_of(call));
  return move_moment(call, unit, true);
}
Result<Expression> make_days_later(const CallRule& call) { return move_moment(call, MomentUnit::Day, false); }
Result<Expression> make_days_earlier(const CallRule& call) {
  return move_moment(call, MomentUnit::Day, true);
}

Result<Expression> make_days_between(const CallRule& call) {
  constexpr unsigned digits = 7;
  HAILSTONE_ASSIGN(const Expression to, moment_of(call, call.argument(0)));
  HAILSTONE_ASSIGN(const Expression from, moment_of(call, call.argument(1)));
  const Expression days = Expression::call(
      Function::Subtract, {part_called(MomentPart::DayNumber, to), part_called(MomentPart::DayNumber, from)});
  return told(days, digits);
}

Result<Expression> make_units_between(const CallRule& call) {
  constexpr unsigned digits = 20;
  HAILSTONE_ASSIGN(const MomentUnit unit, unit_of(call));
  HAILSTONE_ASSIGN(const Expression from, moment_of(call, call.argument(0)));
  HAILSTONE_ASSIGN(const Expression to, moment_of(call, call.argument(1)));
  return told(called_of(Function::UnitsBetween, {from, to}, units_between(unit)), digits);
}

Result<Expression> make_last_day(const CallRule& call) {
  HAILSTONE_ASSIGN(const Expression moment, moment_of(call, call.argument(0)));
  return told_moment(part_called(MomentPart::LastDay, moment), SqlType::moment(Kind::Date));
}

Result<Expression> cast_to_moment(const CallRule& call, SqlType type) {
  HAILSTONE_ASSIGN(const Expression moment, moment_of(call, call.argument(0)));
  if (type.kind == Kind::Date) return told_moment(part_called(MomentPart::Midnight, moment), type);
  if (type.scale > digits_of_microseconds)
    return fail(ErrorCode::InvalidArgument, "DATETIME has at most 6 digits of the seconds' fraction");
  if (type.scale < moment.sql().scale) return call.left_out("a DATETIME of fewer digits");
  return told_moment(part_called(MomentPart::Whole, moment), type);
}

Result<Expression> make_day(const CallRule& call) {
  return cast_to_moment(call, SqlType::moment(Kind::Date));
}

Result<Expression> make_day_of_number(const CallRule& call) {
  HAILSTONE_ASSIGN(const Expression number, whole_of(call, call.argument(0)));
  return told_moment(called_of(Function::MomentOf, {number}, day_of_number()), SqlType::moment(Kind::Date));
}

Result<Expression> make_day_of_year(const CallRule& call) {
  HAILSTONE_ASSIGN(const Expression year, whole_of(call, call.argument(0)));
  HAILSTONE_ASSIGN(const Expression day, whole_of(call, call.argument(1)));
  return told_moment(called_of(Function::MomentOf, {year, day}, day_of_year_and_number()),
                     SqlType::moment(Kind::Date));
}

Result<Expression> make_formatted(const CallRule& call) {
  HAILSTONE_ASSIGN(const Expression moment, moment_of(call, call.argument(0)));
  const Expression& format = call.argument(1);
  if (format.sql().kind != Kind::Text) return call.refuse("a format", format.sql());
  if (!format.is_constant()) return call.left_out("a format that is no constant");
  if (!knows_format(format->text)) return call.left_out("names of months and days, and weeks");
  constexpr uint64_t most_of_directive = 11;
  SqlType type = SqlType::text(format->text.size() * most_of_directive, *call.settings.collation);
  return typed_nullable(Expression::call(Function::DateFormat, {moment, format}), type);
}

}  // namespace hailstone
