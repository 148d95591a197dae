// LIMIT and OFFSET: how many rows come, which where they come in order, and that nothing more is read.
#include "query/limited_rows.h"

#include <gtest/gtest.h>

#include "query/fake_host.h"
#include "query/united_rows.h"

namespace hailstone {
namespace {

TEST(LimitedRowsTest, PulledRowsAreTheFirst) {
  const FakeHost host;
  for (const uint32_t in_batch : {1U, 7U, 100U, 1000U}) {
    for (const uint64_t offset : {0U, 1U, 7U, 99U, 150U}) {
      for (const uint64_t most : {0U, 1U, 7U, 50U, 100U, 1000U}) {
        auto numbers = std::make_unique<Numbers>(host, 0, 200, in_batch);
        const Numbers& source = *numbers;
        LimitedRows rows(std::move(numbers), offset, most);
        const auto found = numbers_of(rows, 0);
        ASSERT_TRUE(found) << found.error().message();
        const uint64_t end = std::min<uint64_t>(200, offset + most);
        EXPECT_EQ(*found, numbers_between(offset, std::max(offset, end)));
        if (most == 0) {
          EXPECT_EQ(source.given, 0);
        } else {
          EXPECT_LT(source.given, end + in_batch) << "no batch behind the last row was read";
        }
      }
    }
  }
}

TEST(LimitedRowsConcurrentTest, PushedRowsAreAsMany) {
  const FakeHost host;
  for (const unsigned threads : {1U, 4U}) {
    for (const uint64_t most : {0U, 1U, 5'000U, 200'000U}) {
      auto numbers = std::make_unique<Numbers>(host, 0, 100'000, 10);
      Numbers& source = *numbers;
      LimitedRows rows(std::move(numbers), 10, most);
      const auto found = numbers_of(rows, threads);
      ASSERT_TRUE(found) << found.error().message();
      EXPECT_EQ(found->size(), std::min<uint64_t>(most, 99'990));
      EXPECT_EQ(std::ranges::adjacent_find(*found), found->end()) << "each once";
      if (most <= 5'000) {
        EXPECT_LE(source.given, most + 10 + 2 * 10 * threads) << "and then it has ended";
      }
      // An error of rows that are not wanted is nobody's.
      source.fails_at = 99'999;
      EXPECT_EQ(numbers_of(rows, threads).has_value(), most <= 5'000);
    }
  }
}

TEST(LimitedRowsTest, AlsoOfOthersThatEnd) {
  const FakeHost host;
  for (const unsigned threads : {0U, 1U}) {
    std::vector<std::unique_ptr<RowBatches>> both;
    both.push_back(std::make_unique<LimitedRows>(std::make_unique<Numbers>(host, 0, 100, 10), 0, 25));
    auto second = std::make_unique<Numbers>(host, 100, 200, 10);
    const Numbers& last = *second;
    both.push_back(std::move(second));
    LimitedRows rows(std::move(*UnitedRows::make(std::move(both))), 5, 30);
    std::vector<uint64_t> expected = numbers_between(5, 25);
    const std::vector<uint64_t> behind = numbers_between(100, 110);
    expected.insert(expected.end(), behind.begin(), behind.end());
    const auto found = numbers_of(rows, threads);
    ASSERT_TRUE(found);
    EXPECT_EQ(*found, expected);
    EXPECT_EQ(last.given, 10);
  }
}

TEST(LimitedRowsTest, TheStatementsEndIsNotTheLimits) {
  FakeHost host;
  LimitedRows rows(std::make_unique<Numbers>(host, 0, 100, 10), 0, 5);
  const Status pushed = rows.each_batch(1, [&](unsigned, const RowBatch&) -> Status {
    host.interrupted = true;
    return {};
  });
  ASSERT_FALSE(pushed);
  EXPECT_EQ(pushed.error().code(), ErrorCode::Interrupted);
}

/// Where a consumer fails while another thread has the last row, it has failed.
TEST(LimitedRowsConcurrentTest, AConsumersErrorIsNotLost) {
  const FakeHost host;
  for (int round = 0; round < 50; ++round) {
    LimitedRows rows(std::make_unique<Numbers>(host, 0, 1000, 1), 0, 4);
    std::atomic<int> taken{0};
    const Status pushed = rows.each_batch(4, [&](unsigned, const RowBatch&) -> Status {
      if (++taken == 4) return fail(ErrorCode::DiskFull, "the disk is full");
      return {};
    });
    ASSERT_FALSE(pushed);
    EXPECT_EQ(pushed.error().code(), ErrorCode::DiskFull);
  }
}

}  // namespace
}  // namespace hailstone
