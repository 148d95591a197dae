// UNION ALL: all rows of all, one after the other where they are pulled; nothing is opened before its turn.
#include "query/united_rows.h"

#include <gtest/gtest.h>

#include <array>

#include "query/fake_host.h"
#include "query/given_rows.h"

namespace hailstone {
namespace {

std::unique_ptr<RowBatches> numbers(const QueryHost& host, uint64_t first, uint64_t last) {
  return std::make_unique<Numbers>(host, first, last, 7);
}

TEST(UnitedRowsConcurrentTest, HaveAllRowsInOrder) {
  const FakeHost host;
  for (const unsigned threads : {0U, 1U, 4U}) {
    std::vector<std::unique_ptr<RowBatches>> some, all;
    some.push_back(numbers(host, 100, 100));
    some.push_back(numbers(host, 100, 200));
    all.push_back(numbers(host, 0, 100));
    all.push_back(*UnitedRows::make(std::move(some)));
    all.push_back(numbers(host, 200, 201));
    const auto rows = UnitedRows::make(std::move(all));
    ASSERT_TRUE(rows);
    for (int go = 0; go < 2; ++go) {
      const auto found = numbers_of(**rows, threads);
      ASSERT_TRUE(found) << found.error().message();
      EXPECT_EQ(*found, numbers_between(0, 201));
    }
    EXPECT_EQ((*rows)->rows_read(), 2 * 201);
  }
}

TEST(UnitedRowsTest, BatchesOfLaterOnesAreBehind) {
  const FakeHost host;
  std::vector<std::unique_ptr<RowBatches>> both;
  both.push_back(std::make_unique<Numbers>(host, 0, 2000, 1000));
  both.push_back(std::make_unique<Numbers>(host, 0, 2000, 1000));
  const auto rows = UnitedRows::make(std::move(both));
  std::vector<uint64_t> orders;
  ASSERT_TRUE((*rows)->each_batch(1, [&](unsigned, const RowBatch& batch) -> Status {
    orders.push_back(batch.order);
    return {};
  }));
  EXPECT_EQ(orders.size(), 4);
  EXPECT_TRUE(std::ranges::is_sorted(orders, std::ranges::less_equal{}));
}

TEST(UnitedRowsTest, AreOpenedInTheirTurn) {
  const FakeHost host;
  auto later = std::make_unique<Numbers>(host, 10, 20, 7);
  const Numbers& last = *later;
  std::vector<std::unique_ptr<RowBatches>> both;
  both.push_back(numbers(host, 0, 10));
  both.push_back(std::move(later));
  const auto rows = UnitedRows::make(std::move(both));
  PulledRows pulled(**rows);
  ASSERT_TRUE(pulled.next());
  ASSERT_TRUE(pulled.next());
  EXPECT_EQ(last.given, 0);
  ASSERT_TRUE(pulled.next());
  EXPECT_EQ(last.given, 7);
}

TEST(UnitedRowsTest, AnErrorOfOneIsAllRows) {
  const FakeHost host;
  for (const unsigned threads : {0U, 2U}) {
    auto wrong = std::make_unique<Numbers>(host, 10, 20, 7);
    wrong->fails_at = 15;
    std::vector<std::unique_ptr<RowBatches>> both;
    both.push_back(std::move(wrong));
    both.push_back(numbers(host, 0, 10));
    const auto rows = UnitedRows::make(std::move(both));
    EXPECT_FALSE(numbers_of(**rows, threads));
  }
}

TEST(UnitedRowsTest, TypesAreTheSame) {
  const FakeHost host;
  const ScanColumn narrow{.integer = true, .type = Type::Unsigned, .width = 4};
  const ScanColumn wide{.integer = true, .type = Type::Unsigned, .width = 8};
  for (const auto& columns : {std::vector{narrow}, std::vector{wide, wide}, std::vector{wide}}) {
    std::vector<std::unique_ptr<RowBatches>> both;
    both.push_back(numbers(host, 0, 10));
    both.push_back(std::make_unique<GivenRows>(host, columns));
    EXPECT_EQ(UnitedRows::make(std::move(both)).has_value(), columns == std::vector{wide});
  }
}

}  // namespace
}  // namespace hailstone
