// Rows of two sides joined by equal keys, or by ranges of numbers: the rows of one, the build side, are put
// into a JoinTable, in which those of the other, the probe side, are looked up, batch by batch, by several
// threads. Where memory has no room for the build side, rows of both go to files, and are joined part by part
// (BuildSide, JoinPasses).
//
// The rows of both sides, and those that come of the join, have their columns at the same positions: a column
// that a side has not got is null in its batches.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/operator_counts.h"
#include "query/join/build_side.h"
#include "query/join/join_plan.h"
#include "query/join/kept_rows.h"
#include "query/row_batches.h"

namespace hailstone {

class JoinPasses;

class HashJoin final : public RowBatches {
 public:
  /// Is told, on the caller's thread, of how many rows the build side has by now. An error ends the reading.
  struct BuiltRows {
    uint64_t rows = 0;
    uint64_t of_scans = 0;  // made of so many rows that scans have given
    bool are_all = false;   // there will be no more
    /// Filters of joins above may have left out others that the tables have.
    bool are_filtered = false;
  };
  using WatchBuild = std::function<Status(const BuiltRows& built)>;

  /// `memory`: of all joins of the statement. `threads`: how many may fill the table, the caller's included.
  /// `counts`: of this operator; they outlive it; may be null.
  static Result<std::unique_ptr<HashJoin>> make(std::unique_ptr<RowBatches> probe,
                                                std::unique_ptr<RowBatches> build, JoinPlan plan,
                                                std::shared_ptr<JoinMemory> memory, unsigned threads,
                                                OperatorCounts* counts = nullptr);
  ~HashJoin() override;
  void watch_build(WatchBuild watch) { watch_ = std::move(watch); }

  size_t width() const override { return plan_.width; }
  Result<ScanColumn> column(size_t position) const override;
  Status open(Pipeline& to) override;
  unsigned threads(unsigned wanted) const override {
    const bool asks_in_order =
        plan_.conditions == nullptr && plan_.host != nullptr && plan_.host->wants_order();
    return asks_in_order ? 1 : probe_->threads(wanted);
  }
  void add_filter(size_t position, const RuntimeFilter& filter) override;
  uint64_t rows_read() const override { return probe_->rows_read() + build_->rows_read(); }
  const QueryHost& host() const override { return probe_->host(); }
  /// Rows of the probe side come out with the values that they have.
  std::shared_ptr<ScanBound> add_bound(size_t position, bool descending) override {
    return is_of_build(position) ? nullptr : probe_->add_bound(position, descending);
  }

 private:
  class Worker;
  class Filling;
  class Go;
  HashJoin(std::unique_ptr<RowBatches> probe, std::unique_ptr<RowBatches> build, JoinPlan plan,
           unsigned threads, OperatorCounts* counts);
  /// Reads the build side, once.
  Status fill();
  /// Where the probe side has few rows, those of the build side that have no partner there need not come.
  Status read_probe_first();
  bool is_of_build(size_t position) const;
  void add_filter_of_partners(size_t position, const RuntimeFilter& filter);
  Status add_range(BuildColumns& columns) const;
  /// Of the rows of the probe side, with what keys and ranges are computed to behind their own columns.
  size_t width_of_probe() const;
  bool wants_pairs() const {
    return plan_.kind == JoinPlan::Kind::Inner || plan_.kind == JoinPlan::Kind::Left;
  }
  /// Whether nothing comes of rows without a partner.
  bool wants_only_partners() const {
    return plan_.kind == JoinPlan::Kind::Inner || plan_.kind == JoinPlan::Kind::Semi;
  }
  /// Whether no row can come of the join.
  bool is_without_rows() const {
    return !side_->is_divided() && side_->table().rows() == 0 && wants_only_partners();
  }
  /// For one go through the rows; null: all of the build side is in its table.
  std::unique_ptr<JoinPasses> make_passes(unsigned parts);

  std::unique_ptr<RowBatches> probe_;
  const std::unique_ptr<RowBatches> build_;
  const JoinPlan plan_;
  const unsigned threads_;
  OperatorCounts* const counts_;
  KeptRows* kept_ = nullptr;  // the probe side, where it is read first
  std::vector<uint16_t> probe_keys_;
  std::unique_ptr<BuildSide> side_;
  bool filled_ = false;
  WatchBuild watch_;
  bool build_is_filtered_ = false;
};

}  // namespace hailstone
