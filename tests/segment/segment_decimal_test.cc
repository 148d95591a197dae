// Columns of decimals: scaled numbers in the file, packed values outside.
#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>

#include "schema/row_codec.h"
#include "segment/segment_format.h"
#include "segment/segment_test_support.h"

namespace hailstone {
namespace {

class SegmentDecimalTest : public testing::Test {
 protected:
  SegmentDecimalTest() : random_(test_seed()) {}

  WideInteger number_of(DecimalDigits digits) {
    WideInteger limit = 1;
    const unsigned most = random_() % 3 == 0 ? digits.precision : 1 + digits.precision / 2U;
    for (unsigned i = 0; i < most; ++i) limit *= 10;
    const WideInteger bits =
        static_cast<WideInteger>(random_() >> 1) << 64 | static_cast<WideInteger>(random_());
    return random_() % 3 == 0 ? -(bits % limit) : bits % limit;
  }

  static void add(TestColumn& column, const DecimalFormat& format, std::optional<WideInteger> number) {
    std::string bytes(format.width(), '\0');
    if (number) format.pack(*number, bytes.data());
    if (!format.is_integer()) {
      column.add(number ? std::optional(bytes) : std::nullopt);
    } else {
      column.add(number ? std::optional(load_big_endian(bytes.data(), format.width())) : std::nullopt);
    }
  }

  /// Rows of one of several shapes, so that streams of all forms are made.
  std::vector<std::optional<WideInteger>> numbers_of(DecimalDigits digits, uint32_t rows) {
    std::vector<std::optional<WideInteger>> numbers;
    const WideInteger greatest = DecimalFormat(digits).greatest();
    const uint64_t shape = random_() % 6, null_in = random_() % 3 == 0 ? 5 : 0;
    const std::vector<WideInteger> few{number_of(digits), number_of(digits), -greatest, greatest, 0};
    for (uint32_t row = 0; row < rows; ++row) {
      WideInteger number = 0;
      if (shape == 0) number = few[0];
      if (shape == 1) number = few[random_() % few.size()];
      if (shape == 2) number = static_cast<WideInteger>(random_() % 10) % (greatest + 1);
      if (shape >= 3) number = number_of(digits);
      numbers.emplace_back(number);
      if (null_in != 0 && random_() % null_in == 0) numbers.back().reset();
    }
    if (shape == 5) std::fill(numbers.begin(), numbers.begin() + rows / 2, std::nullopt);
    return numbers;
  }

