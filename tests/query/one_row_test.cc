// At most one row: none and one pass, a second one is an error, wherever it comes from.
#include "query/one_row.h"

#include <gtest/gtest.h>

#include "query/fake_host.h"

namespace hailstone {
namespace {

TEST(OneRowConcurrentTest, ASecondRowIsAnError) {
  const FakeHost host;
  for (const unsigned threads : {0U, 1U, 3U}) {
    for (const uint32_t in_batch : {1U, 10U}) {
      for (const uint64_t rows_below : {0U, 1U, 2U, 30U}) {
        OneRow rows(std::make_unique<Numbers>(host, 5, 5 + rows_below, in_batch),
                    Error(ErrorCode::InvalidArgument, "more than one row"));
        const auto found = numbers_of(rows, threads);
        ASSERT_EQ(found.has_value(), rows_below <= 1);
        if (found) {
          EXPECT_EQ(*found, numbers_between(5, 5 + rows_below));
        } else {
          EXPECT_EQ(found.error().message(), "more than one row");
        }
      }
    }
  }
}

TEST(OneRowTest, EachGoCountsForItself) {
  const FakeHost host;
  OneRow rows(std::make_unique<Numbers>(host, 5, 6, 1), Error(ErrorCode::InvalidArgument, "more than one"));
  EXPECT_TRUE(numbers_of(rows, 1));
  EXPECT_TRUE(numbers_of(rows, 1));
}

}  // namespace
}  // namespace hailstone
