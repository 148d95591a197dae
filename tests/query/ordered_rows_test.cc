// All rows in an order, sorted in memory or by way of spill files, against a plain sort of the same rows.
#include "query/ordered_rows.h"

#include <gtest/gtest.h>

#include <numeric>

#include "query/order_fixture.h"
#include "query/query_memory.h"

namespace hailstone {
namespace {

class OrderedRowsTest : public OrderTest {
 protected:
  OrderedRowsTest() {
    host_.background = true;
    host_.segment_rows = 20'000;
  }

  Result<std::unique_ptr<OrderedRows>> ordered(const std::vector<RowOrder>& order,
                                               const std::shared_ptr<const Predicate>& predicate,
                                               unsigned threads, bool as_codes) {
    auto rows =
        std::make_unique<ComputedRows>(scan(predicate, {all_columns.begin(), all_columns.end()}, as_codes),
                                       all_columns.size(), Computation{});
    return OrderedRows::make(std::move(rows), order, OrderedRows::Equal::Any, all_columns, threads);
  }

  /// How many rows there are; they are those of `all`, in order.
  void check(OrderedRows& rows, const std::vector<SortedRow>& all, std::span<const RowOrder> order) {
    std::vector<int64_t> numbers;
    for (auto found = rows.next();; found = rows.next()) {
      ASSERT_TRUE(found) << found.error().message();
      if (!*found) break;
      const SortedRow row = row_of(rows.values());
      ASSERT_LT(numbers.size(), all.size());
      ASSERT_EQ(compare(row, all[numbers.size()], order), 0) << "row " << numbers.size();
      numbers.push_back(row.number);
    }
    EXPECT_FALSE(*rows.next());
    ASSERT_EQ(numbers.size(), all.size());
    EXPECT_EQ(rows.rows_met(), all.size());
    std::vector<int64_t> expected;
    for (const SortedRow& row : all) expected.push_back(row.number);
    std::ranges::sort(expected);
    std::ranges::sort(numbers);
    EXPECT_EQ(numbers, expected);
  }
};

TEST_F(OrderedRowsTest, InAnyOrderWithAnyMemory) {
  add_rows(0, 50'000, true);
  add_rows(50'000, 51'000, false);
  erase_rows(3, 51'000, 700);
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  const auto some = std::make_shared<const Predicate>(
      Predicate::integer(small, {{.low = order_signed(-10, 1), .high = order_signed(10, 1)}}));
  for (const auto& predicate : {std::shared_ptr<const Predicate>(), some}) {
    std::vector<SortedRow> all = all_rows(predicate);
    for (int round = 0; round < 15; ++round) {
      std::vector<RowOrder> order;
      for (size_t i = 0; i < 1 + below(3); ++i) {
        const uint16_t position = all_columns[below(all_columns.size())];
        order.push_back({.position = position,
                         .descending = below(2) == 0,
                         .nullable = (position != number && position != body) || below(2) == 0});
      }
      std::ranges::sort(all, [&](const SortedRow& left, const SortedRow& right) {
        return compare(left, right, order) < 0;
      });
      for (const size_t limit : {size_t{1}, size_t{1} << 30}) {
        host_.budget().set_limit(limit);
        auto rows = ordered(order, predicate, below(2) == 0 ? 1 : 3, below(2) == 0);
        ASSERT_TRUE(rows);
        SCOPED_TRACE(fmt::format("round {}, {} bytes", round, limit));
        check(**rows, all, order);
        if (limit != 1 || predicate == nullptr) {
          EXPECT_EQ((*rows)->bytes_spilled() != 0, limit == 1);
        }
      }
      host_.budget().set_limit(size_t{1} << 30);
    }
  }
  expect_nothing_left(host_.budget().used());
}

TEST_F(OrderedRowsTest, TakesMemoryThatOthersLeave) {
  add_rows(0, 150'000, true);
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  MemoryBudget& budget = host_.budget();
  const size_t before = budget.used();
  const auto sort = [&](size_t& most) {
    auto rows = *ordered({{.position = word}}, nullptr, 2, true);
    EXPECT_TRUE(*rows->next());
    most = budget.used() - before;
    return rows->bytes_spilled();
  };
  size_t needed = 0, most = 0;
  ASSERT_EQ(sort(needed), 0U);
  const size_t limit = 5 * needed / 2;
  budget.set_limit(limit);
  ASSERT_LT(before, needed / 8);
  EXPECT_EQ(sort(most), 0U);
  EXPECT_GT(most, limit / 4);
  {
    Reservation of_others(budget);
    ASSERT_TRUE(of_others.try_grow(limit / 2));
    EXPECT_NE(sort(most), 0U);
  }
  budget.set_limit(size_t{1} << 30);
}

TEST_F(OrderedRowsTest, TakesItsFloorOnlyWhereOthersHaveTheRest) {
  add_rows(0, 150'000, true);
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  MemoryBudget& whole = host_.budget();
  whole.set_limit(size_t{48} << 20);
  for (auto rows = *ordered({{.position = word}}, nullptr, 1, true); *rows->next();) {
  }
  const auto query = std::make_shared<MemoryBudget>(whole, floor_of_query(whole));
  Reservation others(whole);
  others.grow(whole.limit() - whole.used());
  // The scan pins some that it works on, whatever there is.
  constexpr size_t blocks_at_hand = size_t{256} << 10;
  size_t most = 0, most_of_query = 0;
  reader_->set_interruption_check([&] {
    most = std::max(most, whole.used());
    most_of_query = std::max(most_of_query, query->used());
    return false;
  });
  Scans scans(scan(nullptr, {all_columns.begin(), all_columns.end()}, true));
  scans.take_memory_from(query);
  auto rows =
      *OrderedRows::make(std::make_unique<ComputedRows>(std::move(scans), all_columns.size(), Computation{}),
                         {{.position = word}, {.position = body}}, OrderedRows::Equal::Any, all_columns, 2);
  size_t found = 0;
  for (; *rows->next(); ++found) most_of_query = std::max(most_of_query, query->used());
  EXPECT_EQ(found, 150'000);
  EXPECT_GT(rows->merges(), 0U);
  EXPECT_LE(most_of_query, query->floor());
  EXPECT_LE(most, whole.limit() + blocks_at_hand);
  rows.reset();
  EXPECT_EQ(query->used(), 0U);
  reader_->set_interruption_check({});
  others.clear();
  whole.set_limit(size_t{1} << 30);
}

TEST_F(OrderedRowsTest, MergesRunsToRuns) {
  add_rows(0, 150'000, true);
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  std::vector<SortedRow> all = all_rows(nullptr);
  const std::vector<RowOrder> order{{.position = word}, {.position = number, .descending = true}};
  std::ranges::sort(
      all, [&](const SortedRow& left, const SortedRow& right) { return compare(left, right, order) < 0; });
  host_.budget().set_limit(1);
  auto rows = ordered(order, nullptr, 2, true);
  ASSERT_TRUE(rows);
  check(**rows, all, order);
  EXPECT_GT((*rows)->merges(), 0U);
  host_.budget().set_limit(size_t{1} << 30);
}

TEST_F(OrderedRowsTest, CutsWeights) {
  add_rows(0, 20'000, true);
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  // All bodies begin with the same five bytes: they are equal, and the numbers decide.
  auto rows = ordered({{.position = body, .most_weights = 5}, {.position = number, .descending = true}},
                      nullptr, 2, true);
  ASSERT_TRUE(rows);
  for (int64_t next = 19'999; *(*rows)->next(); --next) ASSERT_EQ(row_of((*rows)->values()).number, next);
}

TEST_F(OrderedRowsTest, EqualOnesAsScanned) {
  add_rows(0, 30'000, true);
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  for (const unsigned threads : {1U, 3U}) {
    auto rows = OrderedRows::make(
        std::make_unique<ComputedRows>(scan(nullptr, {all_columns.begin(), all_columns.end()}, true),
                                       all_columns.size(), Computation{}),
        {{.position = word}}, OrderedRows::Equal::AsScanned, all_columns, threads);
    ASSERT_TRUE(rows);
    std::string key;
    int64_t before = -1;
    size_t groups = 0;
    while (*(*rows)->next()) {
      const int64_t here = row_of((*rows)->values()).number;
      if (groups == 0 || (*rows)->key() != key) {
        key = (*rows)->key();
        ++groups;
      } else {
        ASSERT_LT(before, here);
      }
      before = here;
    }
    EXPECT_EQ(groups, 5U);  // NULL among them, and texts that differ in spaces at the end as one
  }
}

TEST_F(OrderedRowsTest, InNoOrder) {
  add_rows(0, 30'000, true);
  add_rows(30'000, 30'500, false);
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  for (const unsigned threads : {1U, 3U}) {
    auto rows = ordered({}, nullptr, threads, /*as_codes=*/true);
    ASSERT_TRUE(rows);
    check(**rows, all_rows(nullptr), {});
  }
}

TEST_F(OrderedRowsTest, OfNoRows) {
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  auto rows = ordered({{.position = word}}, nullptr, 2, true);
  ASSERT_TRUE(rows);
  EXPECT_FALSE(*(*rows)->next());
  EXPECT_FALSE(*(*rows)->next());
  EXPECT_EQ((*rows)->rows_met(), 0U);
}

TEST_F(OrderedRowsTest, EndWithAnErrorWhereFilesFail) {
  add_rows(0, 60'000, true);
  reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  const size_t memory_before = host_.budget().used();
  host_.budget().set_limit(1);
  for (const SpillFault& fault : spill_faults) {
    size_t failed = 0;
    for (uint64_t skip = 0;; skip += 1 + skip / 2) {
      add_spill_fault(fault, skip);
      auto rows = ordered({{.position = body}}, nullptr, skip % 2 == 0 ? 1 : 2, true);
      ASSERT_TRUE(rows);
      std::optional<Error> error;
      size_t met = 0;
      for (;; ++met) {
        const auto found = (*rows)->next();
        if (!found) error = found.error();
        if (!found || !*found) break;
      }
      host_.filesystem().clear_rules();
      rows->reset();
      expect_nothing_left(memory_before);
      if (!error) {
        EXPECT_EQ(met, 60'000U);
        break;
      }
      ++failed;
      expect_error_of(fault, *error);
    }
    EXPECT_GT(failed, 0U) << "a fault was never met";
  }
  host_.budget().set_limit(size_t{1} << 30);
}

}  // namespace
}  // namespace hailstone
