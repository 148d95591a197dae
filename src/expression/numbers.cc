#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

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

/// What is in no range is a failure.
void keep_in_range(const FunctionCall& call) {
  Computed& to = call.to;
  const NumberRange range = call.settings.range;
  if (range == NumberRange::Any || (range == NumberRange::Signed && !to.any_huge)) return;
  if (range == NumberRange::Unsigned && !to.any_huge) {
    int64_t all = 0;
    for (uint32_t row = 0; row < call.rows; ++row) all |= to.integers[row];
    if (all >= 0) return;
  }
  const auto is_in = [&](const HugeInteger& number) {
    if (range == NumberRange::Signed) return number.has_64_bits();
    return number.words[1] == 0 && number.words[2] == 0 && number.words[3] == 0;
  };
  const bool any_huge = to.any_huge;
  to.make_numbers(call.rows, [&](uint32_t row) {
    const HugeInteger number = any_huge ? to.huge[row] : HugeInteger::of(to.integers[row]);
    if (is_in(number)) return number;
    to.add_failure(row, call.rows, unknown_value);
    return HugeInteger();
  });
}

/// `plain`: for operands that fit, and numbers of 256 bits; `checked`: whether a result has left 64 bits.
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
  const auto by_huge_numbers = [&] {
    to.make_numbers(rows, [&](uint32_t row) { return plain(left.number(row), right.number(row)); });
    keep_in_range(call);
  };
  if (left.any_huge || right.any_huge) return by_huge_numbers();
  const int64_t* const a = left.integers.data();
  const int64_t* const b = right.integers.data();
  int64_t* const c = to.integers.data();
  const int left_bits = bits_of(a, rows), right_bits = bits_of(b, rows);
  const bool fits = multiplies ? left_bits + right_bits <= bits_of_product
                               : std::max(left_bits, right_bits) <= bits_of_addend;
  if (fits) {
    for (uint32_t row = 0; row < rows; ++row) c[row] = plain(a[row], b[row]);
    return keep_in_range(call);
  }
  for (uint32_t row = 0; row < rows; ++row) {
    if (checked(a[row], b[row], &c[row]) && !to.is_null(row)) return by_huge_numbers();
  }
  keep_in_range(call);
}

/// Rows that are divided by 0: none of a batch mostly, or very many.
class DivisionsByZero {
 public:
  explicit DivisionsByZero(uint32_t rows) : is_by_zero_(rows) {}

  void add(uint32_t row) {
    is_by_zero_[row] = 1;
    any_ = true;
  }

  /// Makes them NULL, of which the embedding application is to warn if it wants to be told.
  void mark(const FunctionCall& call) const {
    if (!any_) return;
    Computed& to = call.to;
    const uint32_t rows = call.rows;
    if (!std::exchange(to.any_nulls, true)) std::fill_n(to.nulls.begin(), rows, uint8_t{0});
    // Bytes may be any object's, but for these.
    const uint8_t* __restrict const is_by_zero = is_by_zero_.data();
    uint8_t* __restrict const nulls = to.nulls.data();
    if (call.settings.tells_zero) {
      Failure* __restrict const failures = to.failures.data();
      const auto failure = [=](uint32_t row) {
        return static_cast<Failure>(is_by_zero[row] & static_cast<uint8_t>(nulls[row] == 0));
      };
      if (to.any_failures) {
        for (uint32_t row = 0; row < rows; ++row) failures[row] = both_failures(failures[row], failure(row));
      } else {
        for (uint32_t row = 0; row < rows; ++row) failures[row] = failure(row);
        to.any_failures = true;
      }
    }
    for (uint32_t row = 0; row < rows; ++row) nulls[row] |= is_by_zero[row];
  }

 private:
  std::vector<uint8_t> is_by_zero_;
  bool any_ = false;
};

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
  DivisionsByZero by_zero(call.rows);
  for (uint32_t row = 0; row < call.rows; ++row) {
    const double divisor = right.reals[row];
    call.to.reals[row] = divisor == 0 ? 0 : left.reals[row] / divisor;
    if (divisor == 0) by_zero.add(row);
  }
  by_zero.mark(call);
  mark_infinite(call.rows, call.to);
}

namespace {

/// Where a product of so many digits, and a sign, has 64 bits.
constexpr unsigned most_narrow_digits = 18;
constexpr unsigned most_wide_digits = 37;

/// Of each row what `quotient` says of the dividend and another divisor than 0.
template <typename Quotient>
void divide_numbers(const FunctionCall& call, Quotient&& quotient) {
  const Computed &left = call.input(0), &right = call.input(1);
  DivisionsByZero by_zero(call.rows);
  for (uint32_t row = 0; row < call.rows; ++row) {
    if (right.integers[row] == 0 && !right.is_huge(row)) by_zero.add(row);
  }
  by_zero.mark(call);
  call.to.make_numbers(call.rows,
                       [&](uint32_t row) { return quotient(left.number(row), right.number(row)); });
  keep_in_range(call);
}

/// So of numbers of 64 bits.
template <typename Quotient>
void divide_narrow(const FunctionCall& call, Quotient&& quotient) {
  const int64_t* const dividends = call.input(0).integers.data();
  const int64_t* const divisors = call.input(1).integers.data();
  int64_t* const to = call.to.integers.data();
  DivisionsByZero by_zero(call.rows);
  bool any_long = false;
  for (uint32_t row = 0; row < call.rows; ++row) {
    if (divisors[row] == 0) {
      to[row] = 0;
      by_zero.add(row);
      continue;
    }
    const auto result = quotient(dividends[row], divisors[row]);
    to[row] = static_cast<int64_t>(result);
    any_long |= to[row] != result;
  }
  by_zero.mark(call);
  if (any_long) {
    call.to.make_numbers(
        call.rows, [&](uint32_t row) { return HugeInteger::of(quotient(dividends[row], divisors[row])); });
  }
  keep_in_range(call);
}

}  // namespace

