#include "schema/decimal_format.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "base/test_seed.h"
#include "schema/row_codec.h"

namespace hailstone {
namespace {

/// The packed form, made of the number's text as the server's manual describes it.
std::string packed_by_text(DecimalDigits digits, WideInteger number) {
  const bool negative = number < 0;
  std::string text;
  for (WideInteger rest = negative ? -number : number; rest != 0; rest /= 10)
    text.insert(text.begin(), static_cast<char>('0' + static_cast<int>(rest % 10)));
  text.insert(0, digits.precision - std::min<size_t>(text.size(), digits.precision), '0');
  std::string packed;
  const auto add_group = [&](std::string_view group) {
    constexpr std::array<unsigned, 10> bytes{0, 1, 1, 2, 2, 3, 3, 4, 4, 4};
    uint64_t value = 0;
    for (const char digit : group) value = value * 10 + static_cast<uint64_t>(digit - '0');
    for (unsigned i = bytes[group.size()]; i-- > 0;) packed.push_back(static_cast<char>(value >> (8 * i)));
  };
  const std::string_view all = text, whole = all.substr(0, all.size() - digits.scale);
  const std::string_view fraction = all.substr(whole.size());
  add_group(whole.substr(0, whole.size() % 9));
  for (size_t at = whole.size() % 9; at < whole.size(); at += 9) add_group(whole.substr(at, 9));
  for (size_t at = 0; at < fraction.size(); at += 9) add_group(fraction.substr(at, 9));
  if (negative) std::ranges::transform(packed, packed.begin(), [](char byte) { return ~byte; });
  packed[0] = static_cast<char>(packed[0] ^ '\x80');
  return packed;
}

std::string packed(const DecimalFormat& format, WideInteger number) {
  std::string bytes(format.width(), '?');
  format.pack(number, bytes.data());
  return bytes;
}

WideInteger power_of_ten(unsigned digits) {
  WideInteger power = 1;
  for (unsigned i = 0; i < digits; ++i) power *= 10;
  return power;
}

WideInteger random_number(DecimalDigits digits, std::mt19937_64& random) {
  const WideInteger bits = static_cast<WideInteger>(random() >> 1) << 64 | static_cast<WideInteger>(random());
  const auto number = bits % power_of_ten(1 + static_cast<unsigned>(random() % digits.precision));
  return random() % 2 == 0 ? number : -number;
}

template <typename Each>
void for_all_digits(const Each& each) {
  for (unsigned precision = 1; precision <= DecimalDigits::most; ++precision) {
    for (unsigned scale = 0; scale <= precision; ++scale)
      each(DecimalDigits{static_cast<uint8_t>(precision), static_cast<uint8_t>(scale)});
  }
}

TEST(DecimalFormatTest, PacksWhatItReads) {
  std::mt19937_64 random(test_seed(1));
  for_all_digits([&](DecimalDigits digits) {
    const DecimalFormat format(digits);
    const WideInteger greatest = power_of_ten(digits.precision) - 1;
    ASSERT_TRUE(format.greatest() == greatest);
    std::vector<WideInteger> numbers{-greatest, 1 - greatest, -1, 0, 1, greatest - 1, greatest};
    for (int i = 0; i < 50; ++i) numbers.push_back(random_number(digits, random));
    std::ranges::sort(numbers);
    std::string previous;
    for (size_t i = 0; i < numbers.size(); ++i) {
      const std::string bytes = packed(format, numbers[i]);
      ASSERT_EQ(bytes, packed_by_text(digits, numbers[i]))
          << unsigned{digits.precision} << ", " << unsigned{digits.scale};
      const auto number = format.number(bytes);
      ASSERT_TRUE(number.has_value() && *number == numbers[i]);
      ASSERT_TRUE(format.any_number(bytes) == numbers[i]);
      ASSERT_TRUE(format.first_from(bytes) == numbers[i] && format.last_until(bytes) == numbers[i]);
      if (i > 0) {
        ASSERT_TRUE(numbers[i - 1] == numbers[i] ? previous == bytes : previous < bytes);
      }
      previous = bytes;
    }
    if (!format.is_integer()) return;
    ASSERT_TRUE(digits.is_short());
    for (int i = 0; i < 500; ++i) numbers.push_back(random_number(digits, random));
    std::vector<uint64_t> integers, ordered(numbers.size()), back(numbers.size());
    for (const WideInteger number : numbers)
      integers.push_back(load_big_endian(packed(format, number).data(), format.width()));
    ASSERT_TRUE(format.numbers(integers, ordered.data()));
    format.pack(ordered, back.data());
    ASSERT_EQ(back, integers);
    for (size_t i = 0; i < numbers.size(); ++i) {
      ASSERT_TRUE(native_signed(ordered[i], 8) == numbers[i]);
      ASSERT_TRUE(format.first_from(integers[i]) == numbers[i]);
      ASSERT_TRUE(format.last_until(integers[i]) == numbers[i]);
    }
    ASSERT_TRUE(format.first_from(~uint64_t{0}) == greatest + (format.width() < 8 ? 1 : 0) ||
                format.width() == 8);
    ASSERT_TRUE(format.last_until(~uint64_t{0}) == greatest);
    ASSERT_TRUE(format.first_from(uint64_t{0}) == -greatest);
  });
}

TEST(DecimalFormatTest, FindsTheNumbersBesideAnyBytes) {
  std::mt19937_64 random(test_seed(2));
  for_all_digits([&](DecimalDigits digits) {
    const DecimalFormat format(digits);
    for (int round = 0; round < 8; ++round) {
      std::string bytes = packed(format, random_number(digits, random));
      for (int changes = 0; changes <= round % 3; ++changes)
        bytes[random() % bytes.size()] = static_cast<char>(random());
      const WideInteger first = format.first_from(bytes), last = format.last_until(bytes);
      ASSERT_TRUE(first == last || first == last + 1);
      ASSERT_EQ(first == last, format.number(bytes).has_value());
      if (first <= format.greatest()) {
        ASSERT_GE(packed(format, first), bytes);
      }
      if (first > -format.greatest()) {
        ASSERT_LT(packed(format, first - 1), bytes);
      }
      if (!format.is_integer()) continue;
      const uint64_t integer = load_big_endian(bytes.data(), format.width());
      ASSERT_TRUE(format.first_from(integer) == first && format.last_until(integer) == last);
      uint64_t ordered = 0;
      ASSERT_EQ(format.numbers({&integer, 1}, &ordered), first == last);
    }
  });
}

TEST(DecimalFormatTest, RefusesBytesThatAreNoNumbersOwn) {
  const DecimalFormat format({.precision = 11, .scale = 2});
  ASSERT_EQ(format.width(), 5U);
  const std::string zero("\x80\0\0\0\0", 5), minus_zero("\x7f\xff\xff\xff\xff", 5);
  EXPECT_TRUE(format.number(zero) == WideInteger{0});
  EXPECT_FALSE(format.number(minus_zero).has_value());
  const std::string hundred_hundredths("\x80\0\0\0\x64", 5);
  EXPECT_FALSE(format.number(hundred_hundredths).has_value());
  for (const std::string& bytes : {zero, minus_zero, hundred_hundredths}) {
    const uint64_t integer = load_big_endian(bytes.data(), 5);
    uint64_t ordered = 0;
    EXPECT_EQ(format.numbers({&integer, 1}, &ordered), format.number(bytes).has_value());
  }
  // One among many is met, wherever it is.
  std::vector<uint64_t> packed(100, load_big_endian(zero.data(), 5)), ordered(100);
  EXPECT_TRUE(format.numbers(packed, ordered.data()));
  for (const size_t at : {0U, 50U, 99U}) {
    std::vector<uint64_t> wrong = packed;
    wrong[at] = load_big_endian(minus_zero.data(), 5);
    EXPECT_FALSE(format.numbers(wrong, ordered.data()));
  }
}

}  // namespace
}  // namespace hailstone
