// How fast a backup may go, so that the server's clients keep their disk.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/mutex.h"

namespace hailstone {

/// Threads share it.
class Pace {
 public:
  /// Bytes a second; 0: as fast as it goes.
  explicit Pace(uint64_t rate) : rate_(rate) {}

  /// Returns when so many bytes more may be taken.
  void take(uint64_t bytes);

 private:
  using Clock = std::chrono::steady_clock;

  const uint64_t rate_;
  Mutex mutex_;
  Clock::time_point next_ HAILSTONE_GUARDED_BY(mutex_);
};

}  // namespace hailstone
