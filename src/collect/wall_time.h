// Times as a clock on the wall shows them. Which zone the clock is set to is the matter of the connection
// that asks the server for NOW(): here a day always has 24 hours, and what a clock change does to a moment is
// not seen.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hailstone {

/// Without a zone: sys_seconds only for its arithmetic.
using WallTime = std::chrono::sys_seconds;

struct TimeStep {
  enum class Unit : uint8_t { Minute, Hour, Day, Month };
  unsigned count = 1;
  Unit unit = Unit::Day;
  bool operator==(const TimeStep&) const = default;
};

/// Of "5 minutes", "2 hours", "1 day", "3 months". Nothing for other texts, for zero, and for more than
/// 99,999.
std::optional<TimeStep> parse_time_step(std::string_view text);
std::string to_text(const TimeStep& step);
/// Whether steps of this kind, from the first of a month or from midnight on, never cross a midnight that
/// they do not end at: minutes that divide an hour, hours that divide a day, one day, one month. Only such
/// steps may be given to the functions below, except for plus() and minus().
bool divides_time(const TimeStep& step);

/// The beginning of the step that has this time.
WallTime beginning_of(WallTime time, const TimeStep& step);
WallTime plus(WallTime time, const TimeStep& step);
WallTime minus(WallTime time, const TimeStep& step);

/// "2026-11-24 10:00:00".
std::string to_text(WallTime time);
/// "20261124", of an hour "2026112410", of a minute "202611241030", of a month "202611": for names.
std::string compact_text(WallTime time, TimeStep::Unit unit);
/// Of "20261124".
std::optional<WallTime> parse_compact_day(std::string_view text);
/// Of the beginning of "2026-11-24 10:00:00.5", "2026-11-24T10:00:00", "2026-11-24"; the rest of the text is
/// the server's to judge. Nothing when no day and time that exist are there.
std::optional<WallTime> parse_wall_time(std::string_view text);

}  // namespace hailstone
