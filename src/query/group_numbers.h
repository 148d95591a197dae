// What the keys, values and results of groups are as numbers.
#pragma once

#include <algorithm>

#include "schema/collation.h"
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

/// Of two groups that are one, as far as each knows it; what nothing has been added to changes nothing.
inline uint64_t joined_bests(Aggregate::Kind kind, uint64_t one, uint64_t other) {
  switch (kind) {
    case Aggregate::Kind::Minimum:
      return std::min(one, other);
    case Aggregate::Kind::Maximum:
      return std::max(one, other);
    case Aggregate::Kind::BitAnd:
      return one & other;
    case Aggregate::Kind::BitOr:
      return one | other;
    case Aggregate::Kind::BitXor:
      return one ^ other;
    case Aggregate::Kind::Rows:
    case Aggregate::Kind::Values:
    case Aggregate::Kind::Sum:
    case Aggregate::Kind::Spread:
      break;
  }
  return one;
}

/// Whether a text is the Minimum, or Maximum, of itself and another one. Of equal ones it is the same one,
/// whatever thread met it first.
inline bool is_better_text(Aggregate::Kind kind, const Collation& collation, ByteView text, ByteView other) {
  int order = collation.compare(text, other);
  if (order == 0) order = text.compare(other);
  return kind == Aggregate::Kind::Minimum ? order < 0 : order > 0;
}

}  // namespace hailstone
