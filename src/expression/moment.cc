#include "expression/moment.h"

#include <array>
#include <chrono>
#include <utility>

namespace hailstone {

namespace {

namespace calendar = std::chrono;

constexpr int64_t microseconds_of_second = 1'000'000, seconds_of_day = 86'400,
                  microseconds_of_day = seconds_of_day * microseconds_of_second;
constexpr int first_year = 1, last_year = 9'999;
constexpr int64_t months_of_year = 12;

constexpr int64_t day_number(calendar::year_month_day day) {
  return calendar::sys_days(day).time_since_epoch().count();
}
constexpr int64_t first_day = day_number(calendar::year(first_year) / 1 / 1),
                  last_day = day_number(calendar::year(last_year) / 12 / 31);

calendar::year_month_day day_of(const MomentParts& parts) {
  return {calendar::year(static_cast<int>(parts.year)), calendar::month(static_cast<unsigned>(parts.month)),
          calendar::day(static_cast<unsigned>(parts.day))};
}

}  // namespace

bool is_in_calendar(const MomentParts& parts) {
  constexpr uint64_t days_of_each_month = 28;
  if (parts.year < uint64_t{first_year} || parts.year > uint64_t{last_year}) return false;
  return parts.month - 1 < uint64_t{months_of_year} && parts.day != 0 &&
         (parts.day <= days_of_each_month || day_of(parts).ok());
}

unsigned day_of_year(const MomentParts& parts) {
  const calendar::year_month_day day = day_of(parts);
  return static_cast<unsigned>(day_number(day) - day_number(day.year() / calendar::January / 1) + 1);
}

unsigned weekday(const MomentParts& parts) {
  return calendar::weekday(calendar::sys_days(day_of(parts))).c_encoding();
}

namespace {

void set_day(calendar::year_month_day day, MomentParts& parts) {
  parts.year = static_cast<uint64_t>(static_cast<int>(day.year()));
  parts.month = static_cast<unsigned>(day.month());
  parts.day = static_cast<unsigned>(day.day());
}

int64_t time_of_day(const MomentParts& parts) {
  const uint64_t seconds = (parts.hour * 60 + parts.minute) * 60 + parts.second;
  return static_cast<int64_t>(seconds) * microseconds_of_second + static_cast<int64_t>(parts.microsecond);
}

/// Since 1970.
int64_t microseconds_of(const MomentParts& parts) {
  return day_number(day_of(parts)) * microseconds_of_day + time_of_day(parts);
}

using State = NumberFunction::State;

struct Told {
  int64_t number = 0;
  State state = State::Unknown;

  static Told of(int64_t number) { return {number, State::Known}; }
  static Told beyond_calendar() { return {0, State::Null}; }
};

/// Of one or two numbers, row by row.
template <typename Of>
class OfNumbers final : public NumberFunction {
 public:
  explicit OfNumbers(Of of) : of_(of) {}
  void of_all(uint32_t rows, const int64_t* first, const int64_t* second, int64_t* to,
              State* state) const override {
    for (uint32_t row = 0; row < rows; ++row) {
      const Told told = of_(first[row], second == nullptr ? 0 : second[row]);
      to[row] = told.number;
      state[row] = told.state;
    }
  }

