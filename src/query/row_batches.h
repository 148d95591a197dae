// Rows that threads go through in batches: those of scans, or what is made of other rows. Each kind of rows
// is an operator of a query; how a go through them works is in pipeline.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "expression/evaluator.h"
#include "table/scans.h"

namespace hailstone {

/// Whether one of the first so many rows has a failure.
bool has_failures(const Computed& computed, uint32_t rows);
/// A row has a failure, and there is no fallback to be asked.
std::unexpected<Error> not_computed();

/// Makes `to` the first so many rows for which a register of truth is TRUE.
void find_true_rows(const Computed& truth, uint32_t rows, std::vector<uint16_t>& to);

/// Makes `to` the rows of `from` that `rows` names.
void choose_rows(const ColumnVector& from, std::span<const uint16_t> rows, ColumnVector& to);

class Pipeline;

/// Belongs to the thread of its scans.
class RowBatches {
 public:
  virtual ~RowBatches() = default;

  /// How many columns a batch has, those that are missing included, and places not.
  virtual size_t width() const = 0;
  virtual Result<ScanColumn> column(size_t position) const = 0;
  /// All rows, each once, as often as is wanted. `take` is called by up to `wanted` threads at once, each of
  /// which is a `part` below that number; a batch is valid during the call, and has a row at least.
  using TakeRows = std::function<Status(unsigned part, const RowBatch& rows)>;
  Status each_batch(unsigned wanted, const TakeRows& take);
  /// Puts what this operator does with rows of one go into the pipeline, and what those below do: a step and
  /// their own, or a source, or, where no rows can come, nothing. Work that comes before the first row, such
  /// as reading the build side of a join, is done here.
  virtual Status open(Pipeline& to) = 0;
  /// How many threads each_batch() may use.
  virtual unsigned threads(unsigned wanted) const { return wanted; }
  /// How many rows the scans have given so far.
  virtual uint64_t rows_read() const = 0;
  /// Of the scans that the rows come from.
  virtual const QueryHost& host() const = 0;

  /// Scans::add_bound(); null: the rows know of no bounds, or not of this column's.
  virtual std::shared_ptr<ScanBound> add_bound(size_t, bool) { return nullptr; }
  /// Scans::add_filter(), before the first row: rows that it excludes may be left out.
  virtual void add_filter(size_t, const RuntimeFilter&) {}
  /// Scans::add_places(): the rows have one more column, behind all others, at the position that is returned.
  /// Only of rows of scans.
  virtual uint16_t add_places(const std::vector<uint16_t>&) {
    HAILSTONE_CHECK(false, "rows that are not those of a scan have no places");
    return 0;
  }
  virtual Status read_place(uint64_t place, std::span<Value>) {
    return fail(ErrorCode::InvalidArgument, "there is no place " + std::to_string(place));
  }
  /// Scans::count_in(), of rows of scans.
  virtual void count_scan_in(OperatorCounts&) {}
};

/// The rows of scans.
class ScannedBatches final : public RowBatches {
 public:
  /// The columns stand where the scans have them.
  explicit ScannedBatches(Scans scans) : scans_(std::move(scans)) {}
  /// `positions`: for each of the scans' columns, where it stands among `width` others, which the rows do not
  /// have.
  ScannedBatches(Scans scans, std::vector<uint16_t> positions, size_t width)
      : scans_(std::move(scans)), positions_(std::move(positions)), width_(width) {}

  size_t width() const override { return positions_.empty() ? scans_.columns() : width_; }
  Result<ScanColumn> column(size_t position) const override;
  Status open(Pipeline& to) override;
  uint64_t rows_read() const override { return rows_read_.load(std::memory_order_relaxed); }
  const QueryHost& host() const override { return scans_; }
  std::shared_ptr<ScanBound> add_bound(size_t position, bool descending) override;
  void add_filter(size_t position, const RuntimeFilter& filter) override;
  uint16_t add_places(const std::vector<uint16_t>& columns) override;
  Status read_place(uint64_t place, std::span<Value> values) override {
    return scans_.read_place(place, values);
  }
  void count_scan_in(OperatorCounts& counts) override { scans_.count_in(counts); }

 private:
  class Go;
  RowBatch rows_of(const Batch& batch, std::vector<const ColumnVector*>& columns) const;
  /// Where the scans have a column.
  size_t position_in_scans(size_t position) const;

  Scans scans_;
  std::vector<uint16_t> positions_;  // empty: as the scans have them
  size_t width_ = 0;                 // with positions_
  bool has_places_ = false;
  std::atomic<uint64_t> rows_read_{0};
};

}  // namespace hailstone
