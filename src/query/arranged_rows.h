// Rows whose columns stand at other places: those of two sides of a join must not meet, and those of the
// inputs of a UNION must.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "query/row_batches.h"

namespace hailstone {

class ArrangedRows final : public RowBatches {
 public:
  static constexpr uint16_t missing = 0xffff;
  /// `columns`: for each place, where its column stands in `rows`; `missing`: there is none at this place.
  ArrangedRows(std::unique_ptr<RowBatches> rows, std::vector<uint16_t> columns)
      : rows_(std::move(rows)), columns_(std::move(columns)) {}

  size_t width() const override { return columns_.size(); }
  Result<ScanColumn> column(size_t position) const override;
  Status open(Pipeline& to) override;
  unsigned threads(unsigned wanted) const override { return rows_->threads(wanted); }
  uint64_t rows_read() const override { return rows_->rows_read(); }
  const QueryHost& host() const override { return rows_->host(); }
  std::shared_ptr<ScanBound> add_bound(size_t position, bool descending) override {
    return has(position) ? rows_->add_bound(columns_[position], descending) : nullptr;
  }
  void add_filter(size_t position, const RuntimeFilter& filter) override {
    if (has(position)) rows_->add_filter(columns_[position], filter);
  }

 private:
  class Go;
  bool has(size_t position) const { return position < columns_.size() && columns_[position] != missing; }
  const std::unique_ptr<RowBatches> rows_;
  const std::vector<uint16_t> columns_;
};

}  // namespace hailstone
