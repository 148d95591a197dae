// The inside of Table, for the files of this room only: its places, and how a row is looked for in them.
//
// A thread that writes rows holds the write mutex; one that swaps the view holds it and, where the segments
// change, the latch exclusively. A reader takes its snapshot first and the view second: the view then holds
// all that the snapshot sees.
#pragma once

#include <algorithm>
#include <atomic>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "base/mutex.h"
#include "table/key_search.h"
#include "table/load_keys.h"
#include "table/places.h"
#include "table/segment_claims.h"
#include "table/segment_readers.h"
#include "table/segment_statistics.h"
#include "table/table.h"
#include "table/table_view.h"
#include "transaction/superseded.h"

namespace hailstone {

/// Where a version of a row is.
struct RowPlace {
  std::shared_ptr<TableDelta> delta;
  Version* version = nullptr;  // in `delta`
  std::shared_ptr<TableSegment> segment;
  uint32_t ordinal = 0;  // in `segment`
  Timestamp begin = 0;

  bool found() const { return version != nullptr || segment != nullptr; }
  /// By which the row is locked; nothing: it is not there, or its version is that of the transaction itself.
  std::optional<VersionPlace> to_lock(const Transaction& transaction) const {
    if (!found() || begin == transaction.marker()) return std::nullopt;
    if (version != nullptr) return VersionPlace{.store = delta, .slot = TableDelta::slot_of(version)};
    return VersionPlace{.store = segment, .slot = ordinal};
  }
  /// Within the table's current view.
  bool operator==(const RowPlace& other) const {
    return version == other.version && segment == other.segment && ordinal == other.ordinal;
  }
};

/// What a writer or a locking reader finds at a key.
struct NewestRow {
  RowPlace place;             // the live version, if any
  TransactionId blocker = 0;  // another transaction that has not decided yet about this row; 0: none
  Timestamp ended = 0;        // when the newest of its versions that are no more ended; 0: there is none
};

/// Rows of one segment that have the key that was looked for.
struct SegmentMatch {
  std::shared_ptr<TableSegment> segment;
  OrdinalRange range;
  /// Of each row of the range, where it was asked for; empty: the segment's.
  absl::InlinedVector<Timestamp, 1> begins;
};
using SegmentMatches = absl::InlinedVector<SegmentMatch, 2>;
/// An entry of a secondary index.
struct UniqueMatch {
  std::shared_ptr<TableSegment> segment;
  uint32_t ordinal = 0;
  std::string clustered_key;
};
using UniqueMatches = std::vector<UniqueMatch>;

struct Table::State {
  State(TableHost& table_host, const TableRecord& record);

  TableHost& host;
  const TableId id;
  Timestamp definition_timestamp;
  std::atomic<Timestamp> made{0}, named{0};
  std::shared_ptr<const TableLayout> layout;
  // What DDL has put in the place of the layout's definition: other names only, so nothing else looks here.
  // Kept, as definition() gives references.
  std::atomic<const TableDefinition*> replaced_definition{nullptr};
  std::unique_ptr<ReplacedDefinition> replaced_definitions;  // protected by the catalog: one DDL at a time
  const TableDefinition& definition() const {
    const TableDefinition* const replaced = replaced_definition.load(std::memory_order_acquire);
    return replaced != nullptr ? *replaced : layout->definition();
  }
  std::shared_ptr<const TableKeys> keys;
  bool is_in_memory() const { return layout->definition().in_memory; }
  /// Whether the log and the manifest know of rows.
  bool is_durable() const { return !is_in_memory() && !layout->definition().temporary; }
  const DeltaMemory delta_memory;
  /// Bytes of the files of the view's segments.
  std::atomic<uint64_t> segment_bytes{0};
  /// Of a table in memory: take_emptied().
  std::atomic<bool> emptied;
  const std::shared_ptr<TableLatch> shared_latch = std::make_shared<TableLatch>();
  TableLatch& latch() const HAILSTONE_RETURN_CAPABILITY(table_latch) { return *shared_latch; }
  mutable Mutex its_write_mutex;
  Mutex& write_mutex() const HAILSTONE_RETURN_CAPABILITY(table_write_mutex) { return its_write_mutex; }
  Mutex flush_mutex;     // one flush at a time, as they publish oldest first; before the write mutex
  SegmentClaims claims;  // of merges
  Mutex files_mutex;     // also held while delete vector files are written
  /// The table has been dropped: what a flush or a merge still publishes goes, too.
  bool files_are_dropped HAILSTONE_GUARDED_BY(table_latch) = false;

