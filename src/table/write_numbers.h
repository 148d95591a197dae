// The numbers of the writes that made the rows of a segment, by ordinal: what tells a transaction which of
// its own rows came when, while they are in files and the transaction is open. Rows that were written in key
// order have numbers at equal distances, and take next to nothing. Immutable, thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/memory_budget.h"

namespace hailstone {

class WriteNumbers {
 public:
  /// At least one.
  WriteNumbers(std::span<const uint32_t> numbers, MemoryBudget& budget);

  uint32_t of(uint32_t ordinal) const;
  uint32_t least() const { return least_; }
  uint32_t greatest() const { return greatest_; }

 private:
  /// Rows from `ordinal` on have the numbers first, first + step, ….
  struct Run {
    uint32_t ordinal, first, step;
  };
  std::vector<Run> runs_;          // either these
  std::vector<uint32_t> numbers_;  // or these, when they take less
  uint32_t least_, greatest_;
  Reservation memory_;
};

}  // namespace hailstone