 private:
  const Of of_;
};

template <typename Of>
std::shared_ptr<const NumberFunction> of_numbers(Of of) {
  return std::make_shared<OfNumbers<Of>>(of);
}

/// The same where the first number is a moment. One that is no day is not told.
template <typename Of>
std::shared_ptr<const NumberFunction> of_moment(Of of) {
  return of_numbers([of](int64_t moment, int64_t second) -> Told {
    const MomentParts parts = parts_of(moment);
    return is_in_calendar(parts) ? of(parts, second) : Told();
  });
}

constexpr int64_t number_of_1970 = 719'528;

uint64_t date_number(const MomentParts& parts) { return (parts.year * 100 + parts.month) * 100 + parts.day; }
uint64_t time_number(const MomentParts& parts) {
  return (parts.hour * 100 + parts.minute) * 100 + parts.second;
}

struct Week {
  int year = 0;
  int64_t number = 0;
};

/// The first day of week 1.
int64_t first_day_of_weeks(int year, WeekMode mode) {
  constexpr int64_t days_of_week = 7, most_of_half = 3;
  const calendar::year_month_day january = calendar::year(year) / calendar::January / 1;
  const calendar::weekday day{calendar::sys_days(january)};
  // Days of the week before the first of January.
  const int64_t before = mode.starts_on_monday() ? day.iso_encoding() - 1 : day.c_encoding();
  const bool is_first = mode.is_whole() ? before == 0 : before <= most_of_half;
  return day_number(january) - before + (is_first ? 0 : days_of_week);
}

Week week_of(const MomentParts& parts, WeekMode mode) {
  constexpr int64_t days_of_week = 7;
  const int64_t day = day_number(day_of(parts));
  int year = static_cast<int>(parts.year);
  if (day < first_day_of_weeks(year, mode)) {
    if (!mode.is_of_other_year()) return {year, 0};
    --year;
  } else if (mode.is_of_other_year() && day >= first_day_of_weeks(year + 1, mode)) {
    ++year;
  }
  return {year, (day - first_day_of_weeks(year, mode)) / days_of_week + 1};
}

int64_t number_of(MomentPart part, const MomentParts& parts) {
  const auto number = [](uint64_t value) { return static_cast<int64_t>(value); };
  switch (part) {
    case MomentPart::Year:
      return number(parts.year);
    case MomentPart::Quarter:
      return number((parts.month + 2) / 3);
    case MomentPart::Month:
      return number(parts.month);
    case MomentPart::Day:
      return number(parts.day);
    case MomentPart::YearMonth:
      return number(parts.year * 100 + parts.month);
    case MomentPart::Hour:
      return number(parts.hour);
    case MomentPart::Minute:
      return number(parts.minute);
    case MomentPart::Second:
      return number(parts.second);
    case MomentPart::Microsecond:
      return number(parts.microsecond);
    case MomentPart::DayHour:
      return number(parts.day * 100 + parts.hour);
    case MomentPart::DayMinute:
      return number((parts.day * 100 + parts.hour) * 100 + parts.minute);
    case MomentPart::DaySecond:
      return number(parts.day * 1'000'000 + time_number(parts));
    case MomentPart::DayMicrosecond:
      return number((parts.day * 1'000'000 + time_number(parts)) * 1'000'000 + parts.microsecond);
    case MomentPart::HourMinute:
      return number(parts.hour * 100 + parts.minute);
    case MomentPart::HourSecond:
      return number(time_number(parts));
    case MomentPart::HourMicrosecond:
      return number(time_number(parts) * 1'000'000 + parts.microsecond);
    case MomentPart::MinuteSecond:
      return number(parts.minute * 100 + parts.second);
    case MomentPart::MinuteMicrosecond:
      return number((parts.minute * 100 + parts.second) * 1'000'000 + parts.microsecond);
    case MomentPart::SecondMicrosecond:
      return number(parts.second * 1'000'000 + parts.microsecond);
    case MomentPart::DateNumber:
      return number(date_number(parts));
    case MomentPart::MomentNumber:
      return number(date_number(parts) * 1'000'000 + time_number(parts));
    case MomentPart::SecondNumber:
      return (day_number(day_of(parts)) + number_of_1970) * seconds_of_day +
             time_of_day(parts) / microseconds_of_second;
    case MomentPart::DayOfYear:
      return day_of_year(parts);
    case MomentPart::DayNumber:
      return day_number(day_of(parts)) + number_of_1970;
    case MomentPart::Weekday:
      return (weekday(parts) + 6) % 7;
    case MomentPart::DayOfWeek:
      return weekday(parts) + 1;
    case MomentPart::Whole:
      return moment_of(parts);
    case MomentPart::Midnight:
      return moment_of({.year = parts.year, .month = parts.month, .day = parts.day});
    case MomentPart::LastDay: {
      MomentParts last;
      set_day(day_of(parts).year() / day_of(parts).month() / calendar::last, last);
      return moment_of(last);
    }
  }
  return 0;
}

/// What a unit is: so many microseconds, or so many months.
struct Span {
  int64_t count = 0;
  bool of_months = false;
};
constexpr std::array<Span, 9> spans{{{1},
                                     {microseconds_of_second},
                                     {60 * microseconds_of_second},
                                     {3'600 * microseconds_of_second},
                                     {microseconds_of_day},
                                     {7 * microseconds_of_day},
                                     {1, true},
                                     {3, true},
                                     {months_of_year, true}}};

/// What is more leaves the calendar, wherever it begins.
constexpr int64_t most_microseconds = (last_day - first_day + 1) * microseconds_of_day,
                  most_months = (last_year + 1) * months_of_year;

Told after_months(MomentParts parts, int64_t months) {
  const int64_t all =
      static_cast<int64_t>(parts.year) * months_of_year + static_cast<int64_t>(parts.month) - 1 + months;
  if (all < 0 || all >= (last_year + 1) * months_of_year) return Told::beyond_calendar();
  if (all < first_year * months_of_year) return {};
  parts.year = static_cast<uint64_t>(all / months_of_year);
  parts.month = static_cast<uint64_t>(all % months_of_year + 1);
  if (const auto day = day_of(parts); !day.ok()) set_day(day.year() / day.month() / calendar::last, parts);
  return Told::of(moment_of(parts));
}

Told after_days(MomentParts parts, int64_t days) {
  const int64_t all = day_number(day_of(parts)) + days;
  if (all < first_day || all > last_day) return Told::beyond_calendar();
  set_day(calendar::sys_days(calendar::days(all)), parts);
  return Told::of(moment_of(parts));
}

Told after_microseconds(MomentParts parts, int64_t microseconds) {
  const int64_t all = microseconds_of(parts) + microseconds;
  if (all < first_day * microseconds_of_day || all >= (last_day + 1) * microseconds_of_day)
    return Told::beyond_calendar();
  const auto day = calendar::floor<calendar::days>(calendar::microseconds(all));
  const auto rest = static_cast<uint64_t>(all - int64_t{day.count()} * microseconds_of_day);
  constexpr auto second = static_cast<uint64_t>(microseconds_of_second);
  const uint64_t seconds = rest / second;
  set_day(calendar::sys_days(day), parts);
  parts.hour = seconds / 3'600;
  parts.minute = seconds / 60 % 60;
  parts.second = seconds % 60;
  parts.microsecond = rest % second;
  return Told::of(moment_of(parts));
}

int64_t months_between(const MomentParts& from, const MomentParts& to) {
  const auto months = [](const MomentParts& parts) {
    return static_cast<int64_t>(parts.year) * months_of_year + static_cast<int64_t>(parts.month);
  };
  const bool is_whole = to.day != from.day ? to.day > from.day : time_of_day(to) >= time_of_day(from);
  return months(to) - months(from) - (is_whole ? 0 : 1);
}

/// Of days since 1970.
Told moment_of_day(int64_t day) {
  if (day < first_day || day > last_day) return {};
  MomentParts parts;
  set_day(calendar::sys_days(calendar::days(day)), parts);
  return Told::of(moment_of(parts));
}

/// One for each value of an enumeration, so that equal instructions have the same one.
template <size_t values, typename Make>
auto make_all(const Make& make) {
  std::array<std::shared_ptr<const NumberFunction>, values> all;
  for (size_t i = 0; i < values; ++i) all[i] = make(i);
  return all;
}

/// A function for each part, so that none is chosen for each moment.
template <size_t... parts>
auto make_parts(std::index_sequence<parts...>) {
  return std::array<std::shared_ptr<const NumberFunction>, sizeof...(parts)>{
      of_moment([](const MomentParts& of, int64_t) {
        return Told::of(number_of(static_cast<MomentPart>(parts), of));
      })...};
}

}  // namespace

std::shared_ptr<const NumberFunction> part_of_moment(MomentPart part) {
  constexpr size_t parts = static_cast<size_t>(MomentPart::LastDay) + 1;
  static const auto functions = make_parts(std::make_index_sequence<parts>());
  return functions[static_cast<size_t>(part)];
}

std::shared_ptr<const NumberFunction> week_of_moment(WeekMode mode) {
  return of_moment(
      [mode](const MomentParts& parts, int64_t) { return Told::of(week_of(parts, mode).number); });
}

std::shared_ptr<const NumberFunction> year_and_week_of_moment(WeekMode mode) {
  return of_moment([mode](const MomentParts& parts, int64_t) -> Told {
    const Week week = week_of(parts, mode);
    return week.year < first_year || week.year > last_year ? Told()
                                                           : Told::of(week.year * int64_t{100} + week.number);
  });
}

std::shared_ptr<const NumberFunction> moment_with(std::optional<unsigned> digits) {
  constexpr unsigned all_digits = 6;
  uint64_t unit = 1;
  for (unsigned i = digits.value_or(0); i < all_digits; ++i) unit *= 10;
  return of_moment([unit, is_day = !digits](const MomentParts& parts, int64_t) -> Told {
    const bool has_room = parts.microsecond % unit == 0 && (!is_day || time_of_day(parts) == 0);
    return has_room ? Told::of(moment_of(parts)) : Told();
  });
}

std::shared_ptr<const NumberFunction> day_of_number() {
  return of_numbers([](int64_t number, int64_t) -> Told {
    if (number < first_day + number_of_1970 || number > last_day + number_of_1970) return {};
    return moment_of_day(number - number_of_1970);
  });
}

std::shared_ptr<const NumberFunction> day_of_year_and_number() {
  return of_numbers([](int64_t year, int64_t number) -> Told {
    // Of two digits, the server makes four.
    constexpr int64_t least_year = 100;
    if (year < least_year || year > last_year || number < 1 || number > last_day) return {};
    const calendar::year_month_day first = calendar::year(static_cast<int>(year)) / calendar::January / 1;
    return moment_of_day(day_number(first) + number - 1);
  });
}

std::shared_ptr<const NumberFunction> moment_after(MomentUnit unit, bool before) {
  static const auto functions = make_all<2 * spans.size()>([](size_t i) {
    const Span span = spans[i / 2];
    const int64_t days = span.of_months ? 0 : span.count / microseconds_of_day;
    const int64_t most = (span.of_months ? most_months : most_microseconds) / span.count;
    const int64_t by = i % 2 == 0 ? span.count : -span.count;
    return of_moment([span, most, by, days](const MomentParts& parts, int64_t units) -> Told {
      if (units > most || units < -most) return {};
      if (span.of_months) return after_months(parts, units * by);
      if (days != 0) return after_days(parts, units * (by < 0 ? -days : days));
      return after_microseconds(parts, units * by);
    });
  });
  return functions[2 * static_cast<size_t>(unit) + (before ? 1 : 0)];
}

std::shared_ptr<const NumberFunction> units_between(MomentUnit unit) {
  static const auto functions = make_all<spans.size()>([](size_t i) {
    return of_moment([span = spans[i]](const MomentParts& from, int64_t moment) -> Told {
      const MomentParts to = parts_of(moment);
      if (!is_in_calendar(to)) return {};
      if (!span.of_months) return Told::of((microseconds_of(to) - microseconds_of(from)) / span.count);
      const bool is_earlier = moment < moment_of(from);
      return Told::of((is_earlier ? -months_between(to, from) : months_between(from, to)) / span.count);
    });
  });
  return functions[static_cast<size_t>(unit)];
}

}  // namespace hailstone
