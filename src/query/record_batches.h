// Rows that were put aside as records, batch by batch. Belongs to one thread.
#pragma once

#include <span>
#include <vector>

#include "query/record_partitions.h"
#include "query/row_records.h"

namespace hailstone {

/// What the records of rows are, and where their columns stand among others. Immutable, thread-safe.
class RecordColumns {
 public:
  struct Column {
    uint16_t position = 0;
    ScanColumn type;
  };
  /// `width`: how many columns the batches have.
  RecordColumns(const std::vector<Column>& columns, size_t width);

  const RowRecords& records() const { return records_; }
  std::span<const uint16_t> positions() const { return positions_; }
  size_t width() const { return width_; }

 private:
  RowRecords records_;
  std::vector<uint16_t> positions_;
  size_t width_;
};

/// A piece of a run of records.
struct RecordPiece {
  const RecordRun* run = nullptr;
  size_t number = 0;
  RecordRun::Extent extent;
  static void add_all(const RecordRun& run, std::vector<RecordPiece>& to);
};

class RecordBatches {
 public:
  /// The columns outlive it.
  explicit RecordBatches(const RecordColumns& columns)
      : columns_(columns), vectors_(columns.positions().size()), places_(columns.width(), nullptr) {}

  /// Goes to the piece's first row.
  Status begin(const RecordPiece& piece);
  /// Its next rows, valid until the next call; null: at the end.
  const RowBatch* next();
  /// The records of these rows.
  ByteView bytes() const { return bytes_; }
  std::span<const char* const> records() const { return records_; }

 private:
  const RecordColumns& columns_;
  RecordRun::Reader reader_;
  ByteView piece_, bytes_;  // what is left of the piece; of the rows at hand
  std::vector<const char*> records_;
  std::vector<ColumnVector> vectors_;
  std::vector<const ColumnVector*> places_;
  RowBatch rows_;
};

}  // namespace hailstone
