#include "column/projection.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "absl/container/inlined_vector.h"

namespace hailstone {

namespace {

using Location = SegmentColumns::Location;

/// A block of a bytes column with what its values point into.
struct BytesBlock {
  std::shared_ptr<const Block> block;
  std::shared_ptr<const Dictionary> dictionary;  // null where the block has no codes
};

void pin(Batch& batch, const std::shared_ptr<const BlockCache::Entry>& entry) {
  // Point reads ask for the same few blocks again and again within one batch.
  constexpr size_t looked_at = 8;
  const size_t first = batch.pins.size() - std::min(batch.pins.size(), looked_at);
  for (size_t i = first; i < batch.pins.size(); ++i) {
    if (batch.pins[i] == entry) return;
  }
  batch.pins.push_back(entry);
}

Result<BytesBlock> load_bytes(const Segment& segment, size_t position, uint32_t block, Batch& batch) {
  BytesBlock result;
  HAILSTONE_ASSIGN(result.block, segment.block(position, block));
  pin(batch, result.block);
  if (result.block->has_codes()) {
    HAILSTONE_ASSIGN(result.dictionary, segment.dictionary(position));
    pin(batch, result.dictionary);
  }
  return result;
}

/// The row groups of rows of a block, checked, so that RowCodec may read them.
Status read_groups(const SegmentColumns& segment, uint32_t block, std::span<const uint16_t> rows,
                   Batch& batch, ByteView* to) {
  const auto position = static_cast<size_t>(segment.row_group());
  HAILSTONE_ASSIGN(const BytesBlock bytes, load_bytes(segment.segment(), position, block, batch));
  HAILSTONE_TRY(bytes.block->gather_bytes(rows, bytes.dictionary.get(), batch.scratch, to));
  for (size_t i = 0; i < rows.size(); ++i) HAILSTONE_TRY(segment.check_group(block, rows[i], to[i]));
  return {};
}

void append_value(ColumnVector& vector, bool integer, size_t rows_before, const Value& value) {
  if (integer) {
    vector.integers.push_back(value.integer);
  } else {
    vector.bytes.push_back(value.bytes);
  }
  if (value.null && !vector.any_nulls) {
    vector.any_nulls = true;
    vector.nulls.assign(rows_before, 0);
  }
  if (vector.any_nulls) vector.nulls.push_back(value.null ? 1 : 0);
}

void set_nulls(const Block& block, std::span<const uint16_t> rows, ColumnVector& vector) {
  if (!block.has_nulls()) return;
  vector.nulls.resize(rows.size());
  uint8_t any = 0;
  for (size_t i = 0; i < rows.size(); ++i) any |= vector.nulls[i] = block.null(rows[i]) ? 1 : 0;
  vector.any_nulls = any != 0;
}

Status read_stored(const Segment& segment, size_t position, bool integer, bool as_codes, uint32_t block,
                   std::span<const uint16_t> rows, Batch& batch, ColumnVector& vector) {
  if (integer) {
    HAILSTONE_ASSIGN(const auto numbers, segment.block(position, block));
    vector.integers.resize(rows.size());
    numbers->gather_integers(rows, vector.integers.data());
    set_nulls(*numbers, rows, vector);
    return {};
  }
  HAILSTONE_ASSIGN(const BytesBlock bytes, load_bytes(segment, position, block, batch));
  if (as_codes && bytes.dictionary != nullptr) {
    vector.codes.resize(rows.size());
    bytes.block->gather_codes(rows, vector.codes.data());
    vector.dictionary = bytes.dictionary;
    set_nulls(*bytes.block, rows, vector);
    return {};
  }
  vector.bytes.resize(rows.size());
  HAILSTONE_TRY(bytes.block->gather_bytes(rows, bytes.dictionary.get(), batch.scratch, vector.bytes.data()));
  set_nulls(*bytes.block, rows, vector);
  return {};
}

/// The values of all rows of a column that the segment has not got.
void fill_absent(bool integer, size_t rows, ColumnVector& vector) {
  if (integer) {
    vector.integers.assign(rows, 0);
  } else {
    vector.bytes.assign(rows, {});
  }
  vector.any_nulls = true;
  vector.nulls.assign(rows, 1);
}

Result<Value> read_stored_value(const Segment& segment, size_t position, bool integer, uint32_t block,
                                uint16_t row, Batch& batch) {
  if (integer) {
    HAILSTONE_ASSIGN(const auto numbers, segment.block(position, block));
    return numbers->has_nulls() && numbers->null(row) ? Value{} : Value::of(numbers->integer(row));
  }
  HAILSTONE_ASSIGN(const BytesBlock bytes, load_bytes(segment, position, block, batch));
  if (bytes.block->has_nulls() && bytes.block->null(row)) return Value{};
  ByteView value;
  HAILSTONE_TRY(bytes.block->gather_bytes({&row, 1}, bytes.dictionary.get(), batch.scratch, &value));
  return Value::of(value);
}

/// Values of several columns of one row; the row group is read at most once.
Status read_values(const SegmentColumns& segment, std::span<const uint16_t> columns, uint32_t ordinal,
                   Batch& batch, std::span<Value> values) {
  const uint32_t block = ordinal / block_rows;
  const auto row = static_cast<uint16_t>(ordinal % block_rows);
  const TableLayout& layout = segment.layout();
  ByteView group;
  bool group_read = false;
  for (size_t i = 0; i < columns.size(); ++i) {
    const Location location = segment.location(columns[i]);
    if (location.kind == Location::Kind::Grouped) {
      if (!std::exchange(group_read, true))
        HAILSTONE_TRY(read_groups(segment, block, {&row, 1}, batch, &group));
      values[i] = layout.group_codec().value(group, location.position);
    } else if (location.kind == Location::Kind::Absent) {
      values[i] = {};
    } else {
      HAILSTONE_ASSIGN(values[i], read_stored_value(segment.segment(), location.position,
                                                    layout.is_integer(columns[i]), block, row, batch));
    }
  }
  return {};
}

}  // namespace

void Batch::clear() {
  rows = 0;
  for (auto& column : columns) {
    column.integers.clear();
    column.bytes.clear();
    column.codes.clear();
    column.dictionary = nullptr;
    column.any_nulls = false;
  }
  scratch.clear();
  pins.clear();
}

Projection::Projection(std::shared_ptr<const TableLayout> layout, std::vector<uint16_t> columns,
                       std::vector<bool> as_codes)
    : layout_(std::move(layout)), columns_(std::move(columns)), as_codes_(std::move(as_codes)) {
  as_codes_.resize(columns_.size(), false);
  whole_row_ = columns_.size() == layout_->row_codec().column_count();
  for (size_t i = 0; i < columns_.size(); ++i) whole_row_ = whole_row_ && columns_[i] == i;
}

Status Projection::read(const SegmentColumns& segment, uint32_t block, std::span<const uint16_t> rows,
                        Batch& batch) const {
  batch.clear();
  batch.columns.resize(columns_.size());
  std::array<ByteView, batch_rows> groups;
  bool groups_read = false;
  for (size_t i = 0; i < columns_.size(); ++i) {
    const bool integer = layout_->is_integer(columns_[i]);
    const Location location = segment.location(columns_[i]);
    ColumnVector& vector = batch.columns[i];
    switch (location.kind) {
      case Location::Kind::Stored:
        HAILSTONE_TRY(read_stored(segment.segment(), location.position, integer, as_codes_[i], block, rows,
                                  batch, vector));
        break;
      case Location::Kind::Grouped:
        if (!std::exchange(groups_read, true)) {
          HAILSTONE_TRY(read_groups(segment, block, rows, batch, groups.data()));
        }
        for (size_t row = 0; row < rows.size(); ++row) {
          append_value(vector, integer, row, layout_->group_codec().value(groups[row], location.position));
        }
        break;
      case Location::Kind::Absent:
        fill_absent(integer, rows.size(), vector);
        break;
    }
  }
  batch.rows = static_cast<uint32_t>(rows.size());
  return {};
}

void Projection::append(ByteView row, uint64_t row_id, Batch& batch) const {
  batch.columns.resize(columns_.size());
  for (size_t i = 0; i < columns_.size(); ++i) {
    const bool hidden = columns_[i] == StoredColumn::row_id;
    const Value value = hidden ? Value::of(row_id) : layout_->row_codec().value(row, columns_[i]);
    append_value(batch.columns[i], layout_->is_integer(columns_[i]), batch.rows, value);
  }
  ++batch.rows;
}

Status Projection::read_row(const SegmentColumns& segment, uint32_t ordinal, Batch& batch,
                            std::span<Value> values) const {
  return read_values(segment, columns_, ordinal, batch, values);
}

void Projection::decode(ByteView row, uint64_t row_id, std::span<Value> values) const {
  const RowCodec& codec = layout_->row_codec();
  if (whole_row_) {
    codec.decode(row, values);
    return;
  }
  for (size_t i = 0; i < columns_.size(); ++i) {
    values[i] = columns_[i] == StoredColumn::row_id ? Value::of(row_id) : codec.value(row, columns_[i]);
  }
}

Status Projection::read_encoded(const SegmentColumns& segment, uint32_t ordinal, Batch& scratch,
                                std::string& row) {
  const TableLayout& layout = segment.layout();
  const size_t columns = layout.definition().columns.size();
  if (layout.group_columns().size() == columns && segment.row_group() >= 0) {
    // The group is the row.
    const auto in_block = static_cast<uint16_t>(ordinal % block_rows);
    ByteView group;
    HAILSTONE_TRY(read_groups(segment, ordinal / block_rows, {&in_block, 1}, scratch, &group));
    row.assign(group);
    return {};
  }
  constexpr size_t few_columns = 16;
  absl::InlinedVector<uint16_t, few_columns> all(columns);
  std::iota(all.begin(), all.end(), uint16_t{0});
  absl::InlinedVector<Value, few_columns> values(columns);
  HAILSTONE_TRY(read_values(segment, all, ordinal, scratch, {values.data(), values.size()}));
  return layout.row_codec().encode(values, row);
}

}  // namespace hailstone
