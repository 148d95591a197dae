#include "query/exact_sum.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace hailstone {

namespace {

constexpr int mantissa_bits = 52;
constexpr int exponent_mask = 0x7ff;
constexpr int32_t least_unit = -1074;  // of the least number above 0
constexpr int32_t least_wide_unit = 2 * least_unit;
constexpr int32_t greatest_unit = 1995;  // of the upper half of the square of the greatest number
constexpr int spare_bits = 32;           // below a sum's first number
constexpr int most_shift = 69;           // of 53 bits, to stay below 2^122
constexpr int digit_bits = 32;
// What a sum is, in front of its bytes.
constexpr char no_sum = 0;      // nothing but zeros was added
constexpr char narrow_sum = 1;  // number, 16 bytes; unit, 4
constexpr char wide_sum = 2;    // the digits, settled; what is no finite number or 0, 8 bytes
constexpr int64_t digit_limit = int64_t{1} << digit_bits;

/// Of the last digit: whether 2^64 numbers, or squares of numbers, may have a sum with it.
bool is_in_range(int64_t last_digit) { return last_digit > -digit_limit && last_digit < digit_limit; }

constexpr uint32_t additions_between_settlings = uint32_t{1} << 28;

__extension__ typedef unsigned __int128 WideUnsigned;

/// Takes a whole number to a unit that is 2^by times less. False: it does not fit.
bool rescale(WideInteger& number, int by) {
  return by <= most_shift && !__builtin_mul_overflow(number, WideInteger{1} << by, &number);
}

/// Adds numbers of different units, if the sum fits.
bool add_in_units(WideInteger& number, int32_t& unit, WideInteger other, int32_t other_unit) {
  WideInteger here = number;
  if (other_unit >= unit ? !rescale(other, other_unit - unit) : !rescale(here, unit - other_unit))
    return false;
  if (__builtin_add_overflow(here, other, &here)) return false;
  number = here;
  unit = std::min(unit, other_unit);
  return true;
}

}  // namespace

ExactSums::Parts ExactSums::parts_of(double number) {
  const auto bits = std::bit_cast<uint64_t>(number);
  const auto exponent = static_cast<int32_t>(bits >> mantissa_bits & exponent_mask);
  auto mantissa = static_cast<int64_t>(bits & ((uint64_t{1} << mantissa_bits) - 1));
  if (exponent != 0) mantissa |= int64_t{1} << mantissa_bits;
  return {bits >> 63 != 0 ? -mantissa : mantissa, exponent == 0 ? least_unit : exponent + least_unit - 1};
}

void ExactSums::WideSum::add(WideInteger number, int32_t unit) {
  if (++added == additions_between_settlings) settle();
  const bool negative = number < 0;
  auto rest = static_cast<WideUnsigned>(number);
  if (negative) rest = 0 - rest;
  const int32_t place = unit - least_wide_unit;
  auto at = static_cast<size_t>(place / digit_bits);
  const int shift = place % digit_bits;
  const auto put = [&](uint64_t bits) {
    digit[at++] += negative ? -static_cast<int64_t>(bits) : static_cast<int64_t>(bits);
  };
  put(static_cast<uint64_t>(rest << shift & UINT32_MAX));
  rest >>= digit_bits - shift;
  for (; rest != 0; rest >>= digit_bits) put(static_cast<uint64_t>(rest & UINT32_MAX));
}

void ExactSums::WideSum::add(const WideSum& other) {
  WideSum settled = other;
  settled.settle();
  settle();
  for (size_t i = 0; i < digits; ++i) digit[i] += settled.digit[i];
  special += other.special;
  settle();
}

/// Digits from 0 to 2^32 - 1, but for the last one, which has the sign.
void ExactSums::WideSum::settle() {
  int64_t carry = 0;
  for (size_t i = 0; i + 1 < digits; ++i) {
    const int64_t sum = digit[i] + carry;
    carry = sum >> digit_bits;
    digit[i] = sum & UINT32_MAX;
  }
  digit[digits - 1] += carry;
  added = 0;
}

WholeNumber ExactSums::WideSum::number() const {
  WideSum settled = *this;
  settled.settle();
  const bool negative = settled.digit[digits - 1] < 0;
  if (negative) {
    for (int64_t& each : settled.digit) each = -each;
    settled.settle();
  }
  return {settled.digit, negative};
}

