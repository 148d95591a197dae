// What a sort gives row by row, as batches: whatever stacks on rows stacks on it.
#pragma once

#include <memory>
#include <vector>

#include "query/row_batches.h"
#include "query/row_source.h"

namespace hailstone {

class SourcedRows final : public RowBatches {
 public:
  /// `columns`: what the source's values are. They come in its order, by the caller's thread, in one go.
  SourcedRows(std::unique_ptr<RowSource> rows, std::vector<ScanColumn> columns)
      : rows_(std::move(rows)), columns_(std::move(columns)) {}

  size_t width() const override { return columns_.size(); }
  Result<ScanColumn> column(size_t position) const override;
  /// ErrorCode::InvalidArgument: for the second time.
  Status open(Pipeline& to) override;
  uint64_t rows_read() const override { return rows_->rows_read(); }
  const QueryHost& host() const override { return rows_->host(); }

 private:
  class Go;
  const std::unique_ptr<RowSource> rows_;
  const std::vector<ScanColumn> columns_;
  bool is_opened_ = false;
};

}  // namespace hailstone
