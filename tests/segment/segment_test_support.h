// What the tests of segments share: seeds, columns with a plain copy of their values, and a segment made of
// them.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/hash.h"
#include "file/memory_filesystem.h"
#include "file/temporary_directory.h"
#include "segment/block_cache.h"
#include "segment/segment.h"
#include "segment/segment_writer.h"

namespace hailstone {

inline uint64_t test_seed() {
  const char* given = std::getenv("HAILSTONE_TEST_SEED");
  const uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
  std::cout << "HAILSTONE_TEST_SEED=" << seed << "\n";
  return seed;
}

/// A column and what was put into it.
struct TestColumn {
  TestColumn(StoredColumn column, MemoryBudget& budget) : buffer(column, budget) {}
  void add(std::optional<uint64_t> value) {
    integers.push_back(value);
    if (value) {
      buffer.append_integer(*value);
    } else {
      buffer.append_null();
    }
  }
  void add(std::optional<std::string> value) {
    if (value) {
      buffer.append_bytes(*value);
    } else {
      buffer.append_null();
    }
    strings.push_back(std::move(value));
  }
  void add_null() {
    buffer.column().integer ? add(std::optional<uint64_t>()) : add(std::optional<std::string>());
  }
  size_t rows() const { return buffer.rows(); }

  ColumnBuffer buffer;
  std::vector<std::optional<uint64_t>> integers;
  std::vector<std::optional<std::string>> strings;
};

struct TestTable {
  MemoryBudget budget{size_t{256} << 20};
  Counters counters;
  BlockCache cache{budget, counters};
  TemporaryDirectory directory{TemporaryDirectory::Place::Memory};
  MemoryFilesystem memory;
  std::vector<std::unique_ptr<TestColumn>> columns;
  std::vector<uint32_t> order;

  TestColumn& integer_column(uint8_t width = 8) { return add({next_id(), true, width, true}); }
  TestColumn& bytes_column() { return add({next_id(), false, 8, true}); }
  TestColumn& decimal_column(DecimalDigits digits) {
    const DecimalFormat format(digits);
    const auto width = static_cast<uint8_t>(format.is_integer() ? format.width() : 8);
    return add({next_id(), format.is_integer(), width, true, digits});
  }

  static std::string key_of(uint32_t row) {
    std::string key(4, '\0');
    store_big_endian(key.data(), row, 4);
    return key;
  }

  SegmentInput input() {
    pointers_.clear();
    for (const auto& column : columns) pointers_.push_back(&column->buffer);
    SegmentInput result;
    result.columns = pointers_;
    result.order = order;
    result.rows = static_cast<uint32_t>(columns[0]->rows());
    for (uint32_t row = 0; row < result.rows; row += key_sample_stride)
      result.key_samples.push_back(key_of(row));
    result.last_key = key_of(result.rows - 1);
    for (uint32_t row = 0; row < result.rows; ++row) result.key_hashes.push_back(hash_bytes(key_of(row)));
    result.distinct_prefixes = {result.rows};
    return result;
  }

  std::shared_ptr<Segment> segment(const std::string& name = "segment",
                                   Filesystem& filesystem = posix_filesystem()) {
    const Status written = write_segment(filesystem, directory.file(name), input(), counters);
    EXPECT_TRUE(written) << (written ? "" : written.error().message());
    auto opened = Segment::open(filesystem, directory.file(name), cache, counters);
    EXPECT_TRUE(opened) << (opened ? "" : opened.error().message());
    return opened ? *opened : nullptr;
  }