  mutable Mutex view_mutex;
  std::shared_ptr<const TableView> view HAILSTONE_GUARDED_BY(view_mutex);
  /// Not in use yet.
  std::vector<std::weak_ptr<SpareView>> spare_views HAILSTONE_GUARDED_BY(table_write_mutex);
  std::vector<TableRecord::SegmentEntry>
      unopened;  // segments that could not be opened; constant after open()

  std::atomic<uint64_t> next_row_id, next_auto_increment;
  std::atomic<Timestamp> last_publish;
  const Timestamp recorded_publish;              // last_publish when the table was opened
  const Timestamp recorded_until;                // applied_until when the table was opened
  std::atomic<uint64_t> generation{1};           // rises with every change of what record() gives
  std::atomic<uint64_t> recorded_generation{1};  // that the manifest holds
  std::atomic<bool> flush_requested{false};
  std::atomic<uint64_t> flushes_unrecorded{0};  // since the table's state was last recorded after a flush
  /// Whether the manifest is to be told of a flush. The record of a table with very many segments takes
  /// longer than the flush, so that it has one for many flushes.
  bool record_due();

  /// Files that go when the manifest holds a state that does not name them any more.
  struct Obsolete {
    uint64_t generation = 0;
    uint64_t delete_vector = 0;
    std::shared_ptr<TableSegment> segment;
  };
  std::list<Obsolete> obsolete HAILSTONE_GUARDED_BY(files_mutex);
  /// Those up to a generation.
  void remove_obsolete(uint64_t up_to) HAILSTONE_REQUIRES(files_mutex);
  /// 0: there is none.
  void remove_delete_vector(uint64_t file) noexcept;
  /// Some were made since the directory was synced.
  bool delete_vectors_unsynced HAILSTONE_GUARDED_BY(files_mutex) = false;

  std::atomic<bool> corrupt{false};
  mutable Mutex corruption_mutex;
  std::optional<Error> corruption HAILSTONE_GUARDED_BY(corruption_mutex);

  mutable Mutex statistics_mutex;
  AnalyzedCounts analyzed HAILSTONE_GUARDED_BY(statistics_mutex);
  /// The table has other rows than `analyzed` tells of, and the host knows.
  mutable std::atomic<bool> analysis_asked{false};
  /// What the files of some segments say, all rows counted.
  mutable TableStatistics of_segments HAILSTONE_GUARDED_BY(statistics_mutex);
  /// These segments, which must not stay for it once they have been replaced; null: of none yet.
  mutable std::weak_ptr<const SegmentOrders> of_segments_for HAILSTONE_GUARDED_BY(statistics_mutex);
  /// The same of a table with many segments, kept up to date; null: nobody has asked yet.
  mutable std::unique_ptr<SegmentStatistics> kept_statistics HAILSTONE_GUARDED_BY(statistics_mutex);
  TableStatistics keep_statistics(const TableView& of) const;
  /// The view has other segments from here on.
  void note_segments(const TableSegments& gone, const TableSegments& added) noexcept
      HAILSTONE_REQUIRES(table_latch);
  /// Of the segments of the view.
  const std::shared_ptr<EndedRows> ended_rows =
      std::make_shared<EndedRows>(is_in_memory() ? most_dead_percent_in_memory : most_dead_percent);

  /// Of the bulk loads whose rows are not all in the view yet.
  std::vector<const PendingKeys*> pending_keys HAILSTONE_GUARDED_BY(table_write_mutex);

