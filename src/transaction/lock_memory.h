// What locks of rows and ranges take of the memory budget. They are never refused: who is about to take one
// asks first whether they have taken their part.
#pragma once

#include <atomic>
#include <cstddef>

#include "base/memory_budget.h"

namespace hailstone::locking {

class LockMemory {
 public:
  explicit LockMemory(MemoryBudget& budget) : budget_(budget) {}

  void reserve(size_t bytes) {
    used_.fetch_add(bytes, std::memory_order_relaxed);
    budget_.reserve(bytes);
  }
  void release(size_t bytes) noexcept {
    used_.fetch_sub(bytes, std::memory_order_relaxed);
    budget_.release(bytes);
  }
  size_t used() const { return used_.load(std::memory_order_relaxed); }
  /// The part of the budget that they may have.
  size_t limit() const { return budget_.limit() / 2; }
  bool is_used_up() const { return used() >= limit(); }

 private:
  MemoryBudget& budget_;
  std::atomic<size_t> used_{0};
};

}  // namespace hailstone::locking
