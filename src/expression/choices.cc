// Truths, and choices among values.
#include "expression/kernels.h"

namespace hailstone {

namespace {

/// AND, or, not `both`, OR.
void combine(const FunctionCall& call, bool both) {
  const Computed &left = call.input(0), &right = call.input(1);
  Computed& to = call.to;
  const int64_t* const a = left.integers.data();
  const int64_t* const b = right.integers.data();
  to.any_nulls = false;
  to.any_failures = left.any_failures || right.any_failures;
  if (to.any_failures) {
    to.make_failures(call.rows, [&](uint32_t row) {
      const bool decided = !left.is_null(row) && (a[row] != 0) != both;
      return decided ? left.failure(row) : both_failures(left.failure(row), right.failure(row));
    });
  }
  if (!left.any_nulls && !right.any_nulls) {
    for (uint32_t row = 0; row < call.rows; ++row) {
      const bool x = a[row] != 0, y = b[row] != 0;
      to.integers[row] = (both ? x && y : x || y) ? 1 : 0;
    }
    return;
  }
  to.any_nulls = true;
  for (uint32_t row = 0; row < call.rows; ++row) {
    const bool left_null = left.is_null(row), right_null = right.is_null(row);
    // What decides alone is FALSE for And, TRUE for Or.
    const bool decided = (!left_null && (a[row] != 0) != both) || (!right_null && (b[row] != 0) != both);
    to.integers[row] = decided != both ? 1 : 0;
    to.nulls[row] = !decided && (left_null || right_null) ? 1 : 0;
  }
}

/// Values and NULLs of each row: those of the first where `is_first`, else those of the second.
template <typename IsFirst>
void take_either(const FunctionCall& call, const Computed& first, const Computed& second,
                 const IsFirst& is_first) {
  Computed& to = call.to;
  uint8_t any_nulls = 0;
  for (uint32_t row = 0; (first.any_nulls || second.any_nulls) && row < call.rows; ++row)
    any_nulls |= to.nulls[row] = (is_first(row) ? first : second).is_null(row) ? 1 : 0;
  to.any_nulls = any_nulls != 0;
  if (first.any_huge || second.any_huge)
    return to.make_numbers(call.rows,
                           [&](uint32_t row) { return (is_first(row) ? first : second).number(row); });
  with_values(
      to.kind,
      [&](auto* values, const auto* a, const auto* b) {
        for (uint32_t row = 0; row < call.rows; ++row) values[row] = is_first(row) ? a[row] : b[row];
      },
      to, first, second);
}

}  // namespace

void find_both(const FunctionCall& call) { combine(call, true); }
void find_either(const FunctionCall& call) { combine(call, false); }

void negate_truth(const FunctionCall& call) {
  for (uint32_t row = 0; row < call.rows; ++row)
    call.to.integers[row] = call.input(0).integers[row] == 0 ? 1 : 0;
}

void find_true(const FunctionCall& call) {
  const Computed& of = call.input(0);
  call.to.any_nulls = false;
  call.to.copy_failures(of, call.rows);
  for (uint32_t row = 0; row < call.rows; ++row)
    call.to.integers[row] = (of.integers[row] != 0 || of.is_huge(row)) && !of.is_null(row) ? 1 : 0;
}

void find_null(const FunctionCall& call) {
  const Computed& of = call.input(0);
  call.to.any_nulls = false;
  call.to.copy_failures(of, call.rows);
  for (uint32_t row = 0; row < call.rows; ++row) call.to.integers[row] = of.is_null(row) ? 1 : 0;
}

void choose(const FunctionCall& call) {
  const Computed &condition = call.input(0), &first = call.input(1), &second = call.input(2);
  Computed& to = call.to;
  const auto is_true = [&](uint32_t row) { return condition.integers[row] != 0 && !condition.is_null(row); };
  take_either(call, first, second, is_true);
  to.any_failures = condition.any_failures || first.any_failures || second.any_failures;
  if (!to.any_failures) return;
  to.make_failures(call.rows, [&](uint32_t row) {
    return both_failures(condition.failure(row), (is_true(row) ? first : second).failure(row));
  });
}

void choose_first(const FunctionCall& call) {
  const Computed &first = call.input(0), &second = call.input(1);
  Computed& to = call.to;
  take_either(call, first, second, [&](uint32_t row) { return !first.is_null(row); });
  to.any_failures = first.any_failures || second.any_failures;
  if (!to.any_failures) return;
  to.make_failures(call.rows, [&](uint32_t row) {
    return first.is_null(row) ? both_failures(first.failure(row), second.failure(row)) : first.failure(row);
  });
}

namespace {

/// `is_first`: of two values, whether the result is the first.
template <typename IsFirst>
void take_extreme(const FunctionCall& call, const IsFirst& is_first) {
  const Computed &left = call.input(0), &right = call.input(1);
  if (left.any_huge || right.any_huge) {
    call.to.make_numbers(call.rows, [&](uint32_t row) {
      return is_first(left.number(row), right.number(row)) ? left.number(row) : right.number(row);
    });
    return;
  }
  with_values(
      call.to.kind,
      [&](auto* to, const auto* a, const auto* b) {
        for (uint32_t row = 0; row < call.rows; ++row) to[row] = is_first(a[row], b[row]) ? a[row] : b[row];
      },
      call.to, left, right);
}

}  // namespace

void take_greatest(const FunctionCall& call) {
  take_extreme(call, [](const auto& a, const auto& b) { return b < a; });
}

void take_least(const FunctionCall& call) {
  take_extreme(call, [](const auto& a, const auto& b) { return !(b < a); });
}

void silence(const FunctionCall& call) {
  const Computed& from = call.input(0);
  take_either(call, from, from, [](uint32_t) { return true; });
  call.to.any_failures = false;
}

void replace_failures(const FunctionCall& call) {
  const Computed &first = call.input(0), &second = call.input(1);
  Computed& to = call.to;
  take_either(call, first, second, [&](uint32_t row) { return first.failure(row) == 0; });
  to.any_failures = false;
}

}  // namespace hailstone
