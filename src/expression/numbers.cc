#include <bit>
#include <cmath>
#include <cstdint>

#include "expression/kernels.h"

namespace hailstone {

namespace {

/// Numbers of fewer bits than this have sums and differences of 64 bits.
constexpr int bits_of_addend = 62;
/// Products have at most as many bits as both factors together; but -2^a * -2^b, one more.
constexpr int bits_of_product = 62;

/// How many bits the greatest magnitude among the numbers takes, about.
int bits_of(const int64_t* numbers, uint32_t rows) {
  uint64_t all = 0;
  for (uint32_t row = 0; row < rows; ++row)
    all |= static_cast<uint64_t>(numbers[row] < 0 ? ~numbers[row] : numbers[row]);
  return static_cast<int>(std::bit_width(all));
}

/// What leaves the numbers of DOUBLE is an error of the embedding application.
void mark_infinite(uint32_t rows, Computed& to) {
  // A sum of what is no number is none.
  double all = 0;
  for (uint32_t row = 0; row < rows; ++row) all += to.reals[row] * 0;
  if (all == 0) return;
  for (uint32_t row = 0; row < rows; ++row) {
    if (!std::isfinite(to.reals[row]) && !to.is_null(row)) to.add_failure(row, rows, unknown_value);
  }
}

/// `plain`: for operands that fit; `checked`: whether a result has left 64 bits.
template <typename Plain, typename Checked>
void calculate(const FunctionCall& call, bool multiplies, Plain plain, Checked checked) {
  const Computed &left = call.input(0), &right = call.input(1);
  Computed& to = call.to;
  const uint32_t rows = call.rows;
  if (to.kind == ValueKind::Real) {
    const double* const a = left.reals.data();
    const double* const b = right.reals.data();
    double* const c = to.reals.data();
    for (uint32_t row = 0; row < rows; ++row) c[row] = plain(a[row], b[row]);
    return mark_infinite(rows, to);
  }
  const int64_t* const a = left.integers.data();
  const int64_t* const b = right.integers.data();
  int64_t* const c = to.integers.data();
  const int left_bits = bits_of(a, rows), right_bits = bits_of(b, rows);
  const bool fits = multiplies ? left_bits + right_bits <= bits_of_product
                               : std::max(left_bits, right_bits) <= bits_of_addend;
  if (fits) {
    for (uint32_t row = 0; row < rows; ++row) c[row] = plain(a[row], b[row]);
    return;
  }
  for (uint32_t row = 0; row < rows; ++row) {
    if (!to.is_null(row) && checked(a[row], b[row], &c[row])) to.add_failure(row, rows, wide_value);
  }
}

void fail_below_0(const FunctionCall& call, Failure failure) {
  const Computed& from = call.input(0);
  int64_t all = 0;
  for (uint32_t row = 0; row < call.rows; ++row) all |= call.to.integers[row] = from.integers[row];
  if (all >= 0) return;
  for (uint32_t row = 0; row < call.rows; ++row) {
    if (call.to.integers[row] < 0 && !call.to.is_null(row)) call.to.add_failure(row, call.rows, failure);
  }
}

void divide_by_zero(const FunctionCall& call, uint32_t row) {
  if (call.to.is_null(row)) return;
  if (call.settings.tells_zero) call.to.add_failure(row, call.rows, Failure{1});
  call.to.set_null(row, call.rows);
}

}  // namespace

void add_numbers(const FunctionCall& call) {
  calculate(
      call, false, [](auto a, auto b) { return a + b; },
      [](int64_t a, int64_t b, int64_t* to) { return __builtin_add_overflow(a, b, to); });
}

void subtract_numbers(const FunctionCall& call) {
  calculate(
      call, false, [](auto a, auto b) { return a - b; },
      [](int64_t a, int64_t b, int64_t* to) { return __builtin_sub_overflow(a, b, to); });
}

void multiply_numbers(const FunctionCall& call) {
  calculate(
      call, true, [](auto a, auto b) { return a * b; },
      [](int64_t a, int64_t b, int64_t* to) { return __builtin_mul_overflow(a, b, to); });
}

void divide_reals(const FunctionCall& call) {
  const Computed &left = call.input(0), &right = call.input(1);
  for (uint32_t row = 0; row < call.rows; ++row) {
    const double divisor = right.reals[row];
    call.to.reals[row] = divisor == 0 ? 0 : left.reals[row] / divisor;
    if (divisor == 0) divide_by_zero(call, row);
  }
  mark_infinite(call.rows, call.to);
}

void divide_integers(const FunctionCall& call) {
  const Computed &left = call.input(0), &right = call.input(1);
  for (uint32_t row = 0; row < call.rows; ++row) {
    const int64_t dividend = left.integers[row], divisor = right.integers[row];
    call.to.integers[row] = 0;
    if (divisor == 0) {
      divide_by_zero(call, row);
    } else if (divisor == -1 && dividend == INT64_MIN) {
      if (!call.to.is_null(row)) call.to.add_failure(row, call.rows, wide_value);
    } else {
      call.to.integers[row] = dividend / divisor;
    }
  }
}

void take_remainder(const FunctionCall& call) {
  const Computed &left = call.input(0), &right = call.input(1);
  for (uint32_t row = 0; row < call.rows; ++row) {
    const int64_t dividend = left.integers[row], divisor = right.integers[row];
    if (divisor == 0) divide_by_zero(call, row);
    // The least number has no quotient with -1.
    call.to.integers[row] = divisor == 0 || divisor == -1 ? 0 : dividend % divisor;
  }
}

void check_sign(const FunctionCall& call) { fail_below_0(call, unknown_value); }

void check_first_bit(const FunctionCall& call) { fail_below_0(call, wide_value); }

void make_real(const FunctionCall& call) {
  constexpr int exact_bits = 53;
  const Computed& from = call.input(0);
  const auto divisor = static_cast<double>(call.settings.divisor);
  for (uint32_t row = 0; row < call.rows; ++row)
    call.to.reals[row] = static_cast<double>(from.integers[row]) / divisor;
  // A whole number is rounded once; with a division behind it, twice.
  if (call.settings.divisor == 1 || bits_of(from.integers.data(), call.rows) <= exact_bits) return;
  for (uint32_t row = 0; row < call.rows; ++row) {
    if (bits_of(from.integers.data() + row, 1) > exact_bits && !call.to.is_null(row))
      call.to.add_failure(row, call.rows, unknown_value);
  }
}

}  // namespace hailstone
