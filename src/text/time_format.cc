#include "text/time_format.h"

#include <absl/time/time.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "text/value_text.h"

namespace hailstone {
namespace {

enum class Kind : uint8_t { Unix, UnixMilliseconds, Letters };

/// The format in letters, as Abseil reads it: with it seconds may have a fraction, and an offset a colon, or
/// be Z.
std::string letters_of(std::string_view format) {
  if (format == "time_local") return "%d/%b/%Y:%H:%M:%E*S %z";
  if (format == "time_iso8601") return "%Y-%m-%d%ET%H:%M:%E*S%Ez";
  std::string letters;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      letters += format[i];
      continue;
    }
    const char letter = format[++i];
    switch (letter) {
      case 'S':
        letters += "%E*S";
        break;
      case 'T':
        letters += "%H:%M:%E*S";
        break;
      case 'z':
        letters += "%Ez";
        break;
      case 'Y':  // four digits, as digits of the month may follow
        letters += "%E4Y";
        break;
      default:
        letters += {'%', letter};
    }
  }
  return letters;
}

/// "+01:30", "-05:00" in seconds.
std::optional<int> offset_of(std::string_view zone) {
  if (zone.size() != 6 || (zone[0] != '+' && zone[0] != '-') || zone[3] != ':') return std::nullopt;
  const auto hours = parse_uint(zone.substr(1, 2)), minutes = parse_uint(zone.substr(4, 2));
  if (!hours || !minutes || *hours > 14 || *minutes > 59) return std::nullopt;
  const int seconds = static_cast<int>(*hours * 3600 + *minutes * 60);
  return zone[0] == '-' ? -seconds : seconds;
}

Result<absl::TimeZone> zone_of(const std::string& zone) {
  if (const auto offset = offset_of(zone)) return absl::FixedTimeZone(*offset);
  absl::TimeZone found;
  // Names that are paths would be read as files.
  if (!zone.empty() && zone[0] != '/' && zone[0] != ':' && absl::LoadTimeZone(zone, &found)) return found;
  return fail(ErrorCode::InvalidArgument,
              fmt::format("'{}' is not a time zone that this machine knows; give one as \"+00:00\", or as "
                          "\"Europe/Berlin\", for which the package tzdata must be installed",
                          zone));
}

/// Whole seconds and a fraction of up to nine digits; nothing else.
std::optional<absl::Time> unix_time(std::string_view text) {
  int64_t seconds = 0, nanoseconds = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || text.starts_with('-')) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(rest - text.data()));
  if (!text.empty()) {
    if (text[0] != '.' || text.size() > 10) return std::nullopt;
    text.remove_prefix(1);
    for (int i = 0; i < 9; ++i) {
      const char digit = static_cast<size_t>(i) < text.size() ? text[static_cast<size_t>(i)] : '0';
      if (digit < '0' || digit > '9') return std::nullopt;
      nanoseconds = 10 * nanoseconds + (digit - '0');
    }
  }
  return absl::FromUnixSeconds(seconds) + absl::Nanoseconds(nanoseconds);
}

}  // namespace

struct TimeReader::Parts {
  Kind kind = Kind::Letters;
  std::string letters;
  absl::TimeZone zone;
  // Neighbours in a log often have the same second.
  std::string last_text, last_time;

  std::optional<absl::Time> read(std::string_view text) const {
    if (kind == Kind::Unix) return unix_time(text);
    if (kind == Kind::UnixMilliseconds) {
      const auto number = parse_uint(text);
      if (!number || *number > uint64_t{1} << 53) return std::nullopt;
      return absl::FromUnixMillis(static_cast<int64_t>(*number));
    }
    absl::Time time;
    std::string error;
    const auto is_space = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
    if (text.empty() || is_space(text.front()) || is_space(text.back())) return std::nullopt;
    if (!absl::ParseTime(letters, absl::string_view(text.data(), text.size()), zone, &time, &error))
      return std::nullopt;
    return time;
  }
  bool append(absl::Time time, std::string& to) const {
    const auto shown = zone.At(time);
    if (time == absl::InfiniteFuture() || time == absl::InfinitePast() || shown.cs.year() < 1 ||
        shown.cs.year() > 9999)
      return false;
    to += fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", shown.cs.year(), shown.cs.month(),
                      shown.cs.day(), shown.cs.hour(), shown.cs.minute(), shown.cs.second());
    const int64_t microseconds = absl::ToInt64Microseconds(shown.subsecond);
    if (microseconds != 0) to += fmt::format(".{:06}", microseconds);
    return true;
  }
};

TimeReader::TimeReader(std::string format, std::unique_ptr<Parts> parts)
    : format_(std::move(format)), parts_(std::move(parts)) {}
TimeReader::~TimeReader() = default;
TimeReader::TimeReader(TimeReader&&) noexcept = default;
TimeReader& TimeReader::operator=(TimeReader&&) noexcept = default;

bool TimeReader::is_moment(std::string_view format) {
  if (format == "unix" || format == "unix_ms" || format == "time_local" || format == "time_iso8601")
    return true;
  for (size_t i = 0; i + 1 < format.size(); ++i) {
    if (format[i] != '%') continue;
    const char letter = format[++i];
    if (letter == 'z' || letter == 's') return true;
  }
  return false;
}

Result<TimeReader> TimeReader::make(const std::string& format, const std::string& zone) {
  auto parts = std::make_unique<Parts>();
  parts->zone = absl::UTCTimeZone();
  if (is_moment(format)) {
    HAILSTONE_ASSIGN(parts->zone, zone_of(zone));
  }
  if (format == "unix" || format == "unix_ms") {
    parts->kind = format == "unix" ? Kind::Unix : Kind::UnixMilliseconds;
    return TimeReader(format, std::move(parts));
  }
  parts->letters = letters_of(format);
  // A moment that is written so must be read back, at least its day.
  const absl::Time moment = absl::FromCivil(absl::CivilSecond(2026, 11, 24, 13, 7, 9), absl::UTCTimeZone());
  const auto again = parts->read(absl::FormatTime(parts->letters, moment, absl::UTCTimeZone()));
  if (again && absl::ToCivilDay(*again, absl::UTCTimeZone()) == absl::CivilDay(2026, 11, 24)) {
    return TimeReader(format, std::move(parts));
  }
  return fail(ErrorCode::InvalidArgument,
              fmt::format("'{}' does not say a day and time; give letters of strptime, as \"%Y-%m-%d "
                          "%H:%M:%S\" or \"%d/%b/%Y:%H:%M:%S %z\", or \"unix\", \"unix_ms\", \"time_local\", "
                          "\"time_iso8601\"",
                          format));
}

bool TimeReader::append(std::string_view text, std::string& to) {
  if (text != parts_->last_text || parts_->last_time.empty()) {
    const auto time = parts_->read(text);
    std::string made;
    if (!time || !parts_->append(*time, made)) return false;
    parts_->last_text = text;
    parts_->last_time = std::move(made);
  }
  to += parts_->last_time;
  return true;
}

}  // namespace hailstone
