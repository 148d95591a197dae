// What operators of a query say of themselves, against what is known of the rows; and that they may be looked
// at while they work.
#include "base/operator_counts.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <thread>
#include <vector>

#include "query/ordered_rows.h"
#include "query/query_fixture.h"
#include "query/sorted_groups.h"
#include "query/sorted_rows.h"

namespace hailstone {
namespace {

enum TestColumn : uint16_t { number, label };

TableDefinition counted_definition() {
  TableDefinition definition;
  definition.name = "test/counted";
  definition.columns = {
      {.name = "number", .type = Type::Signed, .width = 4, .nullable = false},
      {.name = "label", .type = Type::Varchar, .width = 60},
  };
  definition.indexes = {{.name = "PRIMARY", .unique = true, .parts = {{.column = 0}}}};
  definition.has_primary_key = true;
  return definition;
}

constexpr int32_t rows_in_segments = 60'000, rows_in_delta = 500, all_rows = rows_in_segments + rows_in_delta;

class OperatorCountsTest : public QueryTest {
 protected:
  OperatorCountsTest() : QueryTest(17, counted_definition()) {
    host_.background = true;
    host_.segment_rows = 20'000;
    add_rows(0, rows_in_segments, true);
    add_rows(rows_in_segments, all_rows, false);
    reader_ = host_.transactions().begin(Isolation::RepeatableRead);
  }

  void add_rows(int32_t first, int32_t last, bool in_bulk) {
    write_rows(first, last, in_bulk, [](int32_t row, const auto& take) {
      const std::string some_label = "a label that takes some memory " + std::to_string(row);
      take(std::array<Value, 2>{Value::of(order_signed(row, 4)), Value::of(ByteView(some_label))});
    });
  }

  /// Those numbers below `below_number` that are not below `from`, with a column number % 10.
  std::unique_ptr<ComputedRows> rows(int32_t from, int32_t below_number, const RowCounts& counts) {
    auto predicate = std::make_shared<const Predicate>(
        Predicate::integer(number, {{order_signed(INT32_MIN, 4), order_signed(below_number - 1, 4)}}));
    auto scan = std::make_unique<Scan>(table_, *reader_, ReadLock::None, predicate,
                                       std::vector<uint16_t>{number, label}, std::vector<bool>{false, true});
    const ScanColumn type{.type = Type::Signed, .width = 4};
    const auto conditions = std::make_shared<Program>(), values = std::make_shared<Program>();
    Computation computation;
    computation.passes = conditions->add(Expression::call(
        Function::Less, {Expression::constant(int64_t{from} - 1), Expression::column(number, type)}));
    computation.conditions = conditions;
    computation.values = values;
    const auto digit = values->add(Expression::call(
        Function::Remainder, {Expression::column(number, type), Expression::constant(int64_t{10})}));
    computation.columns = {Computation::Column::of(*values, digit)};
    auto made = std::make_unique<ComputedRows>(std::move(scan), 2, std::move(computation));
    made->count_in(counts);
    return made;
  }

