#include "column/projection.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "base/check.h"

namespace hailstone {

namespace {

using Location = SegmentColumns::Location;

void pin(Batch& batch, const std::shared_ptr<const BlockCache::Entry>& entry) {
  // Point reads ask for the same few blocks again and again within one batch.
  constexpr size_t looked_at = 8;
  const size_t first = batch.pins.size() - std::min(batch.pins.size(), looked_at);
  for (size_t i = first; i < batch.pins.size(); ++i) {
    if (batch.pins[i] == entry) return;
  }
  batch.pins.push_back(entry);
}

void pin(Batch* batch, const BlockReader::Pinned& pinned) {
  if (batch == nullptr) return;
  pin(*batch, pinned.block);
  if (pinned.dictionary != nullptr) pin(*batch, pinned.dictionary);
}

/// The row groups of rows of a block, checked, so that RowCodec may read them. `batch` (may be null) pins
/// them.
Status read_groups(BlockReader& reader, uint32_t block, std::span<const uint16_t> rows, Arena& scratch,
                   Batch* batch, ByteView* to) {
  const auto position = static_cast<size_t>(reader.columns().row_group());
  HAILSTONE_ASSIGN(const BlockReader::Pinned* const pinned, reader.block(position, block));
  pin(batch, *pinned);
  HAILSTONE_TRY(pinned->block->gather_bytes(rows, pinned->dictionary.get(), scratch, to));
  for (size_t i = 0; i < rows.size(); ++i) HAILSTONE_TRY(reader.columns().check_group(block, rows[i], to[i]));
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

/// A column of encoded rows; `position`: among those of the codec.
void read_encoded_column(const RowCodec& codec, size_t position, bool integer, std::span<const ByteView> rows,
                         ColumnVector& vector) {
  vector.nulls.resize(rows.size());
  if (integer) {
    vector.integers.resize(rows.size());
    vector.any_nulls = codec.integers(rows, position, vector.integers.data(), vector.nulls.data());
  } else {
    vector.bytes.resize(rows.size());
    vector.any_nulls = codec.bytes(rows, position, vector.bytes.data(), vector.nulls.data());
  }
}

void set_nulls(const Block& block, std::span<const uint16_t> rows, ColumnVector& vector) {
  if (!block.has_nulls()) return;
  vector.nulls.resize(rows.size());
  uint8_t any = 0;
  for (size_t i = 0; i < rows.size(); ++i) any |= vector.nulls[i] = block.null(rows[i]) ? 1 : 0;
  vector.any_nulls = any != 0;
}

Status read_stored(BlockReader& reader, size_t position, bool integer, bool as_codes, uint32_t block,
                   std::span<const uint16_t> rows, Batch& batch, ColumnVector& vector) {
  HAILSTONE_ASSIGN(const BlockReader::Pinned* const pinned, reader.block(position, block));
  set_nulls(*pinned->block, rows, vector);
  if (integer) {
    vector.integers.resize(rows.size());
    pinned->block->gather_integers(rows, vector.integers.data());
    return {};
  }
  pin(&batch, *pinned);
  if (as_codes && pinned->dictionary != nullptr) {
    vector.codes.resize(rows.size());
    pinned->block->gather_codes(rows, vector.codes.data());
    vector.dictionary = pinned->dictionary;
    return {};
  }
  vector.bytes.resize(rows.size());
  return pinned->block->gather_bytes(rows, pinned->dictionary.get(), batch.scratch, vector.bytes.data());
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

Result<Value> read_stored_value(BlockReader& reader, size_t position, bool integer, uint32_t block,
                                uint16_t row, Arena& scratch, Batch* batch) {
  HAILSTONE_ASSIGN(const BlockReader::Pinned* const pinned, reader.block(position, block));
  if (pinned->block->has_nulls() && pinned->block->null(row)) return Value{};
  if (integer) return Value::of(pinned->block->integer(row));
  pin(batch, *pinned);
  ByteView value;
  HAILSTONE_TRY(pinned->block->gather_bytes({&row, 1}, pinned->dictionary.get(), scratch, &value));
  return Value::of(value);
}

/// Values of several columns of one row; the row group is read at most once.
Status read_one_row(BlockReader& reader, std::span<const uint16_t> columns, uint32_t ordinal, Arena& scratch,
                    Batch* batch, std::span<Value> values) {
  const uint32_t block = ordinal / block_rows;
  const auto row = static_cast<uint16_t>(ordinal % block_rows);
  const TableLayout& layout = reader.columns().layout();
  ByteView group;
  bool group_read = false;
  for (size_t i = 0; i < columns.size(); ++i) {
    const Location location = reader.columns().location(columns[i]);
    if (location.kind == Location::Kind::Grouped) {
      if (!std::exchange(group_read, true))
        HAILSTONE_TRY(read_groups(reader, block, {&row, 1}, scratch, batch, &group));
      values[i] = layout.group_codec().value(group, location.position);
    } else if (location.kind == Location::Kind::Absent) {
      values[i] = {};
    } else {
      HAILSTONE_ASSIGN(values[i], read_stored_value(reader, location.position, layout.is_integer(columns[i]),
                                                    block, row, scratch, batch));
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

Status Projection::read(BlockReader& reader, uint32_t block, std::span<const uint16_t> rows,
                        Batch& batch) const {
  HAILSTONE_CHECK(rows.size() <= batch_rows, "{} rows of a block at once", rows.size());
  batch.clear();
  batch.columns.resize(columns_.size());
  std::array<ByteView, batch_rows> groups;
  bool groups_read = false;
  for (size_t i = 0; i < columns_.size(); ++i) {
    const bool integer = layout_->is_integer(columns_[i]);
    const Location location = reader.columns().location(columns_[i]);
    ColumnVector& vector = batch.columns[i];
    switch (location.kind) {
      case Location::Kind::Stored:
        HAILSTONE_TRY(
            read_stored(reader, location.position, integer, as_codes_[i], block, rows, batch, vector));
        break;
      case Location::Kind::Grouped:
        if (!std::exchange(groups_read, true)) {
          HAILSTONE_TRY(read_groups(reader, block, rows, batch.scratch, &batch, groups.data()));
        }
        read_encoded_column(layout_->group_codec(), location.position, integer, {groups.data(), rows.size()},
                            vector);
        break;
      case Location::Kind::Absent:
        fill_absent(integer, rows.size(), vector);
        break;
    }
  }
  batch.rows = static_cast<uint32_t>(rows.size());
  return {};
}

void Projection::read(std::span<const ByteView> rows, std::span<const uint64_t> row_ids, Batch& batch) const {
  batch.clear();
  batch.columns.resize(columns_.size());
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i] == StoredColumn::row_id) {
      batch.columns[i].integers.assign(row_ids.begin(), row_ids.end());
      continue;
    }
    read_encoded_column(layout_->row_codec(), columns_[i], layout_->is_integer(columns_[i]), rows,
                        batch.columns[i]);
  }
  batch.rows = static_cast<uint32_t>(rows.size());
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

void Projection::append(std::span<const Value> values, Batch& batch) const {
  batch.columns.resize(columns_.size());
  for (size_t i = 0; i < columns_.size(); ++i) {
    Value value = values[i];
    value.bytes = batch.scratch.copy(value.bytes);
    append_value(batch.columns[i], layout_->is_integer(columns_[i]), batch.rows, value);
  }
  ++batch.rows;
}

Status Projection::read_row(BlockReader& reader, uint32_t ordinal, Batch& batch,
                            std::span<Value> values) const {
  return read_one_row(reader, columns_, ordinal, batch.scratch, &batch, values);
}

Status Projection::read_values(BlockReader& reader, std::span<const uint16_t> columns, uint32_t ordinal,
                               Arena& scratch, std::span<Value> values) {
  return read_one_row(reader, columns, ordinal, scratch, nullptr, values);
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

Status Projection::read_encoded(BlockReader& reader, uint32_t ordinal, std::string& row) {
  const TableLayout& layout = reader.columns().layout();
  const size_t columns = layout.definition().columns.size();
  Arena scratch;
  if (layout.group_columns().size() == columns && reader.columns().row_group() >= 0) {
    // The group is the row.
    const auto in_block = static_cast<uint16_t>(ordinal % block_rows);
    ByteView group;
    HAILSTONE_TRY(read_groups(reader, ordinal / block_rows, {&in_block, 1}, scratch, nullptr, &group));
    row.assign(group);
    return {};
  }
  constexpr size_t few_columns = 16;
  absl::InlinedVector<uint16_t, few_columns> all(columns);
  std::iota(all.begin(), all.end(), uint16_t{0});
  absl::InlinedVector<Value, few_columns> values(columns);
  HAILSTONE_TRY(read_values(reader, all, ordinal, scratch, {values.data(), values.size()}));
  return layout.row_codec().encode(values, row);
}

}  // namespace hailstone
