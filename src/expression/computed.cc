#include "expression/computed.h"

namespace hailstone {

void Computed::resize(size_t rows) {
  nulls.resize(rows);
  failures.resize(rows);
  switch (kind) {
    case ValueKind::Integer:
      return integers.resize(rows);
    case ValueKind::Real:
      return reals.resize(rows);
    case ValueKind::Text:
      return texts.resize(rows);
  }
}

void Computed::copy_nulls(const uint8_t* from, bool any, uint32_t rows) {
  any_nulls = any;
  if (any) std::copy_n(from, rows, nulls.begin());
}

void Computed::copy_failures(const Computed& from, uint32_t rows) {
  any_failures = from.any_failures;
  if (any_failures) std::copy_n(from.failures.begin(), rows, failures.begin());
}

void Computed::unite_nulls(const Computed& left, const Computed& right, uint32_t rows) {
  // One of them may be this one.
  const bool of_left = left.any_nulls, of_right = right.any_nulls;
  any_nulls = of_left || of_right;
  if (!any_nulls) return;
  for (uint32_t row = 0; row < rows; ++row)
    nulls[row] = static_cast<uint8_t>((of_left ? left.nulls[row] : 0) | (of_right ? right.nulls[row] : 0));
}

void Computed::unite_failures(const Computed& left, const Computed& right, uint32_t rows) {
  const bool of_left = left.any_failures, of_right = right.any_failures;
  if (!of_left && !of_right) {
    any_failures = false;
    return;
  }
  make_failures(rows, [&](uint32_t row) {
    return both_failures(of_left ? left.failures[row] : Failure{0},
                         of_right ? right.failures[row] : Failure{0});
  });
}

void Computed::unite_in_order(const Computed& first, const Computed& second, uint32_t rows) {
  // One of them may be this one: nulls are united last.
  if (!second.any_failures) {
    if (&first != this) copy_failures(first, rows);
  } else {
    const bool of_first = first.any_failures;
    make_failures(rows, [&](uint32_t row) {
      const Failure failure = of_first ? first.failures[row] : Failure{0};
      return first.is_null(row) ? failure : both_failures(failure, second.failures[row]);
    });
  }
  unite_nulls(first, second, rows);
}

void Computed::set_null(uint32_t row, uint32_t rows) {
  if (!any_nulls) {
    any_nulls = true;
    std::fill_n(nulls.begin(), rows, uint8_t{0});
  }
  nulls[row] = 1;
}

void Computed::add_failure(uint32_t row, uint32_t rows, Failure failure) {
  if (!any_failures) {
    any_failures = true;
    std::fill_n(failures.begin(), rows, Failure{0});
  }
  failures[row] = both_failures(failures[row], failure);
}

void Computed::copy_row(uint32_t row, const Computed& from, uint32_t from_row) {
  if (from.any_huge && !any_huge) {
    huge.resize(integers.size());
    std::ranges::transform(integers, huge.begin(), [](int64_t value) { return HugeInteger::of(value); });
    any_huge = true;
  }
  if (any_huge) huge[row] = from.number(from_row);
  with_values(
      kind, [&](auto* to, const auto* values) { to[row] = values[from_row]; }, *this, from);
  nulls[row] = from.is_null(from_row) ? 1 : 0;
  failures[row] = from.failure(from_row);
}

}  // namespace hailstone
