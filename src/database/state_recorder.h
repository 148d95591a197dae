// Brings the states of tables into the manifest. Thread-safe; one write at a time.
//
// What the manifest names must never be ahead of the log: a state holds commits, and a crash that kept the
// state but lost the log would keep half of a transaction. So the log is synced between taking a state and
// writing it.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <unordered_set>
#include <vector>

#include "base/mutex.h"
#include "database/catalog.h"
#include "database/manifest.h"

namespace hailstone {

class DatabaseCore;

/// A table with a bigger delta is not closed: it will be flushed soon.
constexpr size_t most_closed_delta_bytes = size_t{256} << 10;

class StateRecorder {
 public:
  StateRecorder(DatabaseCore& core, Manifest manifest) : core_(core), manifest_(std::move(manifest)) {}

  /// Makes the table's state durable. During recovery it does nothing: replay repairs what a crash then
  /// loses, and the checkpoint that ends it records all.
  Status record(Table& table);
  /// Writes all that changed, and the mark; its `next_` numbers are filled in here. `mark.log_start` and
  /// later log files must stay, those before may go when it returns success.
  /// The states hold rows of deltas that committed by `committed`, but for tables in `carried`: those of
  /// their deltas are in the log, behind the mark.
  Status record_checkpoint(CheckpointMark mark, Timestamp committed,
                           const std::unordered_set<TableId>& carried);
  /// Closes tables that nobody uses until `most` are open, those first that were not used since the last
  /// call. A table is closed only when opening it again from what the manifest holds gives the same.
  struct Closed {
    size_t closed = 0;
    size_t unrecorded = 0;  // unused tables that stay until a checkpoint has recorded their changes
  };
  Closed close_idle(size_t most);
  /// Makes drops of tables that have files durable and then removes the files. False: there were none.
  Result<bool> finish_drops();
  /// Runs `action` while the manifest does not change, nor any file goes that it names, nor one of the log
  /// that it needs.
  struct KeptManifest {
    uint64_t bytes;  // of the manifest's file that count
    Lsn log_start;   // what lies behind it in the log is needed
  };
  Status with_manifest_kept(const std::function<Status(const KeptManifest&)>& action);
  /// Runs `action` with the state of a table, rows of its deltas included, as of a moment within the call. No
  /// file goes meanwhile that the state names. `committed`: no later commit is in it. The caller keeps
  /// writers of the table away.
  Status with_table_kept(Table& table,
                         const std::function<Status(const TableRecord& record, Timestamp committed)>& action);

  // For recovery, single thread.
  /// Takes what load() found, in so many bytes of the manifest; the entry of the catalog is marked as
  /// recorded.
  void adopt(CatalogEntry& entry, TableRecord record, size_t bytes);
  void adopt_mark(const CheckpointMark& mark, std::map<TableId, Timestamp> dropped) {
    const MutexLock guard(mutex_);
    mark_ = mark;
    recorded_until_ = mark.committed;
    dropped_ = std::move(dropped);
  }
  void set_recovering(bool recovering) {
    const MutexLock guard(mutex_);
    recovering_ = recovering;
  }

  /// Bytes of rows that the manifest holds because they are too few for files of their own.
  size_t row_bytes() const { return row_bytes_.load(std::memory_order_relaxed); }

 private:
  struct Update {
    EntryPointer entry;
    std::shared_ptr<Table> table;  // null when it is not open
    TableRecord record;
  };
  struct FilesToRemove {
    std::shared_ptr<Table> table;
    std::vector<TableRecord::SegmentEntry> segments;  // when the table is not open
  };

  /// `rows_until`: rows in deltas that committed by then are part of the state.
  Result<TableRecord> capture(Table& table, std::optional<Timestamp> rows_until);
  Status collect(std::vector<Update>& updates, const std::vector<EntryPointer>& changed, Timestamp committed,
                 const std::unordered_set<TableId>& carried) HAILSTONE_REQUIRES(mutex_);
  void replace_recorded(CatalogEntry& entry, std::optional<CatalogRecord> recorded)
      HAILSTONE_REQUIRES(mutex_, entry.opening);
  Status write(std::vector<Update>& updates, const std::map<TableId, Timestamp>& dropped,
               const CheckpointMark& mark, bool with_mark) HAILSTONE_REQUIRES(mutex_);
  static bool differs(const TableRecord& record, const std::optional<CatalogRecord>& recorded);
  bool has_files(const Catalog::Dropped& dropped);
  /// Forgets the recorded state of a dropped table; what there is to remove.
  FilesToRemove let_go(const EntryPointer& entry) HAILSTONE_REQUIRES(mutex_);
  void remove_files(const std::vector<FilesToRemove>& files);

  DatabaseCore& core_;
  Mutex mutex_;
  Manifest manifest_ HAILSTONE_GUARDED_BY(mutex_);
  CheckpointMark mark_ HAILSTONE_GUARDED_BY(mutex_);  // the last one written
  /// Drops in the manifest that replay may still need.
  std::map<TableId, Timestamp> dropped_ HAILSTONE_GUARDED_BY(mutex_);
  /// Drops for the next checkpoint: the tables have no files.
  std::map<TableId, Timestamp> dropped_unwritten_ HAILSTONE_GUARDED_BY(mutex_);
  size_t clock_hand_ HAILSTONE_GUARDED_BY(mutex_) = 0;    // of close_idle(): position among the open tables
  uint64_t live_bytes_ HAILSTONE_GUARDED_BY(mutex_) = 0;  // of the newest record of every table
  std::atomic<size_t> row_bytes_{0};                      // of the rows in these records
  /// Rows in deltas up to this commit are in the states.
  Timestamp recorded_until_ HAILSTONE_GUARDED_BY(mutex_) = 0;
  bool recovering_ HAILSTONE_GUARDED_BY(mutex_) = false;
};

}  // namespace hailstone
