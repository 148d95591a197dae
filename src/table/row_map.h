// Where the rows of a segment went when it was merged: for each row in its order, which row of the merge's
// output it became, or that it was left out. Most rows take no byte or two. It is made by one thread; then it
// is immutable, and looking something up needs no memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/memory_budget.h"

namespace hailstone {

class RowMap {
 public:
  explicit RowMap(MemoryBudget& budget) : memory_(budget) {}
  /// The next row became row `position` of the output; positions rise.
  void append(uint64_t position) {
    for (; left_out_ > 0; --left_out_) add(position);
    add(position);
    next_position_ = position + 1;
  }
  /// The next row was left out.
  void append_left_out() { ++left_out_; }
  /// Once all rows are in it.
  void finish();
  /// What became of a row; nothing: left out.
  std::optional<uint64_t> position(uint32_t row) const;

 private:
  static constexpr size_t run_rows = 1024;
  /// A number for each row of a run: its position; of a row that was left out the number of its successor.
  struct Run {
    uint64_t first = 0;
    size_t width = 0;     // bytes of an offset; 0: each number is one above that before it
    std::string offsets;  // from `first`
  };
  void add(uint64_t number) {
    numbers_.push_back(number);
    if (numbers_.size() == run_rows) pack();
  }
  void pack();
  uint64_t number(uint64_t row) const;

  std::vector<uint64_t> numbers_;  // not packed yet
  std::vector<Run> runs_;
  uint64_t next_position_ = 0;
  uint64_t left_out_ = 0;  // rows that were left out since the last position
  Reservation memory_;
};

}  // namespace hailstone
