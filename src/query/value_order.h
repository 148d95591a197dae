// The order of a column's values: numbers by value, with the two zeros of floating-point numbers as one,
// bytes as the column's collation has them.
#pragma once

#include <cstdint>
#include <string>

#include "schema/collation.h"
#include "table/scan.h"

namespace hailstone {

/// The ordered zeros of floating-point numbers, which are one value; of other numbers both are 0.
struct Zeros {
  explicit Zeros(const ScanColumn& column) {
    if (!column.integer) return;
    if (column.type == Type::Float) minus = order_float(-0.0F), plus = order_float(0.0F);
    if (column.type == Type::Double) minus = order_double(-0.0), plus = order_double(0.0);
  }
  uint64_t one(uint64_t ordered) const { return ordered == minus ? plus : ordered; }

  uint64_t minus = 0, plus = 0;
};

template <typename T>
int compare_numbers(const T& left, const T& right) {
  return left < right ? -1 : (right < left ? 1 : 0);
}

/// NULL comes first.
inline int compare_values(const ScanColumn& column, const Value& left, const Value& right) {
  if (left.null || right.null) return compare_numbers(!left.null, !right.null);
  if (column.integer) return compare_numbers(left.integer, right.integer);
  return column.collation->compare(left.bytes, right.bytes);
}

/// The first eight bytes of the value's weights: of two values, the one with the smaller head comes first,
/// and of equal heads nothing is known. `weights` is scratch space.
inline uint64_t head_of(const Collation& collation, ByteView value, std::string& weights) {
  if (!collation.bytes_decide_order()) {
    weights.clear();
    collation.append_weights(value, weights);
    value = weights;
  }
  uint64_t head = 0;
  for (size_t i = 0; i < sizeof head; ++i)
    head = head << 8 | (i < value.size() ? static_cast<unsigned char>(value[i]) : 0U);
  return head;
}

}  // namespace hailstone
