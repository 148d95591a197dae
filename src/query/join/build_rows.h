// Rows of the build side of a join on their way into its table.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/arena.h"
#include "base/page_allocator.h"
#include "query/join/key_column.h"
#include "query/record_partitions.h"

namespace hailstone {

/// What is kept of the rows: the columns of their keys, as numbers or texts, and those that are wanted of
/// them. Immutable.
struct BuildColumns {
  struct Key {
    uint16_t position = 0;  // among the columns of the rows that are added
    KeyColumn column;
  };
  struct Kept {
    uint16_t position = 0;
    ScanColumn type;
  };
  std::vector<Key> keys;
  std::vector<Kept> kept;
  /// Of a join by a range: the numbers of those kept columns that a table has its rows in order of, and that
  /// have the ends of intervals.
  std::optional<size_t> range = {}, range_end = {};

  /// Of rows as BuildRows::each_batch() gives them.
  BuildColumns of_read_rows() const;
  /// At most so many bytes do rows take in a table whose records are these.
  size_t table_bytes(const RecordRun::Extent& records) const;
  size_t table_bytes(const RecordRun& records) const { return table_bytes(records.extent()); }
};

/// Rows as one thread has met them, column by column. Belongs to one thread.
class BuildRows {
 public:
  /// The columns outlive the rows.
  explicit BuildRows(const BuildColumns& columns);
  BuildRows(BuildRows&&) = default;
  BuildRows& operator=(BuildRows&&) = default;

  /// Rows whose key has a NULL that is equal to nothing are left out.
  void add(const RowBatch& batch);
  void reserve(size_t rows);
  uint64_t rows() const { return rows_; }
  /// Bytes that they take in a table, at most.
  size_t table_memory() const;
  /// Calls take(const RowBatch&), which returns a Status, for some rows at a time, until all have been given,
  /// and drops them: their columns are those of the keys, numbers of eight bytes or texts, and behind them
  /// those that are kept.
  template <typename Take>
  Status move_out(Take&& take);

 private:
  friend class JoinTable;
  struct Column {
    PageVector<uint64_t> integers;
    PageVector<ByteView> bytes;
    PageVector<uint8_t> nulls;  // empty while there are none
  };
  ByteView keep(const ColumnVector& vector, size_t row);
  void keep_dictionary(const ColumnVector& vector);
  /// So many rows from `first` on.
  RowBatch slice(size_t first, size_t rows);
  void clear();

  const BuildColumns* columns_;
  uint64_t rows_ = 0;
  std::vector<Column> kept_;
  std::vector<PageVector<uint64_t>> numbers_;  // of the keys' columns of numbers
  std::vector<PageVector<ByteView>> texts_;    // of others
  std::unique_ptr<Arena> bytes_ = std::make_unique<Arena>();
  std::vector<std::shared_ptr<const Dictionary>> dictionaries_;
  size_t dictionary_values_ = 0, copied_texts_ = 0;
  // Of the batch at hand: numbers of each of the key's columns, whether rows have keys, those that do.
  std::vector<std::vector<uint64_t>> of_batch_;
  std::vector<uint8_t> valid_;
  std::vector<uint16_t> chosen_;
  // Of the rows that move out.
  std::vector<ColumnVector> vectors_;
  std::vector<const ColumnVector*> vector_places_;
};

template <typename Take>
Status BuildRows::move_out(Take&& take) {
  for (size_t first = 0; first < rows_; first += batch_rows)
    HAILSTONE_TRY(take(slice(first, std::min<size_t>(batch_rows, rows_ - first))));
  clear();
  return {};
}

}  // namespace hailstone
