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
  HAILSTONE_ASSIGN(const BlockReader::Pinned pinned, reader.block(position, block));
  pin(batch, pinned);
  HAILSTONE_TRY(pinned.block->gather_bytes(rows, pinned.dictionary.get(), scratch, to));
  for (size_t i = 0; i < rows.size(); ++i) HAILSTONE_TRY(reader.columns().check_group(block, rows[i], to[i]));
  return {};
}

void set_nulls(const Block& block, std::span<const uint16_t> rows, ColumnVector& vector) {
  if (!block.has_nulls()) return;
  vector.nulls.resize(rows.size());
  uint8_t any = 0;
  for (size_t i = 0; i < rows.size(); ++i) any |= vector.nulls[i] = block.null(rows[i]) ? 1 : 0;
  vector.any_nulls = any != 0;
}

/// A wide number as so many ordered bytes, 16 or 32.
ByteView ordered_bytes(WideInteger number, uint32_t width, char* to) {
  const auto high = static_cast<uint64_t>(number >> 64);
  char* at = to;
  // The bits above those of the number are its sign.
  for (uint32_t i = sizeof number; i < width; ++i) *at++ = static_cast<char>(number < 0 ? 0xff : 0);
  store_big_endian(at, high, sizeof high);
  store_big_endian(at + sizeof high, static_cast<uint64_t>(number), sizeof high);
  to[0] = static_cast<char>(static_cast<unsigned char>(to[0]) ^ 0x80U);
  return {to, width};
}

/// The scaled number of a packed decimal.
Value scaled_value(const DecimalFormat& format, const Value& value, Arena& scratch) {
  if (value.null) return {};
  uint64_t ordered = 0;
  if (format.is_integer()) {
    static_cast<void>(format.numbers({&value.integer, 1}, &ordered));
    return Value::of(ordered);
  }
  const WideInteger number = format.any_number(value.bytes);
  const uint32_t width = scaled_bytes(format.digits());
  if (!format.digits().is_short()) return Value::of(ordered_bytes(number, width, scratch.allocate(width)));
  return Value::of(order_signed(static_cast<int64_t>(number), sizeof(int64_t)));
}

/// Scaled numbers of packed decimals of more than 8 bytes. That of a NULL row may be shorter.
void scale_bytes(const DecimalFormat& format, std::span<const ByteView> packed, Batch& batch,
                 ColumnVector& vector) {
  const bool is_short = format.digits().is_short();
  if (is_short) {
    vector.integers.resize(packed.size());
  } else {
    vector.bytes.resize(packed.size());
  }
  for (size_t i = 0; i < packed.size(); ++i) {
    const bool is_null = packed[i].size() != format.width();
    const Value number = is_null ? Value{} : scaled_value(format, Value::of(packed[i]), batch.scratch);
    if (is_short) {
      vector.integers[i] = number.integer;
    } else {
      vector.bytes[i] = number.bytes;
    }
  }
}

