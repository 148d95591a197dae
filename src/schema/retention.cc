#include "schema/retention.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "schema/row_codec.h"

namespace hailstone {
namespace {

using namespace std::chrono;

constexpr int64_t seconds_of_hour = 3600;
constexpr int64_t a_second = 1'000'000;  // in microseconds
constexpr int64_t seconds_of_day = 24 * seconds_of_hour;

/// Rounds towards the past.
constexpr int64_t day_of(int64_t second) {
  return second / seconds_of_day - (second % seconds_of_day < 0 ? 1 : 0);
}

int64_t months_before(int64_t second, int64_t count) {
  const int64_t day_number = day_of(second);
  const year_month_day date{sys_days(days(day_number))};
  const int64_t months_since_year_0 =
      int64_t{static_cast<int>(date.year())} * 12 + int64_t{static_cast<unsigned>(date.month())} - 1 - count;
  if (months_since_year_0 < 12)
    return int64_t{sys_days(year(1) / January / 1).time_since_epoch().count()} * seconds_of_day;
  const year_month earlier = year(static_cast<int>(months_since_year_0 / 12)) /
                             month(static_cast<unsigned>(months_since_year_0 % 12) + 1);
  const day last_day = (earlier / last).day();
  const sys_days moved = earlier / std::min(date.day(), last_day);
  return int64_t{moved.time_since_epoch().count()} * seconds_of_day + (second - day_number * seconds_of_day);
}

/// What the numbers of a column of `width` bytes can hold, and nothing greater.
int64_t greatest(const Column& column) {
  const unsigned bits = 8 * column.width - (column.type == Type::Signed ? 1 : 0);
  return bits >= 63 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << bits) - 1;
}

}  // namespace

int64_t second_before(int64_t second, const Retention& retention) {
  const int64_t amount = retention.amount;
  switch (retention.unit) {
    case Retention::Unit::Hour:
      return second - amount * seconds_of_hour;
    case Retention::Unit::Day:
      return second - amount * seconds_of_day;
    case Retention::Unit::Week:
      return second - amount * 7 * seconds_of_day;
    case Retention::Unit::Month:
      return months_before(second, amount);
    case Retention::Unit::Year:
      return months_before(second, amount * 12);
  }
  return second - amount * seconds_of_day;
}

int64_t RetentionClock::now() const {
  return duration_cast<seconds>(system_clock::now().time_since_epoch()).count();
}

Result<std::optional<ExpiredValues>> RetentionClock::expired(const TableDefinition& table,
                                                             int64_t now) const {
  const Retention& retention = table.retention;
  const int64_t limit = second_before(now, retention);
  int64_t first_kept = 0;
  switch (retention.scale) {
    case static_cast<uint8_t>(TimeScale::Seconds):
      first_kept = limit;
      break;
    case static_cast<uint8_t>(TimeScale::Microseconds):
      first_kept = std::clamp(limit, std::numeric_limits<int64_t>::min() / a_second,
                              std::numeric_limits<int64_t>::max() / a_second) *
                   a_second;
      break;
    case static_cast<uint8_t>(TimeScale::Days):
      // A day is over before it counts as past.
      first_kept = day_of(limit);
      break;
    default:
      return fail(ErrorCode::Unsupported,
                  fmt::format("rows of table '{}' expire by times that this program does not know ({}): the "
                              "server that made the table does",
                              table.name, retention.scale));
  }
  const Column& column = table.columns[retention.column];
  const int64_t last = std::min(first_kept - 1, greatest(column));
  if (column.type == Type::Signed) {
    const int64_t least = native_signed(0, column.width);
    if (last < least) return std::nullopt;
    return ExpiredValues{0, order_signed(last, column.width)};
  }
  if (last < 0) return std::nullopt;
  return ExpiredValues{0, static_cast<uint64_t>(last)};
}

}  // namespace hailstone
