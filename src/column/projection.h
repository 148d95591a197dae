// Reads chosen columns of chosen rows out of segments and encoded rows, into vectors.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/arena.h"
#include "base/status.h"
#include "base/uncleared_vector.h"
#include "column/block_reader.h"
#include "schema/row_codec.h"

namespace hailstone {

constexpr uint32_t batch_rows = 1024;

/// Values of one column for the rows of a batch. Exactly one of `integers`, `bytes` and `codes` is in use:
/// `codes` where `dictionary` is set (only when they were asked for), else as the column's kind says.
struct ColumnVector {
  UnclearedVector<uint64_t> integers;
  std::vector<ByteView> bytes;
  UnclearedVector<uint32_t> codes;  // of the values in `dictionary`; a NULL row's is any code
  std::shared_ptr<const Dictionary> dictionary;
  std::vector<uint8_t> nulls;  // 1: NULL; one a row
  bool any_nulls = false;      // false: `nulls` need not be looked at (and may be stale)

  bool is_null(size_t row) const { return any_nulls && nulls[row] != 0; }
  Value value(size_t row) const {
    if (is_null(row)) return {};
    if (dictionary != nullptr) return Value::of(dictionary->value(codes[row]));
    return integers.empty() ? Value::of(bytes[row]) : Value::of(integers[row]);
  }
};

/// Up to batch_rows rows. Bytes stay valid until the batch is filled again or destroyed. Not thread-safe.
struct Batch {
  uint32_t rows = 0;
  std::vector<ColumnVector> columns;  // in the order asked for
  ColumnVector places;                // of the rows, with Scans::add_places() only
  uint64_t order = 0;                 // of Scans::each_batch(): rows of a smaller one come before
  Arena scratch;
  std::vector<std::shared_ptr<const BlockCache::Entry>> pins;

  void clear();
};

/// The columns to read, by table column number (and StoredColumn::row_id; scaled() where vectors are filled:
/// the values of single rows are as the table has them). Immutable, thread-safe.
class Projection {
 public:
  /// `as_codes`, of as many entries as `columns` or none: for these columns read() gives codes and their
  /// dictionary where the block is stored so.
  Projection(std::shared_ptr<const TableLayout> layout, std::vector<uint16_t> columns,
             std::vector<bool> as_codes = {});
  std::span<const uint16_t> columns() const { return columns_; }

  /// Fills `batch` with `rows` (ascending row numbers within the block, at most batch_rows).
  Status read(BlockReader& reader, uint32_t block, std::span<const uint16_t> rows, Batch& batch) const;
  /// The same of encoded rows (from deltas, kept alive by the caller), with their row ids for the hidden key.
  void read(std::span<const ByteView> rows, std::span<const uint64_t> row_ids, Batch& batch) const;
  /// Appends one encoded row to `batch`.
  void append(ByteView row, uint64_t row_id, Batch& batch) const;
  /// The same of values, one a column; their bytes are copied.
  void append(std::span<const Value> values, Batch& batch) const;
  /// One row of a segment; `values` gets one value a column. Bytes live as long as batch is not cleared.
  Status read_row(BlockReader& reader, uint32_t ordinal, Batch& batch, std::span<Value> values) const;
  /// The same of any columns, with bytes that live until the reader is asked for another block or `scratch`
  /// is cleared.
  static Status read_values(BlockReader& reader, std::span<const uint16_t> columns, uint32_t ordinal,
                            Arena& scratch, std::span<Value> values);
  /// The same of an encoded row; `row_id` for the hidden key. Bytes point into the row.
  void decode(ByteView row, uint64_t row_id, std::span<Value> values) const;
  /// The whole row, encoded by the layout's row_codec().
  static Status read_encoded(BlockReader& reader, uint32_t ordinal, std::string& row);

 private:
  /// How one column is read.
  struct Read {
    bool integer = false, as_codes = false;
    std::optional<DecimalFormat> scaled = {};
  };
  static Status read_stored(const Read& read, BlockReader& reader, size_t position, uint32_t block,
                            std::span<const uint16_t> rows, Batch& batch, ColumnVector& vector);
  /// A column of encoded rows; `position`: among those of the codec.
  static void read_encoded_column(const Read& read, const RowCodec& codec, size_t position,
                                  std::span<const ByteView> rows, Batch& batch, ColumnVector& vector);
  static void append_value(const Read& read, const Value& value, size_t rows_before, Batch& batch,
                           ColumnVector& vector);
  std::shared_ptr<const TableLayout> layout_;
  std::vector<uint16_t> columns_;
  std::vector<uint16_t> in_table_;  // the same, not as scaled numbers
  std::vector<Read> reads_;
  bool whole_row_;  // all columns of the table, in order
};

}  // namespace hailstone
