#include "collect/wall_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/check.h"

namespace hailstone {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::months;
using std::chrono::seconds;
using std::chrono::sys_days;
using std::chrono::year_month_day;

/// The digits at the beginning of `text`, exactly so many, which are taken off.
std::optional<unsigned> take_number(std::string_view& text, size_t digits) {
  unsigned number = 0;
  if (text.size() < digits) return std::nullopt;
  const char* const end = text.data() + digits;
  const bool all = std::all_of(text.data(), end, [](char c) { return c >= '0' && c <= '9'; });
  if (!all) return std::nullopt;
  std::from_chars(text.data(), end, number);
  text.remove_prefix(digits);
  return number;
}

std::optional<WallTime> midnight_of(unsigned year, unsigned month, unsigned day) {
  const year_month_day date(std::chrono::year(static_cast<int>(year)), std::chrono::month(month),
                            std::chrono::day(day));
  if (!date.ok()) return std::nullopt;
  return sys_days(date);
}

WallTime moved(WallTime time, const TimeStep& step, int sign) {
  const int count = sign * static_cast<int>(step.count);
  switch (step.unit) {
    case TimeStep::Unit::Minute:
      return time + minutes(count);
    case TimeStep::Unit::Hour:
      return time + hours(count);
    case TimeStep::Unit::Day:
      return time + days(count);
    case TimeStep::Unit::Month:
      break;
  }
  const sys_days day = std::chrono::floor<days>(time);
  year_month_day date = year_month_day(day) + months(count);
  // Of 31 January the month after has no such day.
  if (!date.ok()) date = date.year() / date.month() / std::chrono::last;
  return sys_days(date) + (time - day);
}

}  // namespace

std::optional<TimeStep> parse_time_step(std::string_view text) {
  TimeStep step;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), step.count);
  if (error != std::errc() || step.count == 0 || step.count > 99'999) return std::nullopt;
  std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  if (!unit.starts_with(' ')) return std::nullopt;
  unit.remove_prefix(1);
  if (unit.ends_with('s')) unit.remove_suffix(1);
  if (unit == "minute") {
    step.unit = TimeStep::Unit::Minute;
  } else if (unit == "hour") {
    step.unit = TimeStep::Unit::Hour;
  } else if (unit == "day") {
    step.unit = TimeStep::Unit::Day;
  } else if (unit == "month") {
    step.unit = TimeStep::Unit::Month;
  } else {
    return std::nullopt;
  }
  return step;
}

std::string to_text(const TimeStep& step) {
  const std::string_view unit = step.unit == TimeStep::Unit::Minute ? "minute"
                                : step.unit == TimeStep::Unit::Hour ? "hour"
                                : step.unit == TimeStep::Unit::Day  ? "day"
                                                                    : "month";
  return fmt::format("{} {}{}", step.count, unit, step.count == 1 ? "" : "s");
}

bool divides_time(const TimeStep& step) {
  switch (step.unit) {
    case TimeStep::Unit::Minute:
      return 60 % step.count == 0;
    case TimeStep::Unit::Hour:
      return 24 % step.count == 0;
    case TimeStep::Unit::Day:
    case TimeStep::Unit::Month:
      break;
  }
  return step.count == 1;
}

WallTime beginning_of(WallTime time, const TimeStep& step) {
  HAILSTONE_CHECK(divides_time(step), "{}", to_text(step));
  const sys_days day = std::chrono::floor<days>(time);
  switch (step.unit) {
    case TimeStep::Unit::Minute: {
      const auto minute = std::chrono::floor<minutes>(time - day);
      return day + minute - minute % static_cast<int>(step.count);
    }
    case TimeStep::Unit::Hour: {
      const auto hour = std::chrono::floor<hours>(time - day);
      return day + hour - hour % static_cast<int>(step.count);
    }
    case TimeStep::Unit::Day:
      return day;
    case TimeStep::Unit::Month:
      break;
  }
  const year_month_day date(day);
  return sys_days(date.year() / date.month() / 1);
}

WallTime plus(WallTime time, const TimeStep& step) { return moved(time, step, 1); }
WallTime minus(WallTime time, const TimeStep& step) { return moved(time, step, -1); }

std::string to_text(WallTime time) {
  const sys_days day = std::chrono::floor<days>(time);
  const year_month_day date(day);
  const auto rest = (time - day).count();
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), rest / 3600,
                     rest / 60 % 60, rest % 60);
}

std::string compact_text(WallTime time, TimeStep::Unit unit) {
  const sys_days day = std::chrono::floor<days>(time);
  const year_month_day date(day);
  std::string text =
      fmt::format("{:04}{:02}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()));
  if (unit != TimeStep::Unit::Month) text += fmt::format("{:02}", static_cast<unsigned>(date.day()));
  if (unit <= TimeStep::Unit::Hour) text += fmt::format("{:02}", (time - day) / hours(1));
  if (unit == TimeStep::Unit::Minute) text += fmt::format("{:02}", (time - day) / minutes(1) % 60);
  return text;
}

std::optional<WallTime> parse_compact_day(std::string_view text) {
  if (text.size() != 8) return std::nullopt;
  const auto year = take_number(text, 4), month = take_number(text, 2), day = take_number(text, 2);
  if (!year || !month || !day) return std::nullopt;
  return midnight_of(*year, *month, *day);
}

std::optional<WallTime> parse_wall_time(std::string_view text) {
  const auto take = [&text](char before) -> std::optional<unsigned> {
    if (!text.starts_with(before)) return std::nullopt;
    text.remove_prefix(1);
    return take_number(text, 2);
  };
  const auto year = take_number(text, 4), month = take('-'), day = take('-');
  if (!year || !month || !day) return std::nullopt;
  const auto midnight = midnight_of(*year, *month, *day);
  if (!midnight || text.empty()) return midnight;
  const auto hour = take(text[0] == 'T' ? 'T' : ' '), minute = take(':'), second = take(':');
  if (!hour || !minute || !second || *hour > 23 || *minute > 59 || *second > 59) return std::nullopt;
  return *midnight + hours(*hour) + minutes(*minute) + seconds(*second);
}

}  // namespace hailstone