void divide_decimals(const FunctionCall& call) {
  const Computed &left = call.input(0), &right = call.input(1);
  const unsigned digits = call.settings.digits;
  const HugeInteger factor = power_of_ten(digits);
  // A dividend of 64 bits has 19 digits.
  if (left.any_huge || right.any_huge || digits + most_narrow_digits + 1 > most_wide_digits) {
    return divide_numbers(
        call, [&](const HugeInteger& a, const HugeInteger& b) { return divide(a * factor, b).quotient; });
  }
  const WideInteger wide_factor = factor.wide();
  const auto bits_of_factor = static_cast<int>(std::bit_width(static_cast<uint64_t>(wide_factor)));
  // A product of 64 bits is divided in a third of the time.
  if (digits <= most_narrow_digits &&
      bits_of_factor + bits_of(left.integers.data(), call.rows) <= bits_of_product) {
    const auto narrow_factor = static_cast<int64_t>(wide_factor);
    return divide_narrow(call, [narrow_factor](int64_t a, int64_t b) { return a * narrow_factor / b; });
  }
  divide_narrow(call, [wide_factor](int64_t a, int64_t b) { return a * wide_factor / b; });
}

void divide_integers(const FunctionCall& call) {
  const Computed &left = call.input(0), &right = call.input(1);
  const auto is_least = [](int64_t number) { return number == INT64_MIN; };
  if (left.any_huge || right.any_huge ||
      std::any_of(left.integers.begin(), left.integers.begin() + call.rows, is_least)) {
    return divide_numbers(call,
                          [](const HugeInteger& a, const HugeInteger& b) { return divide(a, b).quotient; });
  }
  divide_narrow(call, [](int64_t dividend, int64_t divisor) { return dividend / divisor; });
}

void take_remainder(const FunctionCall& call) {
  const Computed &left = call.input(0), &right = call.input(1);
  if (left.any_huge || right.any_huge) {
    return divide_numbers(call,
                          [](const HugeInteger& a, const HugeInteger& b) { return divide(a, b).remainder; });
  }
  // The least number has no quotient with -1.
  divide_narrow(call,
                [](int64_t dividend, int64_t divisor) { return divisor == -1 ? 0 : dividend % divisor; });
}

void take_as_unsigned(const FunctionCall& call) {
  const int64_t* const from = call.input(0).integers.data();
  int64_t all = 0;
  for (uint32_t row = 0; row < call.rows; ++row) all |= call.to.integers[row] = from[row];
  if (all >= 0) return;
  call.to.make_numbers(call.rows, [&](uint32_t row) {
    return HugeInteger{{static_cast<uint64_t>(from[row]), 0, 0, 0}};
  });
}

void check_range(const FunctionCall& call) {
  const Computed& from = call.input(0);
  if (from.any_huge) {
    call.to.make_numbers(call.rows, [&](uint32_t row) { return from.number(row); });
  } else {
    std::copy_n(from.integers.begin(), call.rows, call.to.integers.begin());
  }
  keep_in_range(call);
}

namespace {

/// The nearest to number / 10^digits.
double real_of(const HugeInteger& number, unsigned digits) {
  constexpr unsigned most_digits = 78;  // of 256 bits
  std::array<char, most_digits + 8> text;
  char* const end = text.data() + text.size();
  char* at = fmt::format_to_n(end - 6, 6, "e-{}", digits).out;
  char* const last = at;
  at = end - 6;
  constexpr uint64_t group = 1'000'000'000;
  HugeInteger rest = number.is_negative() ? -number : number;
  do {
    const HugeQuotient parts = divide(rest, HugeInteger::of(group));
    auto low = static_cast<uint64_t>(parts.remainder.narrow());
    rest = parts.quotient;
    for (int i = 0; i < 9 && (low != 0 || rest != HugeInteger()); ++i, low /= 10)
      *--at = static_cast<char>('0' + low % 10);
  } while (rest != HugeInteger());
  if (at == end - 6) *--at = '0';
  double result = 0;
  std::from_chars(at, last, result);
  return number.is_negative() ? -result : result;
}

}  // namespace

void make_real(const FunctionCall& call) {
  constexpr int exact_bits = 53;
  constexpr unsigned most_exact_digits = 22;  // of a power of ten
  const Computed& from = call.input(0);
  const unsigned digits = call.settings.digits;
  double* const to = call.to.reals.data();
  // A whole number is rounded once; with a division behind it, twice, if it has too many bits.
  const bool is_exact =
      digits == 0 || (digits <= most_exact_digits && bits_of(from.integers.data(), call.rows) <= exact_bits);
  if (!from.any_huge && is_exact) {
    const double divisor = std::pow(10.0, digits);
    for (uint32_t row = 0; row < call.rows; ++row)
      to[row] = static_cast<double>(from.integers[row]) / divisor;
    return;
  }
  for (uint32_t row = 0; row < call.rows; ++row) to[row] = real_of(from.number(row), digits);
}

}  // namespace hailstone
