// Rows that are put aside until all others have been taken, and then come in the order that they have in
// their scans: of threads that met them in any order. What memory has no room for goes to spill files.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "query/record_sort.h"
#include "query/row_batches.h"
#include "query/row_records.h"

namespace hailstone {

class AsideRows {
 public:
  /// A column of the batches that rows come in, by its position there.
  using Column = RowRecords::Wanted;
  /// `width`: how many columns those batches have, of which `columns` are kept. Up to `threads` threads put
  /// rows aside. `scans` and `counts`, which may be null, outlive the rows.
  AsideRows(const QueryHost& host, std::vector<Column> columns, size_t width, unsigned threads,
            OperatorCounts* counts);

  /// Copies the rows of the batch that `chosen` names. Each part belongs to one thread.
  Status add(unsigned part, const RowBatch& batch, std::span<const uint16_t> chosen, const GoOn& go_on);
  /// How many a part has put aside.
  uint64_t rows_of(unsigned part) const { return parts_[part].rows; }
  /// The next rows once all have been added, on the caller's thread, valid until the next call; null: there
  /// are no more.
  Result<const RowBatch*> next();

 private:
  struct Part {
    explicit Part(const RowRecords& records) : writer(records) {}
    RowRecords::Writer writer;
    std::vector<ColumnVector> chosen;          // of the columns, and the two that tell the order
    std::vector<const ColumnVector*> columns;  // where those stand
    uint64_t rows = 0;
  };

  const QueryHost& host_;
  const size_t width_;
  const std::vector<Column> wanted_;
  const RowRecords records_;
  std::deque<Part> parts_;
  RecordSort sort_;
  bool sorted_ = false;
  // Of next().
  std::string bytes_;
  std::vector<size_t> begins_;
  std::vector<const char*> at_hand_;
  std::vector<ColumnVector> vectors_;
  std::vector<const ColumnVector*> columns_;
  RowBatch batch_;
};

}  // namespace hailstone
