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
    if (batch_ == nullptr || ++row_ == batch_->rows) {
      HAILSTONE_ASSIGN(batch_, rows_->next());
      row_ = 0;
      if (batch_ == nullptr) return false;
      rows_met_ += batch_->rows;
    }
    for (size_t i = 0; i < values_.size(); ++i) values_[i] = batch_->columns[positions_[i]]->value(row_);
    return true;
  }
  std::span<const Value> values() const override { return values_; }
  uint64_t rows_read() const override { return rows_->rows_read(); }
  /// Of the batches that next() has come to.
  uint64_t rows_met() const override { return rows_met_; }

 private:
  const std::unique_ptr<ComputedRows> rows_;
  const std::vector<uint16_t> positions_;
  const RowBatch* batch_ = nullptr;
  uint32_t row_ = 0;
  uint64_t rows_met_ = 0;
  std::vector<Value> values_;
};

}  // namespace hailstone
