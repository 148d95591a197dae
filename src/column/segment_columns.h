// Where the columns of a table are in one segment: stored by column, within the row group, or absent (written
// before the column was added: it reads as NULL, as RowCodec has it). Immutable, thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "schema/row_codec.h"
#include "segment/segment.h"

namespace hailstone {

/// In place of the number of a column of decimals, where columns are read as vectors: the scaled numbers,
/// short ones as those of a Signed column of 8 bytes, others as OrderedBytes of scaled_bytes(). Not for scans
/// that lock.
constexpr uint16_t scaled_bit = 0x4000;
constexpr uint16_t scaled(uint16_t column) { return column | scaled_bit; }
constexpr bool is_scaled(uint16_t column) { return column < 2 * scaled_bit && (column & scaled_bit) != 0; }
static_assert(max_columns <= scaled_bit);
/// 16, or 32 where sums of many such numbers may not fit into 16.
constexpr uint32_t scaled_bytes(DecimalDigits digits) { return digits.precision <= 28 ? 16 : 32; }

/// What all segments of a table share: the definition, and the codec of the columns that form the row group.
class TableLayout {
 public:
  explicit TableLayout(TableDefinition definition);

  const TableDefinition& definition() const { return definition_; }
  const RowCodec& row_codec() const { return row_codec_; }      // all columns
  const RowCodec& group_codec() const { return group_codec_; }  // columns of the row group
  std::span<const uint16_t> group_columns() const { return group_columns_; }
  /// Position of a column in the row group; -1 when it is stored by itself: columnar, or part of an index.
  int group_position(uint16_t column) const { return group_positions_[column]; }
  /// Columns of a new segment, in order: columnar columns by number, then row group (if any), row id (without
  /// primary key). The begin column is added by who needs it.
  std::vector<StoredColumn> stored_columns() const;
  /// Whether the rows of a segment rise by the column's values, none of which is NULL.
  bool is_sorted_by(uint16_t column) const;
  /// Held as an ordered number; also for the row id.
  bool is_integer(uint16_t column) const {
    return column == StoredColumn::row_id || definition_.columns[column].is_integer();
  }
  /// Nothing for a column that has no decimals.
  std::optional<DecimalFormat> decimal(uint16_t column) const {
    const DecimalDigits digits = definition_.columns[column].decimal;
    return digits.any() ? std::optional(DecimalFormat(digits)) : std::nullopt;
  }

 private:
  TableDefinition definition_;
  RowCodec row_codec_;
  RowCodec group_codec_;
  std::vector<uint16_t> group_columns_;
  std::vector<int> group_positions_;
};

/// One segment seen through a table's layout.
class SegmentColumns {
 public:
  struct Location {
    enum class Kind : uint8_t { Stored, Grouped, Absent } kind = Kind::Absent;
    size_t position = 0;  // Stored: column of the segment; Grouped: position in the row group
  };
  SegmentColumns(std::shared_ptr<const Segment> segment, std::shared_ptr<const TableLayout> layout);

  const Segment& segment() const { return *segment_; }
  const TableLayout& layout() const { return *layout_; }
  /// Of a table column, or of the row id of a table without primary key.
  Location location(uint16_t column) const {
    if (column == StoredColumn::row_id) return {Location::Kind::Stored, static_cast<size_t>(row_id_)};
    return locations_[column];
  }
  /// ErrorCode::Corruption, naming file and row, unless `group` is a row of the layout's group_codec().
  Status check_group(uint32_t block, uint32_t row, ByteView group) const;
  /// Position of the row group, the row id and the begin column in the segment; -1: has none.
  int row_group() const { return row_group_; }
  int row_id() const { return row_id_; }
  int begin() const { return begin_; }

 private:
  std::shared_ptr<const Segment> segment_;
  std::shared_ptr<const TableLayout> layout_;
  std::vector<Location> locations_;
  int row_group_ = -1, row_id_ = -1, begin_ = -1;
};

}  // namespace hailstone
