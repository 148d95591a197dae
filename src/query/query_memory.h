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
/// (base/query_gate.h).
inline size_t floor_of_query(const MemoryBudget& budget) {
  constexpr size_t share = 16, least = size_t{3} << 20, most = size_t{8} << 20;
  return query_floor(budget, std::clamp(budget.limit() / share, least, most));
}

/// How the floor of a block is divided, in sixteenths: what an operator cannot do without must not be more.
/// Rows are sorted where no groups are made, so that their sort may have what those would. Rows that are put
/// aside are gone before groups are sorted.
enum class FloorPart : size_t {
  JoinTables = 4,
  JoinRecords = 4,
  GroupTables = 3,
  GroupRecords = 3,
  GroupSort = 2,
  RowSort = GroupTables + GroupRecords,
  AsideRows = GroupSort
};
/// Of the block that has the budget. Where no block has it (a scan by the library), what one would have.
inline size_t floor_part(const MemoryBudget& budget, FloorPart part) {
  const size_t floor = budget.floor() != 0 ? budget.floor() : floor_of_query(budget);
  return floor / 16 * static_cast<size_t>(part);
}

}  // namespace hailstone
