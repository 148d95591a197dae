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
    call.to.integers[row] = of.integers[row] != 0 && !of.is_null(row) ? 1 : 0;
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
  with_values(
      to.kind,
      [&](auto* values, const auto* a, const auto* b) {
        for (uint32_t row = 0; row < call.rows; ++row) values[row] = is_true(row) ? a[row] : b[row];
      },
      to, first, second);
  to.any_nulls = first.any_nulls || second.any_nulls;
  for (uint32_t row = 0; to.any_nulls && row < call.rows; ++row)
    to.nulls[row] = (is_true(row) ? first : second).is_null(row) ? 1 : 0;
  to.any_failures = condition.any_failures || first.any_failures || second.any_failures;
  if (!to.any_failures) return;
  to.make_failures(call.rows, [&](uint32_t row) {
    return both_failures(condition.failure(row), (is_true(row) ? first : second).failure(row));
  });
}

void choose_first(const FunctionCall& call) {
  const Computed &first = call.input(0), &second = call.input(1);
  Computed& to = call.to;
  with_values(
      to.kind,
      [&](auto* values, const auto* a, const auto* b) {
        for (uint32_t row = 0; row < call.rows; ++row) values[row] = first.is_null(row) ? b[row] : a[row];
      },
      to, first, second);
  to.any_nulls = first.any_nulls && second.any_nulls;
  for (uint32_t row = 0; to.any_nulls && row < call.rows; ++row)
    to.nulls[row] = first.is_null(row) && second.is_null(row) ? 1 : 0;
  to.any_failures = first.any_failures || second.any_failures;
  if (!to.any_failures) return;
  to.make_failures(call.rows, [&](uint32_t row) {
    return first.is_null(row) ? both_failures(first.failure(row), second.failure(row)) : first.failure(row);
  });
}

void take_greatest(const FunctionCall& call) {
  with_values(
      call.to.kind,
      [&](auto* to, const auto* a, const auto* b) {
        for (uint32_t row = 0; row < call.rows; ++row) to[row] = b[row] < a[row] ? a[row] : b[row];
      },
      call.to, call.input(0), call.input(1));
}

void take_least(const FunctionCall& call) {
  with_values(
      call.to.kind,
      [&](auto* to, const auto* a, const auto* b) {
        for (uint32_t row = 0; row < call.rows; ++row) to[row] = b[row] < a[row] ? b[row] : a[row];
      },
      call.to, call.input(0), call.input(1));
}

void silence(const FunctionCall& call) {
  const Computed& from = call.input(0);
  with_values(
      call.to.kind, [&](auto* to, const auto* values) { std::copy_n(values, call.rows, to); }, call.to, from);
  call.to.copy_nulls(from.nulls.data(), from.any_nulls, call.rows);
  call.to.any_failures = false;
}

void replace_failures(const FunctionCall& call) {
  const Computed &first = call.input(0), &second = call.input(1);
  Computed& to = call.to;
  with_values(
      to.kind,
      [&](auto* values, const auto* a, const auto* b) {
        for (uint32_t row = 0; row < call.rows; ++row)
          values[row] = first.failure(row) == 0 ? a[row] : b[row];
      },
      to, first, second);
  to.any_failures = false;
  to.any_nulls = first.any_nulls || second.any_nulls;
  for (uint32_t row = 0; to.any_nulls && row < call.rows; ++row)
    to.nulls[row] = (first.failure(row) == 0 ? first : second).is_null(row) ? 1 : 0;
}

}  // namespace hailstone