  std::mt19937_64 random_;
  TestTable table_;
};

void check_selections(const Segment& segment, size_t position, const DecimalFormat& format,
                      const std::vector<std::optional<WideInteger>>& numbers, std::mt19937_64& random) {
  for (uint32_t block_number = 0; block_number < segment.blocks(); ++block_number) {
    auto loaded = segment.block(position, block_number);
    ASSERT_TRUE(loaded) << loaded.error().message();
    const Block& block = **loaded;
    ASSERT_EQ(block.decimal(), format.digits());
    std::vector<uint16_t> rows(block.rows());
    std::iota(rows.begin(), rows.end(), uint16_t{0});
    std::vector<uint64_t> ordered(rows.size());
    std::vector<WideInteger> wide(rows.size());
    block.gather_wide_numbers(rows, wide.data());
    if (format.digits().is_short()) block.gather_numbers(rows, ordered.data());
    const auto expected = [&](size_t row) { return numbers[block_number * block_rows + row]; };
    for (size_t row = 0; row < rows.size(); ++row) {
      if (!expected(row)) continue;
      ASSERT_TRUE(wide[row] == *expected(row));
      if (format.digits().is_short()) {
        ASSERT_TRUE(native_signed(ordered[row], 8) == *expected(row));
      }
    }
    // Ranges between values, between values and any bytes, and of all that there is.
    for (int round = 0; round < 12; ++round) {
      std::string low(format.width(), '\0'), high(format.width(), '\xff');
      if (round > 0) format.pack(expected(random() % rows.size()).value_or(0), low.data());
      if (round > 1) format.pack(expected(random() % rows.size()).value_or(0), high.data());
      if (round > 6) low[random() % low.size()] = static_cast<char>(random());
      if (round > 6) high[random() % high.size()] = static_cast<char>(random());
      if (low > high) std::swap(low, high);
      BlockBitmap bitmap;
      if (format.is_integer()) {
        const IntegerRange range{load_big_endian(low.data(), format.width()),
                                 round == 0 ? ~uint64_t{0} : load_big_endian(high.data(), format.width())};
        block.select_ranges({&range, 1}, bitmap);
      } else {
        const BytesRange range{low, high};
        block.select_packed({&range, 1}, bitmap);
      }
      std::string bytes(format.width(), '\0');
      for (size_t row = 0; row < rows.size(); ++row) {
        if (expected(row)) format.pack(*expected(row), bytes.data());
        ASSERT_EQ(bitmap.test(static_cast<uint32_t>(row)), expected(row) && low <= bytes && bytes <= high);
      }
    }
  }
}

TEST_F(SegmentDecimalTest, HoldsDecimalsOfAllDigits) {
  for (unsigned precision = 1; precision <= DecimalDigits::most; ++precision) {
    TestTable table;
    const auto rows = static_cast<uint32_t>(random_() % 3 == 0 ? 17'000 : 1 + random_() % 3'000);
    std::vector<DecimalDigits> digits;
    std::vector<std::vector<std::optional<WideInteger>>> numbers;
    for (const unsigned scale :
         {0U, precision, precision / 2, static_cast<unsigned>(random_() % precision)}) {
      digits.push_back({static_cast<uint8_t>(precision), static_cast<uint8_t>(scale)});
      numbers.push_back(numbers_of(digits.back(), rows));
      TestColumn& column = table.decimal_column(digits.back());
      for (const auto& number : numbers.back()) add(column, DecimalFormat(digits.back()), number);
    }
    const auto segment = table.segment();
    ASSERT_NE(segment, nullptr);
    ASSERT_TRUE(segment->check());
    for (size_t position = 0; position < digits.size(); ++position) {
      ASSERT_EQ(segment->columns()[position].decimal, digits[position]);
      expect_column(*segment, position, *table.columns[position], {}, random_);
      check_selections(*segment, position, DecimalFormat(digits[position]), numbers[position], random_);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(SegmentDecimalTest, FindsPackedKeysAmongNumbers) {
  const DecimalFormat format({.precision = 12, .scale = 3});
  TestColumn& column = table_.decimal_column(format.digits());
  WideInteger number = -500'000;
  for (uint32_t row = 0; row < 5'000; ++row) add(column, format, number += random_() % 400);
  const auto segment = table_.segment();
  const auto block = segment->block(0, 0);
  ASSERT_TRUE(block);
  for (int round = 0; round < 2'000; ++round) {
    uint64_t wanted = *column.integers[random_() % 5'000];
    if (round % 2 == 0) wanted ^= random_() % 4'096;
    const auto found = std::ranges::lower_bound(column.integers, std::optional(wanted));
    ASSERT_EQ((*block)->lower_bound(0, 5'000, wanted), found - column.integers.begin());
  }
}

TEST_F(SegmentDecimalTest, KeepsValuesThatAreNoNumbers) {
  for (const unsigned precision : {7U, 18U, 30U}) {
    for (const bool minus_zero : {true, false}) {
      TestTable table;
      const DecimalFormat format({static_cast<uint8_t>(precision), 2});
      TestColumn& wrong = table.decimal_column(format.digits());
      TestColumn& right = table.decimal_column(format.digits());
      for (uint32_t row = 0; row < 20'000; ++row) {
        add(right, format, row);
        if (row != 18'000) {
          add(wrong, format, row);
          continue;
        }
        // Minus zero, or a hundred hundredths.
        std::string bytes(format.width(), minus_zero ? '\xff' : '\0');
        bytes[0] = static_cast<char>(minus_zero ? '\x7f' : '\x80');
        if (!minus_zero) bytes.back() = '\x64';
        if (format.is_integer()) {
          wrong.add(std::optional(load_big_endian(bytes.data(), format.width())));
        } else {
          wrong.add(std::optional(bytes));
        }
      }
      const auto segment = table.segment();
      ASSERT_NE(segment, nullptr);
      EXPECT_FALSE(segment->columns()[0].decimal.any());
      EXPECT_TRUE(segment->columns()[1].decimal.any());
      expect_column(*segment, 0, wrong, {}, random_);
      expect_column(*segment, 1, right, {}, random_);
    }
  }
}

/// The file with its footer changed, and checksums that fit.
std::string with_footer(const std::string& file, const std::function<void(std::string&)>& change) {
  const char* const trailer = file.data() + file.size() - segment_trailer_bytes;
  const auto offset = load<uint64_t>(trailer);
  std::string footer = file.substr(offset, load<uint64_t>(trailer + 8));
  change(footer);
  std::string changed = file.substr(0, offset) + footer;
  append_number(changed, offset);
  append_number(changed, static_cast<uint64_t>(footer.size()));
  append_number(changed, checksum(footer));
  changed.append(segment_trailer_magic);
  return changed;
}

TEST_F(SegmentDecimalTest, RefusesNumbersWithTooManyDigits) {
  const DecimalFormat format({.precision = 4, .scale = 2});
  TestColumn& column = table_.decimal_column(format.digits());
  for (uint32_t row = 0; row < 100; ++row) add(column, format, row * 99);
  ASSERT_NE(table_.segment(), nullptr);
  std::ifstream file(table_.directory.file("segment"), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  // Identity, rows, count of columns, id, flags, width, precision, scale.
  constexpr size_t precision_at = 24 + 4 + 1 + 2 + 1 + 1;
  const auto open_with = [&](uint8_t precision, uint8_t scale) -> Status {
    const std::string changed = with_footer(bytes, [&](std::string& footer) {
      ASSERT_EQ(footer[precision_at], 4);
      footer[precision_at] = static_cast<char>(precision);
      footer[precision_at + 1] = static_cast<char>(scale);
    });
    const std::string path = table_.directory.file("changed");
    std::ofstream(path, std::ios::binary | std::ios::trunc) << changed;
    HAILSTONE_ASSIGN(const auto segment,
                     Segment::open(posix_filesystem(), path, table_.cache, table_.counters));
    HAILSTONE_TRY(segment->block(0, 0));
    return {};
  };
  EXPECT_TRUE(open_with(4, 2));
  for (const auto& [precision, scale] :
       {std::pair<uint8_t, uint8_t>{3, 1}, {3, 2}, {0, 0}, {39, 2}, {4, 5}, {9, 2}, {18, 2}, {30, 2}}) {
    const Status opened = open_with(precision, scale);
    ASSERT_FALSE(opened) << unsigned{precision};
    EXPECT_EQ(opened.error().code(), ErrorCode::Corruption);
  }
}

}  // namespace
}  // namespace hailstone
