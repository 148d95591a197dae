#include "retention.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <string_view>

#include "fmt/format.h"
#include "record.h"
#include "server/differences.h"

namespace hailstone {

namespace {

/// What the numbers of a column are, from first_application_scale on; kept in definitions.
enum class ServerScale : uint8_t { Date = 128, DateTime = 129, Timestamp = 130 };

constexpr int64_t seconds_of_day = 86'400;

constexpr const char* allowed_intervals =
    "a number from 1 to 1000000 and HOUR, DAY, WEEK, MONTH or YEAR, as in RETAIN='90 DAY'";
static_assert(most_retention_units == 1'000'000);
constexpr const char* allowed_columns =
    "the name of a stored DATE, DATETIME, TIMESTAMP or integer column, as in RETAIN_BY=ts";

struct NamedUnit {
  std::string_view name;
  Retention::Unit unit;
};
constexpr std::array<NamedUnit, 5> units{{{"HOUR", Retention::Unit::Hour},
                                          {"DAY", Retention::Unit::Day},
                                          {"WEEK", Retention::Unit::Week},
                                          {"MONTH", Retention::Unit::Month},
                                          {"YEAR", Retention::Unit::Year}}};

bool same_word(std::string_view a, std::string_view b) {
  const auto upper = [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; };
  return a.size() == b.size() &&
         std::ranges::equal(a, b, [&](char x, char y) { return upper(x) == upper(y); });
}

/// '90 DAY', '1 months'.
bool read_interval(std::string_view text, Retention& retention) {
  const auto trim = [&] {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  };
  trim();
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), retention.amount);
  if (error != std::errc() || retention.amount == 0 || retention.amount > most_retention_units) return false;
  const auto digits = static_cast<size_t>(end - text.data());
  if (digits == text.size() || text[digits] != ' ') return false;
  text.remove_prefix(digits);
  trim();
  for (const NamedUnit& each : units) {
    const bool plural = !text.empty() && (text.back() == 's' || text.back() == 'S') &&
                        same_word(text.substr(0, text.size() - 1), each.name);
    if (!plural && !same_word(text, each.name)) continue;
    retention.unit = each.unit;
    return true;
  }
  return false;
}

/// 0: rows cannot expire by the field.
uint8_t scale_of(const Field& field) {
  switch (field.real_type()) {
    case MYSQL_TYPE_TINY:
    case MYSQL_TYPE_SHORT:
    case MYSQL_TYPE_INT24:
    case MYSQL_TYPE_LONG:
    case MYSQL_TYPE_LONGLONG:
      return static_cast<uint8_t>(TimeScale::Seconds);
    case MYSQL_TYPE_NEWDATE:
      return static_cast<uint8_t>(ServerScale::Date);
    case MYSQL_TYPE_DATETIME2:
      return static_cast<uint8_t>(ServerScale::DateTime);
    case MYSQL_TYPE_TIMESTAMP2:
      return static_cast<uint8_t>(ServerScale::Timestamp);
    default:
      return 0;
  }
}

/// The server's time now, as if it were UTC.
int64_t second_in_server_zone(int64_t now) {
  MYSQL_TIME time;
  mysql_mutex_lock(&LOCK_global_system_variables);
  Time_zone* const zone = global_system_variables.time_zone;
  mysql_mutex_unlock(&LOCK_global_system_variables);
  zone->gmt_sec_to_TIME(&time, static_cast<my_time_t>(now));
  using namespace std::chrono;
  const sys_days day = year(static_cast<int>(time.year)) / month(time.month) / std::chrono::day(time.day);
  return int64_t{day.time_since_epoch().count()} * seconds_of_day + int64_t{time.hour} * 3600 +
         int64_t{time.minute} * 60 + time.second;
}

struct DayAndSecond {
  uint64_t year, month, day, second_of_day;
};
DayAndSecond day_and_second_of(int64_t second) {
  using namespace std::chrono;
  const auto days_since = floor<days>(seconds(second));
  const year_month_day date{sys_days(days_since)};
  return {static_cast<uint64_t>(static_cast<int>(date.year())), static_cast<unsigned>(date.month()),
          static_cast<unsigned>(date.day()),
          static_cast<uint64_t>(second - days_since.count() * seconds_of_day)};
}

class ServerRetentionClock final : public RetentionClock {
 public:
  Result<std::optional<ExpiredValues>> expired(const TableDefinition& table, int64_t now) const override {
    const Retention& retention = table.retention;
    if (retention.scale < first_application_scale) return RetentionClock::expired(table, now);
    const auto width = table.columns[retention.column].width;
    // Zero dates, which say that a time is not known, stay as NULLs do.
    uint64_t zero = 0, first_kept = 0;
    switch (static_cast<ServerScale>(retention.scale)) {
      case ServerScale::Date: {
        // As Field_newdate has it. A day is over before it counts as past.
        const DayAndSecond limit = day_and_second_of(second_before(second_in_server_zone(now), retention));
        first_kept = limit.year << 9 | limit.month << 5 | limit.day;
        break;
      }
      case ServerScale::DateTime: {
        // As my_datetime_packed_to_binary() has it.
        const DayAndSecond limit = day_and_second_of(second_before(second_in_server_zone(now), retention));
        constexpr uint64_t offset = 0x8000000000;
        constexpr size_t whole_seconds = 5;
        const uint64_t clock = limit.second_of_day;
        const uint64_t time = clock / 3600 << 12 | clock / 60 % 60 << 6 | clock % 60;
        const auto fraction = static_cast<unsigned>(8 * (width - whole_seconds));
        zero = offset << fraction;
        first_kept = (offset + (((limit.year * 13 + limit.month) << 5 | limit.day) << 17 | time)) << fraction;
        break;
      }
      case ServerScale::Timestamp: {
        constexpr size_t whole_seconds = 4;
        constexpr int64_t greatest = 0xffff'ffff;
        const int64_t limit = std::clamp<int64_t>(second_before(now, retention), 0, greatest);
        first_kept = static_cast<uint64_t>(limit) << (8 * (width - whole_seconds));
        break;
      }
      default:
        return fail(ErrorCode::Unsupported,
                    fmt::format("rows of table '{}' expire by times of a kind ({}) that this version of the "
                                "engine does not know",
                                table.name, retention.scale));
    }
    if (first_kept <= zero + 1) return std::nullopt;
    return ExpiredValues{zero + 1, first_kept - 1};
  }
};

}  // namespace

std::expected<Retention, WrongOption> read_retention(const TABLE& form, const RetentionOptions& options,
                                                     std::span<const uint16_t> columns) {
  Retention retention;
  if (options.retain == nullptr || *options.retain == '\0') return retention;
  if (!read_interval(options.retain, retention))
    return std::unexpected(WrongOption{"RETAIN", options.retain, allowed_intervals});
  const char* const by = options.retain_by == nullptr ? "" : options.retain_by;
  for (uint i = 0; i < form.s->fields; ++i) {
    const Field& field = *form.field[i];
    if (!is_same_name(field.field_name.str, by)) continue;
    retention.scale = scale_of(field);
    if (retention.scale == 0 || columns[i] == RecordFormat::not_stored) break;
    retention.column = columns[i];
    return retention;
  }
  return std::unexpected(WrongOption{"RETAIN_BY", by, allowed_columns});
}

const RetentionClock& mariadb_retention_clock() {
  static const ServerRetentionClock clock;
  return clock;
}

}  // namespace hailstone
