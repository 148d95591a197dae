// Times as logs write them, made to what the server takes: "2026-11-24 10:00:00", in a time zone.
// docs/collect.md has the formats for users: letters of strptime, "unix", "unix_ms", "time_local" and
// "time_iso8601" of nginx. A reader belongs to one thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace hailstone {

class TimeReader {
 public:
  /// `zone`: the times that are made are of it, as "+00:00" or "Europe/Berlin"; needed where the format says
  /// a moment. ErrorCode::InvalidArgument: what is wrong with one of them.
  static Result<TimeReader> make(const std::string& format, const std::string& zone);
  ~TimeReader();
  TimeReader(TimeReader&&) noexcept;
  TimeReader& operator=(TimeReader&&) noexcept;

  /// Of the format: whether its times say a moment, and not what a clock on some wall showed.
  static bool is_moment(std::string_view format);

  /// Appends the time. False: the text is not one of the format.
  bool append(std::string_view text, std::string& to);
  const std::string& format() const { return format_; }

 private:
  struct Parts;
  TimeReader(std::string format, std::unique_ptr<Parts> parts);
  std::string format_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace hailstone
