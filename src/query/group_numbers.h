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

inline HugeInteger huge_number(ByteView bytes) {
  HugeInteger number;
  const char* from = bytes.data();
  for (size_t i = number.words.size(); i-- > 0; from += sizeof(uint64_t))
    number.words[i] = load_big_endian(from, sizeof(uint64_t));
  number.words.back() ^= sign_of_width(sizeof(uint64_t));
  return number;
}

inline double native_real(const ScanColumn& column, uint64_t ordered) {
  return column.type == Type::Float ? static_cast<double>(native_float(ordered)) : native_double(ordered);
}

inline WideInteger wide_number(ByteView bytes) {
  const auto* const from = reinterpret_cast<const unsigned char*>(bytes.data());
  const auto high =
      static_cast<int64_t>(load_big_endian(from, sizeof(uint64_t)) ^ sign_of_width(sizeof(uint64_t)));
  return (static_cast<WideInteger>(high) << 64) +
         static_cast<WideInteger>(load_big_endian(from + sizeof(uint64_t), sizeof(uint64_t)));
}

}  // namespace hailstone