  Status usable() const {
    if (!corrupt.load(std::memory_order_acquire)) [[likely]]
      return {};
    return unusable();
  }
  Status unusable() const;
  /// Bytes of the active delta at which it is flushed.
  size_t delta_limit() const;
  /// Whether the active delta is to be flushed.
  bool flush_due(const TableDelta& active) const HAILSTONE_REQUIRES_SHARED(table_latch);
  /// Of a table in memory: whether a flush of the active delta would give back a good part of what the table
  /// may take.
  bool flush_gives_room(const TableDelta& active) const HAILSTONE_REQUIRES_SHARED(table_latch);
  void mark_corrupt(const Error& error);
  /// Passes `result` on; damage in it marks the table.
  template <typename T>
  Result<T> noted(Result<T> result) {
    note(result);
    return result;
  }
  template <typename T>
  void note(const Result<T>& result) {
    if (!result && result.error().code() == ErrorCode::Corruption) [[unlikely]]
      mark_corrupt(result.error());
  }

  std::shared_ptr<const TableView> current_view() const {
    const MutexLock guard(view_mutex);
    return view;
  }
  /// Puts `next`, a copy of the present view that may have other deltas, in its place, without the segments
  /// that are `gone` and with those that are `added`.
  void set_view(std::shared_ptr<TableView> next, const TableSegments& gone, const TableSegments& added)
      HAILSTONE_REQUIRES(table_write_mutex, table_latch);
  /// Segments come into the view or leave it.
  void count_segments(const TableSegments& gone, const TableSegments& added) noexcept
      HAILSTONE_REQUIRES(table_latch);
  /// The same for a view that differs from the present one in its deltas only.
  void set_deltas(std::shared_ptr<TableView> next) HAILSTONE_REQUIRES(table_write_mutex);
  /// Room for all that is in `next`, in each spare view.
  void make_room_in_spare_views(const TableView& next) HAILSTONE_REQUIRES(table_write_mutex);
  /// Room that withdraw() will have, whatever the table's view is then.
  std::shared_ptr<SpareView> make_spare_view() HAILSTONE_REQUIRES(table_write_mutex);
  /// Takes segments out of the view; `spare` becomes the new one. Needs no memory.
  void withdraw(const TableSegments& segments, std::shared_ptr<SpareView> spare) noexcept
      HAILSTONE_REQUIRES(table_write_mutex, table_latch);
  std::shared_ptr<TableDelta> new_delta(Table& table);
  /// Replaces the active delta by an empty one.
  void freeze_active(Table& table) HAILSTONE_REQUIRES(table_write_mutex);

  /// Where a view's segments have a key, ended or not. Reads files, so it is not called under the write
  /// mutex. Each row's own begin is given where the segment's, which is the newest, is behind what `writer`
  /// sees.
  Result<SegmentMatches> match_key(const TableView& places, ByteView key, const Transaction* writer = nullptr,
                                   SegmentReaders* readers = nullptr) const;
  /// Entries of a unique secondary index with this index key in a view's segments. Reads files, too.
  Result<UniqueMatches> match_unique(const TableView& places, size_t secondary, ByteView index_key,
                                     SegmentReaders* readers = nullptr) const;

