#include "query/rows_by_group.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

namespace hailstone {
namespace {

TEST(RowsByGroupTest, AddsUpLikeRowAfterRow) {
  std::mt19937_64 random(7);
  RowsByGroup by_group;
  for (const uint32_t rows : {1U, 2U, 3U, 4U, 5U, 63U, 1023U, 1024U}) {
    for (const uint32_t count : {1U, 2U, 5U, RowsByGroup::most_groups}) {
      std::vector<uint32_t> groups(rows);
      std::vector<uint64_t> numbers(rows);
      std::vector<uint64_t> counts(count, 1), expected_counts(count, 1);
      std::vector<WideInteger> sums(count, -5), expected_sums(count, -5);
      for (uint32_t row = 0; row < rows; ++row) {
        groups[row] = static_cast<uint32_t>(random() % count);
        numbers[row] = random() % 4 == 0 ? ~uint64_t{0} : random();
        ++expected_counts[groups[row]];
        expected_sums[groups[row]] += numbers[row];
      }
      by_group.sort(groups, count);
      by_group.count(counts.data());
      by_group.add(numbers.data(), sums.data());
      EXPECT_EQ(counts, expected_counts) << rows << " rows of " << count;
      EXPECT_TRUE(sums == expected_sums) << rows << " rows of " << count;
    }
  }
}

}  // namespace
}  // namespace hailstone
