// How much memory a query takes before it goes on by way of files.
#pragma once

#include <cstddef>

#include "base/memory_budget.h"

namespace hailstone {

/// For the groups, the sorted rows, or the tables of all joins, of one block of a statement, whatever others
/// take. MemoryBudget::is_spare tells whether there is more.
inline size_t query_memory(const MemoryBudget& budget) {
  constexpr size_t share = 4;
  return budget.limit() / share;
}

}  // namespace hailstone
