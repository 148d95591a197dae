// The rows of a batch in the order of their groups: numbers of few groups are added up in registers, where
// the sum of the row before would be waited for in memory. A thread's own.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/wide_integer.h"

namespace hailstone {

class RowsByGroup {
 public:
  /// With more groups most rows find their sum at rest.
  static constexpr uint32_t most_groups = 64;

  /// `groups` of a batch's rows, each less than `count`, of at most most_groups.
  void sort(std::span<const uint32_t> groups, uint32_t count);
  /// Adds 1 for each row to its group's count.
  void count(uint64_t* counts) const;
  /// Adds each row's number to its group's sum.
  void add(const uint64_t* numbers, WideInteger* sums) const;

 private:
  std::vector<uint16_t> rows_;
  std::array<uint32_t, most_groups> ends_{};  // of each group's rows
  uint32_t count_ = 0;
};

}  // namespace hailstone
