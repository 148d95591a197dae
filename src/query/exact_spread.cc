#include "query/exact_spread.h"

#include <algorithm>
#include <cmath>

namespace hailstone {

namespace {

constexpr int word_bits = 64;
constexpr int significant_bits = 53;

__extension__ typedef unsigned __int128 WideUnsigned;

HugeInteger square_of(WideInteger number) {
  const auto positive = static_cast<WideUnsigned>(number < 0 ? -number : number);
  const WideUnsigned lower = static_cast<uint64_t>(positive), upper = positive >> word_bits;
  WideUnsigned square = lower * lower;
  HugeInteger result;
  result.words[0] = static_cast<uint64_t>(square);
  square >>= word_bits;
  if (upper != 0) square += 2 * upper * lower;
  result.words[1] = static_cast<uint64_t>(square);
  if (upper != 0) {
    square = (square >> word_bits) + upper * upper;
    result.words[2] = static_cast<uint64_t>(square);
    result.words[3] = static_cast<uint64_t>(square >> word_bits);
  }
  return result;
}

}  // namespace

void ExactSpreads::push_back(bool real) {
  if (real) {
    sums_.push_back();
    upper_squares_.push_back();
    lower_squares_.push_back();
  } else {
    wholes_.emplace_back();
  }
}

void ExactSpreads::resize(size_t spreads, bool real) {
  if (!real) return wholes_.resize(spreads);
  for (ExactSums* const sums : {&sums_, &upper_squares_, &lower_squares_}) sums->resize(spreads);
}

void ExactSpreads::reserve(size_t spreads, bool real) {
  if (!real) return wholes_.reserve(spreads);
  for (ExactSums* const sums : {&sums_, &upper_squares_, &lower_squares_}) sums->reserve(spreads);
}

void ExactSpreads::clear() {
  wholes_.clear();
  for (ExactSums* const sums : {&sums_, &upper_squares_, &lower_squares_}) sums->clear();
}

void ExactSpreads::add(uint32_t spread, WideInteger number) {
  Whole& whole = wholes_[spread];
  whole.sum += number;
  whole.squares += square_of(number);
}

void ExactSpreads::add(uint32_t spread, double number) {
  sums_.add(spread, number);
  if (number == 0 || !std::isfinite(number)) return;
  const auto [mantissa, unit] = ExactSums::parts_of(number);
  const WideInteger square = WideInteger{mantissa} * mantissa;
  constexpr WideInteger lower_half = (WideInteger{1} << significant_bits) - 1;
  upper_squares_.add(spread, {.number = static_cast<int64_t>(square >> significant_bits),
                              .unit = 2 * unit + significant_bits});
  lower_squares_.add(spread, {.number = static_cast<int64_t>(square & lower_half), .unit = 2 * unit});
}

void ExactSpreads::append_to(std::string& to, uint32_t spread) const {
  if (wholes_.empty()) {
    sums_.append_to(to, spread);
    upper_squares_.append_to(to, spread);
    lower_squares_.append_to(to, spread);
  } else {
    append_number(to, wholes_[spread].sum);
    append_number(to, wholes_[spread].squares.words);
  }
}

bool ExactSpreads::add_from(ByteReader& reader, uint32_t spread) {
  if (wholes_.empty())
    return sums_.add_from(reader, spread) && upper_squares_.add_from(reader, spread) &&
           lower_squares_.add_from(reader, spread);
  Whole other;
  if (!reader.take(other.sum) || !reader.take(other.squares.words)) return false;
  Whole& whole = wholes_[spread];
  if (other.squares.is_negative() || __builtin_add_overflow(whole.sum, other.sum, &whole.sum)) return false;
  whole.squares += other.squares;
  return !whole.squares.is_negative();
}

double ExactSpreads::result(uint32_t spread, uint64_t count) const {
  WholeNumber sum, squares;
  int32_t unit = 0;  // of `sum`; that of `squares` is the square of it
  if (!wholes_.empty()) {
    sum = WholeNumber(wholes_[spread].sum);
    squares = WholeNumber(wholes_[spread].squares);
  } else {
    if (const double special = sums_.special(spread); special != 0) return special * 0;
    const auto of_sum = sums_.exact(spread), upper = upper_squares_.exact(spread),
               lower = lower_squares_.exact(spread);
    const int32_t least = std::min({2 * of_sum.unit, upper.unit, lower.unit});
    unit = least >> 1;
    const auto in_units = [](const ExactSums::Exact& exact, int32_t of) {
      return exact.number.shifted(static_cast<unsigned>(exact.unit - of));
    };
    sum = in_units(of_sum, unit);
    squares = in_units(upper, 2 * unit) + in_units(lower, 2 * unit);
  }
  const WholeNumber n(static_cast<WideInteger>(count));
  return (squares * n - sum * sum).rounded(2 * unit) / static_cast<double>(count);
}

size_t ExactSpreads::memory() const {
  return wholes_.capacity() * sizeof(Whole) + sums_.memory() + upper_squares_.memory() +
         lower_squares_.memory();
}

}  // namespace hailstone
