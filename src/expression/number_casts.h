// Numbers of other types: without the last of their digits, as INT, as DECIMAL of fewer digits; and numbers
// of bits. As exact_numbers.h, for the plugin's items and for calls by name.
//
// Where a function gives nothing, the result may have more digits than a register takes.
#pragma once

#include <optional>

#include "expression/exact_numbers.h"

namespace hailstone {

/// An Integer that is no number of the range is a failure. `may_be_beyond`: whether it may be none of BIGINT.
Expression in_range(const Expression& number, NumberRange range, bool may_be_beyond = true);
/// A number as INT: what digits it has, and that they are sure.
Expression as_integer(const Expression& number, bool is_unsigned);

/// Round or Truncate of an exact number: `digits` are left behind the point, or zeros in front of it where
/// they are negative. It then has the scale `shown`.
std::optional<Expression> rounded_at(Function called, const Expression& number, int digits, unsigned shown);
/// Floor or Ceiling, without digits behind the point.
Expression whole_below_or_above(Function called, const Expression& number);
/// CAST AS SIGNED and UNSIGNED of a number; of an exact one its range is still to be looked at.
Expression cast_to_whole(const Expression& number, bool is_unsigned);
/// CAST AS DECIMAL of an exact number: a row with more digits fails.
std::optional<Expression> cast_to_digits(const Expression& number, unsigned digits, unsigned scale);

/// The bits of a number that functions of bits may have made: without the sign that number_of_bits() took.
const Expression& bits_of(const Expression& number);
/// The number of 64 bits, which is BIGINT UNSIGNED.
Expression number_of_bits(const Expression& bits);

}  // namespace hailstone
