#include "base/memory_budget.h"

#include <algorithm>

namespace hailstone {

namespace {

/// Queries go by way of files where they would leave less than this part of the budget to those that can do
/// no such thing: loads, merges, row locks and blocks that are read.
constexpr size_t left_by_queries = 4;

/// Bytes of the limit that queries may use, with what others use that cannot be reclaimed.
size_t most_of_queries(size_t limit) { return limit - limit / left_by_queries; }

}  // namespace

std::unique_ptr<MemoryBudget> MemoryBudget::try_part(MemoryBudget& of, size_t floor) {
  MemoryBudget none(of, 0);
  if (!none.try_reserve(floor)) return nullptr;
  // Without memory for the part, what was reserved goes back.
  std::unique_ptr<MemoryBudget> part(new MemoryBudget(of.whole(), floor, Reserved()));
  none.used_ = 0;  // the new part has it
  return part;
}

/// Of a part.
bool MemoryBudget::try_reserve_of_whole(size_t bytes, bool whatever) {
  size_t used = used_.load(std::memory_order_relaxed);
  for (;;) {
    const size_t of_whole = beyond_floor(used + bytes) - beyond_floor(used);
    if (of_whole != 0) {
      const bool leaves_enough = whole_->held() + of_whole <= most_of_queries(limit());
      if (whatever) {
        whole_->reserve(of_whole);
      } else if (!leaves_enough || !whole_->try_reserve(of_whole)) {
        return false;
      }
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
  return held() + bytes <= limit() / 2;
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
