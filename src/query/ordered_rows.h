// All rows in an order: ORDER BY without groups, and without a LIMIT that leaves few.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "query/record_sort.h"
#include "query/row_batches.h"
#include "query/row_records.h"
#include "query/row_source.h"

namespace hailstone {

class OrderedRows final : public RowSource {
 public:
  /// In which order rows come that are equal in all columns of the order.
  enum class Equal : uint8_t {
    Any,
    AsScanned,  // the same as long as the table is stored as it is
  };
  /// `order`: may be empty, for rows that are wanted all before the first is given. `values`: which columns
  /// of the rows values() has. `threads`: how many may work at it, the caller's included. `counts`: of this
  /// operator, which it fills; they outlive it; may be null.
  static Result<std::unique_ptr<OrderedRows>> make(std::unique_ptr<RowBatches> rows,
                                                   std::vector<RowOrder> order, Equal equal,
                                                   std::span<const uint16_t> values, unsigned threads,
                                                   OperatorCounts* counts = nullptr);

  Result<bool> next() override;
  uint64_t skip(uint64_t rows) override { return sort_.skip(rows); }
  std::span<const Value> values() const override { return values_; }
  ByteView key() const override { return key_; }
  uint64_t rows_read() const override { return rows_->rows_read(); }
  uint64_t rows_met() const override { return rows_met_; }
  const QueryHost& host() const override { return rows_->host(); }
  uint64_t bytes_spilled() const { return sort_.bytes_spilled(); }
  unsigned merges() const { return sort_.merges(); }

 private:
  OrderedRows(std::unique_ptr<RowBatches> rows, RowRecords records, Equal equal, size_t values,
              unsigned threads, OperatorCounts* counts);
  class Sorting;

  const std::unique_ptr<RowBatches> rows_;
  const RowRecords records_;
  const Equal equal_;
  const unsigned threads_;
  OperatorCounts* const counts_;
  RecordSort sort_;
  bool sorted_ = false;
  uint64_t rows_met_ = 0;
  uint32_t given_ = 0;  // since the last look for interruption
  ByteView key_;
  std::vector<Value> values_;
};

}  // namespace hailstone
