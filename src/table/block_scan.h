// The rows that a statement takes from the segments of a view, block by block: the one loop over blocks, for
// scans, counts and aggregates. The scan is shared by threads; each has a Worker of its own.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/operator_counts.h"
#include "column/segment_filter.h"
#include "table/indexed_rows.h"
#include "table/scan_bound.h"
#include "table/table_state.h"
#include "table/visibility.h"

namespace hailstone {

class BlockScan {
 public:
  BlockScan(Table::State& table, std::shared_ptr<const TableView> view,
            std::shared_ptr<const Predicate> predicate, Visibility visibility);

  /// The blocks of all segments, numbered one after the other.
  uint64_t blocks() const { return starts_.back(); }
  size_t segments() const { return view_->segments.size(); }
  struct Summary {
    BlockOutcome outcome = BlockOutcome::Some;
    uint32_t rows = 0;  // in the block, matching or not
  };
  /// What is known of a block before it is read. Not behind blocks that workers have passed.
  Result<Summary> summary_of(uint64_t number);
  /// Before the first worker is made: blocks that `bound` excludes are passed by. A descending one makes
  /// for_each_block() begin with the last blocks.
  void set_bound(std::shared_ptr<const ScanBound> bound) { bound_ = std::move(bound); }
  /// Before the first worker is made: where the workers count their rows and their time; may be null.
  void count_in(OperatorCounts* counts) { counts_ = counts; }
  OperatorCounts* counts() const { return counts_; }
  bool has_bound() const { return bound_ != nullptr; }
  bool goes_backwards() const { return bound_ != nullptr && bound_->descending(); }
  /// Passes on what came of its blocks; damage marks the table.
  Status noted(Status status) const { return table_.noted(std::move(status)); }
  /// The error of a scan that is to stop.
  std::unexpected<Error> interrupted() const;

  class Worker {
   public:
    /// `scan` must outlive the worker. `stop` (may be empty) is asked at each block.
    explicit Worker(BlockScan& scan, std::function<bool()> stop = {});
    /// From here on the worker counts the rows that it passes by, those that do not match included.
    void count_met() { counts_met_ = true; }

    /// Looks for a block with rows from `number` on and before `last`. Then it stands there, and `number` is
    /// that of the next block. False: there is none, and `number` is `last`. Each block number must be passed
    /// by once, by one worker.
    Result<bool> next(uint64_t& number, uint64_t last);

    // Where it stands, once it does.
    bool stands() const { return reader_.has_value(); }
    const std::shared_ptr<TableSegment>& segment() const { return scan_.view_->segments[segment_]; }
    size_t segment_number() const { return segment_; }
    uint32_t block() const { return block_; }
    const BlockBitmap& rows() const { return rows_; }
    /// The rows of this block that may be taken, whether or not they match, and how many all blocks before it
    /// have, or all blocks once none is left. Only of a worker that counts them.
    const BlockBitmap& met() const { return met_; }
    uint64_t met_before() const { return met_before_; }
    uint64_t met_in_all() const { return met_before_ + met_.count(); }
    /// Pins the blocks of the segment that were read last.
    BlockReader& reader() { return *reader_; }

   private:
    void enter(uint64_t number);
    Result<bool> look_for_block(uint64_t& number, uint64_t last);
    Result<bool> take_block();
    Status meet_block(uint32_t block);
    Status check_stop() const;
    uint32_t rows_in_block(uint32_t block) const { return scan_.rows_in_block(segment_, block); }

    BlockScan& scan_;
    const std::function<bool()> stop_;
    size_t segment_ = ~size_t{0};
    uint32_t block_ = 0;
    std::optional<BlockReader> reader_;
    const SegmentFilter* filter_ = nullptr;  // of segment_; null: not prepared yet, or not needed
    BlockBitmap rows_;
    bool counts_met_ = false;
    BlockBitmap met_{};  // of the block looked at last
    uint64_t met_before_ = 0;
  };

 private:
  /// A segment's predicate, prepared by the first worker that needs it and let go with its last block.
  struct Filter {
    std::once_flag once;
    std::optional<IndexedRows> indexed;  // nothing: any row may match
    std::optional<Result<SegmentFilter>> prepared;
    std::atomic<uint32_t> blocks_left{0};
  };
  size_t segment_of(uint64_t number) const;
  uint32_t rows_in_block(size_t segment, uint32_t block) const {
    return std::min(block_rows, view_->segments[segment]->rows() - block * block_rows);
  }
  Result<const SegmentFilter*> filter_of(size_t segment);
  void prepare(size_t segment, Filter& filter) const;
  /// `blocks` from `block` on have been looked at. `prepared`: by a worker that has the segment's filter.
  void finish_blocks(size_t segment, uint32_t block, uint32_t blocks, bool prepared);

  Table::State& table_;
  const std::shared_ptr<const TableView> view_;
  const std::shared_ptr<const Predicate> predicate_;
  const Visibility visibility_;
  const bool always_;
  std::shared_ptr<const ScanBound> bound_;  // may be null
  OperatorCounts* counts_ = nullptr;
  std::vector<uint64_t> starts_;  // number of each segment's first block; at the end that of all blocks
  std::unique_ptr<Filter[]> filters_;
};

/// How many threads are worth waking for all blocks of these scans and for `versions` of deltas, at most
/// `threads`, which is at least one.
unsigned worthwhile_threads(std::span<BlockScan* const> scans, uint64_t versions, unsigned threads);

/// Calls `take` for each block that has rows, on `threads` threads: this one, as part 0, and background
/// threads that are free. `scan`: its place in the list; all go backwards, or none. Without a bound each
/// thread has a part of the blocks, one behind the other, so that threads seldom work on one segment, and
/// then helps with those of others; with a bound they go through all blocks together. A thread that finds no
/// more blocks goes on with `rest`, whose work all of them share; it is told by `go_on` when it is to end.
/// `versions`: of deltas, which are the work of `rest`. Threads that are not worthwhile, as most blocks were
/// ruled out at once, are not woken. `stop` is asked by this thread only, also while it waits for the others.
using TakeBlock = std::function<Status(unsigned part, size_t scan, BlockScan::Worker& worker)>;
using TakeRest = std::function<Status(unsigned part, const std::function<Status()>& go_on)>;
Status for_each_block(TableHost& host, std::span<BlockScan* const> scans, uint64_t versions, unsigned threads,
                      const std::function<bool()>& stop, const TakeBlock& take, const TakeRest& rest);

}  // namespace hailstone
