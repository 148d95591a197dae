#include "expression/conditions.h"

#include "expression/exact_numbers.h"

namespace hailstone {

namespace {

/// A constant with so many digits behind the point. Nothing: it has others than 0 behind these, or is beyond
/// 64 bits, so that no number of 64 bits is equal to it.
std::optional<int64_t> with_digits(int64_t constant, unsigned scale, unsigned wanted) {
  for (; scale > wanted; --scale) {
    if (constant % 10 != 0) return std::nullopt;
    constant /= 10;
  }
  for (; scale < wanted; ++scale) {
    if (__builtin_mul_overflow(constant, int64_t{10}, &constant)) return std::nullopt;
  }
  return constant;
}

/// Whether a value is among constants, which are in the order of the list.
Expression among(Expression value, std::vector<int64_t> constants, bool has_null) {
  constexpr size_t most_compared = 3;
  std::optional<Expression> result;
  if (constants.size() > most_compared || (constants.empty() && !has_null)) {
    result = Expression::call(Function::Among, {value}, {.of_numbers = is_among(std::move(constants))});
  } else {
    for (const int64_t constant : constants) {
      const Expression equal = Expression::call(Function::Equal, {value, Expression::constant(constant)});
      result = united(Function::Or, result, equal);
      value = silenced(value);
    }
  }
  if (has_null) {
    const Expression null = Expression::call(Function::Equal, {value, Expression::null(ValueKind::Integer)});
    result = united(Function::Or, result, null);
  }
  return *result;
}

}  // namespace

Expression united(Function and_or_or, const std::optional<Expression>& first, const Expression& second) {
  return first ? Expression::call(and_or_or, {*first, second}) : second;
}

Expression negated(const Expression& condition, bool is_negated) {
  return is_negated ? Expression::call(Function::Not, {condition}) : condition;
}

Expression silenced(const Expression& value) { return Expression::call(Function::Silenced, {value}); }

Expression chosen(std::span<const std::pair<Expression, Expression>> cases, const Expression& otherwise) {
  Expression result = otherwise;
  for (size_t i = cases.size(); i-- > 0;)
    result = Expression::call(Function::Choose, {cases[i].first, cases[i].second, result});
  return result;
}

Expression first_not_null(std::span<const Expression> values) {
  Expression result = values.back();
  for (size_t i = values.size() - 1; i-- > 0;)
    result = Expression::call(Function::Coalesce, {values[i], result});
  return result;
}

Expression extreme(Function called, std::span<const Expression> values) {
  Expression result = values.front();
  for (const Expression& value : values.subspan(1)) result = Expression::call(called, {result, value});
  return result;
}

std::optional<Expression> or_equal(std::optional<Expression> found, Expression value,
                                   std::span<const Expression> list, const FunctionSettings& settings) {
  for (const Expression& each : list) {
    found = united(Function::Or, found, Expression::call(Function::Equal, {value, each}, settings));
    value = silenced(value);
  }
  return found;
}

std::optional<Expression> in_list(const Expression& value, std::span<const Expression> list, bool is_narrow) {
  constexpr size_t most_compared_one_by_one = 16;
  if (!is_narrow && list.size() > most_compared_one_by_one) return std::nullopt;
  std::optional<Expression> result;
  Expression asked = value;
  const auto add = [&](const Expression& found) {
    result = united(Function::Or, result, found);
    // The server asks for the value once.
    asked = silenced(asked);
  };
  std::vector<int64_t> constants;
  bool any_constant = false, has_null = false;
  const auto add_constants = [&] {
    if (std::exchange(any_constant, false))
      add(among(asked, std::exchange(constants, {}), std::exchange(has_null, false)));
  };
  for (const Expression& other : list) {
    if (other.is_null()) {
      any_constant = has_null = true;
    } else if (other.is_constant() && is_narrow) {
      any_constant = true;
      const auto whole = other.whole_constant();
      const auto constant =
          whole ? with_digits(*whole, other.type().scale, value.type().scale) : std::nullopt;
      if (constant) constants.push_back(*constant);
    } else {
      add_constants();
      const auto equal = compared(Function::Equal, asked, other);
      if (!equal) return std::nullopt;
      add(*equal);
    }
  }
  add_constants();
  return result;
}

}  // namespace hailstone
