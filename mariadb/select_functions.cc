#include "select_functions.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>

#include "expression/moment.h"
#include "record.h"

namespace hailstone {

namespace {

class DecimalNumber final : public ColumnFunction {
 public:
  explicit DecimalNumber(DecimalDigits digits) : format_(digits) {}

  std::optional<int64_t> of(const Value& value) const override {
    if (!format_.is_integer()) return static_cast<int64_t>(format_.any_number(value.bytes));
    int64_t number = 0;
    uint8_t unknown = 0;
    of_all({&value.integer, 1}, &number, &unknown);
    return number;
  }

  void of_all(std::span<const uint64_t> ordered, int64_t* to, uint8_t* unknown) const override {
    static_cast<void>(format_.numbers(ordered, reinterpret_cast<uint64_t*>(to)));
    for (size_t i = 0; i < ordered.size(); ++i)
      to[i] = native_signed(static_cast<uint64_t>(to[i]), sizeof(int64_t));
    std::fill_n(unknown, ordered.size(), uint8_t{0});
  }

 private:
  const DecimalFormat format_;
};

constexpr uint bytes_of_moment = 5, bytes_of_seconds = 4;

/// The connection's. Noted, as the server does for a statement that it evaluates.
const Time_zone& zone_of_statement() {
  current_thd->used |= THD::TIME_ZONE_USED;
  return *current_thd->variables.time_zone;
}

struct Day {
  uint64_t year = 0, month = 0, day = 0;
};

/// `time`: hour, minute and second in 5, 6 and 6 bits.
int64_t part_of(interval_type unit, const Day& day, uint64_t time) {
  const auto part = [&] {
    switch (unit) {
      case INTERVAL_YEAR:
        return day.year;
      case INTERVAL_QUARTER:
        return (day.month + 2) / 3;
      case INTERVAL_MONTH:
        return day.month;
      case INTERVAL_DAY:
        return day.day;
      case INTERVAL_YEAR_MONTH:
        return day.year * 100 + day.month;
      case INTERVAL_HOUR:
        return time >> 12;
      case INTERVAL_MINUTE:
        return time >> 6 & 63;
      default:
        return time & 63;
    }
  };
  return static_cast<int64_t>(part());
}

class PartOfTime final : public ColumnFunction {
 public:
  /// `fraction`: bytes of a DATETIME's fraction of seconds; none: a DATE.
  PartOfTime(std::optional<uint> fraction, interval_type unit) : fraction_(fraction), unit_(unit) {}

  static bool knows(interval_type unit, bool has_time) {
    switch (unit) {
      case INTERVAL_YEAR:
      case INTERVAL_QUARTER:
      case INTERVAL_MONTH:
      case INTERVAL_DAY:
      case INTERVAL_YEAR_MONTH:
        return true;
      case INTERVAL_HOUR:
      case INTERVAL_MINUTE:
      case INTERVAL_SECOND:
        return has_time;
      default:
        return false;
    }
  }

  std::optional<int64_t> of(const Value& value) const override {
    Day day;
    uint64_t time = 0;
    if (!fraction_) {
      // A DATE is day, month and year, in 5, 4 and 15 bits from the lowest one on.
      day = {value.integer >> 9, value.integer >> 5 & 15, value.integer & 31};
    } else {
      // A DATETIME is year * 13 + month, day, hour, minute and second, the latter in 5, 5, 6 and 6 bits,
      // above an offset that makes the order that of numbers without sign.
      const uint64_t moment = (value.integer >> 8 * *fraction_) - 0x80'0000'0000;
      const uint64_t months = moment >> 22;
      day = {months / 13, months % 13, moment >> 17 & 31};
      time = moment & 0x1ffff;
    }
    if (day.month == 0 || day.day == 0) return std::nullopt;
    return part_of(unit_, day, time);
  }

