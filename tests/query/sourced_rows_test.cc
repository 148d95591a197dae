// Sorts below other operators: what comes of them stacks like other rows.
#include "query/sourced_rows.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "query/disordered_rows.h"
#include "query/fake_host.h"
#include "query/limited_rows.h"
#include "query/ordered_rows.h"

namespace hailstone {
namespace {

std::unique_ptr<SourcedRows> sorted(const QueryHost& host, bool descending) {
  auto rows = OrderedRows::make(disordered(host), {{.position = 0, .descending = descending}},
                                OrderedRows::Equal::Any, std::array<uint16_t, 1>{0}, 2);
  EXPECT_TRUE(rows);
  return std::make_unique<SourcedRows>(std::move(*rows), std::vector{number_column});
}

TEST(SourcedRowsTest, ASortBelowALimit) {
  const FakeHost host;
  for (const unsigned threads : {0U, 1U, 3U}) {
    EXPECT_EQ(*numbers_of(*sorted(host, false), threads), numbers_between(0, all_numbers));
    LimitedRows first(sorted(host, false), 1'000, 1'500);
    EXPECT_EQ(*numbers_of(first, threads), numbers_between(1'000, 2'500));
    LimitedRows last(sorted(host, true), 0, 10);
    auto found = numbers_of(last, threads);
    ASSERT_TRUE(found);
    std::ranges::sort(*found);
    EXPECT_EQ(*found, numbers_between(all_numbers - 10, all_numbers));
  }
}

TEST(SourcedRowsTest, AreGoneThroughOnce) {
  const FakeHost host;
  const auto rows = sorted(host, false);
  EXPECT_TRUE(numbers_of(*rows, 1));
  EXPECT_FALSE(numbers_of(*rows, 1));
}

}  // namespace
}  // namespace hailstone
