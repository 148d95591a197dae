// All rows in an order: ORDER BY without groups, and without a LIMIT that leaves few.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "query/computed_rows.h"
#include "query/record_sort.h"
#include "query/row_records.h"
#include "query/row_source.h"

namespace hailstone {

class OrderedRows final : public RowSource {
 public:
  /// `order`: at least one column; of rows that are equal in it the order is any. `values`: which columns of
  /// the rows values() has. `threads`: how many may work at it, the caller's included.
  static Result<std::unique_ptr<OrderedRows>> make(std::unique_ptr<ComputedRows> rows,
                                                   std::span<const RowOrder> order,
                                                   std::span<const uint16_t> values, unsigned threads);

  Result<bool> next() override;
  std::span<const Value> values() const override { return values_; }
  uint64_t rows_read() const override { return rows_->rows_read(); }
  uint64_t rows_met() const override { return rows_met_; }
  uint64_t bytes_spilled() const { return sort_.bytes_spilled(); }
  unsigned merges() const { return sort_.merges(); }

 private:
  OrderedRows(std::unique_ptr<ComputedRows> rows, RowRecords records, size_t values, unsigned threads);
  Status sort();

  const std::unique_ptr<ComputedRows> rows_;
  const RowRecords records_;
  const unsigned threads_;
  RecordSort sort_;
  bool sorted_ = false;
  uint64_t rows_met_ = 0;
  uint32_t given_ = 0;  // since the last look for interruption
  std::vector<Value> values_;
};

}  // namespace hailstone