Status read_scaled(const DecimalFormat& format, const BlockReader::Pinned& pinned,
                   std::span<const uint16_t> rows, Batch& batch, ColumnVector& vector) {
  const Block& block = *pinned.block;
  if (block.decimal() == format.digits() && !format.digits().is_short()) {
    std::array<WideInteger, batch_rows> numbers;
    block.gather_wide_numbers(rows, numbers.data());
    vector.bytes.resize(rows.size());
    const uint32_t width = scaled_bytes(format.digits());
    char* to = batch.scratch.allocate(rows.size() * width);
    for (size_t i = 0; i < rows.size(); ++i, to += width)
      vector.bytes[i] = ordered_bytes(numbers[i], width, to);
    return {};
  }
  if (block.decimal() == format.digits()) {
    vector.integers.resize(rows.size());
    block.gather_numbers(rows, vector.integers.data());
    return {};
  }
  if (format.is_integer()) {
    std::array<uint64_t, batch_rows> packed;
    block.gather_integers(rows, packed.data());
    vector.integers.resize(rows.size());
    static_cast<void>(format.numbers({packed.data(), rows.size()}, vector.integers.data()));
    return {};
  }
  std::array<ByteView, batch_rows> packed;
  HAILSTONE_TRY(block.gather_bytes(rows, pinned.dictionary.get(), batch.scratch, packed.data()));
  scale_bytes(format, {packed.data(), rows.size()}, batch, vector);
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

Result<Value> read_stored_value(BlockReader& reader, size_t position, bool integer, uint32_t block,
                                uint16_t row, Arena& scratch, Batch* batch) {
  HAILSTONE_ASSIGN(const BlockReader::Pinned pinned, reader.block(position, block));
  if (pinned.block->has_nulls() && pinned.block->null(row)) return Value{};
  if (integer) return Value::of(pinned.block->integer(row));
  pin(batch, pinned);
  ByteView value;
  HAILSTONE_TRY(pinned.block->gather_bytes({&row, 1}, pinned.dictionary.get(), scratch, &value));
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
    : layout_(std::move(layout)), columns_(std::move(columns)) {
  as_codes.resize(columns_.size(), false);
  in_table_.reserve(columns_.size());
  reads_.reserve(columns_.size());
  for (size_t i = 0; i < columns_.size(); ++i) {
    uint16_t& column = in_table_.emplace_back(columns_[i]);
    Read& read = reads_.emplace_back();
    if (is_scaled(column)) {
      column ^= scaled_bit;
      read.scaled = layout_->decimal(column);
      HAILSTONE_CHECK(read.scaled.has_value(), "column {} has no decimals to be scaled", column);
    }
    read.integer = read.scaled ? read.scaled->digits().is_short() : layout_->is_integer(column);
    read.as_codes = as_codes[i] && !read.scaled;
  }
  whole_row_ = columns_.size() == layout_->row_codec().column_count();
  for (size_t i = 0; i < columns_.size(); ++i) whole_row_ = whole_row_ && columns_[i] == i;
}

void Projection::append_value(const Read& read, const Value& value, size_t rows_before, Batch& batch,
                              ColumnVector& vector) {
  const Value& stored = read.scaled ? scaled_value(*read.scaled, value, batch.scratch) : value;
  if (read.integer) {
    vector.integers.push_back(stored.integer);
  } else {
    vector.bytes.push_back(stored.bytes);
  }
  if (value.null && !vector.any_nulls) {
    vector.any_nulls = true;
    vector.nulls.assign(rows_before, 0);
  }
  if (vector.any_nulls) vector.nulls.push_back(value.null ? 1 : 0);
}

Status Projection::read_stored(const Read& read, BlockReader& reader, size_t position, uint32_t block,
                               std::span<const uint16_t> rows, Batch& batch, ColumnVector& vector) {
  HAILSTONE_ASSIGN(const BlockReader::Pinned pinned, reader.block(position, block));
  set_nulls(*pinned.block, rows, vector);
  if (read.scaled) return read_scaled(*read.scaled, pinned, rows, batch, vector);
  if (read.integer) {
    vector.integers.resize(rows.size());
    pinned.block->gather_integers(rows, vector.integers.data());
    return {};
  }
  pin(&batch, pinned);
  if (read.as_codes && pinned.dictionary != nullptr) {
    vector.codes.resize(rows.size());
    pinned.block->gather_codes(rows, vector.codes.data());
    vector.dictionary = pinned.dictionary;
    return {};
  }
  vector.bytes.resize(rows.size());
  return pinned.block->gather_bytes(rows, pinned.dictionary.get(), batch.scratch, vector.bytes.data());
}

Status Projection::read(BlockReader& reader, uint32_t block, std::span<const uint16_t> rows,
                        Batch& batch) const {
  HAILSTONE_CHECK(rows.size() <= batch_rows, "{} rows of a block at once", rows.size());
  batch.clear();
  batch.columns.resize(columns_.size());
  std::vector<ByteView> groups;
  for (size_t i = 0; i < columns_.size(); ++i) {
    const Read& read = reads_[i];
    const Location location = reader.columns().location(in_table_[i]);
    ColumnVector& vector = batch.columns[i];
    if (read.scaled) {
      // Numbers that are asked for twice are decoded once.
      const auto same = static_cast<size_t>(std::ranges::find(columns_, columns_[i]) - columns_.begin());
      if (same < i) {
        vector = batch.columns[same];
        continue;
      }
    }
    switch (location.kind) {
      case Location::Kind::Stored:
        HAILSTONE_TRY(read_stored(read, reader, location.position, block, rows, batch, vector));
        break;
      case Location::Kind::Grouped:
        if (groups.empty()) {
          groups.resize(rows.size());
          HAILSTONE_TRY(read_groups(reader, block, rows, batch.scratch, &batch, groups.data()));
        }
        read_encoded_column(read, layout_->group_codec(), location.position, groups, batch, vector);
        break;
      case Location::Kind::Absent:
        fill_absent(read.integer, rows.size(), vector);
        break;
    }
  }
  batch.rows = static_cast<uint32_t>(rows.size());
  return {};
}

void Projection::read_encoded_column(const Read& read, const RowCodec& codec, size_t position,
                                     std::span<const ByteView> rows, Batch& batch, ColumnVector& vector) {
  vector.nulls.resize(rows.size());
  const auto read_integers = [&](uint64_t* to) {
    vector.any_nulls = codec.integers(rows, position, to, vector.nulls.data());
  };
  const auto read_bytes = [&](ByteView* to) {
    vector.any_nulls = codec.bytes(rows, position, to, vector.nulls.data());
  };
  if (read.scaled && read.scaled->is_integer()) {
    std::array<uint64_t, batch_rows> packed;
    read_integers(packed.data());
    vector.integers.resize(rows.size());
    static_cast<void>(read.scaled->numbers({packed.data(), rows.size()}, vector.integers.data()));
  } else if (read.scaled) {
    std::array<ByteView, batch_rows> packed;
    read_bytes(packed.data());
    scale_bytes(*read.scaled, {packed.data(), rows.size()}, batch, vector);
  } else if (read.integer) {
    vector.integers.resize(rows.size());
    read_integers(vector.integers.data());
  } else {
    vector.bytes.resize(rows.size());
    read_bytes(vector.bytes.data());
  }
}

void Projection::read(std::span<const ByteView> rows, std::span<const uint64_t> row_ids, Batch& batch) const {
  HAILSTONE_CHECK(rows.size() <= batch_rows, "{} rows of a delta at once", rows.size());
  batch.clear();
  batch.columns.resize(columns_.size());
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (in_table_[i] == StoredColumn::row_id) {
      batch.columns[i].integers.assign(row_ids.begin(), row_ids.end());
      continue;
    }
    read_encoded_column(reads_[i], layout_->row_codec(), in_table_[i], rows, batch, batch.columns[i]);
  }
  batch.rows = static_cast<uint32_t>(rows.size());
}

void Projection::append(ByteView row, uint64_t row_id, Batch& batch) const {
  batch.columns.resize(columns_.size());
  for (size_t i = 0; i < columns_.size(); ++i) {
    const bool hidden = in_table_[i] == StoredColumn::row_id;
    const Value value = hidden ? Value::of(row_id) : layout_->row_codec().value(row, in_table_[i]);
    append_value(reads_[i], value, batch.rows, batch, batch.columns[i]);
  }
  ++batch.rows;
}

void Projection::append(std::span<const Value> values, Batch& batch) const {
  batch.columns.resize(columns_.size());
  for (size_t i = 0; i < columns_.size(); ++i) {
    Value value = values[i];
    value.bytes = batch.scratch.copy(value.bytes);
    append_value(reads_[i], value, batch.rows, batch, batch.columns[i]);
  }
  ++batch.rows;
}

Status Projection::read_row(BlockReader& reader, uint32_t ordinal, Batch& batch,
                            std::span<Value> values) const {
  return read_one_row(reader, in_table_, ordinal, batch.scratch, &batch, values);
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
    const uint16_t column = in_table_[i];
    values[i] = column == StoredColumn::row_id ? Value::of(row_id) : codec.value(row, column);
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
