// Sorts and groups below other operators: what comes of them stacks like other rows.
#include "query/sourced_rows.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <optional>
#include <string>

#include "query/fake_host.h"
#include "query/given_rows.h"
#include "query/grouped_rows.h"
#include "query/limited_rows.h"
#include "query/ordered_rows.h"
#include "query/sorted_groups.h"
#include "schema/ordered_wide.h"

namespace hailstone {
namespace {

constexpr ScanColumn number{.integer = true, .type = Type::Unsigned, .width = 8};
constexpr uint64_t all = 5'000;

/// Numbers in disorder, and a text of each, NULL for some.
std::unique_ptr<GivenRows> disordered(const QueryHost& host) {
  const ScanColumn text{
      .integer = false, .type = Type::Varchar, .width = 20, .collation = &binary_collation()};
  auto rows = std::make_unique<GivenRows>(host, std::vector{number, text});
  for (uint64_t i = 0; i < all; ++i) {
    const uint64_t value = i * 2'003 % all;
    const std::string key = "key " + std::to_string(value % 7);
    rows->add(std::array{Value::of(value), value % 7 == 3 ? Value() : Value::of(ByteView(key))});
  }
  return rows;
}

std::unique_ptr<SourcedRows> sorted(const QueryHost& host, bool descending) {
  auto rows = OrderedRows::make(disordered(host), {{.position = 0, .descending = descending}},
                                OrderedRows::Equal::Any, std::array<uint16_t, 1>{0}, 2);
  EXPECT_TRUE(rows);
  return std::make_unique<SourcedRows>(std::move(*rows), std::vector{number});
}

TEST(SourcedRowsTest, ASortBelowALimit) {
  const FakeHost host;
  for (const unsigned threads : {0U, 1U, 3U}) {
    EXPECT_EQ(*numbers_of(*sorted(host, false), threads), numbers_between(0, all));
    LimitedRows first(sorted(host, false), 1'000, 1'500);
    EXPECT_EQ(*numbers_of(first, threads), numbers_between(1'000, 2'500));
    LimitedRows last(sorted(host, true), 0, 10);
    auto found = numbers_of(last, threads);
    ASSERT_TRUE(found);
    std::ranges::sort(*found);
    EXPECT_EQ(*found, numbers_between(all - 10, all));
  }
}

TEST(SourcedRowsTest, AreGoneThroughOnce) {
  const FakeHost host;
  const auto rows = sorted(host, false);
  EXPECT_TRUE(numbers_of(*rows, 1));
  EXPECT_FALSE(numbers_of(*rows, 1));
}

TEST(SourcedRowsTest, GroupsBelowGroups) {
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
    const GroupingPlan plan = (*lower)->plan();
    auto grouped = std::make_unique<GroupedRows>(std::move(*lower), plan);
    const std::vector<ScanColumn> columns = grouped->columns();
    ASSERT_EQ(columns.size(), 7);
    EXPECT_EQ(columns[1], number);
    EXPECT_EQ(columns[2].width, sizeof(WideInteger));
    auto rows = std::make_unique<SourcedRows>(std::move(grouped), columns);
    SourcedRows* const below = rows.get();
    // How many groups have so many rows, and what their sums add up to.
    const std::array of_groups{Aggregate{.kind = Kind::Rows}, Aggregate{.kind = Kind::Sum, .position = 2},
                               Aggregate{.kind = Kind::Values, .position = 4},
                               Aggregate{.kind = Kind::Minimum, .position = 3}};
    auto upper = Grouping::make(std::move(rows), std::array<uint16_t, 1>{1}, of_groups, threads);
    ASSERT_TRUE(upper) << upper.error().message();
    std::map<uint64_t, std::array<uint64_t, 4>> expected, found;
    for (uint64_t key = 0; key < 7; ++key) {
      uint64_t count = 0, sum = 0;
      for (uint64_t value = key; value < all; value += 7) {
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

TEST(SourcedRowsTest, ValuesOfOneGroupOfNothing) {
  const FakeHost host;
  using Kind = Aggregate::Kind;
  const std::array wanted{Aggregate{.kind = Kind::Rows}, Aggregate{.kind = Kind::Sum, .position = 0},
                          Aggregate{.kind = Kind::Maximum, .position = 0}};
  auto groups = Grouping::make(std::make_unique<GivenRows>(host, std::vector{number}), {}, wanted, 1);
  ASSERT_TRUE(groups);
  const GroupingPlan plan = (*groups)->plan();
  GroupedRows rows(std::move(*groups), plan);
  ASSERT_TRUE(*rows.next());
  EXPECT_EQ(rows.values()[0].integer, 0);
  EXPECT_TRUE(rows.values()[1].null);
  EXPECT_TRUE(rows.values()[2].null);
  EXPECT_FALSE(*rows.next());
  EXPECT_EQ(rows.rows_met(), 1);
}

}  // namespace
}  // namespace hailstone
