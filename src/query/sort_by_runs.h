// Sorting that can be ended meanwhile: runs are sorted, and merged.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/status.h"

namespace hailstone {

/// `before`: a strict weak order. `check` is asked now and then whether to go on; when it fails, the values
/// are of no use any more.
template <typename T, typename Before, typename Check>
Status sort_by_runs(std::vector<T>& values, const Before& before, const Check& check) {
  constexpr size_t sorted_at_once = size_t{1} << 13;
  constexpr size_t merged_between_checks = 4096;
  for (size_t begin = 0; begin < values.size(); begin += sorted_at_once) {
    HAILSTONE_TRY(check());
    const size_t end = std::min(begin + sorted_at_once, values.size());
    std::sort(values.begin() + static_cast<ptrdiff_t>(begin), values.begin() + static_cast<ptrdiff_t>(end),
              before);
  }
  if (values.size() <= sorted_at_once) return {};
  std::vector<T> merged;
  for (size_t width = sorted_at_once; width < values.size(); width *= 2) {
    merged.clear();
    merged.reserve(values.size());
    for (size_t begin = 0; begin < values.size(); begin += 2 * width) {
      size_t left = begin, right = std::min(begin + width, values.size());
      const size_t middle = right, end = std::min(begin + 2 * width, values.size());
      while (left < middle || right < end) {
        if (merged.size() % merged_between_checks == 0) HAILSTONE_TRY(check());
        const bool takes_right = left == middle || (right < end && before(values[right], values[left]));
        merged.push_back(std::move(values[takes_right ? right++ : left++]));
      }
    }
    values.swap(merged);
  }
  return {};
}

}  // namespace hailstone
