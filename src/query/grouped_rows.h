// Groups as rows: of each its keys, and behind them its aggregates as values.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "query/grouping.h"
#include "query/row_source.h"

namespace hailstone {

class GroupedRows final : public RowSource {
 public:
  /// `plan`: of the groups. It need not outlive the call.
  GroupedRows(std::unique_ptr<Groups> groups, const GroupingPlan& plan);

  /// What the values are. Counts and bits are Unsigned numbers; sums of whole numbers are OrderedBytes of 16
  /// bytes, as ordered_wide.h has them, or of 32 where the numbers have 32; sums of others, and spreads, are
  /// Double.
  const std::vector<ScanColumn>& columns() const { return columns_; }

  Result<bool> next() override;
  std::span<const Value> values() const override { return values_; }
  uint64_t rows_read() const override { return groups_->rows_read(); }
  uint64_t rows_met() const override { return rows_met_; }
  const QueryHost& host() const override { return groups_->host(); }

 private:
  Value value_of(size_t aggregate);

  const std::unique_ptr<Groups> groups_;
  std::vector<Aggregate::Kind> kinds_;  // of the aggregates
  std::vector<ScanColumn> columns_;
  std::vector<Value> values_;
  std::vector<std::string> bytes_;  // of each aggregate
  uint64_t rows_met_ = 0;
};

}  // namespace hailstone
