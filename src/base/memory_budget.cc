#include "base/memory_budget.h"

#include <algorithm>

namespace hailstone {

/// Of a part.
bool MemoryBudget::try_reserve_of_whole(size_t bytes, bool whatever) {
  size_t used = used_.load(std::memory_order_relaxed);
  for (;;) {
    const size_t of_whole = beyond_floor(used + bytes) - beyond_floor(used);
    if (of_whole != 0 && !whole_->try_reserve(of_whole)) {
      if (!whatever) return false;
      whole_->reserve(of_whole);
    }
    if (used_.compare_exchange_weak(used, used + bytes)) return true;
    if (of_whole != 0) whole_->release(of_whole);
  }
}

bool MemoryBudget::try_reserve(size_t bytes) {
  if (whole_ != nullptr) return try_reserve_of_whole(bytes, false);
  for (bool asked = false;; asked = true) {
    size_t used = used_.load(std::memory_order_relaxed);
    const size_t limit = limit_.load(std::memory_order_relaxed);
    while (used + bytes <= limit) {
      if (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed)) continue;
      release_kept(used + bytes);
      return true;
    }
    if (asked || !reclaimer_.reclaim) return false;
    reclaimer_.reclaim(used + bytes - limit);
  }
}

bool MemoryBudget::is_spare(size_t bytes) const {
  if (whole_ != nullptr) return whole_->is_spare(bytes);
  if (query_limit() != 0) return false;
  const size_t used = this->used(), reclaimable = reclaimer_.reclaimable ? reclaimer_.reclaimable() : 0;
  return used - std::min(used, reclaimable) + bytes <= limit() / 2;
}

void MemoryBudget::release_kept(size_t used) {
  if (kept_ == nullptr) return;
  const size_t limit = this->limit(), free = limit - std::min(used, limit), there = kept_->bytes();
  if (there > free) [[unlikely]]
    kept_->release(there - free);
}

void MemoryBudget::reserve(size_t bytes) {
  if (whole_ != nullptr) {
    try_reserve_of_whole(bytes, true);
    return;
  }
  if (try_reserve(bytes)) return;
  release_kept(used_.fetch_add(bytes, std::memory_order_relaxed) + bytes);
}

void MemoryBudget::wait_for_release(const std::function<bool()>& ready, std::chrono::milliseconds at_most) {
  const auto end = std::chrono::steady_clock::now() + at_most;
  const MutexLock guard(mutex_);
  // From here on every release comes to wake().
  waiters_.fetch_add(1);
  while (!ready() && released_.wait_until(mutex_, end)) {
  }
  waiters_.fetch_sub(1);
}

void MemoryBudget::wake() {
  // Behind the mutex: a waiter that has looked, and not begun to sleep, has it.
  { const MutexLock guard(mutex_); }
  released_.notify_all();
}

}  // namespace hailstone
