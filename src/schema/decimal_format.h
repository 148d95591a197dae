// Decimals of a fixed number of digits, in two forms:
//   packed   bytes whose memcmp order is the order of the values. The digits before the point and those
//            behind it are cut into groups of nine, counted from the point; each is a big-endian number
//            of as many bytes as its digits need. The first bit of all is turned, and of a negative value
//            every bit.
//   scaled   the whole number that the value is in units of its last digit: 12.50 is 1250.
// Rows, keys and values have packed decimals, segments and queries scaled ones. Immutable, thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "base/wide_integer.h"

namespace hailstone {

/// Digits of a column's decimals; none: the column holds no decimals.
struct DecimalDigits {
  static constexpr unsigned most = 38;        // a WideInteger holds them
  static constexpr unsigned most_short = 18;  // an int64_t holds them
  uint8_t precision = 0;                      // in all
  uint8_t scale = 0;                          // behind the point

  bool any() const { return precision != 0; }
  bool valid() const { return precision <= most && scale <= precision; }
  /// Scaled numbers fit into 64 bits.
  bool is_short() const { return precision <= most_short; }
  bool operator==(const DecimalDigits&) const = default;
};

class DecimalFormat {
 public:
  /// `digits` are valid, and not none.
  explicit DecimalFormat(DecimalDigits digits);

  DecimalDigits digits() const { return digits_; }
  /// Bytes of a packed decimal; up to 8 they are an ordered number.
  unsigned width() const { return width_; }
  bool is_integer() const { return width_ <= sizeof(uint64_t); }
  /// The greatest number of the digits; the least is its opposite.
  WideInteger greatest() const { return greatest_; }

  /// Of `width` bytes. Nothing for bytes that are not what pack() makes of any number.
  std::optional<WideInteger> number(ByteView packed) const;
  /// The same; of such bytes any number.
  WideInteger any_number(ByteView packed) const;
  /// Writes `width` bytes. Of a number with too many digits they are any bytes.
  void pack(WideInteger number, char* to) const;
  /// The least number whose packed form is not below the bytes, which are of any size; one more than the
  /// greatest when there is none.
  WideInteger first_from(ByteView packed) const;
  /// The greatest number whose packed form is not above the bytes, which are of any size; one less than the
  /// least when there is none.
  WideInteger last_until(ByteView packed) const;

  // Packed decimals that are ordered numbers, and scaled ones as ordered signed numbers of 8 bytes.
  /// False: some of them are not what pack() makes of any number; their results are any.
  bool numbers(std::span<const uint64_t> packed, uint64_t* to) const;
  void pack(std::span<const uint64_t> numbers, uint64_t* to) const;
  WideInteger first_from(uint64_t packed) const;
  WideInteger last_until(uint64_t packed) const;

 private:
  struct Group {
    uint32_t base;  // 10^digits
    uint8_t bytes;
  };
  static constexpr size_t most_groups = 6;
  static constexpr size_t most_short_groups = 4;

  void add_group(unsigned digits);
  /// Clears `exact` for bytes that pack() does not make.
  WideInteger read(ByteView packed, bool& exact) const;

  DecimalDigits digits_;
  unsigned width_ = 0;
  WideInteger greatest_ = 1;
  std::array<Group, most_groups> groups_{};
  size_t group_count_ = 0;
};

}  // namespace hailstone
