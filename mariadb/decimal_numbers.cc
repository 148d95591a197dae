#include "decimal_numbers.h"

#include <algorithm>
#include <string>

namespace hailstone {

namespace {

constexpr int group_digits = 9;
constexpr uint32_t group_base = 1'000'000'000;

/// Makes a number of the server's digits, which stand in groups of nine; the first group of the fraction
/// begins at the point. `append(factor, digits)` multiplies and adds.
template <typename Append>
void take_digits(const my_decimal& decimal, uint decimals, Append&& append) {
  const int whole_groups = (decimal.intg + group_digits - 1) / group_digits;
  for (int i = 0; i < whole_groups; ++i) append(group_base, static_cast<uint32_t>(decimal.buf[i]));
  int wanted = static_cast<int>(decimals);
  for (int i = whole_groups; wanted > 0; ++i) {
    const int there = decimal.frac - (i - whole_groups) * group_digits;
    auto digits = static_cast<uint32_t>(there > 0 ? decimal.buf[i] : 0);
    uint32_t factor = 1;
    for (int cut = group_digits; cut > wanted; --cut) digits /= 10;
    for (int j = 0; j < std::min(wanted, group_digits); ++j) factor *= 10;
    append(factor, digits);
    wanted -= group_digits;
  }
}

/// `digits`: of a number without sign, the last one first.
void decimal_of_digits(std::string digits, bool negative, unsigned scale, my_decimal& to) {
  while (digits.size() <= scale) digits.push_back('0');
  std::string text(negative ? "-" : "");
  for (size_t i = digits.size(); i-- > 0;) {
    text.push_back(digits[i]);
    if (i == scale && scale != 0) text.push_back('.');
  }
  char* end = text.data() + text.size();
  str2my_decimal(E_DEC_FATAL_ERROR, text.c_str(), &to, &end);
}

}  // namespace

WideInteger wide_number(const my_decimal& decimal, uint decimals) {
  WideInteger number = 0;
  take_digits(decimal, decimals,
              [&](uint32_t factor, uint32_t digits) { number = number * factor + digits; });
  return decimal.sign() ? -number : number;
}

HugeInteger huge_number(const my_decimal& decimal, uint decimals) {
  HugeInteger number;
  take_digits(decimal, decimals, [&](uint32_t factor, uint32_t digits) {
    uint64_t carry = digits;
    for (uint64_t& word : number.words) {
      const uint64_t low = (word & UINT32_MAX) * factor + carry;
      const uint64_t high = (word >> 32) * factor + (low >> 32);
      word = high << 32 | (low & UINT32_MAX);
      carry = high >> 32;
    }
  });
  if (!decimal.sign()) return number;
  for (uint64_t& word : number.words) word = ~word;
  return number += HugeInteger{{1, 0, 0, 0}};
}

void decimal_of(WideInteger number, unsigned scale, my_decimal& to) {
  std::string digits;
  const bool negative = number < 0;
  for (; number != 0; number /= 10) {
    const int digit = static_cast<int>(number % 10);
    digits.push_back(static_cast<char>('0' + (negative ? -digit : digit)));
  }
  decimal_of_digits(std::move(digits), negative, scale, to);
}

void decimal_of(const HugeInteger& number, unsigned scale, my_decimal& to) {
  HugeInteger rest = number;
  const bool negative = number.is_negative();
  if (negative) {
    for (uint64_t& word : rest.words) word = ~word;
    rest += HugeInteger{{1, 0, 0, 0}};
  }
  std::string digits;
  while (rest != HugeInteger{}) {
    uint64_t remainder = 0;
    for (size_t i = rest.words.size(); i-- > 0;) {
      const uint64_t high = remainder << 32 | rest.words[i] >> 32;
      const uint64_t low = (high % group_base) << 32 | (rest.words[i] & UINT32_MAX);
      rest.words[i] = (high / group_base) << 32 | low / group_base;
      remainder = low % group_base;
    }
    for (int i = 0; i < group_digits; ++i, remainder /= 10)
      digits.push_back(static_cast<char>('0' + remainder % 10));
  }
  while (!digits.empty() && digits.back() == '0') digits.pop_back();
  decimal_of_digits(std::move(digits), negative, scale, to);
}

}  // namespace hailstone
