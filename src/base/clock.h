// Time that never goes back, for durations, timeouts and progress; not the time of day. Any thread.
#pragma once

#include <chrono>
#include <cstdint>

namespace hailstone {

/// Microseconds since some fixed moment of this run of the machine.
inline uint64_t monotonic_microseconds() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(since).count());
}

}  // namespace hailstone
