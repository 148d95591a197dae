#include "query/whole_number.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace hailstone {

namespace {

constexpr int digit_bits = 32;
constexpr int most_bits = 128;         // of a WideUnsigned
constexpr int significant_bits = 53;   // of a double
constexpr int least_exponent = -1074;  // of the least double above 0

__extension__ typedef unsigned __int128 WideUnsigned;

int bits_of(WideUnsigned number) {
  constexpr int half = most_bits / 2;
  const auto upper = static_cast<uint64_t>(number >> half);
  return static_cast<int>(upper != 0 ? half + std::bit_width(upper)
                                     : std::bit_width(static_cast<uint64_t>(number)));
}

}  // namespace

WholeNumber::WholeNumber(WideInteger number) : negative_(number < 0) {
  auto rest = static_cast<WideUnsigned>(number);
  if (negative_) rest = -rest;
  for (; rest != 0; rest >>= digit_bits) digits_.push_back(static_cast<uint32_t>(rest));
}

WholeNumber::WholeNumber(const HugeInteger& number) : negative_(number.is_negative()) {
  // A negative number is the complement of what it is without its sign, less 1.
  uint64_t carry = negative_ ? 1 : 0;
  for (const uint64_t word : number.words) {
    const uint64_t digits = (negative_ ? ~word : word) + carry;
    carry = carry != 0 && digits == 0 ? 1 : 0;
    digits_.push_back(static_cast<uint32_t>(digits));
    digits_.push_back(static_cast<uint32_t>(digits >> digit_bits));
  }
  trim();
}

WholeNumber::WholeNumber(std::span<const int64_t> digits, bool negative) : negative_(negative) {
  for (const int64_t digit : digits) digits_.push_back(static_cast<uint32_t>(digit));
  trim();
}

void WholeNumber::trim() {
  while (!digits_.empty() && digits_.back() == 0) digits_.pop_back();
  negative_ = negative_ && !digits_.empty();
}

bool WholeNumber::is_smaller(const WholeNumber& other) const {
  if (digits_.size() != other.digits_.size()) return digits_.size() < other.digits_.size();
  return std::ranges::lexicographical_compare(digits_.rbegin(), digits_.rend(), other.digits_.rbegin(),
                                              other.digits_.rend());
}

/// `negative`: the sign that the other number counts with.
WholeNumber WholeNumber::plus(const WholeNumber& other, bool negative) const {
  const bool turned = is_smaller(other);
  const WholeNumber& great = turned ? other : *this;
  const WholeNumber& small = turned ? *this : other;
  const int64_t sign = negative == negative_ ? 1 : -1;
  WholeNumber result;
  result.negative_ = turned ? negative : negative_;
  int64_t carry = 0;
  for (size_t i = 0; i < great.digits_.size(); ++i) {
    carry += int64_t{great.digits_[i]} + (i < small.digits_.size() ? sign * small.digits_[i] : 0);
    result.digits_.push_back(static_cast<uint32_t>(carry));
    carry >>= digit_bits;
  }
  result.digits_.push_back(static_cast<uint32_t>(carry));
  result.trim();
  return result;
}

WholeNumber WholeNumber::operator+(const WholeNumber& other) const { return plus(other, other.negative_); }
WholeNumber WholeNumber::operator-(const WholeNumber& other) const { return plus(other, !other.negative_); }

WholeNumber WholeNumber::operator*(const WholeNumber& other) const {
  WholeNumber result;
  result.negative_ = negative_ != other.negative_;
  result.digits_.resize(digits_.size() + other.digits_.size());
  for (size_t i = 0; i < digits_.size(); ++i) {
    uint64_t carry = 0;
    for (size_t j = 0; j < other.digits_.size(); ++j) {
      carry += uint64_t{digits_[i]} * other.digits_[j] + result.digits_[i + j];
      result.digits_[i + j] = static_cast<uint32_t>(carry);
      carry >>= digit_bits;
    }
    result.digits_[i + other.digits_.size()] = static_cast<uint32_t>(carry);
  }
  result.trim();
  return result;
}

WholeNumber WholeNumber::shifted(unsigned bits) const {
  WholeNumber result;
  result.negative_ = negative_;
  result.digits_.resize(bits / digit_bits);
  uint64_t carry = 0;
  for (const uint32_t digit : digits_) {
    carry |= uint64_t{digit} << bits % digit_bits;
    result.digits_.push_back(static_cast<uint32_t>(carry));
    carry >>= digit_bits;
  }
  result.digits_.push_back(static_cast<uint32_t>(carry));
  result.trim();
  return result;
}

double WholeNumber::rounded(int exponent) const {
  // The first 65 bits or more, and whether anything is behind them.
  constexpr size_t most_first = 3;
  const size_t rest = digits_.size() - std::min(digits_.size(), most_first);
  WideUnsigned first = 0;
  for (size_t i = digits_.size(); i > rest; --i) first = first << digit_bits | digits_[i - 1];
  const bool more = std::any_of(digits_.begin(), digits_.begin() + static_cast<ptrdiff_t>(rest),
                                [](uint32_t digit) { return digit != 0; });
  if (more) first |= 1;
  exponent += static_cast<int>(rest) * digit_bits;
  // The least numbers have fewer bits than others, and would be rounded twice.
  const int behind = least_exponent - exponent;
  if (behind > 0 && bits_of(first) - behind < significant_bits) {
    if (behind > most_bits) return negative_ ? -0.0 : 0.0;
    const WideUnsigned half = WideUnsigned{1} << (behind - 1);
    const WideUnsigned cut = first & (2 * half - 1);
    first = behind < most_bits ? first >> behind : 0;
    if (cut > half || (cut == half && (first & 1) != 0)) ++first;
    exponent = least_exponent;
  }
  const double rounded = std::ldexp(static_cast<double>(first), exponent);
  return negative_ ? -rounded : rounded;
}

}  // namespace hailstone
