// Groups as rows below other operators, by one thread and several.
#include "query/grouped_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "query/disordered_rows.h"
#include "query/fake_host.h"
#include "query/limited_rows.h"
#include "schema/ordered_wide.h"

namespace hailstone {
namespace {

TEST(GroupedRowsTest, GroupsBelowGroups) {
  const FakeHost host;
  using Kind = Aggregate::Kind;
  const std::array wanted{Aggregate{.kind = Kind::Rows},
                          Aggregate{.kind = Kind::Sum, .position = 0},
                          Aggregate{.kind = Kind::Minimum, .position = 0},
                          Aggregate{.kind = Kind::Maximum, .position = 1},
                          Aggregate{.kind = Kind::Spread, .position = 0},
                          Aggregate{.kind = Kind::BitOr, .position = 0}};
  for (const unsigned threads : {1U, 3U}) {
    auto lower = Grouping::make(disordered(host), std::array<uint16_t, 1>{1}, wanted, threads);
    ASSERT_TRUE(lower) << lower.error().message();
    auto rows = std::make_unique<GroupedRows>(std::move(*lower));
    ASSERT_EQ(rows->width(), 7);
    EXPECT_EQ(*rows->column(1), number_column);
    EXPECT_EQ(rows->column(2)->width, sizeof(WideInteger));
    EXPECT_FALSE(rows->column(7));
    GroupedRows* const below = rows.get();
    // How many groups have so many rows, and what their sums add up to.
    const std::array of_groups{Aggregate{.kind = Kind::Rows}, Aggregate{.kind = Kind::Sum, .position = 2},
                               Aggregate{.kind = Kind::Values, .position = 4},
                               Aggregate{.kind = Kind::Minimum, .position = 3}};
    auto upper = Grouping::make(std::move(rows), std::array<uint16_t, 1>{1}, of_groups, threads);
    ASSERT_TRUE(upper) << upper.error().message();
    std::map<uint64_t, std::array<uint64_t, 4>> expected, found;
    for (uint64_t key = 0; key < 7; ++key) {
      uint64_t count = 0, sum = 0;
      for (uint64_t value = key; value < all_numbers; value += 7) {
        ++count;
        sum += value;
      }
      auto& group = expected.try_emplace(count, std::array<uint64_t, 4>{0, 0, 0, key}).first->second;
      ++group[0];
      group[1] += sum;
      group[2] += key == 3 ? 0 : 1;  // whose greatest text is NULL
    }
    for (;;) {
      const auto more = (*upper)->next();
      ASSERT_TRUE(more) << more.error().message();
      if (!*more) break;
      found[(*upper)->keys()[0].integer] = {(*upper)->result(0).count,
                                            static_cast<uint64_t>((*upper)->result(1).integer_sum),
                                            (*upper)->result(2).count, (*upper)->result(3).integer};
    }
    EXPECT_EQ(found, expected);
    EXPECT_EQ(&(*upper)->host(), &below->host());
  }
}

TEST(GroupedRowsTest, ValuesOfOneGroupOfNothing) {
  const FakeHost host;
  using Kind = Aggregate::Kind;
  const std::array wanted{Aggregate{.kind = Kind::Rows}, Aggregate{.kind = Kind::Sum, .position = 0},
                          Aggregate{.kind = Kind::Maximum, .position = 0}};
  auto groups = Grouping::make(std::make_unique<GivenRows>(host, std::vector{number_column}), {}, wanted, 1);
  ASSERT_TRUE(groups);
  GroupedRows rows(std::move(*groups));
  uint64_t met = 0;
  ASSERT_TRUE(rows.each_batch(1, [&](unsigned, const RowBatch& batch) -> Status {
    met += batch.rows;
    EXPECT_EQ(batch.columns[0]->integers[0], 0);
    EXPECT_TRUE(batch.columns[1]->is_null(0));
    EXPECT_TRUE(batch.columns[2]->is_null(0));
    return {};
  }));
  EXPECT_EQ(met, 1);
}

/// More than one batch of each table, by one thread and several; and what a limit leaves.
TEST(GroupedRowsTest, ManyGroups) {
  const FakeHost host;
  using Kind = Aggregate::Kind;
  const std::array wanted{Aggregate{.kind = Kind::Minimum, .position = 1},
                          Aggregate{.kind = Kind::Sum, .position = 0}};
  const auto grouped = [&] {
    auto groups = Grouping::make(disordered(host), std::array<uint16_t, 1>{0}, wanted, 3);
    EXPECT_TRUE(groups);
    return std::make_unique<GroupedRows>(std::move(*groups));
  };
  for (const unsigned threads : {1U, 3U}) {
    std::map<uint64_t, std::pair<std::string, int64_t>> found;
    Mutex mutex;
    const auto rows = grouped();
    ASSERT_TRUE(rows->each_batch(threads, [&](unsigned, const RowBatch& batch) -> Status {
      const MutexLock guard(mutex);
      for (uint32_t row = 0; row < batch.rows; ++row) {
        const Value text = batch.columns[1]->value(row);
        EXPECT_FALSE(batch.columns[0]->is_null(row));
        const auto sum = static_cast<int64_t>(native_wide(batch.columns[2]->bytes[row]));
        const bool is_new = found
                                .try_emplace(batch.columns[0]->integers[row],
                                             text.null ? std::string("NULL") : std::string(text.bytes), sum)
                                .second;
        EXPECT_TRUE(is_new);
      }
      return {};
    }));
    ASSERT_EQ(found.size(), all_numbers);
    for (uint64_t value = 0; value < all_numbers; ++value) {
      EXPECT_EQ(found[value].first, value % 7 == 3 ? "NULL" : "key " + std::to_string(value % 7));
      EXPECT_EQ(found[value].second, static_cast<int64_t>(value));
    }
    EXPECT_FALSE(rows->each_batch(threads, [](unsigned, const RowBatch&) { return Status(); })) << "once";
  }
  auto pulled = numbers_of(*grouped(), 0);
  ASSERT_TRUE(pulled);
  std::ranges::sort(*pulled);
  EXPECT_EQ(*pulled, numbers_between(0, all_numbers));
  LimitedRows first(grouped(), 10, 1'500);
  EXPECT_EQ(numbers_of(first, 3)->size(), 1'500);
}

}  // namespace
}  // namespace hailstone
