// Lets queries begin, first come, first served, while memory has what each needs at the least: together these
// floors have half of the memory budget. A query that has begun never waits for memory: what its share has no
// room for goes by way of files. Thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>

#include "base/counters.h"
#include "base/memory_budget.h"
#include "base/mutex.h"
#include "base/status.h"

namespace hailstone {

class QueryGate {
 public:
  /// Both outlive it, and what it gives. Nobody waits longer than `longest_wait`: who has begun may wait for
  /// something that the one who waits has locked, of which nothing is known here.
  QueryGate(MemoryBudget& budget, Counters& counters,
            std::chrono::milliseconds longest_wait = std::chrono::seconds(30))
      : budget_(budget), counters_(counters), longest_wait_(longest_wait) {}

  /// The memory of a query, as long as somebody holds it; not longer than the gate. Waits for its turn.
  /// `floor`: bytes that it cannot do without. `interrupted`: whether it is to end: ErrorCode::Interrupted.
  Result<std::shared_ptr<MemoryBudget>> enter(size_t floor, const std::function<bool()>& interrupted);
  /// The same for a query of somebody who has one that has begun, or who has locked what others may wait for.
  std::shared_ptr<MemoryBudget> enter_at_once(size_t floor);

 private:
  struct Share;
  static std::shared_ptr<MemoryBudget> begin(const std::shared_ptr<Share>& share, size_t floor);
  bool has_room(size_t floor) const HAILSTONE_REQUIRES(mutex_) {
    return floors_ == 0 || floors_ + floor <= budget_.limit() / 2;
  }
  void leave(size_t floor) noexcept;

  MemoryBudget& budget_;
  Counters& counters_;
  const std::chrono::milliseconds longest_wait_;
  Mutex mutex_;
  Condition changed_;                                       // somebody has left, or given up
  std::list<size_t> waiting_ HAILSTONE_GUARDED_BY(mutex_);  // floors, of the first to come first
  size_t floors_ HAILSTONE_GUARDED_BY(mutex_) = 0;          // of those that have begun
};

}  // namespace hailstone