  OperatorCounts scan_, filter_, compute_, group_, sort_;
  const RowCounts row_counts_{.scan = &scan_, .filter = &filter_, .compute = &compute_};
};

TEST_F(OperatorCountsTest, RowsOfEachOperator) {
  constexpr std::array<Aggregate, 1> counted{Aggregate{Aggregate::Kind::Rows}};
  constexpr std::array<uint16_t, 1> by_digit{2};
  uint64_t times = 0;
  for (const unsigned threads : {1U, 3U}) {
    ++times;
    auto grouping = Grouping::make(rows(1'000, 50'000, row_counts_), by_digit, counted, threads, &group_);
    ASSERT_TRUE(grouping);
    {
      SortedGroups sorted(std::move(*grouping), {{.number = 0}}, 3, {}, &sort_);
      size_t groups = 0;
      while (*sorted.next()) ++groups;
      EXPECT_EQ(groups, 3);
      EXPECT_NE(group_.memory.load(), 0);
    }
    EXPECT_EQ(scan_.rows_in.load(), times * all_rows);
    EXPECT_EQ(scan_.rows_out.load(), times * 50'000);
    EXPECT_EQ(filter_.rows_in.load(), times * 50'000);
    EXPECT_EQ(filter_.rows_out.load(), times * 49'000);
    EXPECT_EQ(compute_.rows_in.load(), times * 49'000);
    EXPECT_EQ(compute_.rows_out.load(), times * 49'000);
    EXPECT_EQ(group_.rows_in.load(), times * 49'000);
    EXPECT_EQ(group_.rows_out.load(), times * 10);
    EXPECT_EQ(sort_.rows_in.load(), times * 10);
    EXPECT_EQ(sort_.rows_out.load(), times * 3);
    for (const OperatorCounts* const each : {&scan_, &filter_, &compute_, &group_, &sort_}) {
      EXPECT_NE(each->nanoseconds.load(), 0);
      EXPECT_GE(each->threads(), 1);
      EXPECT_LE(each->threads(), threads);
      EXPECT_EQ(each->memory.load(), 0);
      EXPECT_EQ(each->spilled.load(), 0);
    }
    EXPECT_NE(group_.most_memory.load(), 0);
    EXPECT_NE(sort_.most_memory.load(), 0);
  }
  group_.restart();
  EXPECT_EQ(group_.rows_in.load(), 0);
  EXPECT_EQ(group_.rows_out.load(), 0);
}

TEST_F(OperatorCountsTest, WhatBoundsAndSummariesPassByIsCounted) {
  constexpr std::array<RowOrder, 1> order{RowOrder{.position = number, .descending = true}};
  {
    auto sorted = SortedRows::make(
        rows(0, all_rows, row_counts_),
        {.order = {order.begin(), order.end()}, .most = 5, .columns = {label}, .operator_counts = &sort_}, 1);
    ASSERT_TRUE(sorted);
    while (*(*sorted)->next()) {
    }
    EXPECT_NE(sort_.memory.load(), 0);
  }
  EXPECT_EQ(sort_.memory.load(), 0);
  EXPECT_EQ(sort_.rows_out.load(), 5);
  EXPECT_EQ(scan_.rows_in.load(), all_rows);
  EXPECT_LT(scan_.rows_out.load(), all_rows);
  EXPECT_EQ(sort_.rows_in.load(), scan_.rows_out.load());

  OperatorCounts summary;
  Scans scan(std::make_unique<Scan>(table_, *reader_, ReadLock::None, nullptr, std::vector<uint16_t>{number},
                                    std::vector<bool>{false}));
  scan.count_in(summary);
  constexpr std::array<Aggregate, 1> greatest{Aggregate{Aggregate::Kind::Maximum, 0}};
  ASSERT_TRUE(scan.aggregate(greatest, 2));
  EXPECT_EQ(summary.rows_in.load(), all_rows);
  EXPECT_NE(summary.nanoseconds.load(), 0);
}

TEST_F(OperatorCountsTest, AllRowsInAnOrder) {
  constexpr std::array<uint16_t, 1> shown{number};
  for (const bool little_memory : {false, true}) {
    if (little_memory) host_.budget().set_limit(size_t{1} << 20);
    sort_.restart();
    {
      auto sorted = OrderedRows::make(rows(1'000, 50'000, row_counts_), {{.position = label}},
                                      OrderedRows::Equal::Any, shown, 2, &sort_);
      ASSERT_TRUE(sorted);
      uint64_t given = 0;
      while (*(*sorted)->next()) ++given;
      EXPECT_EQ(given, 49'000);
      EXPECT_EQ(sort_.spilled.load(), (*sorted)->bytes_spilled());
    }
    EXPECT_EQ(sort_.rows_in.load(), 49'000);
    EXPECT_EQ(sort_.rows_out.load(), 49'000);
    EXPECT_EQ(sort_.spilled.load() != 0, little_memory);
    EXPECT_NE(sort_.most_memory.load(), 0);
    EXPECT_EQ(sort_.memory.load(), 0);
    EXPECT_NE(sort_.nanoseconds.load(), 0);
  }
}

TEST_F(OperatorCountsTest, SpilledBytes) {
  host_.budget().set_limit(size_t{1} << 20);
  constexpr std::array<Aggregate, 1> counted{Aggregate{Aggregate::Kind::Rows}};
  constexpr std::array<uint16_t, 1> by_label{label};
  {
    auto grouping = Grouping::make(rows(0, all_rows, row_counts_), by_label, counted, 2, &group_);
    ASSERT_TRUE(grouping);
    while (*(*grouping)->next()) {
    }
  }
  EXPECT_EQ(group_.rows_out.load(), all_rows);
  EXPECT_NE(group_.spilled.load(), 0);
  EXPECT_LE(group_.spilled.load(), host_.counters().spill_write_bytes.load());
  EXPECT_EQ(group_.memory.load(), 0);
}

TEST(OperatorWorkTest, HasItsOwnTimeAndWhatOneThreadDidAlone) {
  using std::chrono::milliseconds;
  const auto work_for = [](OperatorCounts& counts, milliseconds time) {
    const OperatorWork work(&counts);
    std::this_thread::sleep_for(time);
  };
  OperatorCounts outer, inner;
  const auto begin = std::chrono::steady_clock::now();
  {
    const OperatorWork work(&outer);
    work_for(inner, milliseconds(5));
    const OperatorWork::Shared shared;
    work_for(inner, milliseconds(3));
    std::this_thread::sleep_for(milliseconds(2));  // as if it waited for other threads
  }
  const std::chrono::nanoseconds all = std::chrono::steady_clock::now() - begin;
  const auto in_all = static_cast<uint64_t>(all.count());
  EXPECT_GE(inner.alone.load(), 5'000'000);
  EXPECT_GE(inner.nanoseconds.load(), inner.alone.load() + 3'000'000);
  EXPECT_LE(outer.nanoseconds.load() + inner.nanoseconds.load(), in_all - 2'000'000);
  EXPECT_EQ(outer.alone.load(), outer.nanoseconds.load());
  work_for(outer, milliseconds(1));
  EXPECT_GE(outer.alone.load(), 1'000'000);
}

TEST(OperatorCountsConcurrentTest, OthersLookWhileThreadsWork) {
  MemoryBudget budget(size_t{1} << 20);
  OperatorCounts counts;
  std::atomic<bool> done{false};
  std::thread watcher([&] {
    uint64_t seen = 0;
    while (!done.load()) {
      const uint64_t rows = counts.rows_in.load(std::memory_order_relaxed);
      EXPECT_LE(seen, rows);
      seen = rows;
      EXPECT_LE(counts.threads(), 4);
    }
  });
  std::vector<std::thread> workers;
  for (unsigned part = 0; part < 4; ++part) {
    workers.emplace_back([&, part] {
      for (int i = 0; i < 1'000; ++i) {
        const OperatorWork work(&counts, part);
        work.add_rows(3, 1);
        OperatorMemory memory(budget, &counts);
        memory.grow(100);
        OperatorMemory moved(std::move(memory));
        moved.grow(1);
      }
    });
  }
  for (std::thread& each : workers) each.join();
  done.store(true);
  watcher.join();
  EXPECT_EQ(counts.rows_in.load(), 12'000);
  EXPECT_EQ(counts.rows_out.load(), 4'000);
  EXPECT_EQ(counts.threads(), 4);
  EXPECT_EQ(counts.memory.load(), 0);
  EXPECT_GE(counts.most_memory.load(), 101);
  EXPECT_LE(counts.most_memory.load(), 404);
  EXPECT_EQ(budget.used(), 0);
}

}  // namespace
}  // namespace hailstone
