// What the collector tells while it runs: events, each with its stream. Where they go is the caller's choice,
// made before anything is told; at first nowhere. Any thread.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "base/mutex.h"

namespace hailstone {

using EventSink = std::function<void(std::string_view stream, std::string_view message)>;
/// While there is no other thread.
void set_event_sink(EventSink sink);

/// `stream` may be empty.
void log_event(std::string_view stream, std::string_view message);

/// Something that goes wrong again and again until it works again: told when it begins or changes, and when
/// it is over. One thread, unless said.
class Trouble {
 public:
  explicit Trouble(std::string stream) : stream_(std::move(stream)) {}
  void met(const std::string& message);
  /// It works.
  void over();
  /// How long to wait before the next try: longer each time, from 100 ms to 10 s.
  std::chrono::milliseconds next_wait();
  /// What goes wrong; empty: nothing. Any thread.
  std::string current() const;

 private:
  using Clock = std::chrono::steady_clock;
  const std::string stream_;
  mutable Mutex mutex_;
  std::string message_ HAILSTONE_GUARDED_BY(mutex_);
  Clock::time_point since_;
  std::chrono::milliseconds wait_{100};
};

}  // namespace hailstone
