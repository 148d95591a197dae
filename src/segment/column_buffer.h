// One column's values in memory, on their way into a segment. Not thread-safe; owns its bytes; charges the
// budget.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "base/bytes.h"
#include "base/memory_budget.h"
#include "base/page_allocator.h"
#include "schema/decimal_format.h"

namespace hailstone {

/// A column as a segment knows it. `id` is the table's column number, or one of those below.
struct StoredColumn {
  static constexpr uint16_t row_group =
      0xffff;  // rows of the columns that are not columnar, encoded by RowCodec
  static constexpr uint16_t row_id = 0xfffe;  // hidden clustered key
  static constexpr uint16_t begin = 0xfffd;   // begin timestamps, when rows do not share the segment's
  uint16_t id = 0;
  bool integer = false;
  uint8_t width = 8;  // bytes of an integer's native form, 1..8: values are < 2^(8*width)
  bool nullable = false;
  /// Values are packed decimals, and blocks hold them as scaled numbers.
  DecimalDigits decimal = {};
  bool operator==(const StoredColumn&) const = default;
};

class ColumnBuffer {
 public:
  ColumnBuffer(StoredColumn column, MemoryBudget& budget);

  void append_integer(uint64_t value) {
    if (integers_.size() == integers_.capacity()) grow_integers();
    integers_.push_back(value);
    append_not_null();
  }
  void append_bytes(ByteView value) {
    if (text_capacity() - text_size_ < value.size()) grow_text(value.size());
    if (ends_.size() == ends_.capacity()) grow_ends();
    // There may be no memory yet for an empty one.
    if (!value.empty()) std::memcpy(text_.get() + text_size_, value.data(), value.size());
    text_size_ += value.size();
    ends_.push_back(text_size_);
    append_not_null();
  }
  void append_null();

  const StoredColumn& column() const { return column_; }
  size_t rows() const { return rows_; }
  bool has_nulls() const { return !nulls_.empty(); }
  bool null(size_t row) const { return !nulls_.empty() && (nulls_[row / 64] >> (row % 64) & 1) != 0; }
  uint64_t integer(size_t row) const { return integers_[row]; }
  ByteView bytes(size_t row) const {
    const uint64_t start = row == 0 ? 0 : ends_[row - 1];
    return {text_.get() + start, static_cast<size_t>(ends_[row] - start)};
  }
  /// Bytes of memory that the values take here; integers take eight whatever their width.
  size_t bytes() const {
    return (integers_.size() + ends_.size() + nulls_.size()) * sizeof(uint64_t) + text_size_;
  }
  /// Bytes that `times` as much as there is now needs beyond what is taken.
  size_t missing_for(double times) const;
  /// Makes room at once for `times` as much as there is now.
  void reserve_times(double times);
  /// Forgets the values, keeps the memory for the next ones.
  void clear();

 private:
  void append_not_null() {
    if (!nulls_.empty() && nulls_.size() <= rows_ / 64) nulls_.resize(rows_ / 64 + 1);
    ++rows_;
  }
  void grow_integers();
  void grow_ends();
  void grow_text(size_t by);
  void set_text_capacity(size_t capacity);
  /// Bytes that are taken, for values to come as well.
  size_t memory() const;
  size_t text_capacity() const { return text_.get_deleter().bytes; }
  void charge();

  StoredColumn column_;
  size_t rows_ = 0;
  PageVector<uint64_t> integers_;
  PageVector<uint64_t> ends_;  // bytes columns: end of each value in text_
  PageBytes text_;
  size_t text_size_ = 0;
  std::vector<uint64_t> nulls_;  // bit set: NULL; empty while there is none
  Reservation memory_;
};

}  // namespace hailstone
