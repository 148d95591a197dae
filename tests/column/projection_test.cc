#include "column/projection.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/test_seed.h"
#include "column/random_segment.h"

namespace hailstone {
namespace {

void expect_same(const Value& got, const Value& expected, const std::string& where) {
  ASSERT_EQ(got.null, expected.null) << where;
  if (got.null) return;
  ASSERT_EQ(got.integer, expected.integer) << where;
  ASSERT_EQ(got.bytes, expected.bytes) << where;
}

/// The scaled number of a packed decimal, whose bytes may be none; `wide` keeps one that is not short.
Value number_of(const DecimalFormat& format, const Value& value, std::string& wide) {
  std::string bytes(value.bytes);
  if (format.is_integer()) {
    bytes.resize(format.width());
    store_big_endian(bytes.data(), value.integer, format.width());
  }
  const WideInteger number = format.any_number(bytes);
  if (format.digits().is_short()) return Value::of(order_signed(static_cast<int64_t>(number), 8));
  wide.assign(scaled_bytes(format.digits()) - 16, number < 0 ? '\xff' : '\0');
  const size_t at = wide.size();
  wide.resize(at + 16);
  store_big_endian(wide.data() + at, static_cast<uint64_t>(number >> 64), 8);
  store_big_endian(wide.data() + at + 8, static_cast<uint64_t>(number), 8);
  wide[0] = static_cast<char>(wide[0] ^ '\x80');
  return Value::of(ByteView(wide));
}

TEST(ProjectionTest, RandomColumnsOfRandomRowsReadAsWritten) {
  const uint64_t seed = test_seed(21);
  for (uint64_t round = 0; round < 40; ++round) {
    RandomSegment data(seed + round);
    const auto rows = static_cast<uint32_t>(1 + data.below(round % 4 == 0 ? 2 * block_rows : 3000));
    data.fill(rows);
    if (testing::Test::HasFatalFailure()) return;
    const auto total = static_cast<uint16_t>(data.layout->definition().columns.size());
    std::vector<uint16_t> wanted;
    for (uint64_t n = 1 + data.below(total + 1U); n > 0; --n) {
      wanted.push_back(static_cast<uint16_t>(data.below(total)));
    }
    for (uint16_t column = 0; column < total; ++column) {
      if (data.layout->decimal(column) && data.one_in(2)) wanted.push_back(scaled(column));
    }
    if (!data.layout->definition().has_primary_key) wanted.push_back(StoredColumn::row_id);
    const Projection projection(data.layout, wanted);
    const auto expected = [&](size_t row, uint16_t column) {
      if (is_scaled(column)) column ^= scaled_bit;
      return column == StoredColumn::row_id ? Value::of(uint64_t{row}) : data.value(row, column);
    };
    std::string wide;
    const auto expected_in_vector = [&](size_t row, uint16_t column) {
      const Value value = expected(row, column);
      return is_scaled(column) && !value.null
                 ? number_of(*data.layout->decimal(column ^ scaled_bit), value, wide)
                 : value;
    };

    BlockReader reader(*data.columns);
    Batch batch;
    for (int attempt = 0; attempt < 10; ++attempt) {
      const auto block = static_cast<uint32_t>(data.below(data.columns->segment().blocks()));
      const uint32_t in_block = std::min(block_rows, rows - block * block_rows);
      std::vector<uint16_t> numbers;
      const uint64_t stride = 1 + data.below(40);
      for (uint64_t row = data.below(in_block); row < in_block && numbers.size() < batch_rows;
           row += 1 + data.below(stride)) {
        numbers.push_back(static_cast<uint16_t>(row));
      }
      const Status status = projection.read(reader, block, numbers, batch);
      ASSERT_TRUE(status) << status.error().message();
      ASSERT_EQ(batch.rows, numbers.size());
      for (size_t i = 0; i < wanted.size(); ++i) {
        for (size_t row = 0; row < numbers.size(); ++row) {
          const size_t ordinal = size_t{block} * block_rows + numbers[row];
          expect_same(batch.columns[i].value(row), expected_in_vector(ordinal, wanted[i]),
                      "round " + std::to_string(round) + " row " + std::to_string(ordinal) + " column " +
                          std::to_string(wanted[i]));
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }

    // Single rows, and rows appended as a delta gives them.
    Batch single, appended;
    for (int attempt = 0; attempt < 20; ++attempt) {
      const auto ordinal = static_cast<uint32_t>(data.below(rows));
      std::vector<Value> values(wanted.size());
      const Status status = projection.read_row(reader, ordinal, single, values);
      ASSERT_TRUE(status) << status.error().message();
      std::string row;
      const Status encoded = Projection::read_encoded(reader, ordinal, row);
      ASSERT_TRUE(encoded) << encoded.error().message();
      projection.append(row, ordinal, appended);
      const std::string where = "round " + std::to_string(round) + " row " + std::to_string(ordinal);
      for (size_t i = 0; i < wanted.size(); ++i) {
        expect_same(values[i], expected(ordinal, wanted[i]), where);
        expect_same(appended.columns[i].value(appended.rows - 1), expected_in_vector(ordinal, wanted[i]),
                    where);
        if (testing::Test::HasFatalFailure()) return;
      }
      appended.clear();
    }

    // Rows of a delta at once, some of them from before the last column came.
    std::vector<std::string> encoded(data.below(200));
    std::vector<ByteView> views;
    std::vector<uint64_t> row_ids;
    std::vector<uint16_t> all(total);
    std::iota(all.begin(), all.end(), uint16_t{0});
    const RowCodec older(std::span(data.layout->definition().columns).first(total - 1));
    for (std::string& row : encoded) {
      const auto ordinal = static_cast<uint32_t>(data.below(rows));
      std::vector<Value> values;
      for (const uint16_t column : all) values.push_back(data.value(ordinal, column));
      const bool shorter = values.back().null && data.one_in(2);
      if (shorter) values.pop_back();
      ASSERT_TRUE((shorter ? older : data.layout->row_codec()).encode(values, row));
      views.push_back(row);
      row_ids.push_back(ordinal);
    }
    projection.read(views, row_ids, batch);
    ASSERT_EQ(batch.rows, encoded.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      for (size_t row = 0; row < encoded.size(); ++row) {
        expect_same(batch.columns[i].value(row), expected_in_vector(row_ids[row], wanted[i]),
                    "round " + std::to_string(round) + " column " + std::to_string(wanted[i]));
        if (testing::Test::HasFatalFailure()) return;
      }
    }

    // And chosen by a predicate as each of them is by itself.
    for (int attempt = 0; attempt < 20; ++attempt) {
      const Predicate predicate = data.predicate(3);
      std::vector<uint16_t> matching, chosen;
      for (uint16_t row = 0; row < views.size(); ++row) {
        if (data.one_in(10)) continue;
        chosen.push_back(row);
        if (predicate.matches(data.layout->row_codec(), views[row])) matching.push_back(row);
      }
      predicate.select(data.layout->row_codec(), views, chosen);
      ASSERT_EQ(chosen, matching) << "round " << round;
    }
  }
}

}  // namespace
}  // namespace hailstone
