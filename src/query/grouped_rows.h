// Groups as rows: of each its keys, and behind them its aggregates as values. Several threads give them, each
// for some of the tables' groups, in one go.
#pragma once

#include <memory>
#include <vector>

#include "query/grouping.h"
#include "query/row_batches.h"

namespace hailstone {

class GroupedRows final : public RowBatches {
 public:
  explicit GroupedRows(std::unique_ptr<Grouping> groups);

  /// What the values of an aggregate are. Counts and bits are Unsigned numbers; sums of whole numbers are
  /// OrderedBytes of 16 bytes, as ordered_wide.h has them, or of 32 where the numbers have 32; sums of
  /// others, and spreads, are Double.
  static ScanColumn column_of(const GroupingPlan::Item& item);

  size_t width() const override { return columns_.size(); }
  Result<ScanColumn> column(size_t position) const override;
  /// ErrorCode::InvalidArgument: for the second time.
  Status open(Pipeline& to) override;
  uint64_t rows_read() const override { return groups_->rows_read(); }
  const QueryHost& host() const override { return groups_->host(); }

 private:
  class Go;
  class Part;
  const std::unique_ptr<Grouping> groups_;
  std::vector<ScanColumn> columns_;
  bool is_opened_ = false;
};

}  // namespace hailstone
