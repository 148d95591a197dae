// Numbers without their sign, and with fewer digits.
#include <cmath>
#include <cstdint>

#include "base/check.h"
#include "expression/kernels.h"

namespace hailstone {

namespace {

/// A power of ten of so many digits, and a rest of it, have 64 bits.
constexpr unsigned most_digits_of_rest = 18;

/// `of_integer` and `of_real` of each number and the power of ten that the settings say.
template <typename OfInteger, typename OfReal>
void reduce(const FunctionCall& call, OfInteger of_integer, OfReal of_real) {
  const Computed& from = call.input(0);
  HAILSTONE_CHECK(call.settings.digits <= most_digits_of_rest && !from.any_huge,
                  "{} digits are taken of numbers of 64 bits", call.settings.digits);
  const int64_t divisor = power_of_ten(call.settings.digits).narrow();
  if (from.kind == ValueKind::Real) {
    const auto times = static_cast<double>(divisor);
    for (uint32_t row = 0; row < call.rows; ++row) call.to.reals[row] = of_real(from.reals[row], times);
    return;
  }
  for (uint32_t row = 0; row < call.rows; ++row)
    call.to.integers[row] = of_integer(from.integers[row], divisor);
}

/// The same of numbers with more bits, or without more digits: what division leaves, and whether `is_away`
/// says that the number after it away from 0 is the result.
template <typename IsAway>
bool reduce_huge(const FunctionCall& call, IsAway is_away) {
  const Computed& from = call.input(0);
  if (from.kind != ValueKind::Integer || (!from.any_huge && call.settings.digits <= most_digits_of_rest))
    return false;
  const HugeInteger divisor = power_of_ten(call.settings.digits);
  call.to.make_numbers(call.rows, [&](uint32_t row) {
    const HugeQuotient parts = divide(from.number(row), divisor);
    if (!is_away(parts.remainder)) return parts.quotient;
    return parts.quotient + HugeInteger::of(parts.remainder.is_negative() ? -1 : 1);
  });
  return true;
}

/// The multiple of 1 / `times` that `to_whole` makes; what is beyond DOUBLE on the way has no digits to lose.
template <typename ToWhole>
double reduce_real(double number, double times, ToWhole to_whole) {
  const double multiplied = number * times;
  return std::isinf(multiplied) ? number : to_whole(multiplied) / times;
}

}  // namespace

void make_absolute(const FunctionCall& call) {
  const Computed& from = call.input(0);
  if (from.any_huge) {
    call.to.make_numbers(call.rows, [&](uint32_t row) {
      const HugeInteger number = from.number(row);
      return number.is_negative() ? -number : number;
    });
    return;
  }
  if (call.to.kind == ValueKind::Real) {
    for (uint32_t row = 0; row < call.rows; ++row) call.to.reals[row] = std::fabs(from.reals[row]);
    return;
  }
  for (uint32_t row = 0; row < call.rows; ++row) {
    const int64_t number = from.integers[row];
    // The least number has no counterpart.
    if (number == INT64_MIN && !call.to.is_null(row)) call.to.add_failure(row, call.rows, unknown_value);
    call.to.integers[row] = number < 0 && number != INT64_MIN ? -number : number;
  }
}

void find_sign(const FunctionCall& call) {
  const Computed& from = call.input(0);
  if (from.any_huge) {
    for (uint32_t row = 0; row < call.rows; ++row) {
      const HugeInteger number = from.number(row);
      call.to.integers[row] = number.is_negative() ? -1 : (number == HugeInteger() ? 0 : 1);
    }
    return;
  }
  const auto find = [&](const auto* numbers) {
    for (uint32_t row = 0; row < call.rows; ++row)
      call.to.integers[row] = numbers[row] > 0 ? 1 : (numbers[row] < 0 ? -1 : 0);
  };
  from.kind == ValueKind::Real ? find(from.reals.data()) : find(from.integers.data());
}

void round_down(const FunctionCall& call) {
  if (reduce_huge(call, [](const HugeInteger& rest) { return rest.is_negative(); })) return;
  reduce(
      call, [](int64_t number, int64_t divisor) { return number / divisor - (number % divisor < 0 ? 1 : 0); },
      [](double number, double) { return std::floor(number); });
}

void round_up(const FunctionCall& call) {
  const auto is_above = [](const HugeInteger& rest) { return !rest.is_negative() && rest != HugeInteger(); };
  if (reduce_huge(call, is_above)) return;
  reduce(
      call, [](int64_t number, int64_t divisor) { return number / divisor + (number % divisor > 0 ? 1 : 0); },
      [](double number, double) { return std::ceil(number); });
}

void round_to_nearest(const FunctionCall& call) {
  const Computed& from = call.input(0);
  if (from.any_huge || call.settings.digits > most_digits_of_rest) {
    const HugeInteger divisor = power_of_ten(call.settings.digits);
    return call.to.make_numbers(call.rows,
                                [&](uint32_t row) { return divide_rounded(from.number(row), divisor); });
  }
  reduce(
      call,
      [](int64_t number, int64_t divisor) {
        const int64_t rest = number % divisor, size = rest < 0 ? -rest : rest;
        // A half goes away from 0.
        const bool is_away = size != 0 && size >= divisor - size;
        return number / divisor + (is_away ? (rest < 0 ? -1 : 1) : 0);
      },
      [](double number, double times) {
        return reduce_real(number, times, [](double whole) { return std::rint(whole); });
      });
}

void round_to_zero(const FunctionCall& call) {
  if (reduce_huge(call, [](const HugeInteger&) { return false; })) return;
  reduce(
      call, [](int64_t number, int64_t divisor) { return number / divisor; },
      [](double number, double times) {
        return reduce_real(number, times, [](double whole) { return std::trunc(whole); });
      });
}

void check_digits(const FunctionCall& call) {
  const Computed& from = call.input(0);
  if (from.any_huge || call.settings.digits > most_digits_of_rest) {
    const HugeInteger most = power_of_ten(call.settings.digits);
    return call.to.make_numbers(call.rows, [&](uint32_t row) {
      const HugeInteger number = from.number(row);
      if (number < most && -number < most) return number;
      call.to.add_failure(row, call.rows, unknown_value);
      return HugeInteger();
    });
  }
  const int64_t bound = power_of_ten(call.settings.digits).narrow();
  for (uint32_t row = 0; row < call.rows; ++row) {
    const int64_t number = call.to.integers[row] = from.integers[row];
    if ((number >= bound || number <= -bound) && !call.to.is_null(row))
      call.to.add_failure(row, call.rows, unknown_value);
  }
}

void make_whole(const FunctionCall& call) {
  constexpr double bound = 0x1p62;
  const Computed& from = call.input(0);
  for (uint32_t row = 0; row < call.rows; ++row) {
    const double whole = std::rint(from.reals[row]);
    const bool fits = whole > -bound && whole < bound;
    call.to.integers[row] = fits ? static_cast<int64_t>(whole) : 0;
    if (!fits && !call.to.is_null(row)) call.to.add_failure(row, call.rows, unknown_value);
  }
}

}  // namespace hailstone
