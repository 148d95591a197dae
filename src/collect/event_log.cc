#include "collect/event_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "text/value_text.h"

namespace hailstone {

void log_event(std::string_view stream, std::string_view message) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char time[32];
  const size_t size = std::strftime(time, sizeof time, "%Y-%m-%d %H:%M:%S", &local);
  // One call, so that lines of several threads stay whole; there is nobody to tell that it failed.
  static_cast<void>(std::fputs(fmt::format("{} {}{}{}\n", std::string_view(time, size), stream,
                                           stream.empty() ? "" : ": ", printable(message))
                                   .c_str(),
                               stderr));
}

void Trouble::met(const std::string& message) {
  if (message == message_) return;
  if (message_.empty()) since_ = Clock::now();
  message_ = message;
  log_event(stream_, message);
}

void Trouble::over() {
  if (message_.empty()) return;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - since_).count();
  log_event(stream_, fmt::format("goes on after {} s of: {}", seconds, message_));
  message_.clear();
  wait_ = std::chrono::milliseconds(100);
}

std::chrono::milliseconds Trouble::next_wait() {
  const auto now = wait_;
  wait_ = std::min(wait_ * 2, std::chrono::milliseconds(10'000));
  return now;
}

}  // namespace hailstone
