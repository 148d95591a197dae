#include "query/rows_by_group.h"

#include <algorithm>

#include "base/check.h"

namespace hailstone {

void RowsByGroup::sort(std::span<const uint32_t> groups, uint32_t count) {
  HAILSTONE_CHECK(count <= most_groups && groups.size() <= UINT16_MAX, "{} rows of {} groups", groups.size(),
                  count);
  // Each part counts by itself, so that no row waits for the one before.
  constexpr uint32_t parts = 4;
  const auto all = static_cast<uint32_t>(groups.size()), in_part = all / parts;
  std::array<std::array<uint32_t, most_groups>, parts> places;
  for (auto& part : places) std::fill_n(part.begin(), count, 0U);
  const auto each_row = [&](const auto& take) {
    for (uint32_t i = 0; i < in_part; ++i) {
      for (uint32_t part = 0; part < parts; ++part) take(part, part * in_part + i);
    }
    for (uint32_t row = parts * in_part; row < all; ++row) take(parts - 1, row);
  };
  each_row([&](uint32_t part, uint32_t row) { ++places[part][groups[row]]; });
  uint32_t place = 0;
  for (uint32_t group = 0; group < count; ++group) {
    for (auto& part : places) {
      const uint32_t rows = part[group];
      part[group] = place;
      place += rows;
    }
    ends_[group] = place;
  }
  count_ = count;
  rows_.resize(all);
  uint16_t* const rows = rows_.data();
  each_row(
      [&](uint32_t part, uint32_t row) { rows[places[part][groups[row]]++] = static_cast<uint16_t>(row); });
}

void RowsByGroup::count(uint64_t* counts) const {
  uint32_t first = 0;
  for (uint32_t group = 0; group < count_; first = ends_[group++]) counts[group] += ends_[group] - first;
}

void RowsByGroup::add(const uint64_t* numbers, WideInteger* sums) const {
  const uint16_t* row = rows_.data();
  for (uint32_t group = 0; group < count_; ++group) {
    WideInteger sum = 0;
    for (const uint16_t* const end = rows_.data() + ends_[group]; row != end; ++row) sum += numbers[*row];
    sums[group] += sum;
  }
}

}  // namespace hailstone
