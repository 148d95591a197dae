#include "column/runtime_filter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "base/test_seed.h"
#include "column/random_segment.h"
#include "column/segment_filter.h"
#include "segment/bit_packing.h"

namespace hailstone {
namespace {

std::shared_ptr<const NumberFilter> filter_of(const std::vector<uint64_t>& numbers) {
  return std::make_shared<const NumberFilter>([&](const auto& take) {
    for (const uint64_t number : numbers) take(number);
  });
}

TEST(RuntimeFilterTest, NumbersThatAreThereAreNeverHeldBack) {
  std::mt19937_64 random(test_seed(21));
  for (int round = 0; round < 300; ++round) {
    const uint64_t spread = uint64_t{1} << random() % 64;
    const uint64_t first = round % 5 == 0 ? 0 : round % 5 == 1 ? ~uint64_t{0} - spread : random();
    std::vector<uint64_t> numbers;
    for (uint64_t n = random() % 3000; n > 0; --n) numbers.push_back(first + random() % spread);
    if (round % 7 == 0) numbers.push_back(0);
    if (round % 7 == 1) numbers.push_back(~uint64_t{0});
    const std::set<uint64_t> there(numbers.begin(), numbers.end());
    const auto filter = filter_of(numbers);
    ASSERT_EQ(filter->is_empty(), there.empty());
    if (there.empty()) {
      EXPECT_FALSE(filter->may_have(random()));
      EXPECT_EQ((RuntimeFilter{.numbers = filter}).predicate(3).kind(), Predicate::Kind::Never);
      continue;
    }
    EXPECT_EQ(filter->range(), (IntegerRange{*there.begin(), *there.rbegin()}));
    const uint64_t span = *there.rbegin() - *there.begin();
    EXPECT_EQ(filter->has_whole_range(), span == there.size() - 1);
    uint64_t wrong = 0, asked = 0;
    std::array<uint64_t, packing_unit> looked_for, copy;
    const auto count = static_cast<uint32_t>(1 + random() % packing_unit);
    for (uint32_t i = 0; i < count; ++i) {
      looked_for[i] = random() % 4 == 0   ? numbers[random() % numbers.size()]
                      : random() % 8 == 0 ? random()
                                          : *there.begin() - 2 + random() % (spread < 5 ? 9 : spread);
    }
    copy = looked_for;
    std::array<uint64_t, packing_unit / 64> bits;
    bits.fill(~uint64_t{0});
    filter->select(copy.data(), count, bits.data());
    for (uint32_t i = 0; i < count; ++i) {
      const bool is_there = there.contains(looked_for[i]), may = filter->may_have(looked_for[i]);
      ASSERT_TRUE(may || !is_there) << looked_for[i];
      ASSERT_EQ((bits[i / 64] >> (i % 64) & 1) != 0, may) << looked_for[i];
      asked += is_there ? 0U : 1U;
      wrong += may && !is_there ? 1U : 0U;
    }
    // Close together, they are known exactly.
    if (span < there.size() * 64 || span < std::min<uint64_t>(there.size() * 256, 1U << 27)) {
      EXPECT_EQ(wrong, 0);
    }
    EXPECT_LE(wrong, 5 + asked / 8);
  }
}

TEST(RuntimeFilterTest, NumbersThatAreAddedOneByOneAreNeverHeldBack) {
  std::mt19937_64 random(test_seed(23));
  for (int round = 0; round < 100; ++round) {
    const size_t bytes = size_t{1} << random() % 16;
    NumberFilter filter(bytes);
    EXPECT_LE(filter.memory(), std::max<size_t>(bytes, 16));
    EXPECT_TRUE(filter.is_empty());
    std::set<uint64_t> there;
    for (uint64_t n = uint64_t{1} << random() % 15; n > 0; --n) {
      const uint64_t number = random() >> random() % 40;
      there.insert(number);
      filter.add(number);
    }
    filter.end_adding();
    EXPECT_EQ(filter.range(), (IntegerRange{*there.begin(), *there.rbegin()}));
    for (const uint64_t number : there) ASSERT_TRUE(filter.may_have(number)) << number << ", " << bytes;
    uint64_t wrong = 0;
    for (int i = 0; i < 2000; ++i) {
      const uint64_t number = random() >> random() % 40;
      wrong += filter.may_have(number) && !there.contains(number) ? 1U : 0U;
    }
    // It is as exact as its room allows, and no larger than it need be.
    EXPECT_LE(wrong, bytes >= 2 * there.size() ? 300 : 2000) << there.size() << " numbers in " << bytes;
    EXPECT_LE(filter.memory(), std::max<size_t>(there.size() * 8, 32));
  }
  NumberFilter small(size_t{64});
  for (uint64_t number = 10; number < 10'000; number += 3) small.add(number);
  small.end_adding();
  EXPECT_TRUE(small.has_whole_range()) << "too many for its room";
  EXPECT_FALSE(small.may_have(9));
  NumberFilter none(size_t{64});
  none.end_adding();
  EXPECT_FALSE(none.may_have(0));
  EXPECT_EQ((RuntimeFilter{.numbers = std::make_shared<NumberFilter>(size_t{64})}).predicate(3).kind(),
            Predicate::Kind::Never);
}

TEST(RuntimeFilterTest, FewNumbersTellWhichBlocksHaveNoneOfThem) {
  const auto few = filter_of({7'000, 5, 100'000, 5});
  ASSERT_TRUE(few->is_listed());
  EXPECT_TRUE(std::ranges::equal(few->listed_between(0, 7'000), std::vector<uint64_t>{5, 7'000}));
  EXPECT_TRUE(few->may_have_between(7'000, 8'000));
  EXPECT_FALSE(few->may_have_between(6, 6'999));
  EXPECT_FALSE(few->may_have_between(0, 4));
  EXPECT_FALSE(few->may_have_between(100'001, ~uint64_t{0}));
  std::vector<uint64_t> numbers;
  for (uint64_t i = 0; i < 5'000; ++i) numbers.push_back(i * 1'000'003);
  const auto many = filter_of(numbers);
  EXPECT_FALSE(many->is_listed());
  EXPECT_TRUE(many->may_have_between(1, 2));
  EXPECT_FALSE(many->may_have_between(numbers.back() + 1, ~uint64_t{0}));
}

TEST(RuntimeFilterTest, RowsOfASegmentWithoutPartnerAreLeftOut) {
  const uint64_t seed = test_seed(22);
  uint64_t left_out = 0, excluded = 0;
  for (uint64_t round = 0; round < 60; ++round) {
    RandomSegment data(seed + round);
    const auto rows = static_cast<uint32_t>(1 + data.below(round % 3 == 0 ? 3 * block_rows : 3000));
    data.fill(rows);
    if (testing::Test::HasFatalFailure()) return;
    const auto& columns = data.layout->definition().columns;
    for (uint16_t column = 0; column < columns.size(); ++column) {
      if (!columns[column].is_integer()) continue;
      std::vector<uint64_t> numbers;
      const uint64_t wanted = std::array<uint64_t, 4>{1, 5, 200, 5000}[data.below(4)];
      const bool side_by_side = data.below(2) == 0;
      const uint64_t first = data.below(rows);
      for (uint64_t i = 0; i < wanted; ++i) {
        const Value value = data.value(side_by_side ? (first + i) % rows : data.below(rows), column);
        if (!value.null) numbers.push_back(value.integer);
      }
      const auto filter = filter_of(numbers);
      std::vector<Predicate> parts{(RuntimeFilter{.numbers = filter}).predicate(column)};
      if (data.below(2) == 0) parts.push_back(data.predicate(1));
      const Predicate other = parts.size() == 2 ? parts.back() : Predicate::always();
      const auto predicate = std::make_shared<const Predicate>(Predicate::all_of(std::move(parts)));
      auto prepared = SegmentFilter::prepare(predicate, *data.columns, data.counters);
      ASSERT_TRUE(prepared) << prepared.error().message();
      BlockReader reader(*data.columns);
      for (uint32_t block = 0; block < data.columns->segment().blocks(); ++block) {
        BlockBitmap bitmap;
        bitmap.set_first(std::min(block_rows, rows - block * block_rows));
        const Status status = prepared->evaluate(reader, block, bitmap);
        ASSERT_TRUE(status) << status.error().message();
        const bool none = prepared->excludes_segment() || prepared->excludes_block(block);
        excluded += none ? 1U : 0U;
        for (uint32_t row = 0; row < block_rows; ++row) {
          const size_t number = size_t{block} * block_rows + row;
          if (number >= rows) {
            ASSERT_FALSE(bitmap.test(row));
            continue;
          }
          const bool others_match = other.matches([&](uint16_t each) { return data.value(number, each); });
          const Value value = data.value(number, column);
          const bool may = !value.null && filter->may_have(value.integer);
          ASSERT_EQ(predicate->matches([&](uint16_t each) { return data.value(number, each); }),
                    may && others_match);
          if (may && others_match) {
            ASSERT_TRUE(bitmap.test(row) && !none) << "round " << round << " row " << number;
          } else if (!others_match) {
            ASSERT_FALSE(bitmap.test(row)) << "round " << round << " row " << number;
          }
          left_out += bitmap.test(row) ? 0U : 1U;
        }
      }
    }
  }
  EXPECT_GT(left_out, 0);
  EXPECT_GT(excluded, 0);
}

TEST(RuntimeFilterTest, OneThatLetsMostThroughIsTriedNowAndThen) {
  const auto filter = filter_of({1, 3});
  EXPECT_TRUE(filter->pays_for(1));
  for (int block = 0; block < 10; ++block) filter->note(block_rows, block_rows - 100);
  EXPECT_FALSE(filter->pays_for(1));
  EXPECT_TRUE(filter->pays_for(16));
  // Data whose rows lie by the key: later ones have no partner.
  for (int block = 0; block < 200; ++block) filter->note(block_rows, 0);
  EXPECT_TRUE(filter->pays_for(1));
}

}  // namespace
}  // namespace hailstone
