// Whole numbers of 128 and of 256 bits.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>

namespace hailstone {

__extension__ typedef __int128 WideInteger;

/// Room for 76 digits, in two's complement. What leaves it is cut.
struct HugeInteger {
  std::array<uint64_t, 4> words{};  // the least significant first

  static constexpr HugeInteger of(WideInteger number) {
    const uint64_t sign = number < 0 ? ~uint64_t{0} : 0;
    return {{static_cast<uint64_t>(number), static_cast<uint64_t>(number >> 64), sign, sign}};
  }

  constexpr bool is_negative() const { return words[3] >> 63 != 0; }
  /// Whether the number is that of its lowest 64 bits, with a sign; of its lowest 128.
  constexpr bool has_64_bits() const {
    const uint64_t sign = words[0] >> 63 != 0 ? ~uint64_t{0} : 0;
    return words[1] == sign && words[2] == sign && words[3] == sign;
  }
  constexpr bool has_128_bits() const {
    const uint64_t sign = words[1] >> 63 != 0 ? ~uint64_t{0} : 0;
    return words[2] == sign && words[3] == sign;
  }
  /// Where it has no more.
  constexpr int64_t narrow() const { return static_cast<int64_t>(words[0]); }
  constexpr WideInteger wide() const {
    return (static_cast<WideInteger>(static_cast<int64_t>(words[1])) << 64) + words[0];
  }

  constexpr HugeInteger& operator+=(const HugeInteger& other) {
    uint64_t carry = 0;
    for (size_t i = 0; i < words.size(); ++i) {
      const uint64_t sum = words[i] + other.words[i];
      const uint64_t with_carry = sum + carry;
      carry = (sum < words[i] ? 1U : 0U) + (with_carry < sum ? 1U : 0U);
      words[i] = with_carry;
    }
    return *this;
  }
  constexpr HugeInteger operator+(const HugeInteger& other) const { return HugeInteger(*this) += other; }
  constexpr HugeInteger operator-() const {
    HugeInteger result;
    for (size_t i = 0; i < words.size(); ++i) result.words[i] = ~words[i];
    return result += of(1);
  }
  constexpr HugeInteger operator-(const HugeInteger& other) const { return *this + -other; }
  HugeInteger operator*(const HugeInteger& other) const;

  constexpr std::strong_ordering operator<=>(const HugeInteger& other) const {
    if (is_negative() != other.is_negative()) return other.is_negative() <=> is_negative();
    for (size_t i = words.size(); i-- > 0;) {
      if (words[i] != other.words[i]) return words[i] <=> other.words[i];
    }
    return std::strong_ordering::equal;
  }
  constexpr bool operator==(const HugeInteger&) const = default;
};

/// Of a division by another number than 0: the quotient without what is behind its point, and what is left,
/// with the sign of the dividend.
struct HugeQuotient {
  HugeInteger quotient, remainder;
};
HugeQuotient divide(const HugeInteger& dividend, const HugeInteger& divisor);
/// The nearest to dividend / divisor, of two equally near ones that away from 0. `divisor` is above 0.
HugeInteger divide_rounded(const HugeInteger& dividend, const HugeInteger& divisor);
/// `exponent`: at most 76.
HugeInteger power_of_ten(unsigned exponent);

}  // namespace hailstone
