// The probe side of a join where it seems to have few rows: these are read before the build side, and kept,
// so that the scans of the build side learn which keys are looked for (RuntimeFilter). So few rows that are
// joined to a big table cost little more than reading their partners, also where rows without a partner are
// shown.
#pragma once

#include <memory>
#include <vector>

#include "query/join/join_plan.h"
#include "query/join/join_table.h"
#include "query/row_batches.h"

namespace hailstone {

/// The rows of another side: kept, once read_first() has found them to be few, else as they come. Belongs to
/// the thread of the join.
class KeptRows final : public RowBatches {
 public:
  /// More rows are not kept, nor more bytes of one thread.
  static constexpr uint64_t most_rows = NumberFilter::most_listed;
  static constexpr size_t most_bytes = size_t{8} << 20;

  /// `width`: of the rows with what keys are computed to.
  KeptRows(std::unique_ptr<RowBatches> source, size_t width) : source_(std::move(source)), width_(width) {}

  /// True: the rows are kept, and all of them are there. Before other goes through them, once.
  Result<bool> read_first(unsigned threads);
  uint64_t rows() const { return table_ == nullptr ? 0 : table_->rows(); }
  /// Of kept rows: which values of each key's column of the build side may have a partner among them; nothing
  /// for one whose NULLs may have.
  Result<std::vector<RuntimeFilter>> filters_of_build(const std::vector<JoinPlan::Key>& keys,
                                                      const RowBatches& build);

  size_t width() const override { return width_; }
  Result<ScanColumn> column(size_t position) const override { return source_->column(position); }
  Status open(Pipeline& to) override;
  unsigned threads(unsigned wanted) const override { return source_->threads(wanted); }
  uint64_t rows_read() const override { return source_->rows_read(); }
  const QueryHost& host() const override { return source_->host(); }
  std::shared_ptr<ScanBound> add_bound(size_t position, bool descending) override {
    return source_->add_bound(position, descending);
  }
  void add_filter(size_t position, const RuntimeFilter& filter) override {
    source_->add_filter(position, filter);
  }

 private:
  class Keeping;
  class Slices;

  const std::unique_ptr<RowBatches> source_;
  const size_t width_;
  BuildColumns kept_columns_;
  std::unique_ptr<JoinTable> table_;  // the kept rows, without keys; null: there are none
};

}  // namespace hailstone
