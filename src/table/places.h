// The two kinds of places where row versions live, as a table uses them: a delta in memory, and a segment
// with its delete vector. Both are VersionStores: commit stamps changes, rollback takes them back, each under
// the table's latch, which the places share.
//
// A change that is still uncommitted when its place is flushed or merged away is forwarded: commit and
// rollback act on the old place, which readers of an older view still see, and on the row's new place.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/number_map.h"
#include "column/block_reader.h"
#include "delta/delta.h"
#include "segment/delete_vector.h"
#include "table/ended_rows.h"
#include "table/table_keys.h"
#include "table/table_locks.h"
#include "table/write_numbers.h"
#include "transaction/transaction.h"

namespace hailstone {

/// Owned by shared pointers; changes of transactions keep it alive.
class TableSegment : public VersionStore {
 public:
  /// `begin`: of all rows without a begin column of their own; the marker of the transaction while a bulk
  /// load is uncommitted.
  TableSegment(std::shared_ptr<TableLatch> latch, std::shared_ptr<const TableLayout> layout,
               std::shared_ptr<Segment> opened, uint64_t file_number, Timestamp begin,
               std::unique_ptr<DeleteVector> delete_vector, uint64_t delete_vector_file);

  TableLatch& latch() const HAILSTONE_RETURN_CAPABILITY(table_latch) { return *latch_; }

  void commit(std::span<const Change> changes, Timestamp timestamp) override;
  void undo(const Change& change) override;
  void transaction_ended() noexcept override;

  uint32_t rows() const { return segment->rows(); }
  /// Begin of a row: of its begin column, or the segment's. `reader`: of this segment.
  Result<Timestamp> begin_of(BlockReader& reader, uint32_t ordinal) const;
  Timestamp shared_begin() const { return begin.load(std::memory_order_acquire); }
  /// Whether the transaction that has written the row, and is still open, did so by the write of this number
  /// or a later one. Only for that transaction.
  bool is_written_since(uint32_t ordinal, uint32_t number) const {
    return writes != nullptr && writes->greatest() >= number && writes->of(ordinal) >= number;
  }

  void set_end(uint32_t ordinal, Timestamp end) HAILSTONE_REQUIRES(table_latch);
  /// From now on the number of ended rows is part of `total` (null: of none).
  void count_ended_in(std::shared_ptr<EndedRows> total) HAILSTONE_REQUIRES(table_latch);

  const std::shared_ptr<Segment> segment;
  const SegmentColumns columns;
  const uint64_t file;
  std::atomic<Timestamp> begin;
  /// Of rows that an open transaction has written one by one; null for all others. Belongs to its thread.
  std::unique_ptr<const WriteNumbers> writes;
  /// For recovery: the manifest names it, so later operations of the transactions that made its rows do not
  /// change them, as they may change those of a segment that replay has made.
  bool is_recorded = false;

  std::unique_ptr<DeleteVector> ends HAILSTONE_GUARDED_BY(table_latch);
  /// The delete vector file that holds `ends` as they were at ends_written; 0: none.
  uint64_t ends_file HAILSTONE_GUARDED_BY(table_latch);
  uint64_t ends_written HAILSTONE_GUARDED_BY(table_latch);  // change count of `ends`
  struct Forward {
    std::shared_ptr<TableSegment> segment;
    uint32_t ordinal;
  };
  /// Of all segments of the table's view; null: the segment is in no view, or not yet.
  std::shared_ptr<EndedRows> ended_rows HAILSTONE_GUARDED_BY(table_latch);
  std::atomic<bool> is_mostly_ended{false};  // `ended_rows` lists it
  EndedRows::Link ended_link{this};          // for `ended_rows`
  /// Where rows went whose end was uncommitted when the segment was merged away.
  NumberMap<Forward> forwards HAILSTONE_GUARDED_BY(table_latch);

