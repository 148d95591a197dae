#include "base/wide_integer.h"

#include <bit>

namespace hailstone {

namespace {

__extension__ typedef unsigned __int128 WideUnsigned;

using Digits = std::array<uint32_t, 8>;  // the least significant first

HugeInteger magnitude_of(const HugeInteger& number) { return number.is_negative() ? -number : number; }

Digits digits_of(const HugeInteger& number) {
  Digits digits;
  for (size_t i = 0; i < digits.size(); ++i)
    digits[i] = static_cast<uint32_t>(number.words[i / 2] >> (i % 2 * 32));
  return digits;
}

HugeInteger number_of(const Digits& digits) {
  HugeInteger number;
  for (size_t i = 0; i < digits.size(); ++i)
    number.words[i / 2] |= static_cast<uint64_t>(digits[i]) << (i % 2 * 32);
  return number;
}

size_t size_of(const Digits& digits) {
  size_t size = digits.size();
  while (size != 0 && digits[size - 1] == 0) --size;
  return size;
}

/// Digit by digit, each estimated by the two first digits of the divisor (Knuth, "The Art of Computer
/// Programming", volume 2, 4.3.1, algorithm D). Of numbers without a sign; the divisor has two digits or
/// more.
HugeQuotient divide_digits(const Digits& dividend, const Digits& divisor) {
  const size_t size = size_of(divisor);
  const int shift = std::countl_zero(divisor[size - 1]);
  const auto shifted = [shift](const Digits& digits, size_t i) {
    const uint64_t upper = i < digits.size() ? digits[i] : 0;
    const uint64_t lower = i != 0 ? digits[i - 1] : 0;
    return static_cast<uint32_t>((upper << 32 | lower) << shift >> 32);
  };
  std::array<uint32_t, 9> rest;  // of the dividend
  Digits by{}, quotient{}, remainder{};
  for (size_t i = 0; i < rest.size(); ++i) rest[i] = shifted(dividend, i);
  for (size_t i = 0; i < size; ++i) by[i] = shifted(divisor, i);
  for (size_t at = rest.size() - size; at-- > 0;) {
    const uint64_t first = static_cast<uint64_t>(rest[at + size]) << 32 | rest[at + size - 1];
    uint64_t digit = first / by[size - 1], left = first % by[size - 1];
    while (digit > UINT32_MAX || digit * by[size - 2] > (left << 32 | rest[at + size - 2])) {
      --digit;
      left += by[size - 1];
      if (left > UINT32_MAX) break;
    }
    int64_t borrow = 0;
    for (size_t i = 0; i < size; ++i) {
      const uint64_t product = digit * by[i];
      const int64_t difference = int64_t{rest[at + i]} - borrow - static_cast<int64_t>(product & UINT32_MAX);
      rest[at + i] = static_cast<uint32_t>(difference);
      borrow = static_cast<int64_t>(product >> 32) - (difference >> 32);
    }
    const int64_t difference = int64_t{rest[at + size]} - borrow;
    rest[at + size] = static_cast<uint32_t>(difference);
    if (difference < 0) {
      --digit;
      uint64_t carry = 0;
      for (size_t i = 0; i < size; ++i) {
        carry += uint64_t{rest[at + i]} + by[i];
        rest[at + i] = static_cast<uint32_t>(carry);
        carry >>= 32;
      }
      rest[at + size] += static_cast<uint32_t>(carry);
    }
    quotient[at] = static_cast<uint32_t>(digit);
  }
  for (size_t i = 0; i < size; ++i)
    remainder[i] = static_cast<uint32_t>((static_cast<uint64_t>(rest[i + 1]) << 32 | rest[i]) >> shift);
  return {number_of(quotient), number_of(remainder)};
}

HugeQuotient divide_magnitudes(const HugeInteger& dividend, const HugeInteger& divisor) {
  if ((dividend.words[2] | dividend.words[3]) == 0) {
    if ((divisor.words[2] | divisor.words[3]) != 0) return {.quotient = {}, .remainder = dividend};
    const auto of = [](const HugeInteger& number) {
      return static_cast<WideUnsigned>(number.words[1]) << 64 | number.words[0];
    };
    const auto number = [](WideUnsigned bits) {
      return HugeInteger{{static_cast<uint64_t>(bits), static_cast<uint64_t>(bits >> 64), 0, 0}};
    };
    return {number(of(dividend) / of(divisor)), number(of(dividend) % of(divisor))};
  }
  const Digits digits = digits_of(divisor);
  if (size_of(digits) > 1) return divide_digits(digits_of(dividend), digits);
  Digits quotient = digits_of(dividend);
  uint64_t rest = 0;
  for (size_t i = quotient.size(); i-- > 0;) {
    rest = rest << 32 | quotient[i];
    quotient[i] = static_cast<uint32_t>(rest / digits[0]);
    rest %= digits[0];
  }
  return {.quotient = number_of(quotient), .remainder = {{rest, 0, 0, 0}}};
}

}  // namespace

HugeInteger HugeInteger::operator*(const HugeInteger& other) const {
  HugeInteger product;
  for (size_t i = 0; i < words.size(); ++i) {
    uint64_t carry = 0;
    for (size_t j = 0; i + j < words.size(); ++j) {
      const WideUnsigned sum =
          static_cast<WideUnsigned>(words[i]) * other.words[j] + product.words[i + j] + carry;
      product.words[i + j] = static_cast<uint64_t>(sum);
      carry = static_cast<uint64_t>(sum >> 64);
    }
  }
  return product;
}

HugeQuotient divide(const HugeInteger& dividend, const HugeInteger& divisor) {
  HugeQuotient result = divide_magnitudes(magnitude_of(dividend), magnitude_of(divisor));
  if (dividend.is_negative() != divisor.is_negative()) result.quotient = -result.quotient;
  if (dividend.is_negative()) result.remainder = -result.remainder;
  return result;
}

HugeInteger divide_rounded(const HugeInteger& dividend, const HugeInteger& divisor) {
  const HugeQuotient result = divide(dividend, divisor);
  const HugeInteger rest = magnitude_of(result.remainder);
  if (rest < divisor - rest) return result.quotient;
  return result.quotient + HugeInteger::of(dividend.is_negative() ? -1 : 1);
}

HugeInteger power_of_ten(unsigned exponent) {
  static const auto powers = [] {
    std::array<HugeInteger, 77> all;
    all[0] = HugeInteger::of(1);
    for (size_t i = 1; i < all.size(); ++i) all[i] = all[i - 1] * HugeInteger::of(10);
    return all;
  }();
  return powers[exponent];
}

}  // namespace hailstone
