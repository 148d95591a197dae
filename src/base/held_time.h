// How long a mutex is held, by samples: every sixteenth hold is measured, and counts sixteen times. For
// mutexes that all transactions take.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace hailstone {

/// Belongs to one mutex, under which begin() and end() are called.
class HeldTime {
 public:
  /// `microseconds`: the counter that the time goes to.
  explicit HeldTime(std::atomic<uint64_t>& microseconds) : microseconds_(microseconds) {}

  void begin() noexcept {
    measured_ = ++holds_ % one_of == 0;
    if (measured_) since_ = Clock::now();
  }
  void end() noexcept {
    if (!measured_) return;
    nanoseconds_ += one_of * static_cast<uint64_t>((Clock::now() - since_) / std::chrono::nanoseconds(1));
    microseconds_.store(nanoseconds_ / 1000, std::memory_order_relaxed);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr uint64_t one_of = 16;

  std::atomic<uint64_t>& microseconds_;
  uint64_t holds_ = 0;
  uint64_t nanoseconds_ = 0;
  Clock::time_point since_;
  bool measured_ = false;
};

}  // namespace hailstone
