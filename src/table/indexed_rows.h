// The few rows of a segment to which an index leads: where a condition lists the values of a column with
// which an index begins, as the runtime filter of a join with few rows does, or where it asks for short
// ranges of them, the index is looked into before any block is read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "column/predicate.h"
#include "table/places.h"
#include "table/table_keys.h"

namespace hailstone {

/// Immutable.
class IndexedRows {
 public:
  /// Nothing: no index leads to so few rows that looking for them is quicker than going through the blocks.
  /// Rows that are not among those found do not fulfil the predicate; whether the others do is up to `rest`.
  static Result<std::optional<IndexedRows>> find(const Predicate& predicate, const TableSegment& segment,
                                                 const TableKeys& keys);

  /// What is left of the predicate for the rows that are found.
  const Predicate& rest() const { return rest_; }
  /// Makes `rows` those of a block; gives how many they are.
  uint32_t take_block(uint32_t block, BlockBitmap& rows) const;
  /// How many rows of some blocks are found.
  uint64_t rows_between(uint32_t block, uint32_t behind) const {
    return static_cast<uint64_t>(first_of(behind) - first_of(block));
  }

 private:
  IndexedRows(std::vector<uint32_t> ordinals, Predicate rest)
      : ordinals_(std::move(ordinals)), rest_(std::move(rest)) {}
  std::vector<uint32_t>::const_iterator first_of(uint32_t block) const {
    return std::ranges::lower_bound(ordinals_, uint64_t{block} * block_rows, {},
                                    [](uint32_t ordinal) { return uint64_t{ordinal}; });
  }

  std::vector<uint32_t> ordinals_;  // ascending, each once
  Predicate rest_;
};

}  // namespace hailstone
