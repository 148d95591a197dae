// The server's decimals as whole numbers of their last digit, and back.
#pragma once

#include <array>
#include <cstdint>

#include "expression/exact_numbers.h"
#include "table/scan.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

constexpr std::array<int64_t, most_int64_digits + 1> int64_powers_of_ten = [] {
  std::array<int64_t, most_int64_digits + 1> powers{1};
  for (size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 10;
  return powers;
}();

/// The number times 10^decimals, without the digits behind those; at most 38 digits.
WideInteger wide_number(const my_decimal& decimal, uint decimals);

HugeInteger huge_number(const my_decimal& decimal, uint decimals);  // at most 75 digits

/// number / 10^scale; `scale` is at most 38.
void decimal_of(WideInteger number, unsigned scale, my_decimal& to);
void decimal_of(const HugeInteger& number, unsigned scale, my_decimal& to);

}  // namespace hailstone
