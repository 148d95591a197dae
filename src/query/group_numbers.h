// What the keys, values and results of groups are as numbers.
#pragma once

#include "schema/table_definition.h"
#include "table/scan.h"

namespace hailstone {

/// Of a key that is NULL.
constexpr uint64_t null_hash = 0x9e3779b97f4a7c15;

inline bool is_real(const ScanColumn& column) {
  return column.integer && (column.type == Type::Float || column.type == Type::Double);
}

inline bool is_huge(const ScanColumn& column) {
  return !column.integer && column.width == sizeof(HugeInteger);
}

inline double native_real(const ScanColumn& column, uint64_t ordered) {
  return column.type == Type::Float ? static_cast<double>(native_float(ordered)) : native_double(ordered);
}

}  // namespace hailstone
