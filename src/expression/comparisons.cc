#include "expression/kernels.h"
#include "schema/padding.h"

namespace hailstone {

namespace {

/// Whether two texts are equal, by what their collation says that equal texts have in common.
template <typename Take>
void with_equality(const Collation& collation, const Take& take) {
  switch (collation.equality()) {
    case Collation::Equality::Bytes:
      return take([](ByteView a, ByteView b) { return a == b; });
    case Collation::Equality::BytesBeforeSpaces:
      return take(
          [](ByteView a, ByteView b) { return without_trailing_spaces(a) == without_trailing_spaces(b); });
    case Collation::Equality::Weights:
      return take([&collation](ByteView a, ByteView b) { return collation.compare(a, b) == 0; });
  }
}

/// `compare` of two numbers, or of a text's place beside another one and 0.
template <typename Compare>
void compare_values(const FunctionCall& call, Compare compare) {
  const Computed &left = call.input(0), &right = call.input(1);
  int64_t* const to = call.to.integers.data();
  const auto all = [&](const auto* a, const auto* b) {
    for (uint32_t row = 0; row < call.rows; ++row) to[row] = compare(a[row], b[row]) ? 1 : 0;
  };
  if (left.any_huge || right.any_huge) {
    for (uint32_t row = 0; row < call.rows; ++row)
      to[row] = compare(left.number(row), right.number(row)) ? 1 : 0;
    return;
  }
  if (left.kind == ValueKind::Integer) return all(left.integers.data(), right.integers.data());
  if (left.kind == ValueKind::Real) return all(left.reals.data(), right.reals.data());
  const Collation& collation = *call.settings.collation;
  for (uint32_t row = 0; row < call.rows; ++row)
    to[row] = compare(collation.compare(left.texts[row], right.texts[row]), 0) ? 1 : 0;
}

void compare_equality(const FunctionCall& call, bool wanted) {
  if (call.input(0).kind != ValueKind::Text)
    return compare_values(call, [wanted](auto a, auto b) { return (a == b) == wanted; });
  const ByteView* const left = call.input(0).texts.data();
  const ByteView* const right = call.input(1).texts.data();
  with_equality(*call.settings.collation, [&](const auto& are_equal) {
    for (uint32_t row = 0; row < call.rows; ++row)
      call.to.integers[row] = are_equal(left[row], right[row]) == wanted ? 1 : 0;
  });
}

}  // namespace

void find_equal(const FunctionCall& call) { compare_equality(call, true); }

void find_different(const FunctionCall& call) { compare_equality(call, false); }

void find_less(const FunctionCall& call) {
  compare_values(call, [](auto a, auto b) { return a < b; });
}

void find_less_or_equal(const FunctionCall& call) {
  compare_values(call, [](auto a, auto b) { return a <= b; });
}

void find_greater(const FunctionCall& call) {
  compare_values(call, [](auto a, auto b) { return a > b; });
}

void find_greater_or_equal(const FunctionCall& call) {
  compare_values(call, [](auto a, auto b) { return a >= b; });
}

void find_same_or_null(const FunctionCall& call) {
  compare_equality(call, true);
  const Computed &left = call.input(0), &right = call.input(1);
  call.to.unite_failures(left, right, call.rows);
  call.to.any_nulls = false;
  if (!left.any_nulls && !right.any_nulls) return;
  for (uint32_t row = 0; row < call.rows; ++row) {
    const bool left_null = left.is_null(row), right_null = right.is_null(row);
    if (left_null || right_null) call.to.integers[row] = left_null && right_null ? 1 : 0;
  }
}

void find_between(const FunctionCall& call) {
  const Computed &value = call.input(0), &low = call.input(1), &high = call.input(2);
  Computed& to = call.to;
  const uint32_t rows = call.rows;
  const auto look_at = [&](const auto& is_below_low, const auto& is_above_high) {
    for (uint32_t row = 0; row < rows; ++row)
      to.integers[row] = !is_below_low(row) && !is_above_high(row) ? 1 : 0;
    to.any_nulls = value.any_nulls || low.any_nulls || high.any_nulls;
    if (!to.any_nulls) return;
    for (uint32_t row = 0; row < rows; ++row) {
      // One bound may decide alone.
      const bool out = (!low.is_null(row) && is_below_low(row)) || (!high.is_null(row) && is_above_high(row));
      const bool unsure = value.is_null(row) || low.is_null(row) || high.is_null(row);
      to.nulls[row] = value.is_null(row) || (unsure && !out) ? 1 : 0;
      if (unsure) to.integers[row] = 0;
    }
  };
  const auto look = [&](const auto& is_less, const auto* values, const auto* lows, const auto* highs) {
    look_at([&](uint32_t row) { return is_less(values[row], lows[row]); },
            [&](uint32_t row) { return is_less(highs[row], values[row]); });
  };
  const auto is_less = [](auto a, auto b) { return a < b; };
  switch (value.kind) {
    case ValueKind::Integer:
      if (value.any_huge || low.any_huge || high.any_huge) {
        look_at([&](uint32_t row) { return value.number(row) < low.number(row); },
                [&](uint32_t row) { return high.number(row) < value.number(row); });
        break;
      }
      look(is_less, value.integers.data(), low.integers.data(), high.integers.data());
      break;
    case ValueKind::Real:
      // What is not a number is between no others.
      look([](double a, double b) { return !(a >= b); }, value.reals.data(), low.reals.data(),
           high.reals.data());
      break;
    case ValueKind::Text:
      look([&](ByteView a, ByteView b) { return call.settings.collation->compare(a, b) < 0; },
           value.texts.data(), low.texts.data(), high.texts.data());
      break;
  }
  to.any_failures = value.any_failures || low.any_failures || high.any_failures;
  if (!to.any_failures) return;
  to.make_failures(rows, [&](uint32_t row) {
    if (value.is_null(row)) return value.failure(row);
    return both_failures(value.failure(row), both_failures(low.failure(row), high.failure(row)));
  });
}

void test_texts(const FunctionCall& call) {
  const Computed& of = call.input(0);
  ByteView last;
  bool passed = false, is_known = false;  // of it
  for (uint32_t row = 0; row < call.rows; ++row) {
    call.to.integers[row] = 0;
    if (call.to.is_null(row)) continue;
    const ByteView text = of.texts[row];
    // Functions may have one text for rows that follow each other.
    if (!is_known || text.data() != last.data() || text.size() != last.size()) {
      passed = call.settings.test->matches(text);
      last = text;
      is_known = true;
    }
    call.to.integers[row] = passed ? 1 : 0;
  }
}

}  // namespace hailstone
