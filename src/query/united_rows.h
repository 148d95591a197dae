// UNION ALL: the rows of several, one after the other.
#pragma once

#include <memory>
#include <vector>

#include "query/row_batches.h"

namespace hailstone {

class UnitedRows final : public RowBatches {
 public:
  /// At least one; all have the same columns at the same positions. ErrorCode::InvalidArgument: their types
  /// differ.
  static Result<std::unique_ptr<UnitedRows>> make(std::vector<std::unique_ptr<RowBatches>> rows);

  size_t width() const override { return rows_.front()->width(); }
  Result<ScanColumn> column(size_t position) const override { return rows_.front()->column(position); }
  /// Those of one are opened, and their builds read, when those before have ended.
  Status open(Pipeline& to) override;
  unsigned threads(unsigned wanted) const override;
  uint64_t rows_read() const override;
  const QueryHost& host() const override { return rows_.front()->host(); }
  /// Each batch has columns of one of them.
  void add_filter(size_t position, const RuntimeFilter& filter) override;

 private:
  explicit UnitedRows(std::vector<std::unique_ptr<RowBatches>> rows) : rows_(std::move(rows)) {}
  const std::vector<std::unique_ptr<RowBatches>> rows_;
};

}  // namespace hailstone
