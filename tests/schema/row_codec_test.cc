#include "schema/row_codec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/test_seed.h"
#include "schema/random_schema.h"

namespace hailstone {
namespace {

void expect_same(const Value& a, const Value& b) {
  ASSERT_EQ(a.null, b.null);
  if (a.null) return;
  ASSERT_EQ(a.integer, b.integer);
  ASSERT_EQ(a.bytes, b.bytes);
}

TEST(RowCodecTest, NumbersKeepTheirOrder) {
  for (const unsigned width : {1u, 2u, 3u, 4u, 8u}) {
    const int64_t highest = static_cast<int64_t>((uint64_t{1} << (8 * width - 1)) - 1);
    const int64_t lowest = -highest - 1;
    uint64_t previous = 0;
    for (const int64_t number :
         {lowest, lowest + 1, int64_t{-1}, int64_t{0}, int64_t{1}, highest - 1, highest}) {
      const uint64_t ordered = order_signed(number, width);
      EXPECT_EQ(native_signed(ordered, width), number) << width;
      EXPECT_TRUE(number == lowest ? ordered == 0 : ordered > previous) << width << " " << number;
      EXPECT_TRUE(width == 8 || ordered >> (8 * width % 64) == 0);
      previous = ordered;
    }
  }
  const double infinite = std::numeric_limits<double>::infinity();
  uint64_t previous = 0;
  for (const double number : {-infinite, -1e300, -1.0, -5e-324, -0.0, 0.0, 5e-324, 1.0, 1e300, infinite}) {
    EXPECT_GT(order_double(number), previous) << number;
    previous = order_double(number);
    EXPECT_EQ(std::bit_cast<uint64_t>(native_double(previous)), std::bit_cast<uint64_t>(number));
  }
  previous = 0;
  for (const float number : {-1e30f, -1.0f, -0.0f, 0.0f, 1.0f, 1e30f}) {
    EXPECT_GT(order_float(number), previous) << number;
    EXPECT_EQ(order_float(number) >> 32, 0u);
    previous = order_float(number);
    EXPECT_EQ(std::bit_cast<uint32_t>(native_float(previous)), std::bit_cast<uint32_t>(number));
  }
}

TEST(RowCodecTest, ReadsWhatItWrote) {
  RandomSchema random(test_seed(3));
  for (int round = 0; round < 2'000; ++round) {
    const TableDefinition table = random.table();
    const RowCodec codec(table.columns);
    const std::vector<Value> values = random.row(table);
    std::string row = "what was there before";
    const Status encoded = codec.encode(values, row);
    ASSERT_TRUE(encoded) << encoded.error().message();
    const Status checked = codec.check(row);
    ASSERT_TRUE(checked) << checked.error().message();
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_NO_FATAL_FAILURE(expect_same(codec.value(row, i), values[i])) << "column " << i;
    }
  }
}

TEST(RowCodecTest, RowsOfFewerColumnsReadNullForTheNewOnes) {
  RandomSchema random(test_seed(4));
  for (int round = 0; round < 2'000; ++round) {
    TableDefinition table = random.table();
    const std::vector<Value> values = random.row(table);
    std::string row;
    ASSERT_TRUE(RowCodec(table.columns).encode(values, row));
    const size_t added = random.below(12);
    for (size_t i = 0; i < added; ++i) table.columns.push_back(random.column(table.columns.size()));
    const RowCodec codec(table.columns);
    const Status checked = codec.check(row);
    ASSERT_TRUE(checked) << checked.error().message();
    for (size_t i = 0; i < table.columns.size(); ++i) {
      ASSERT_NO_FATAL_FAILURE(expect_same(codec.value(row, i), i < values.size() ? values[i] : Value{}))
          << "column " << i;
    }
    // Of as many columns as the caller has room for; a heap block shows a sanitizer what is written behind
    // it.
    std::vector<Value> first(random.below(table.columns.size() + 1), Value::of(uint64_t{7}));
    first.shrink_to_fit();
    codec.decode(row, first);
    for (size_t i = 0; i < first.size(); ++i) {
      ASSERT_NO_FATAL_FAILURE(expect_same(first[i], i < values.size() ? values[i] : Value{})) << i;
    }
  }
}

TEST(RowCodecTest, DecodesNoMoreColumnsThanTheCallerHasRoomFor) {
  std::vector<Column> columns(3);
  for (Column& column : columns) column = {.name = "n", .type = Type::Unsigned, .width = 8};
  const RowCodec codec(columns);
  std::string row;
  const std::vector<Value> values(3, Value::of(uint64_t{5}));
  ASSERT_TRUE(codec.encode(values, row));
  std::vector<Value> room(3, Value::of(uint64_t{7}));
  codec.decode(row, std::span(room).first(1));
  EXPECT_EQ(room[0].integer, 5U);
  EXPECT_EQ(room[1].integer, 7U);
  EXPECT_EQ(room[2].integer, 7U);
}

TEST(RowCodecTest, WhatPassesCheckCanBeRead) {
  RandomSchema random(test_seed(5));
  for (int round = 0; round < 1'000; ++round) {
    const TableDefinition table = random.table();
    const RowCodec codec(table.columns);
    std::string row;
    ASSERT_TRUE(codec.encode(random.row(table), row));
    ASSERT_FALSE(codec.check(std::string(row, 0, random.below(row.size()))));
    ASSERT_FALSE(codec.check(row + "x"));
    for (int flips = 0; flips < 20; ++flips) {
      // A buffer of exactly the row's size, so that a sanitizer sees a read past its end.
      std::vector<char> damaged(row.begin(), row.end());
      for (uint64_t i = 0; i <= random.below(3); ++i) {
        damaged[random.below(std::min<size_t>(damaged.size(), 60))] = static_cast<char>(random.below(256));
      }
      const ByteView view(damaged.data(), damaged.size());
      if (const Status checked = codec.check(view); !checked) {
        ASSERT_EQ(checked.error().code(), ErrorCode::Corruption);
        continue;
      }
      for (size_t i = 0; i < table.columns.size(); ++i) {
        const Value value = codec.value(view, i);
        if (value.bytes.empty()) continue;
        ASSERT_GE(value.bytes.data(), view.data());
        ASSERT_LE(value.bytes.data() + value.bytes.size(), view.data() + view.size());
      }
    }
  }
}

TEST(RowCodecTest, RefusesWhatDoesNotFit) {
  const std::vector<Column> columns = {{.name = "a", .type = Type::Unsigned, .width = 1},
                                       {.name = "b", .type = Type::OrderedBytes, .width = 9},
                                       {.name = "c", .type = Type::Varchar, .width = 3}};
  const RowCodec codec(columns);
  const Value a = Value::of(255);
  const Value b = Value::of(ByteView("123456789"));
  const Value c = Value::of(ByteView("abc"));
  std::string row;
  EXPECT_TRUE(codec.encode(std::vector{a, b, c}, row));
  EXPECT_EQ(row.size(), 2u + 1 + 1 + 9 + 4 + 3);
  for (const auto& values :
       {std::vector{Value::of(256), b, c}, std::vector{a, Value::of(ByteView("12345678")), c},
        std::vector{a, b, Value::of(ByteView("abcd"))}, std::vector{a, b}}) {
    const Status encoded = codec.encode(values, row);
    ASSERT_FALSE(encoded);
    EXPECT_EQ(encoded.error().code(), ErrorCode::InvalidArgument);
  }
}

}  // namespace
}  // namespace hailstone
