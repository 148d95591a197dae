// Ended rows of the segments in a table's view: how many there are, and which segments have so many that a
// merge may be worth it. These are in a list, so that a look for dead rows passes by all other segments.
//
// Snapshots may need the ended rows of a segment, so that a look finds too few dead ones. The segment is put
// aside then: later looks pass by it as well, until another of its rows ends or such a snapshot is gone. So a
// look costs what has changed since the last one.
//
// All is kept under the table's latch, by TableSegment::set_end() and count_ended_in(). A listed segment is
// in the table's view. Looks come one at a time: the table's claims see to it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/snapshots_in_use.h"
#include "base/timestamp.h"
#include "table/table_locks.h"

namespace hailstone {

class TableSegment;

/// A segment of which a greater part is dead is merged, which writes the others again: 2.3 bytes for each
/// that it frees.
constexpr double most_dead_percent = 30;
/// Of a table in memory: what dead rows take is more dear than the work of a merge, 5.7 bytes for each.
constexpr double most_dead_percent_in_memory = 15;

class EndedRows {
 public:
  /// A segment is listed while a greater part of its rows has an end.
  explicit EndedRows(double most_percent);
  EndedRows(const EndedRows&) = delete;
  EndedRows& operator=(const EndedRows&) = delete;

  /// The place of a segment in the list, a part of the segment.
  class Link {
   public:
    explicit Link(TableSegment* segment) : segment_(segment) {}
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;

   private:
    friend class EndedRows;
    TableSegment* const segment_;  // null: where a list begins and ends
    Link* previous_ HAILSTONE_GUARDED_BY(table_latch) = nullptr;
    Link* next_ HAILSTONE_GUARDED_BY(table_latch) = nullptr;
    double percent_ HAILSTONE_GUARDED_BY(table_latch) = 0;  // of its rows
    bool was_put_aside_ HAILSTONE_GUARDED_BY(table_latch) = false;
  };

  /// Ends of rows of the segment have changed, of which `before` had one. Needs no memory.
  void note(TableSegment& segment, uint64_t before) noexcept HAILSTONE_REQUIRES(table_latch);
  /// The segment, all of whose ends were noted, counts no more.
  void forget(TableSegment& segment) noexcept HAILSTONE_REQUIRES(table_latch);

  /// Whether a segment is listed, aside or not.
  bool lists_any() const { return listed_.load(std::memory_order_relaxed) > 0; }
  struct Listed {
    TableSegment* segment = nullptr;
    double percent = 0;  // of its rows have an end
  };
  /// The segments that are not put aside, in no order.
  std::vector<Listed> to_look_at() const HAILSTONE_REQUIRES_SHARED(table_latch);
  /// What a look has found.
  struct Looked {
    TableSegment* segment = nullptr;
    uint64_t changes = 0;  // of its ends, when it was looked at
    uint64_t dead = 0;
    Timestamp newest_end = 0;  // of a commit
  };
  /// Puts segments aside: those whose ends are as they were, and that nothing but the end of a snapshot, or
  /// of another row, makes more dead rows of. `snapshots`: those in use at the look.
  void put_aside(std::span<const Looked> found, const SnapshotsInUse& snapshots)
      HAILSTONE_REQUIRES(table_latch);
  /// Whether a snapshot that segments were put aside for is in use no more.
  bool is_snapshot_gone(const SnapshotsInUse& snapshots) const HAILSTONE_REQUIRES_SHARED(table_latch);
  /// No segment is aside any more.
  void look_again() HAILSTONE_REQUIRES(table_latch);

  const double most_percent;
  std::atomic<uint64_t> count{0};  // ended rows of all segments
  /// Called when a transaction has ended, and a segment where it has ended rows is listed, unless `told` says
  /// that it was called already. Must not block. Null: nobody is told.
  std::function<void()> many = nullptr;
  std::atomic<bool> told{false};

 private:
  static void take_out(Link& link) HAILSTONE_REQUIRES(table_latch);
  static void put_at_end(Link& list, Link& link) HAILSTONE_REQUIRES(table_latch);

  std::atomic<size_t> listed_{0};
  Link to_look_at_{nullptr}, aside_{nullptr};  // each a ring
  /// No commit ended rows of those aside later, and so many different snapshots read what is older.
  Timestamp aside_until_ HAILSTONE_GUARDED_BY(table_latch) = 0;
  size_t aside_for_ HAILSTONE_GUARDED_BY(table_latch) = 0;
};

}  // namespace hailstone
