// Moments: days, or days with a time of the day, as Integer registers, and functions of them by the Gregorian
// calendar of the years 1 to 9999. The order of the numbers is that of the moments.
//
// There may be moments whose day is none, as 0000-00-00 or 2024-02-30: they have their place in the order,
// but no function tells anything of them. A moment beyond those years is NULL, of which the embedding
// application warns; of the year 0 nothing is told.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "expression/program.h"

namespace hailstone {

struct MomentParts {
  uint64_t year = 0, month = 0, day = 0;
  uint64_t hour = 0, minute = 0, second = 0, microsecond = 0;
};

/// Year * 13 + month, day, hour, minute, second and microsecond, in 5, 5, 6, 6 and 24 bits from the former
/// on.
constexpr int64_t moment_of(const MomentParts& parts) {
  const uint64_t day = (parts.year * 13 + parts.month) << 5 | parts.day;
  const uint64_t second = (day << 5 | parts.hour) << 12 | parts.minute << 6 | parts.second;
  return static_cast<int64_t>(second << 24 | parts.microsecond);
}

/// Of a moment that moment_of() has made.
constexpr MomentParts parts_of(int64_t moment) {
  const auto bits = static_cast<uint64_t>(moment);
  const uint64_t months = bits >> 46;
  return {.year = months / 13,
          .month = months % 13,
          .day = bits >> 41 & 31,
          .hour = bits >> 36 & 31,
          .minute = bits >> 30 & 63,
          .second = bits >> 24 & 63,
          .microsecond = bits & 0xff'ffff};
}
/// Whether its day is one, of the years 1 to 9999.
bool is_in_calendar(const MomentParts& parts);
/// From 1 on, of a day that is_in_calendar().
unsigned day_of_year(const MomentParts& parts);
/// Sunday is 0.
unsigned weekday(const MomentParts& parts);

/// Whether DATE_FORMAT is computed with this format: no names, which have languages, and no weeks.
bool knows_format(ByteView format);

/// What a moment tells by itself. The last three are moments, too. Parts of several units have two digits for
/// each behind the first, and six for microseconds.
enum class MomentPart : uint8_t {
  Year,
  Quarter,
  Month,
  Day,
  YearMonth,  // 202402
  Hour,
  Minute,
  Second,
  Microsecond,
  DayHour,
  DayMinute,
  DaySecond,
  DayMicrosecond,
  HourMinute,
  HourSecond,
  HourMicrosecond,
  MinuteSecond,
  MinuteMicrosecond,
  SecondMicrosecond,
  DateNumber,    // 20240229
  MomentNumber,  // 20240229235959
  SecondNumber,  // of the day numbers' seconds
  DayOfYear,     // from 1 on
  DayNumber,     // 719528 is 1970-01-01
  Weekday,       // Monday is 0
  DayOfWeek,     // Sunday is 1
  Whole,         // the moment itself, if its day is one
  Midnight,      // that its day begins with
  LastDay,       // of the month, at midnight
};
std::shared_ptr<const NumberFunction> part_of_moment(MomentPart part);

/// How weeks are numbered, by the bits of MariaDB's modes from 0 to 7.
struct WeekMode {
  unsigned mode = 0;
  bool starts_on_monday() const { return (mode & 1) != 0; }
  /// From 1 on, so that a year's first or last days may be in a week of another year. Else there is a week 0.
  bool is_of_other_year() const { return (mode & 2) != 0; }
  /// Whether week 1 is the first that has all its days in the year, and not the first that has four.
  bool is_whole() const { return ((mode & 4) != 0) == starts_on_monday(); }
};
/// 0 to 53.
std::shared_ptr<const NumberFunction> week_of_moment(WeekMode mode);
/// 202401
std::shared_ptr<const NumberFunction> year_and_week_of_moment(WeekMode mode);

/// The moment itself, where it is what a DATETIME has with so many digits of its seconds' fraction; nothing:
/// what a DATE has.
std::shared_ptr<const NumberFunction> moment_with(std::optional<unsigned> digits);

/// The day of a day number, as DayNumber tells it.
std::shared_ptr<const NumberFunction> day_of_number();
/// So many days after the last one of the year before, from 1 on; of years from 100 to 9999.
std::shared_ptr<const NumberFunction> day_of_year_and_number();

enum class MomentUnit : uint8_t { Microsecond, Second, Minute, Hour, Day, Week, Month, Quarter, Year };

/// The moment so many units after one; `before`: before it. A month that has no such day ends it: a month
/// after January 31 is the last day of February.
std::shared_ptr<const NumberFunction> moment_after(MomentUnit unit, bool before);

/// How many whole units lie between a moment and another one; below 0 where that is the earlier one.
std::shared_ptr<const NumberFunction> units_between(MomentUnit unit);

}  // namespace hailstone
