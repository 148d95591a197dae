// Whole numbers as texts, with a point between their digits.
#include <array>

#include "expression/kernels.h"
#include "expression/text_rows.h"

namespace hailstone {

namespace {

/// A sign, the digits of 256 bits, and a point; the number stands at the end.
class NumberText {
 public:
  /// `decimals`: how many digits stand behind the point.
  NumberText(const HugeInteger& number, unsigned decimals) {
    HugeInteger rest = number.is_negative() ? -number : number;
    while (!rest.has_64_bits()) {
      const HugeQuotient parts = divide(rest, power_of_ten(digits_at_once));
      add(static_cast<uint64_t>(parts.remainder.narrow()), digits_at_once, decimals);
      rest = parts.quotient;
    }
    finish(static_cast<uint64_t>(rest.narrow()), decimals, number.is_negative());
  }
  NumberText(int64_t number, unsigned decimals) {
    const auto bits = static_cast<uint64_t>(number);
    finish(number < 0 ? uint64_t{0} - bits : bits, decimals, number < 0);
  }
  ByteView view() const { return ByteView(text_.data(), text_.size()).substr(first_); }

 private:
  static constexpr unsigned digits_at_once = 18;
  static constexpr size_t most_bytes = 100;

  void finish(uint64_t rest, unsigned decimals, bool is_negative) {
    // At least one digit in front of the point.
    add(rest, decimals >= digits_ ? decimals + 1 - digits_ : 1, decimals);
    if (is_negative) text_[--first_] = '-';
  }
  /// In front of those that are there, at least `least` digits.
  void add(uint64_t number, unsigned least, unsigned decimals) {
    for (; least > 0 || number != 0; number /= 10) {
      if (digits_ == decimals && decimals != 0) text_[--first_] = '.';
      text_[--first_] = static_cast<char>('0' + number % 10);
      ++digits_;
      least -= least > 0 ? 1 : 0;
    }
  }

  std::array<char, most_bytes> text_;
  size_t first_ = most_bytes;
  unsigned digits_ = 0;
};

}  // namespace

void write_number(const FunctionCall& call) {
  const Computed& numbers = call.input(0);
  const unsigned decimals = call.settings.digits;
  each_row(call, [&](uint32_t row) {
    const NumberText text = numbers.is_huge(row) ? NumberText(numbers.huge[row], decimals)
                                                 : NumberText(numbers.integers[row], decimals);
    make_text(call, row, text.view());
  });
}

}  // namespace hailstone
