#include "backup/pace.h"

#include <algorithm>
#include <thread>

namespace hailstone {

void Pace::take(uint64_t bytes) {
  if (rate_ == 0) return;
  const std::chrono::duration<double> cost(static_cast<double>(bytes) / static_cast<double>(rate_));
  Clock::time_point begin;
  {
    const MutexLock guard(mutex_);
    // Time in which nothing was taken is lost: who was late is not to hurry.
    begin = std::max(next_, Clock::now());
    next_ = begin + std::chrono::duration_cast<Clock::duration>(cost);
  }
  std::this_thread::sleep_until(begin);
}

}  // namespace hailstone
