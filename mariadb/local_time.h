// What the clocks of a time zone of the server show. Time zones are never changed, and live as long as the
// server. A LocalTime belongs to one thread.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>

#include "expression/stored_values.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

constexpr int64_t seconds_of_a_day = 86'400;

/// Asks the zone once for all seconds of a quarter of an hour.
class LocalTime {
 public:
  explicit LocalTime(const Time_zone& zone) : zone_(zone) {}

  /// What clocks count at a second since 1970 in UTC, which is not below 0.
  int64_t at(int64_t second) {
    const int64_t number = second / seconds_of_quarter;
    Quarter& quarter = quarters_[static_cast<size_t>(number) % quarters_.size()];
    if (quarter.number != number) quarter = quarter_of(number);
    return second + (quarter.is_even ? quarter.offset : offset(second));
  }

 private:
  static constexpr int64_t seconds_of_quarter = 900;
  struct Quarter {
    int64_t number = -1;
    int64_t offset = 0;
    bool is_even = false;  // no clock is put on or back in it
  };

  /// How many seconds the zone's clocks are ahead of UTC.
  int64_t offset(int64_t second) const {
    MYSQL_TIME local;
    zone_.gmt_sec_to_TIME(&local, static_cast<my_time_t>(second));
    const std::chrono::sys_days day(std::chrono::year(static_cast<int>(local.year)) /
                                    std::chrono::month(local.month) / std::chrono::day(local.day));
    return int64_t{day.time_since_epoch().count()} * seconds_of_a_day + local.hour * 3600 +
           local.minute * 60 + local.second - second;
  }
  Quarter quarter_of(int64_t number) const {
    const int64_t first = offset(number * seconds_of_quarter);
    return {number, first, first == offset((number + 1) * seconds_of_quarter - 1)};
  }

  const Time_zone& zone_;
  std::array<Quarter, 64> quarters_;
};

}  // namespace hailstone
