// What the values of an expression are, in the words of SQL.
#pragma once

#include <cstdint>

#include "expression/sql_type.h"

namespace hailstone {

struct ValueType {
  enum class Kind : uint8_t {
    Integer,  // also truth: 0, 1 or NULL
    Decimal,  // a whole number of its last digit
    Double,
    Text,
    Moment,  // DATE, DATETIME and TIMESTAMP: moment.h
    Span,    // TIME: span.h
  };
  /// Whether a number has all of its `scale` digits behind the point, which may be zeros. A quotient has some
  /// more than its dividend has; zero may have fewer.
  enum class Scale : uint8_t { Sure, SureUnlessZero, Unsure };

  static constexpr unsigned most_whole_digits = 65;
  static constexpr unsigned digits_of_bigint = 20;

  Kind kind = Kind::Integer;
  bool is_unsigned = false;  // Integer
  // Integer and Decimal: digits behind the point, and in front of it, at most.
  unsigned scale = 0;
  unsigned whole_digits = digits_of_bigint;
  Scale scale_is = Scale::Sure;
  /// As a column of the values would be declared.
  SqlType sql = {};

  static ValueType decimal(unsigned scale, unsigned whole_digits = most_whole_digits,
                           Scale scale_is = Scale::Unsure) {
    return {.kind = Kind::Decimal, .scale = scale, .whole_digits = whole_digits, .scale_is = scale_is};
  }
  bool is_sure() const { return scale_is != Scale::Unsure; }
  bool is_exact() const { return kind == Kind::Integer || kind == Kind::Decimal; }
  bool operator==(const ValueType&) const = default;
};

}  // namespace hailstone
