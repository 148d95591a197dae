// Arithmetic of typed numbers: which calls compute what an SQL server computes of INT, DECIMAL and DOUBLE. An
// exact number is a whole number of its last digit, so numbers of another scale are multiplied first.
// The rules are MariaDB's: it keeps digits in words of nine, and nine words are the most.
//
// Where a function gives nothing, the result may have more digits than the server or a register takes.
#pragma once

#include <optional>

#include "expression/expression.h"

namespace hailstone {

constexpr unsigned most_int64_digits = 18;
constexpr unsigned digits_of_huge = 76;  // of a register
constexpr unsigned digits_of_word = 9;
constexpr unsigned most_words = 9;
constexpr unsigned most_decimals = 38;
constexpr unsigned words_of(unsigned digits) { return (digits + digits_of_word - 1) / digits_of_word; }

/// The server divides as far as to the end of a word: so many digits behind the point has a quotient of
/// numbers that have so many. `increment`: div_precision_increment.
constexpr unsigned quotient_decimals(unsigned dividend, unsigned divisor, unsigned increment) {
  const unsigned in_words = (words_of(dividend) + words_of(divisor)) * digits_of_word;
  const unsigned unused = in_words - dividend - divisor;
  return words_of(in_words + (increment > unused ? increment - unused : 0)) * digits_of_word;
}

/// Which results a number declared so has; others are failures.
constexpr NumberRange range_of(const ValueType& declared) {
  if (declared.kind != ValueType::Kind::Integer) return NumberRange::Any;
  return declared.is_unsigned ? NumberRange::Unsigned : NumberRange::Signed;
}

/// The number with so many digits behind the point. Nothing: it would lose some.
std::optional<Expression> with_scale(const Expression& number, unsigned scale);
/// The same, rounded half away from 0 where it has more.
std::optional<Expression> rounded_to(const Expression& number, unsigned scale);
Expression as_real(const Expression& number);

/// Add or Subtract. `declared`: what the result is.
std::optional<Expression> sum(Function called, const Expression& left, const Expression& right,
                              const ValueType& declared);
std::optional<Expression> product(const Expression& left, const Expression& right, const ValueType& declared);
/// Of DECIMAL. `tells_zero`: a division by zero is a failure, and not just NULL.
std::optional<Expression> quotient(const Expression& dividend, const Expression& divisor, unsigned increment,
                                   bool tells_zero);
/// IntegerDivide or Remainder.
std::optional<Expression> whole_division(Function called, const Expression& dividend,
                                         const Expression& divisor, const ValueType& declared,
                                         bool tells_zero);
Expression negative(const Expression& number, const ValueType& declared);
/// A whole number without so many of its digits, the last ones; Floor, Ceiling, Round or Truncate says how.
Expression without_digits(Function called, const Expression& number, unsigned digits);
/// Equal or another comparison of exact numbers.
std::optional<Expression> compared(Function called, const Expression& left, const Expression& right);

}  // namespace hailstone
