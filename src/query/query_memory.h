// How much memory a query takes before it goes on by way of files.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/memory_budget.h"

namespace hailstone {

/// For the groups, the sorted rows, or the tables of all joins, of one block of a statement, whatever others
/// take. MemoryBudget::is_spare tells whether there is more.
inline size_t query_memory(const MemoryBudget& budget) {
  constexpr size_t share = 4;
  const size_t limit = budget.query_limit();
  return limit != 0 ? limit : budget.limit() / share;
}

/// What something of a query may take although its part of query_memory() is less, as files would cost more.
/// A limit of queries holds for it, too.
inline size_t query_floor(const MemoryBudget& budget, size_t floor) {
  const size_t limit = budget.query_limit();
  return limit != 0 ? std::min(floor, limit) : floor;
}

/// What a block of a statement cannot do without, however short memory is: it begins once so much is free
/// (base/query_gate.h). A quarter is for the tables of joins, as much for their records, the rest for what
/// is above.
inline size_t floor_of_query(const MemoryBudget& budget) {
  constexpr size_t share = 16, least = size_t{3} << 20, most = size_t{8} << 20;
  return query_floor(budget, std::clamp(budget.limit() / share, least, most));
}

}  // namespace hailstone
