// The server's decimals as whole numbers of their last digit, and back.
#pragma once

#include <array>
#include <cstdint>

#include "table/scan.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

constexpr unsigned most_int64_digits = 18;
constexpr std::array<int64_t, most_int64_digits + 1> int64_powers_of_ten = [] {
  std::array<int64_t, most_int64_digits + 1> powers{1};
  for (size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 10;
  return powers;
}();

/// The server keeps digits in words of nine, and divides as far as to the end of a word: so many digits
/// behind the point has a quotient of numbers that have so many. `increment`: div_precision_increment.
constexpr unsigned digits_of_word = 9;
constexpr unsigned words_of(unsigned digits) { return (digits + digits_of_word - 1) / digits_of_word; }
constexpr unsigned quotient_decimals(unsigned dividend, unsigned divisor, unsigned increment) {
  const unsigned in_words = (words_of(dividend) + words_of(divisor)) * digits_of_word;
  const unsigned unused = in_words - dividend - divisor;
  return words_of(in_words + (increment > unused ? increment - unused : 0)) * digits_of_word;
}

/// The number times 10^decimals, without the digits behind those; at most 38 digits.
WideInteger wide_number(const my_decimal& decimal, uint decimals);

HugeInteger huge_number(const my_decimal& decimal, uint decimals);  // at most 75 digits

/// number / 10^scale; `scale` is at most 38.
void decimal_of(WideInteger number, unsigned scale, my_decimal& to);
void decimal_of(const HugeInteger& number, unsigned scale, my_decimal& to);

}  // namespace hailstone