ExactSums::WideSum& ExactSums::widen(Sum& sum) {
  if (sum.wide == nobody) {
    sum.wide = static_cast<uint32_t>(wide_.size());
    wide_.emplace_back();
    if (sum.unit != unset) wide_.back().add(sum.number, sum.unit);
  }
  return wide_[sum.wide];
}

void ExactSums::add(uint32_t at, double value) {
  if (value == 0) return;
  if (std::isfinite(value)) {
    add(at, parts_of(value));
  } else {
    widen(sums_[at]).special += value;
  }
}

void ExactSums::add(uint32_t at, Parts parts) {
  if (parts.number == 0) return;
  Sum& sum = sums_[at];
  if (sum.wide == nobody) {
    if (sum.unit == unset) sum.unit = std::max(parts.unit - spare_bits, least_wide_unit);
    const int shift = parts.unit - sum.unit;
    WideInteger result = 0;
    if (shift >= 0 && shift <= most_shift &&
        !__builtin_add_overflow(sum.number, WideInteger{parts.number} * (WideInteger{1} << shift), &result)) {
      sum.number = result;
      return;
    }
    if (add_in_units(sum.number, sum.unit, parts.number, parts.unit)) return;
  }
  widen(sum).add(parts.number, parts.unit);
}

void ExactSums::append_to(std::string& to, uint32_t at) const {
  const Sum& sum = sums_[at];
  if (sum.wide != nobody) {
    to.push_back(wide_sum);
    WideSum settled = wide_[sum.wide];
    settled.settle();
    append_number(to, settled.digit);
    append_number(to, settled.special);
  } else if (sum.unit != unset) {
    to.push_back(narrow_sum);
    append_number(to, sum.number);
    append_number(to, sum.unit);
  } else {
    to.push_back(no_sum);
  }
}

bool ExactSums::add_from(ByteReader& reader, uint32_t at) {
  char kind = 0;
  if (!reader.take(kind)) return false;
  if (kind == no_sum) return true;
  Sum& sum = sums_[at];
  if (kind == wide_sum) {
    WideSum other;
    if (!reader.take(other.digit) || !reader.take(other.special)) return false;
    const bool are_digits = std::all_of(other.digit.begin(), other.digit.end() - 1,
                                        [](int64_t digit) { return digit >= 0 && digit < digit_limit; });
    if (!are_digits || !is_in_range(other.digit.back()) ||
        (other.special != 0 && std::isfinite(other.special)))
      return false;
    WideSum& both = widen(sum);
    both.add(other);
    return is_in_range(both.digit.back());
  }
  WideInteger number = 0;
  int32_t unit = 0;
  if (kind != narrow_sum || !reader.take(number) || !reader.take(unit) || unit < least_wide_unit ||
      unit > greatest_unit)
    return false;
  if (sum.wide == nobody) {
    if (sum.unit == unset) {
      sum.unit = unit;
      sum.number = number;
      return true;
    }
    if (add_in_units(sum.number, sum.unit, number, unit)) return true;
  }
  widen(sum).add(number, unit);
  return true;
}

double ExactSums::result(uint32_t at) const {
  const Sum& sum = sums_[at];
  if (sum.unit == unset && sum.wide == nobody) return 0;
  if (sum.wide == nobody) {
    if (sum.unit >= least_unit) return std::ldexp(static_cast<double>(sum.number), sum.unit);
    // It would be rounded again where the result has fewer digits than other numbers.
    return WholeNumber(sum.number).rounded(sum.unit);
  }
  const WideSum& wide = wide_[sum.wide];
  return wide.special != 0 ? wide.special : wide.number().rounded(least_wide_unit);
}

ExactSums::Exact ExactSums::exact(uint32_t at) const {
  const Sum& sum = sums_[at];
  if (sum.wide != nobody) return {.number = wide_[sum.wide].number(), .unit = least_wide_unit};
  if (sum.unit == unset) return {};
  return {.number = WholeNumber(sum.number), .unit = sum.unit};
}

size_t ExactSums::memory() const {
  return sums_.capacity() * sizeof(Sum) + wide_.capacity() * sizeof(WideSum);
}

}  // namespace hailstone
