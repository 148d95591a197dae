// Whole numbers of any size, with a sign: what finishes a result that is rounded only once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "table/scan.h"

namespace hailstone {

class WholeNumber {
 public:
  WholeNumber() = default;
  explicit WholeNumber(WideInteger number);
  explicit WholeNumber(const HugeInteger& number);
  /// Digits from 0 to 2^32 - 1, the least significant first.
  WholeNumber(std::span<const int64_t> digits, bool negative);

  bool is_zero() const { return digits_.empty(); }
  bool is_negative() const { return negative_; }

  WholeNumber operator*(const WholeNumber& other) const;
  WholeNumber operator+(const WholeNumber& other) const;
  WholeNumber operator-(const WholeNumber& other) const;
  /// Times 2^bits.
  WholeNumber shifted(unsigned bits) const;
  /// The nearest to the number times 2^exponent, of two equally near ones the even one; infinity when it is
  /// too great.
  double rounded(int exponent) const;

 private:
  void trim();
  bool is_smaller(const WholeNumber& other) const;  // without signs
  WholeNumber plus(const WholeNumber& other, bool negative) const;

  std::vector<uint32_t> digits_;  // the least significant first, without zeros behind the last one
  bool negative_ = false;
};

}  // namespace hailstone
