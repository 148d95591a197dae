// The inside of Table, for the files of this room only: its places, and how a row is looked for in them.
//
// Who writes rows holds write_mutex; who swaps the view holds write_mutex and the latch exclusively. Whoever
// looks for a row takes its snapshot first and the view second: the view then holds all that the snapshot
// sees.
#pragma once

#include <algorithm>
#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "table/key_search.h"
#include "table/load_keys.h"
#include "table/places.h"
#include "table/segment_claims.h"
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
  std::shared_ptr<const TableKeys> keys;
  const std::shared_ptr<TableLatch> latch = std::make_shared<TableLatch>();
  mutable std::mutex write_mutex;
  std::mutex flush_mutex;  // one flush at a time, as they publish oldest first; before write_mutex
  SegmentClaims claims;    // of merges
  std::mutex files_mutex;  // delete vector files being written, `obsolete` and `delete_vectors_unsynced`

  mutable std::mutex view_mutex;
  std::shared_ptr<const TableView> view;              // protected by view_mutex
  std::vector<std::weak_ptr<SpareView>> spare_views;  // not in use yet; protected by write_mutex
  std::vector<TableRecord::SegmentEntry>
      unopened;  // segments that could not be opened; constant after open()

  std::atomic<uint64_t> next_row_id, next_auto_increment;
  std::atomic<Timestamp> last_publish;
  const Timestamp recorded_publish;              // last_publish when the table was opened
  const Timestamp recorded_until;                // applied_until when the table was opened
  std::atomic<uint64_t> generation{1};           // rises with every change of what record() gives
  std::atomic<uint64_t> recorded_generation{1};  // that the manifest holds
  std::atomic<bool> flush_requested{false};

  /// Files that go when the manifest holds a state that does not name them any more. Protected by
  /// files_mutex.
  struct Obsolete {
    uint64_t generation = 0;
    uint64_t delete_vector = 0;
    std::shared_ptr<TableSegment> segment;
  };
  std::list<Obsolete> obsolete;
  /// 0: there is none.
  void remove_delete_vector(uint64_t file) noexcept;
  bool delete_vectors_unsynced = false;  // some were made since the directory was synced

  std::atomic<bool> corrupt{false};
  mutable std::mutex corruption_mutex;
  std::optional<Error> corruption;

  // Distinct counts of analyze(), by index; empty until then. Protected by statistics_mutex.
  mutable std::mutex statistics_mutex;
  std::vector<std::vector<uint64_t>> analyzed;
  /// What the files of some segments say, all rows counted. Protected by statistics_mutex.
  mutable TableStatistics of_segments;
  mutable std::shared_ptr<const SegmentOrders> of_segments_for;  // these segments; null: of none yet
  /// Ended rows of the segments of the view.
  const std::shared_ptr<std::atomic<uint64_t>> ended_rows = std::make_shared<std::atomic<uint64_t>>(0);

  /// Of the bulk loads whose rows are not all in the view yet. Protected by write_mutex.
  std::vector<const PendingKeys*> pending_keys;

  Status usable() const;
  void mark_corrupt(const Error& error);
  /// Passes `result` on; damage in it marks the table.
  template <typename T>
  Result<T> noted(Result<T> result) {
    if (!result && result.error().code() == ErrorCode::Corruption) mark_corrupt(result.error());
    return result;
  }

  std::shared_ptr<const TableView> current_view() const {
    const std::lock_guard guard(view_mutex);
    return view;
  }
  /// Where the segments change the latch is held exclusively. Caller holds write_mutex.
  void set_view(std::shared_ptr<TableView> next);
  /// Room that withdraw() will have, whatever the table's view is then. Caller holds write_mutex.
  std::shared_ptr<SpareView> make_spare_view();
  /// Takes segments out of the view; `spare` becomes the new one. Needs no memory. Caller holds write_mutex
  /// and the latch.
  void withdraw(const TableSegments& segments, std::shared_ptr<SpareView> spare) noexcept;
  std::shared_ptr<TableDelta> new_delta(Table& table);
  /// Replaces the active delta by an empty one. Caller holds write_mutex.
  void freeze_active(Table& table);

  /// Where a view's segments have a key, ended or not. Reads files, so it is not called under write_mutex.
  /// Each row's own begin is given where the segment's, which is the newest, is behind what `writer` sees.
  Result<SegmentMatches> match_key(const TableView& places, ByteView key,
                                   const Transaction* writer = nullptr) const;
  /// Entries of a unique secondary index with this index key in a view's segments. Reads files, too.
  Result<UniqueMatches> match_unique(const TableView& places, size_t secondary, ByteView index_key) const;

  /// The live version of a key in the newest state, as transaction `own` (marker) sees it. `matches` are
  /// those of the view's segments.
  NewestRow find_newest(const TableView& places, const SegmentMatches& matches, ByteView key,
                        Timestamp own) const;
  /// The live version of a key, committed or not: what READ UNCOMMITTED gives. Takes write_mutex, as an
  /// update is between its two versions only under that.
  Result<RowPlace> find_latest(ByteView key) const;
  /// Whether the version is the row's latest, and was there already when the snapshot was taken.
  Result<bool> is_unchanged(const RowPlace& place, const Snapshot& snapshot) const;
  /// The version of a key that the snapshot, which is the transaction's, sees.
  Result<RowPlace> find_visible(const TableView& places, ByteView key, const Snapshot& snapshot,
                                const Transaction& transaction);
  /// What a read without locks finds at a key.
  Result<RowPlace> find_plain(Transaction& transaction, ByteView key);
  /// A live entry of a unique secondary index with this index key, other than the row with clustered key
  /// `except`.
  struct UniqueEntry {
    bool found = false;
    std::string clustered_key;
    TransactionId blocker = 0;
  };
  UniqueEntry find_unique(const TableView& places, const UniqueMatches& matches, size_t secondary,
                          ByteView index_key, ByteView except, Timestamp own) const;
  /// Another transaction whose bulk load has taken a row with this key of a unique index; 0: none. Caller
  /// holds write_mutex.
  TransactionId load_with_key(const Transaction& transaction, size_t index, ByteView key) const {
    return pending_keys.empty() ? 0 : load_with_hash(transaction, LoadKeys::hash(index, key));
  }
  TransactionId load_with_hash(const Transaction& transaction, uint64_t hash) const {
    for (const PendingKeys* load : pending_keys) {
      if (load->transaction != transaction.id() && load->contains(hash)) return load->transaction;
    }
    return 0;
  }
  /// Reads the values of a found version; bytes live in `batch`, which is cleared.
  Status read_place(const RowPlace& place, const Projection& projection, Batch& batch,
                    std::span<Value> values);
  /// Locks a row and finds its live version then; nothing when there is none.
  Result<RowPlace> lock_newest(Transaction& transaction, ByteView key, ReadLock lock);
  /// Writes a frozen delta without uncommitted versions to segments, which take its place. The caller holds
  /// flush_mutex.
  Status flush_delta(const std::shared_ptr<TableDelta>& delta);
  /// Puts the segments that a delta was written to in its place.
  void replace_delta(const std::shared_ptr<TableDelta>& delta, std::vector<TableDelta::Successor> successors);
  bool merge_due() const;
  /// Waits for memory when the budget is exhausted, as long as somebody else may give some back.
  Status make_room(Table& table, Transaction& transaction, size_t bytes);
  /// Rows that began at or before this may forget when: every snapshot sees them, and replay repeats nothing
  /// that old. Newer begins are kept, since replay tells by them whether an operation is in a segment
  /// already.
  Timestamp forgettable_begin(Timestamp horizon) const { return std::min(horizon, host.checkpointed()); }
};

/// Whether a version ended: for the newest state as transaction `own` sees it.
enum class EndState : uint8_t { Live, Ended, Undecided };
inline EndState end_state(Timestamp end, Timestamp own) {
  if (end == infinity) return EndState::Live;
  if (!is_marker(end) || end == own) return EndState::Ended;
  return EndState::Undecided;
}
inline bool undecided_begin(Timestamp begin, Timestamp own) { return is_marker(begin) && begin != own; }

}  // namespace hailstone
