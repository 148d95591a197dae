// The rows of a subquery that stands for a value: at most one, else an error.
#pragma once

#include <memory>
#include <utility>

#include "query/row_batches.h"

namespace hailstone {

class OneRow final : public RowBatches {
 public:
  /// `too_many`: what a second row is answered with.
  OneRow(std::unique_ptr<RowBatches> rows, Error too_many)
      : rows_(std::move(rows)), too_many_(std::move(too_many)) {}

  size_t width() const override { return rows_->width(); }
  Result<ScanColumn> column(size_t position) const override { return rows_->column(position); }
  Status open(Pipeline& to) override;
  unsigned threads(unsigned wanted) const override { return rows_->threads(wanted); }
  uint64_t rows_read() const override { return rows_->rows_read(); }
  const QueryHost& host() const override { return rows_->host(); }

 private:
  class Go;
  const std::unique_ptr<RowBatches> rows_;
  const Error too_many_;
};

}  // namespace hailstone
