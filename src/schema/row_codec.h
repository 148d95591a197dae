// A row as one byte string: what Table takes, what deltas, the log and row groups hold. Any column is found
// in constant time.
//
//   u16               number of columns n; a row written before a column was added has fewer, the missing
//                     ones read as NULL
//   ceil(n/8) bytes   bit i set: column i is NULL
//   per column, in order:
//     Integer columns                    their `width` bytes: the ordered value little-endian, cut to width
//     fixed OrderedBytes wider than 8    their `width` bytes
//     other Bytes columns                u32: the end of their bytes, from the start of the variable part
//   variable part
//
// A NULL column's slot is zero (variable: its end equals the previous end). Equal values in the same columns
// make equal rows. The codec takes NULL in any column, nullable or not: rows that stand for some columns only
// leave the others NULL.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "schema/table_definition.h"

namespace hailstone {

/// One column value. Bytes do not belong to it.
struct Value {
  bool null = true;
  uint64_t integer = 0;  // ordered value of an Integer column
  ByteView bytes;        // of a Bytes column

  /// Whether the same is stored for both, which is more than that they compare as equal.
  bool operator==(const Value&) const = default;

  static Value of(uint64_t integer) { return {false, integer, {}}; }
  static Value of(ByteView bytes) { return {false, 0, bytes}; }
};

// Between native numbers and ordered ones. Signed numbers of `width` bytes have their order in `width` bytes,
// so that they can be cut to it.
constexpr uint64_t bits_of_width(unsigned width) { return ~uint64_t{0} >> (64 - 8 * width); }
constexpr uint64_t sign_of_width(unsigned width) { return uint64_t{1} << (8 * width - 1); }
constexpr uint64_t order_signed(int64_t value, unsigned width) {
  return (static_cast<uint64_t>(value) ^ sign_of_width(width)) & bits_of_width(width);
}
constexpr int64_t native_signed(uint64_t ordered, unsigned width) {
  // The sign moves up to bit 63 and back.
  const unsigned unused = 64 - 8 * width;
  return static_cast<int64_t>((ordered ^ sign_of_width(width)) << unused) >> unused;
}
uint64_t order_float(float value);  // width 4; -0.0 sorts just below +0.0
float native_float(uint64_t ordered);
uint64_t order_double(double value);
double native_double(uint64_t ordered);

/// The layout of rows of some columns. Immutable, thread-safe.
class RowCodec {
 public:
  /// `columns`: those in the row, in order; ordinals of this codec are positions in it.
  explicit RowCodec(std::span<const Column> columns);

  size_t column_count() const { return slots_.size(); }
  /// Bytes of the row of `values` (one a column). ErrorCode::RowTooLarge; InvalidArgument when a value does
  /// not fit its column.
  Result<size_t> row_bytes(std::span<const Value> values) const;
  /// Replaces `to` by the row of `values`. Errors as row_bytes().
  Status encode(std::span<const Value> values, std::string& to) const;
  /// The value of a column; points into `row`, which must have passed check().
  Value value(ByteView row, size_t column) const;
  /// The values of the first columns, as many as `values` has room for; otherwise as value().
  void decode(ByteView row, std::span<Value> values) const;
  /// One column's values in several rows, which must have passed check(): of an Integer column, or of a Bytes
  /// column, which point into the rows. A NULL is 0 or no bytes, and its flag in `nulls`, one a row, is 1,
  /// all others 0. Whether there is any.
  bool integers(std::span<const ByteView> rows, size_t column, uint64_t* to, uint8_t* nulls) const;
  bool bytes(std::span<const ByteView> rows, size_t column, ByteView* to, uint8_t* nulls) const;
  /// ErrorCode::Corruption unless every column of `row` lies within it. Rows from files and from applications
  /// pass through here once.
  Status check(ByteView row) const;

 private:
  struct Slot {
    uint32_t offset;  // from the start of the row, for a full row
    uint32_t width;   // 4 for variable ones
    uint32_t limit;   // most bytes of a variable value
    bool integer;
    bool variable;
    int32_t previous_variable;  // column whose end is this one's start; -1: 0
  };
  /// Calls take(row number, row, what its slots are moved by) for each row that has the column.
  template <typename Take>
  bool each_present(std::span<const ByteView> rows, size_t column, uint8_t* nulls, const Take& take) const;
  /// Bytes of the NULL bits of a row with `columns` columns.
  static uint32_t bitmap_bytes(size_t columns) { return static_cast<uint32_t>((columns + 7) / 8); }
  /// How much earlier the slots of a row with `columns` columns lie than those of a full row.
  uint32_t shift(size_t columns) const { return bitmap_bytes(slots_.size()) - bitmap_bytes(columns); }
  /// Where the variable part of a row with `columns` columns starts.
  uint32_t variable_part(size_t columns) const {
    return (columns < slots_.size() ? slots_[columns].offset : variable_part_) - shift(columns);
  }
  std::vector<Slot> slots_;
  uint32_t variable_part_ = 0;
};

}  // namespace hailstone
