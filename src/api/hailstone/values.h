// Between the values of hailstone.h and those of the engine. Stateless, thread-safe.
#pragma once

#include <cstdint>
#include <span>

#include "api/hailstone/handles.h"
#include "table/scan.h"

namespace hailstone::capi {

/// Integers of any kind, with room for all of them.
using Integer = WideInteger;

/// Least and greatest number of an integer column.
struct IntegerLimits {
  Integer least, greatest;
};
IntegerLimits limits_of(const ColumnShape& column);
inline bool is_floating(const ColumnShape& column) {
  return column.stored == Type::Float || column.stored == Type::Double;
}
bool is_text(const ColumnShape& column);
inline bool is_signed(const ColumnShape& column) { return column.stored == Type::Signed; }

/// The ordered form of a number that lies within the column's limits.
uint64_t ordered_integer(const ColumnShape& column, Integer number);
Integer native_integer(const ColumnShape& column, uint64_t ordered);
/// All NaN become the one that sorts above everything else.
uint64_t ordered_real(const ColumnShape& column, double number);
double native_real(const ColumnShape& column, uint64_t ordered);

/// The value for a column; bytes point to where the given ones are. HS_INVALID, HS_OUT_OF_RANGE.
Returned<Value> to_engine(const ColumnShape& column, const hs_value& value);
/// The same for a row, where texts have their limits, with the table's name in the sentence.
Returned<Value> to_engine(const TableShape& table, size_t column, const hs_value& value);
/// HS_INVALID names the first text that is longer than its column takes.
Outcome check_lengths(const TableShape& table, std::span<const Value> values);
/// Values for all columns of a table.
Outcome to_engine(const TableShape& table, const hs_value* values, size_t count, std::vector<Value>& to);
/// Bytes point to where the value's are.
inline hs_value from_engine(const ColumnShape& column, const Value& value) {
  if (value.null) return hs_null();
  if (!column.integer) return hs_bytes(value.bytes.data(), value.bytes.size());
  if (is_signed(column)) return hs_int(native_signed(value.integer, column.width));
  if (is_floating(column)) return hs_double(native_real(column, value.integer));
  return hs_uint(value.integer);
}

/// A key, or the beginning of one, of an index of the table, encoded.
Outcome encode_key(const TableShape& table, size_t index, const hs_value* values, size_t count,
                   std::string& to);

/// The key of an index that an encoded row has, for a sentence: "(7, 'seven')".
std::string key_text(const TableShape& table, size_t index, ByteView row);

}  // namespace hailstone::capi
