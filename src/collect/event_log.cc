#include "collect/event_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace hailstone {
namespace {

EventSink& event_sink() {
  static EventSink sink;
  return sink;
}

}  // namespace

void set_event_sink(EventSink sink) { event_sink() = std::move(sink); }

void log_event(std::string_view stream, std::string_view message) {
  if (event_sink()) event_sink()(stream, message);
}

void Trouble::met(const std::string& message) {
  {
    MutexLock lock(mutex_);
    if (message == message_) return;
    if (message_.empty()) since_ = Clock::now();
    message_ = message;
  }
  log_event(stream_, message);
}

void Trouble::over() {
  std::string message;
  {
    MutexLock lock(mutex_);
    if (message_.empty()) return;
    message.swap(message_);
  }
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - since_).count();
  log_event(stream_, fmt::format("works again after {} s of: {}", seconds, message));
  wait_ = std::chrono::milliseconds(100);
}

std::string Trouble::current() const {
  MutexLock lock(mutex_);
  return message_;
}

std::chrono::milliseconds Trouble::next_wait() {
  const auto now = wait_;
  wait_ = std::min(wait_ * 2, std::chrono::milliseconds(10'000));
  return now;
}

}  // namespace hailstone
