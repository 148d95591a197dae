#include "column/segment_filter.h"

#include <gtest/gtest.h>

#include "base/test_seed.h"
#include "column/random_segment.h"

namespace hailstone {
namespace {

/// The predicate by its definition, with nothing of the code under test.
bool naive(const Predicate& predicate, const RandomSegment& data, size_t row) {
  switch (predicate.kind()) {
    case Predicate::Kind::Always:
      return true;
    case Predicate::Kind::Never:
      return false;
    case Predicate::Kind::And:
      for (const auto& part : predicate.parts()) {
        if (!naive(part, data, row)) return false;
      }
      return true;
    case Predicate::Kind::Or:
      for (const auto& part : predicate.parts()) {
        if (naive(part, data, row)) return true;
      }
      return false;
    default:
      break;
  }
  const Value value = data.value(row, predicate.column());
  switch (predicate.kind()) {
    case Predicate::Kind::IsNull:
      return value.null;
    case Predicate::Kind::IsNotNull:
      return !value.null;
    case Predicate::Kind::Bytes:
      return !value.null && predicate.test().matches(value.bytes);
    default:
      for (const auto& range : predicate.ranges()) {
        if (!value.null && range.low <= value.integer && value.integer <= range.high) return true;
      }
      return false;
  }
}

TEST(SegmentFilterTest, RandomPredicatesSelectTheRowsThatTheyDescribe) {
  const uint64_t seed = test_seed(11);
  for (uint64_t round = 0; round < 40; ++round) {
    RandomSegment data(seed + round);
    const auto rows = static_cast<uint32_t>(1 + data.below(round % 4 == 0 ? 3 * block_rows : 3000));
    data.fill(rows);
    if (testing::Test::HasFatalFailure()) return;
    for (int attempt = 0; attempt < 12; ++attempt) {
      const auto predicate = std::make_shared<const Predicate>(data.predicate(3));
      auto filter = SegmentFilter::prepare(predicate, *data.columns, data.counters);
      ASSERT_TRUE(filter) << filter.error().message();
      BlockReader reader(*data.columns);
      for (uint32_t block = 0; block < data.columns->segment().blocks(); ++block) {
        BlockBitmap asked;
        asked.set_first(std::min(block_rows, rows - block * block_rows));
        // Of many, of some, or of few rows.
        const uint64_t share = attempt % 3 == 0 ? 1 : data.below(500) + 1;
        for (uint32_t row = 0; row < block_rows; ++row) {
          if (share > 1 && data.below(share) != 0) asked.bits[row / 64] &= ~(uint64_t{1} << (row % 64));
        }
        BlockBitmap bitmap = asked;
        const Status status = filter->evaluate(reader, block, bitmap);
        ASSERT_TRUE(status) << status.error().message();
        const bool excluded = filter->excludes_segment() || filter->excludes_block(block);
        ASSERT_TRUE(!excluded || bitmap.none()) << "round " << round << " attempt " << attempt;
        for (uint32_t row = 0; row < block_rows; ++row) {
          const size_t number = size_t{block} * block_rows + row;
          const bool expected = number < rows && naive(*predicate, data, number);
          ASSERT_EQ(bitmap.test(row), expected && asked.test(row))
              << "round " << round << " attempt " << attempt << " row " << number;
          if (number >= rows) continue;
          // The row by row form decides alike.
          ASSERT_EQ(predicate->matches([&](uint16_t column) { return data.value(number, column); }),
                    expected);
        }
      }
    }
  }
}

TEST(SegmentFilterTest, SummariesExcludeBlocksAndSegments) {
  RandomSegment data(test_seed(5));
  data.fill(2 * block_rows);
  // Beyond all ranges of a narrow column nothing can match.
  const auto& columns = data.layout->definition().columns;
  for (uint16_t i = 0; i < columns.size(); ++i) {
    if (!columns[i].is_integer() || columns[i].width == 8 || !columns[i].columnar) continue;
    const auto predicate = std::make_shared<const Predicate>(
        Predicate::integer(i, {{uint64_t{1} << (8 * columns[i].width), ~uint64_t{0}}}));
    auto filter = SegmentFilter::prepare(predicate, *data.columns, data.counters);
    ASSERT_TRUE(filter) << filter.error().message();
    EXPECT_TRUE(filter->excludes_segment());
    EXPECT_TRUE(filter->excludes_block(0));
  }
}

}  // namespace
}  // namespace hailstone
