#include "table/write_numbers.h"

#include <algorithm>

namespace hailstone {

WriteNumbers::WriteNumbers(std::span<const uint32_t> numbers, MemoryBudget& budget) : memory_(budget) {
  const auto [least, greatest] = std::ranges::minmax(numbers);
  least_ = least;
  greatest_ = greatest;
  const size_t most_runs = numbers.size() * sizeof(uint32_t) / sizeof(Run);
  for (uint32_t i = 0; i < numbers.size() && runs_.size() <= most_runs;) {
    Run run{i, numbers[i], 0};
    if (i + 1 < numbers.size()) run.step = numbers[i + 1] - numbers[i];  // wraps around where they fall
    uint32_t end = i + 1;
    while (end < numbers.size() && numbers[end] - numbers[end - 1] == run.step) ++end;
    runs_.push_back(run);
    i = end;
  }
  if (runs_.size() > most_runs) {
    std::vector<Run>().swap(runs_);
    numbers_.assign(numbers.begin(), numbers.end());
  } else {
    runs_.shrink_to_fit();
  }
  memory_.grow(runs_.capacity() * sizeof(Run) + numbers_.capacity() * sizeof(uint32_t));
}

uint32_t WriteNumbers::of(uint32_t ordinal) const {
  if (!numbers_.empty()) return numbers_[ordinal];
  const auto after = std::ranges::upper_bound(runs_, ordinal, {}, &Run::ordinal);
  const Run& run = *std::prev(after);
  return run.first + (ordinal - run.ordinal) * run.step;
}

}  // namespace hailstone
