// Choices and conditions that are made of several calls: CASE, COALESCE, GREATEST, IN.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "expression/expression.h"

namespace hailstone {

/// Of two conditions; of a missing first one, the second.
Expression united(Function and_or_or, const std::optional<Expression>& first, const Expression& second);
Expression negated(const Expression& condition, bool is_negated = true);
/// The value without its failures: where it is asked for once more.
Expression silenced(const Expression& value);

/// CASE: each condition with its result, and the result when none of them is TRUE. It has the type of the
/// first result.
Expression chosen(std::span<const std::pair<Expression, Expression>> cases, const Expression& otherwise);
/// COALESCE.
Expression first_not_null(std::span<const Expression> values);
/// Greatest or Least, of values of one scale.
Expression extreme(Function called, std::span<const Expression> values);

/// `found`, or whether the value is equal to one of the list. It is asked for once.
std::optional<Expression> or_equal(std::optional<Expression> found, Expression value,
                                   std::span<const Expression> list, const FunctionSettings& settings = {});
/// Whether an exact number is among others. Constants that follow one another are one step where `is_narrow`:
/// the number has 64 bits. Nothing: the list is too long to be compared one by one, or a number has too many
/// digits.
std::optional<Expression> in_list(const Expression& value, std::span<const Expression> list, bool is_narrow);

}  // namespace hailstone
