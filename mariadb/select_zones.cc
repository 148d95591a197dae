// Functions of moments and numbers by the clocks of time zones: UNIX_TIMESTAMP, FROM_UNIXTIME, CONVERT_TZ.
#include <algorithm>
#include <typeinfo>
#include <utility>

#include "decimal_numbers.h"
#include "expression/moment.h"
#include "local_time.h"
#include "raised_conditions.h"
#include "select_expressions.h"
#include "select_functions.h"
// clang-format off
#include <item_timefunc.h>
#include <tztime.h>
// clang-format on

namespace hailstone {

namespace {

constexpr unsigned digits_of_microseconds = 6;

/// Seconds since 1970 in UTC, of a day that is one. 0: the moment is not among the seconds that the server
/// counts. `is_shown`: by the zone's clocks.
int64_t second_of(const MomentParts& parts, const Time_zone& zone, bool& is_shown) {
  MYSQL_TIME time{};
  time.year = static_cast<unsigned>(parts.year);
  time.month = static_cast<unsigned>(parts.month);
  time.day = static_cast<unsigned>(parts.day);
  time.hour = static_cast<unsigned>(parts.hour);
  time.minute = static_cast<unsigned>(parts.minute);
  time.second = static_cast<unsigned>(parts.second);
  time.time_type = MYSQL_TIMESTAMP_DATETIME;
  uint error = 0;
  const auto second = static_cast<int64_t>(zone.TIME_to_gmt_sec(&time, &error));
  is_shown = error == 0;
  return second;
}

/// Times 10^digits.
class SecondsOfMoments final : public NumberFunction {
 public:
  SecondsOfMoments(const Time_zone& zone, unsigned digits) : zone_(zone), digits_(digits) {}

  void of_all(uint32_t rows, const int64_t* first, const int64_t*, int64_t* to, State* state) const override {
    const int64_t unit = int64_powers_of_ten[digits_];
    const int64_t microseconds = int64_powers_of_ten[digits_of_microseconds - digits_];
    for (uint32_t row = 0; row < rows; ++row) {
      state[row] = State::Unknown;
      const MomentParts parts = parts_of(first[row]);
      if (!is_in_calendar(parts)) continue;
      bool is_shown = false;
      const int64_t second = second_of(parts, zone_, is_shown);
      if (second == 0 || !is_shown) continue;
      to[row] = second * unit + static_cast<int64_t>(parts.microsecond) / microseconds;
      state[row] = State::Known;
    }
  }

 private:
  const Time_zone& zone_;
  const unsigned digits_;
};

class MomentsOfSeconds final : public NumberFunction {
 public:
  MomentsOfSeconds(const Time_zone& zone, unsigned digits) : zone_(zone), digits_(digits) {}

  void of_all(uint32_t rows, const int64_t* first, const int64_t*, int64_t* to, State* state) const override {
    constexpr int64_t last_second = 0x7fff'ffff;  // of all series of the server
    const int64_t unit = int64_powers_of_ten[digits_];
    const int64_t microseconds = int64_powers_of_ten[digits_of_microseconds - digits_];
    LocalTime local(zone_);
    for (uint32_t row = 0; row < rows; ++row) {
      const bool is_known = first[row] >= 0 && first[row] / unit <= last_second;
      state[row] = is_known ? State::Known : State::Unknown;
      if (is_known)
        to[row] = moment_of_seconds(local.at(first[row] / unit),
                                    static_cast<uint64_t>(first[row] % unit * microseconds));
    }
  }

 private:
  const Time_zone& zone_;
  const unsigned digits_;
};

class MomentsOfOtherZone final : public NumberFunction {
 public:
  MomentsOfOtherZone(const Time_zone& from, const Time_zone& to) : from_(from), to_(to) {}

  void of_all(uint32_t rows, const int64_t* first, const int64_t*, int64_t* to, State* state) const override {
    LocalTime local(to_);
    for (uint32_t row = 0; row < rows; ++row) {
      const MomentParts parts = parts_of(first[row]);
      state[row] = State::Unknown;
      if (!is_in_calendar(parts)) continue;
      bool is_shown = false;
      const int64_t second = second_of(parts, from_, is_shown);
      if (second < 0) continue;
      // Seconds that the server does not count stay as they are.
      to[row] = second == 0 ? first[row] : moment_of_seconds(local.at(second), parts.microsecond);
      state[row] = State::Known;
    }
  }

 private:
  const Time_zone& from_;
  const Time_zone& to_;
};

/// Null: it is no constant, or there is no such zone.
const Time_zone* zone_of(THD& thd, Item& item) {
  if (!is_plain_constant(item) || item.cmp_type() != STRING_RESULT) return nullptr;
  StringBuffer<STRING_BUFFER_USUAL_SIZE> buffer;
  const String* const name = item.val_str_ascii(&buffer);
  if (name == nullptr) return nullptr;
  const RaisedConditions conditions(thd);
  const Time_zone* const zone = my_tz_find(&thd, name);
  return conditions.any() ? nullptr : zone;
}

}  // namespace

std::optional<Expression> ExpressionTranslator::seconds_of_moment(Item_func& function) {
  if (function.argument_count() != 1 || function.decimals > digits_of_microseconds) return std::nullopt;
  Item& argument = *function.arguments()[0];
  if (const auto field = columns_.field_of(argument);
      field && (*field)->real_type() == MYSQL_TYPE_TIMESTAMP2) {
    const auto scanned = scan_column(**field);
    if (!scanned || (*field)->decimals() != function.decimals) return std::nullopt;
    return Expression::of_column(columns_.position_of(*field), *scanned, seconds_of_timestamp(*field))
        .as(ValueType::decimal(function.decimals));
  }
  const auto of = moment(argument);
  if (!of || argument.decimals > function.decimals) return std::nullopt;
  return Expression::call(Function::ByZone, {*of},
                          {.of_numbers = std::make_shared<SecondsOfMoments>(
                               zone_of_statement(columns_.sources().thd()), function.decimals)})
      .as(ValueType::decimal(function.decimals));
}

std::optional<Expression> ExpressionTranslator::moment_by_zone(Item_func& function) {
  Item** const arguments = function.arguments();
  THD& thd = columns_.sources().thd();
  if (typeid(function) == typeid(Item_func_from_unixtime)) {
    Item& argument = *arguments[0];
    if (argument.cmp_type() != INT_RESULT && argument.cmp_type() != DECIMAL_RESULT) return std::nullopt;
    const auto number = exact_or_real(argument);
    if (!number || number->is_real() || number->type().scale > digits_of_microseconds ||
        number->type().scale != argument.decimals)
      return std::nullopt;
    return Expression::call(
        Function::ByZone, {*number},
        {.of_numbers = std::make_shared<MomentsOfSeconds>(zone_of_statement(thd), number->type().scale)});
  }
  if (typeid(function) != typeid(Item_func_convert_tz)) return std::nullopt;
  const Time_zone* const from = zone_of(thd, *arguments[1]);
  const Time_zone* const to = zone_of(thd, *arguments[2]);
  const auto of = from != nullptr && to != nullptr ? moment(*arguments[0]) : std::nullopt;
  if (!of) return std::nullopt;
  return Expression::call(Function::ByZone, {*of},
                          {.of_numbers = std::make_shared<MomentsOfOtherZone>(*from, *to)});
}

}  // namespace hailstone