  /// The live version of a key in the newest state, as transaction `own` (marker) sees it. `matches` are
  /// those of the view's segments.
  NewestRow find_newest(const TableView& places, const SegmentMatches& matches, ByteView key,
                        Timestamp own) const;
  /// The live version of a key, committed or not: what READ UNCOMMITTED gives. Takes the write mutex, as
  /// an update is between its two versions only under that.
  Result<RowPlace> find_latest(ByteView key) const;
  /// Whether the version is the row's latest, and was there already when the snapshot was taken.
  Result<bool> is_unchanged(const RowPlace& place, const Snapshot& snapshot) const;
  /// The version of a key that the snapshot, which is the transaction's, sees.
  Result<RowPlace> find_visible(const TableView& places, ByteView key, const Snapshot& snapshot,
                                const Transaction& transaction, SegmentReaders* readers = nullptr);
  /// What a read without locks finds at a key.
  Result<RowPlace> find_plain(Transaction& transaction, ByteView key, SegmentReaders* readers = nullptr);
  /// A live entry of a unique secondary index with this index key, other than the row with clustered key
  /// `except`.
  struct UniqueEntry {
    bool found = false;
    std::string clustered_key;
    TransactionId blocker = 0;
  };
  UniqueEntry find_unique(const TableView& places, const UniqueMatches& matches, size_t secondary,
                          ByteView index_key, ByteView except, Timestamp own) const;
  /// Another transaction whose bulk load has taken a row with this key of a unique index; 0: none.
  TransactionId load_with_key(const Transaction& transaction, size_t index, ByteView key) const
      HAILSTONE_REQUIRES(table_write_mutex) {
    return pending_keys.empty() ? 0 : load_with_hash(transaction, LoadKeys::hash(index, key));
  }
  TransactionId load_with_hash(const Transaction& transaction, uint64_t hash) const
      HAILSTONE_REQUIRES(table_write_mutex) {
    for (const PendingKeys* load : pending_keys) {
      if (load->transaction != transaction.id() && load->contains(hash)) return load->transaction;
    }
    return 0;
  }
  /// Reads the values of a found version; bytes live in `batch`, which is cleared.
  Status read_place(const RowPlace& place, const Projection& projection, SegmentReaders& readers,
                    Batch& batch, std::span<Value> values);
  /// Locks a row and finds its live version then; nothing when there is none.
  /// Whether another transaction has locked the row, whose newest version is `newest`, by itself.
  bool is_locked_by_other(const Transaction& transaction, ByteView key, const RowPlace& newest,
                          RowLockMode mode = RowLockMode::Exclusive) HAILSTONE_REQUIRES(table_write_mutex);
  /// Locks a row by the place where a reader of this view has met it; false: it is not the newest version, or
  /// not for good, or somebody else has locked it, so that lock_newest() has to look.
  bool try_lock_met(Transaction& transaction, const TableView& met_in, const RowPlace& place, ByteView key,
                    ReadLock lock);
  Result<RowPlace> lock_newest(Transaction& transaction, ByteView key, ReadLock lock,
                               SegmentReaders* readers = nullptr);
  /// Writes a frozen delta without uncommitted versions to segments, which take its place.
  Status flush_delta(const std::shared_ptr<TableDelta>& delta) HAILSTONE_REQUIRES(flush_mutex);
  /// Puts the segments that a delta was written to in its place. `is_row`: as DeltaWriter::Written has it.
  void replace_delta(const std::shared_ptr<TableDelta>& delta, const TableSegments& segments,
                     const std::vector<bool>& is_row) HAILSTONE_EXCLUDES(table_write_mutex, table_latch);
  bool merge_due() const;
  /// Waits for memory when the budget is exhausted, as long as somebody else may give some back.
  Status make_room(Table& table, Transaction& transaction, size_t bytes);
  /// Of a table in memory: sees to it that `bytes` more may be written. `loaded`: bytes of files that are not
  /// in the view yet. ErrorCode::TableFull, Interrupted.
  Status make_room_in_memory(Table& table, Transaction& transaction, size_t bytes, uint64_t loaded);
  /// Rows that began at or before this may forget when: every snapshot sees them, and replay repeats nothing
  /// that old. Newer begins are kept, since replay tells by them whether an operation is in a segment
  /// already.
  Timestamp forgettable_begin(Timestamp horizon) const { return std::min(horizon, host.checkpointed()); }
};

/// A counter that only rises.
inline void raise_to(std::atomic<uint64_t>& counter, uint64_t to) {
  uint64_t now = counter.load(std::memory_order_relaxed);
  while (now < to && !counter.compare_exchange_weak(now, to, std::memory_order_relaxed)) {
  }
}

/// Whether a version ended: for the newest state as transaction `own` sees it.
enum class EndState : uint8_t { Live, Ended, Undecided };
inline EndState end_state(Timestamp end, Timestamp own) {
  if (end == infinity) return EndState::Live;
  if (!is_marker(end) || end == own) return EndState::Ended;
  return EndState::Undecided;
}
inline bool undecided_begin(Timestamp begin, Timestamp own) { return is_marker(begin) && begin != own; }

}  // namespace hailstone
