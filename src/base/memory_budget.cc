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

}  // namespace hailstone
