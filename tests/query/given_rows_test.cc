// VALUES: what was given comes back, of all kinds, by one thread and by several.
#include "query/given_rows.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>

#include "query/fake_host.h"

namespace hailstone {
namespace {

TEST(GivenRowsConcurrentTest, ComeBack) {
  const FakeHost host;
  for (const uint64_t count : {0U, 1U, 1024U, 1025U, 5000U}) {
    GivenRows rows(
        host, {{.integer = true, .type = Type::Unsigned, .width = 8},
               {.integer = false, .type = Type::Varchar, .width = 200, .collation = &binary_collation()}});
    for (uint64_t number = 0; number < count; ++number) {
      const std::string text = "text " + std::to_string(number);  // gone when the rows are read
      rows.add(std::array{Value::of(number), number % 3 == 0 ? Value() : Value::of(ByteView(text))});
    }
    EXPECT_EQ(rows.width(), 2);
    EXPECT_FALSE(rows.column(2));
    for (const unsigned threads : {0U, 1U, 3U}) {
      const auto found = numbers_of(rows, threads);
      ASSERT_TRUE(found);
      EXPECT_EQ(*found, numbers_between(0, count));
    }
    std::map<uint64_t, Value> texts;
    ASSERT_TRUE(rows.each_batch(1, [&](unsigned, const RowBatch& batch) -> Status {
      EXPECT_LE(batch.rows, batch_rows);
      for (uint32_t row = 0; row < batch.rows; ++row)
        texts[batch.columns[0]->integers[row]] = batch.columns[1]->value(row);
      return {};
    }));
    for (const auto& [number, text] : texts) {
      EXPECT_EQ(text.null, number % 3 == 0);
      if (!text.null) {
        EXPECT_EQ(text.bytes, "text " + std::to_string(number));
      }
    }
  }
}

}  // namespace
}  // namespace hailstone