 private:
  const std::shared_ptr<TableLatch> latch_;
};

using TableSegments = std::vector<std::shared_ptr<TableSegment>>;

/// What the rows of a table's deltas take.
struct DeltaMemory {
  MemoryBudget* budget = nullptr;
  std::shared_ptr<std::atomic<uint64_t>> total;  // bytes of all deltas
  size_t most_chunk_bytes = 0;                   // as Arena has it
  bool leaves_memory = true;                     // a flush takes the rows to files
};

class TableDelta : public VersionStore {
 public:
  TableDelta(std::shared_ptr<TableLatch> latch, std::shared_ptr<const TableKeys> keys,
             const DeltaMemory& memory);

  void commit(std::span<const Change> changes, Timestamp timestamp) override;
  void undo(const Change& change) override;
  size_t row_bytes() const override;

  /// Versions that began then are there, or will be. Commits come in order, but not what replay and opening
  /// bring.
  void note_commit(Timestamp timestamp) {
    Timestamp first = first_commit.load(std::memory_order_relaxed);
    while (timestamp < first && !first_commit.compare_exchange_weak(first, timestamp)) {
    }
  }

  TableLatch& latch() const HAILSTONE_RETURN_CAPABILITY(table_latch) { return *latch_; }

  /// Ends a version, at a timestamp or a transaction's marker. Needs memory, and does all or nothing.
  void end(Version& version, Timestamp end) HAILSTONE_REQUIRES(table_latch);
  /// Changes the end of a version that has been ended before, or (infinity) takes it back. Where there are
  /// forwards the caller holds the latch exclusively.
  void set_end(Version& version, Timestamp end) HAILSTONE_REQUIRES_SHARED(table_latch);
  /// Versions that nobody has ended.
  uint64_t live_versions() const HAILSTONE_REQUIRES_SHARED(table_latch) {
    return rows.version_count() - ended_.load(std::memory_order_relaxed);
  }

  /// Versions in memory that a flush would leave out, once nobody sees them.
  uint64_t dead_versions() const HAILSTONE_REQUIRES_SHARED(table_latch) {
    return rows.removed_count() + ended_.load(std::memory_order_relaxed);
  }

  /// Adds the newest version of a row, written by the transaction's next write, whose change the caller
  /// notes.
  Version* insert(const Transaction& transaction, ByteView key, ByteView row,
                  std::span<const std::string> secondary_keys);

  static uint64_t slot_of(const Version* version) { return reinterpret_cast<uint64_t>(version); }
  static Version* version_of(uint64_t slot) {
    // A slot is a number, as segments put ordinals there.
    return reinterpret_cast<Version*>(slot);  // NOLINT(performance-no-int-to-ptr)
  }

  const std::shared_ptr<const TableKeys> keys;

 private:
  const DeltaMemory memory_;  // before `rows`, which it outlives

 public:
  Delta rows HAILSTONE_GUARDED_BY(table_latch);
  /// `rows` of a frozen delta without uncommitted versions, or of one that a single transaction writes to,
  /// for that: none come or go. Not analysed: what keeps others away is no lock.
  const Delta& settled_rows() const HAILSTONE_NO_THREAD_SAFETY_ANALYSIS { return rows; }
  /// Where versions went, by slot, whose end was uncommitted when the delta was flushed.
  NumberMap<TableSegment::Forward> forwards HAILSTONE_GUARDED_BY(table_latch);

  std::atomic<Timestamp> first_commit{infinity};  // no committed version began before

  std::atomic<uint64_t> uncommitted{0};  // versions with a marker as their begin
  std::atomic<bool> frozen{false};       // set under the table's write mutex
  std::function<void()>
      settled;  // called when a frozen delta has no uncommitted version any more; must not block

 private:
  void decide(uint64_t versions);

  const std::shared_ptr<TableLatch> latch_;
  std::atomic<uint64_t> ended_{0};  // versions of `rows` with an end
};

}  // namespace hailstone
