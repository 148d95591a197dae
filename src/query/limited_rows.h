// LIMIT and OFFSET: so many rows, behind so many others. Which ones these are is up to the order in which
// rows come: that of the rows below where one thread gives or takes them, else any.
#pragma once

#include <memory>

#include "query/row_batches.h"

namespace hailstone {

class LimitedRows final : public RowBatches {
 public:
  /// `most` rows behind the first `offset`. What is below ends once these have been taken.
  LimitedRows(std::unique_ptr<RowBatches> rows, uint64_t offset, uint64_t most)
      : rows_(std::move(rows)),
        offset_(offset),
        end_(most > ~uint64_t{0} - offset ? ~uint64_t{0} : offset + most) {}

  size_t width() const override { return rows_->width(); }
  Result<ScanColumn> column(size_t position) const override { return rows_->column(position); }
  Status open(Pipeline& to) override;
  unsigned threads(unsigned wanted) const override { return rows_->threads(wanted); }
  uint64_t rows_read() const override { return rows_->rows_read(); }
  const QueryHost& host() const override { return rows_->host(); }

 private:
  class Go;
  const std::unique_ptr<RowBatches> rows_;
  const uint64_t offset_, end_;
};

}  // namespace hailstone
