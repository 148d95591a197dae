// The first rows in an order against all rows, sorted.
#include "query/sorted_rows.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "query/order_fixture.h"

namespace hailstone {
namespace {

class SortedRowsTest : public OrderTest {
 protected:
  Result<std::unique_ptr<SortedRows>> sorted(const std::vector<RowOrder>& order,
                                             const std::shared_ptr<const Predicate>& predicate, size_t most,
                                             unsigned threads, bool as_codes, bool counts = false,
                                             bool kept = false) {
    // The scan reads what decides the order only; positions in the order are places in this list.
    std::vector<uint16_t> read;
    std::vector<RowOrder> by;
    for (const RowOrder& each : order) {
      by.push_back({.position = static_cast<uint16_t>(read.size()), .descending = each.descending});
      read.push_back(each.position);
    }
    std::vector<uint16_t> columns(all_columns.begin(), all_columns.end());
    if (kept) {
      for (uint16_t& column : columns) {
        read.push_back(column);
        column = static_cast<uint16_t>(read.size() - 1);
      }
    }
    const size_t width = read.size();
    auto rows =
        std::make_unique<ComputedRows>(scan(predicate, std::move(read), as_codes), width, Computation{});
    return SortedRows::make(std::move(rows),
                            {.order = std::move(by),
                             .most = most,
                             .values = kept ? SortedRows::Values::Kept : SortedRows::Values::AtPlaces,
                             .columns = std::move(columns),
                             .counts = counts},
                            threads);
  }
};

TEST_F(SortedRowsTest, AreTheFirstOfAllRows) {
  host_.background = true;
  host_.segment_rows = 20'000;
  add_rows(0, 50'000, true);
  add_rows(50'000, 51'000, false);
  erase_rows(3, 51'000, 700);
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  const auto some = std::make_shared<const Predicate>(
      Predicate::integer(small, {{.low = order_signed(-10, 1), .high = order_signed(10, 1)}}));
  for (const auto& predicate : {std::shared_ptr<const Predicate>(), some}) {
    std::vector<SortedRow> all = all_rows(predicate);
    for (int round = 0; round < 30; ++round) {
      std::vector<RowOrder> order;
      for (size_t i = 0; i < 1 + below(3); ++i)
        order.push_back({.position = all_columns[below(all_columns.size())], .descending = below(2) == 0});
      const size_t most = std::array<size_t, 4>{1, 10, 3000, 100'000}[below(4)];
      std::ranges::sort(all, [&](const SortedRow& left, const SortedRow& right) {
        return compare(left, right, order) < 0;
      });
      const bool counts = below(2) == 0;
      const bool kept = below(2) == 0;
      auto rows = sorted(order, predicate, most, below(2) == 0 ? 1 : 3, below(2) == 0, counts, kept);
      ASSERT_TRUE(rows);
      size_t count = 0;
      std::vector<int64_t> numbers;
      for (auto found = (*rows)->next();; found = (*rows)->next(), ++count) {
        ASSERT_TRUE(found);
        if (!*found) break;
        const SortedRow row = row_of((*rows)->values());
        ASSERT_EQ(compare(row, all[count], order), 0) << "round " << round << ", row " << count;
        ASSERT_EQ(row.body, "body " + std::to_string(row.number));
        numbers.push_back(row.number);
      }
      EXPECT_EQ(count, std::min(most, all.size()));
      const uint16_t first = order.front().position;
      if (counts || first == word || first == body) {
        EXPECT_EQ((*rows)->rows_met(), all.size());
        EXPECT_EQ((*rows)->rows_read(), all.size());
      } else if (first == number && most <= 10 && predicate == nullptr) {
        // By the blocks' summaries, few of the rows have to be read.
        EXPECT_LT((*rows)->rows_read(), all.size());
      }
      std::ranges::sort(numbers);
      EXPECT_EQ(std::ranges::adjacent_find(numbers), numbers.end()) << "a row is there twice";
    }
  }
}

TEST_F(SortedRowsTest, AreReadAsTheyWereWhenTheyWereSorted) {
  add_rows(0, 3000, true);
  add_rows(3000, 3100, false);
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  const std::vector<RowOrder> order{{.position = number, .descending = true}};
  auto rows = sorted(order, nullptr, 2000, 2, true);
  ASSERT_TRUE(rows);
  ASSERT_TRUE(*(*rows)->next());
  // What is written from here on, and brought into segments, is nothing to these rows.
  erase_rows(0, 3100, 2);
  add_rows(4000, 4100, false);
  ASSERT_TRUE(table_->optimize(StopToken()));
  int64_t next = 3099;
  do {
    const SortedRow row = row_of((*rows)->values());
    ASSERT_EQ(row.number, next);
    ASSERT_EQ(row.body, "body " + std::to_string(next));
    --next;
  } while (*(*rows)->next());
  EXPECT_EQ(next, 1099);
}

TEST_F(SortedRowsTest, OfNoRows) {
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  auto rows = sorted({{.position = word}}, nullptr, 5, 2, true);
  ASSERT_TRUE(rows);
  EXPECT_FALSE(*(*rows)->next());
  EXPECT_FALSE(*(*rows)->next());
  EXPECT_EQ((*rows)->rows_met(), 0U);
}

TEST_F(SortedRowsTest, NeedLittleMemory) {
  host_.background = true;
  host_.segment_rows = 20'000;
  add_rows(0, 40'000, true);
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  host_.budget().set_limit(1);
  auto rows = sorted({{.position = body, .descending = true}}, nullptr, 1000, 2, true);
  ASSERT_TRUE(rows);
  std::string before = "c";
  size_t count = 0;
  for (; *(*rows)->next(); ++count) {
    const SortedRow row = row_of((*rows)->values());
    ASSERT_LE(row.body, before);
    before = row.body;
  }
  EXPECT_EQ(count, 1000U);
  host_.budget().set_limit(size_t{1} << 30);
}

}  // namespace
}  // namespace hailstone