 private:
  uint16_t next_id() const { return static_cast<uint16_t>(columns.size() + 10); }
  TestColumn& add(StoredColumn column) {
    columns.push_back(std::make_unique<TestColumn>(column, budget));
    return *columns.back();
  }
  std::vector<const ColumnBuffer*> pointers_;
};

/// Whether the string summary of a block admits the value.
inline bool summary_admits(const BlockSummary& summary, ByteView value) {
  return summary.low_bytes <= value && (value <= summary.high_bytes || value.starts_with(summary.high_bytes));
}

/// Compares everything that a segment gives of a column with what was put into it, in all ways of reading.
inline void expect_column(const Segment& segment, size_t position, const TestColumn& column,
                          std::span<const uint32_t> order, std::mt19937_64& random) {
  std::shared_ptr<const Dictionary> dictionary;
  if (segment.has_dictionary(position)) {
    auto loaded = segment.dictionary(position);
    ASSERT_TRUE(loaded) << loaded.error().message();
    dictionary = *loaded;
    ASSERT_EQ(dictionary->size(), segment.dictionary_size(position));
    for (uint32_t code = 1; code < dictionary->size(); ++code)
      ASSERT_LT(dictionary->value(code - 1), dictionary->value(code));
  }
  const auto source = [&](uint32_t row) { return order.empty() ? row : order[row]; };
  for (uint32_t number = 0; number < segment.blocks(); ++number) {
    auto loaded = segment.block(position, number);
    ASSERT_TRUE(loaded) << loaded.error().message();
    const Block& block = **loaded;
    const uint32_t first = number * block_rows;
    const BlockSummary summary = segment.summary(position, number);
    ASSERT_EQ(block.rows(), std::min(block_rows, segment.rows() - first));
    ASSERT_EQ(summary.rows, block.rows());
    ASSERT_EQ(block.has_nulls(), summary.nulls != 0);
    BlockBitmap nulls;
    block.nulls(nulls);
    ASSERT_EQ(nulls.count(), summary.nulls);
    // Three selections: everything, about half, a few.
    for (const unsigned one_in : {1U, 2U, 500U}) {
      std::vector<uint16_t> rows;
      for (uint32_t row = 0; row < block.rows(); ++row) {
        if (random() % one_in == 0) rows.push_back(static_cast<uint16_t>(row));
      }
      if (column.buffer.column().integer) {
        std::vector<uint64_t> values(rows.size());
        block.gather_integers(rows, values.data());
        for (size_t i = 0; i < rows.size(); ++i) {
          const auto& expected = column.integers[source(first + rows[i])];
          ASSERT_EQ(block.null(rows[i]), !expected.has_value());
          ASSERT_EQ(nulls.test(rows[i]), !expected.has_value());
          if (!expected) continue;
          ASSERT_EQ(values[i], *expected)
              << "row " << first + rows[i] << ", " << segment.storage(position).encoding;
          ASSERT_EQ(block.integer(rows[i]), *expected);
          ASSERT_LE(summary.low, *expected);
          ASSERT_GE(summary.high, *expected);
        }
        continue;
      }
      Arena scratch;
      std::vector<ByteView> values(rows.size());
      const Status gathered = block.gather_bytes(rows, dictionary.get(), scratch, values.data());
      ASSERT_TRUE(gathered) << gathered.error().message();
      std::vector<uint32_t> codes(rows.size());
      if (block.has_codes()) block.gather_codes(rows, codes.data());
      for (size_t i = 0; i < rows.size(); ++i) {
        const auto& expected = column.strings[source(first + rows[i])];
        ASSERT_EQ(block.null(rows[i]), !expected.has_value());
        if (!expected) continue;
        ASSERT_EQ(values[i], *expected)
            << "row " << first + rows[i] << ", " << segment.storage(position).encoding;
        if (block.has_codes()) {
          ASSERT_EQ(dictionary->value(codes[i]), *expected);
          ASSERT_EQ(block.code(rows[i]), codes[i]);
          ASSERT_LE(summary.low, codes[i]);
          ASSERT_GE(summary.high, codes[i]);
        } else {
          ASSERT_TRUE(summary_admits(summary, *expected));
        }
      }
    }
    if (!column.buffer.column().integer) continue;
    const auto begin = static_cast<uint32_t>(random() % block.rows());
    const auto count = static_cast<uint32_t>(random() % (block.rows() - begin) + 1);
    std::vector<uint64_t> run(count);
    block.integers(begin, count, run.data());
    for (uint32_t i = 0; i < count; ++i) {
      const auto& expected = column.integers[source(first + begin + i)];
      if (expected) {
        ASSERT_EQ(run[i], *expected);
      }
    }
  }
}

}  // namespace hailstone
