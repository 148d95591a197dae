#include "base/memory_budget.h"

namespace hailstone {

bool MemoryBudget::try_reserve(size_t bytes) {
  for (bool asked = false;; asked = true) {
    size_t used = used_.load(std::memory_order_relaxed);
    const size_t limit = limit_.load(std::memory_order_relaxed);
    while (used + bytes <= limit) {
      if (used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed)) return true;
    }
    if (asked || !reclaimer_) return false;
    reclaimer_(used + bytes - limit);
  }
}

void MemoryBudget::reserve(size_t bytes) {
  if (!try_reserve(bytes)) used_.fetch_add(bytes, std::memory_order_relaxed);
}

void MemoryBudget::wait_for_release(const std::function<bool()>& ready, std::chrono::milliseconds at_most) {
  std::unique_lock guard(mutex_);
  // From here on every release comes to wake().
  waiters_.fetch_add(1);
  released_.wait_for(guard, at_most, ready);
  waiters_.fetch_sub(1);
}

void MemoryBudget::wake() {
  // Behind the mutex: a waiter that has looked, and not begun to sleep, has it.
  { const std::lock_guard guard(mutex_); }
  released_.notify_all();
}

}  // namespace hailstone