 private:
  const std::optional<uint> fraction_;
  const interval_type unit_;
};

/// Of a DATETIME's, or a TIMESTAMP's, fraction of seconds of so many bytes.
uint64_t microseconds_of(uint64_t value, uint fraction) {
  constexpr std::array<uint64_t, 4> microseconds{0, 10'000, 100, 1};  // that it counts
  return (value & ((uint64_t{1} << 8 * fraction) - 1)) * microseconds[fraction];
}

/// As the library has it: a DATETIME's bits are in that order.
class Moment final : public ColumnFunction {
 public:
  /// `fraction`: bytes of a DATETIME's fraction of seconds; none: a DATE.
  explicit Moment(std::optional<uint> fraction) : fraction_(fraction) {}

  std::optional<int64_t> of(const Value& value) const override {
    return fraction_ ? of_moment(value.integer) : of_day(value.integer);
  }

  void of_all(std::span<const uint64_t> ordered, int64_t* to, uint8_t* unknown) const override {
    if (fraction_) {
      for (size_t row = 0; row < ordered.size(); ++row) to[row] = of_moment(ordered[row]);
    } else {
      for (size_t row = 0; row < ordered.size(); ++row) to[row] = of_day(ordered[row]);
    }
    std::fill_n(unknown, ordered.size(), uint8_t{0});
  }

 private:
  static constexpr unsigned bits_of_microseconds = 24;

  static int64_t of_day(uint64_t value) {
    return hailstone::moment_of({.year = value >> 9, .month = value >> 5 & 15, .day = value & 31});
  }
  int64_t of_moment(uint64_t value) const {
    const uint64_t moment = (value >> 8 * *fraction_) - 0x80'0000'0000;
    return static_cast<int64_t>(moment << bits_of_microseconds | microseconds_of(value, *fraction_));
  }

  const std::optional<uint> fraction_;
};

/// Of a TIMESTAMP, seconds since 1970 in UTC, what is said of it in a time zone. Time zones are never
/// changed, and live as long as the server.
class OfTimestamp : public ColumnFunction {
 public:
  /// `fraction`: bytes of its fraction of seconds.
  OfTimestamp(uint fraction, const Time_zone& zone) : fraction_(fraction), zone_(zone) {}

  std::optional<int64_t> of(const Value& value) const final {
    const int64_t moment = seconds_of(value.integer);
    if (moment == 0) return std::nullopt;  // the zero of dates
    return of_local(moment + offset(moment), fraction_of(value.integer));
  }

  /// The zone is asked once for all values of a quarter of an hour.
  void of_all(std::span<const uint64_t> ordered, int64_t* to, uint8_t* unknown) const final {
    std::array<Quarter, 64> quarters;
    for (size_t row = 0; row < ordered.size(); ++row) {
      const int64_t moment = seconds_of(ordered[row]);
      unknown[row] = moment == 0 ? 1 : 0;
      const int64_t number = moment / seconds_of_quarter;
      Quarter& quarter = quarters[static_cast<size_t>(number) % quarters.size()];
      if (quarter.number != number) quarter = quarter_of(number);
      to[row] =
          of_local(moment + (quarter.is_even ? quarter.offset : offset(moment)), fraction_of(ordered[row]));
    }
  }

 protected:
  static constexpr int64_t seconds_of_day = 86'400;
  /// Seconds since 1970 as the zone's clocks count them, and microseconds besides.
  virtual int64_t of_local(int64_t seconds, uint64_t microseconds) const = 0;

 private:
  static constexpr int64_t seconds_of_quarter = 900;
  struct Quarter {
    int64_t number = -1;
    int64_t offset = 0;
    bool is_even = false;  // no clock is put on or back in it
  };

  int64_t seconds_of(uint64_t ordered) const { return static_cast<int64_t>(ordered >> 8 * fraction_); }
  uint64_t fraction_of(uint64_t ordered) const { return microseconds_of(ordered, fraction_); }
  /// How many seconds the zone's clocks are ahead of UTC.
  int64_t offset(int64_t moment) const {
    MYSQL_TIME local;
    zone_.gmt_sec_to_TIME(&local, static_cast<my_time_t>(moment));
    const std::chrono::sys_days day(std::chrono::year(static_cast<int>(local.year)) /
                                    std::chrono::month(local.month) / std::chrono::day(local.day));
    return int64_t{day.time_since_epoch().count()} * seconds_of_day + local.hour * 3600 + local.minute * 60 +
           local.second - moment;
  }
  Quarter quarter_of(int64_t number) const {
    const int64_t first = offset(number * seconds_of_quarter);
    return {number, first, first == offset((number + 1) * seconds_of_quarter - 1)};
  }

  const uint fraction_;
  const Time_zone& zone_;
};

class PartOfTimestamp final : public OfTimestamp {
 public:
  PartOfTimestamp(uint fraction, interval_type unit, const Time_zone& zone)
      : OfTimestamp(fraction, zone), unit_(unit) {}

 private:
  int64_t of_local(int64_t local, uint64_t) const override {
    const auto days = std::chrono::floor<std::chrono::days>(std::chrono::seconds(local));
    const auto seconds = static_cast<uint64_t>(local - int64_t{days.count()} * seconds_of_day);
    const uint64_t time = seconds / 3600 << 12 | seconds / 60 % 60 << 6 | seconds % 60;
    if (unit_ == INTERVAL_HOUR || unit_ == INTERVAL_MINUTE || unit_ == INTERVAL_SECOND)
      return part_of(unit_, {}, time);
    const std::chrono::year_month_day date{std::chrono::sys_days(days)};
    return part_of(unit_,
                   {static_cast<uint64_t>(static_cast<int>(date.year())), static_cast<unsigned>(date.month()),
                    static_cast<unsigned>(date.day())},
                   time);
  }

  const interval_type unit_;
};

class MomentOfTimestamp final : public OfTimestamp {
 public:
  using OfTimestamp::OfTimestamp;

 private:
  int64_t of_local(int64_t local, uint64_t microseconds) const override {
    const auto days = std::chrono::floor<std::chrono::days>(std::chrono::seconds(local));
    const auto seconds = static_cast<uint64_t>(local - int64_t{days.count()} * seconds_of_day);
    const std::chrono::year_month_day date{std::chrono::sys_days(days)};
    return moment_of({.year = static_cast<uint64_t>(static_cast<int>(date.year())),
                      .month = static_cast<unsigned>(date.month()),
                      .day = static_cast<unsigned>(date.day()),
                      .hour = seconds / 3600,
                      .minute = seconds / 60 % 60,
                      .second = seconds % 60,
                      .microsecond = microseconds});
  }
};

}  // namespace

std::shared_ptr<const ColumnFunction> decimal_number(const Field_new_decimal& field) {
  return std::make_shared<DecimalNumber>(decimal_digits(field));
}

std::shared_ptr<const ColumnFunction> part_of_time(PlainField field, interval_type unit) {
  const auto type = field->real_type();
  const bool is_timestamp = type == MYSQL_TYPE_TIMESTAMP2, has_time = type == MYSQL_TYPE_DATETIME2;
  if (type != MYSQL_TYPE_NEWDATE && !has_time && !is_timestamp) return nullptr;
  if (!PartOfTime::knows(unit, has_time || is_timestamp)) return nullptr;
  if (is_timestamp) {
    return std::make_shared<PartOfTimestamp>(field->pack_length() - bytes_of_seconds, unit,
                                             zone_of_statement());
  }
  std::optional<uint> fraction;
  if (has_time) fraction = field->pack_length() - bytes_of_moment;
  return std::make_shared<PartOfTime>(fraction, unit);
}

std::shared_ptr<const ColumnFunction> moment_of_time(PlainField field) {
  const auto type = field->real_type();
  if (type == MYSQL_TYPE_NEWDATE) return std::make_shared<Moment>(std::nullopt);
  if (type == MYSQL_TYPE_TIMESTAMP2)
    return std::make_shared<MomentOfTimestamp>(field->pack_length() - bytes_of_seconds, zone_of_statement());
  if (type != MYSQL_TYPE_DATETIME2) return nullptr;
  return std::make_shared<Moment>(field->pack_length() - bytes_of_moment);
}

}  // namespace hailstone
