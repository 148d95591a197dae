#include "table/row_map.h"

#include "base/bytes.h"

namespace hailstone {

void RowMap::pack() {
  Run run{.first = numbers_.front(), .width = 0, .offsets = {}};
  const uint64_t range = numbers_.back() - run.first;
  bool consecutive = true;
  for (size_t i = 0; i < numbers_.size() && consecutive; ++i) consecutive = numbers_[i] == run.first + i;
  if (!consecutive) {
    run.width = range < uint64_t{1} << 16 ? 2 : range < uint64_t{1} << 32 ? 4 : 8;
    run.offsets.reserve(numbers_.size() * run.width);
    for (const uint64_t number : numbers_) {
      const uint64_t offset = number - run.first;
      run.offsets.append(reinterpret_cast<const char*>(&offset), run.width);
    }
  }
  memory_.grow(sizeof run + run.offsets.capacity());
  runs_.push_back(std::move(run));
  numbers_.clear();
}

void RowMap::finish() {
  // A successor for the last row.
  append(next_position_);
  if (!numbers_.empty()) pack();
  numbers_ = {};
}

uint64_t RowMap::number(uint64_t row) const {
  const Run& run = runs_[row / run_rows];
  const size_t inside = row % run_rows;
  const char* const at = run.offsets.data() + inside * run.width;
  switch (run.width) {
    case 0:
      return run.first + inside;
    case 2:
      return run.first + load<uint16_t>(at);
    case 4:
      return run.first + load<uint32_t>(at);
    default:
      return run.first + load<uint64_t>(at);
  }
}

std::optional<uint64_t> RowMap::position(uint32_t row) const {
  const uint64_t here = number(row);
  if (number(uint64_t{row} + 1) == here) return std::nullopt;
  return here;
}

}  // namespace hailstone
