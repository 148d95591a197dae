// Rows as a scan has them, in no order.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "query/computed_rows.h"
#include "query/row_source.h"

namespace hailstone {

class ScannedRows final : public RowSource {
 public:
  /// `values`: which columns of the rows values() has.
  ScannedRows(std::unique_ptr<ComputedRows> rows, std::span<const uint16_t> values)
      : rows_(std::move(rows)), positions_(values.begin(), values.end()), values_(values.size()) {}

  Result<bool> next() override {
    HAILSTONE_ASSIGN(const ComputedRows::Row row, rows_->next_row());
    if (row.rows == nullptr) return false;
    ++rows_met_;
    for (size_t i = 0; i < values_.size(); ++i)
      values_[i] = row.rows->columns[positions_[i]]->value(row.number);
    return true;
  }
  std::span<const Value> values() const override { return values_; }
  uint64_t rows_read() const override { return rows_->rows_read(); }
  uint64_t rows_met() const override { return rows_met_; }
  const QueryHost& host() const override { return rows_->host(); }

 private:
  const std::unique_ptr<ComputedRows> rows_;
  const std::vector<uint16_t> positions_;
  uint64_t rows_met_ = 0;
  std::vector<Value> values_;
};

}  // namespace hailstone
