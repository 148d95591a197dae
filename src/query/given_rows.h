// VALUES: rows that are given, not read.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/arena.h"
#include "query/row_batches.h"

namespace hailstone {

/// Filled, then read.
class GivenRows final : public RowBatches {
 public:
  GivenRows(const QueryHost& host, std::vector<ScanColumn> columns)
      : host_(host), columns_(std::move(columns)) {}

  /// One value a column, as the column's type has them; bytes are copied. Before the first go.
  void add(std::span<const Value> row);

  size_t width() const override { return columns_.size(); }
  Result<ScanColumn> column(size_t position) const override;
  Status open(Pipeline& to) override;
  uint64_t rows_read() const override { return 0; }
  const QueryHost& host() const override { return host_; }

 private:
  class Go;
  struct Given {
    uint32_t rows = 0;
    std::vector<ColumnVector> vectors;  // one a column
    std::vector<const ColumnVector*> places;
  };
  const QueryHost& host_;
  const std::vector<ScanColumn> columns_;
  std::vector<std::unique_ptr<Given>> batches_;
  Arena bytes_;
};

}  // namespace hailstone
