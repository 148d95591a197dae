// Brings the states of tables into the manifest. Thread-safe; one write at a time.
//
// What the manifest names must never be ahead of the log: a state holds commits, and a crash that kept the
// state but lost the log would keep half of a transaction. So the log is synced between taking a state and
// writing it.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "database/catalog.h"
#include "database/manifest.h"

namespace hailstone {

class DatabaseCore;

class StateRecorder {
 public:
  StateRecorder(DatabaseCore& core, Manifest manifest) : core_(core), manifest_(std::move(manifest)) {}

  /// Makes the table's state durable. During recovery it does nothing: replay repairs what a crash then
  /// loses, and the checkpoint that ends it records all.
  Status record(Table& table);
  /// Writes all that changed, and the mark; its `next_` numbers are filled in here. `mark.log_start` and
  /// later log files must stay, those before may go when it returns success.
  Status record_checkpoint(CheckpointMark mark);
  /// Makes drops of tables that have files durable and then removes the files.
  Status finish_drops();
  /// Runs `action` while the manifest does not change, nor any file that it names goes.
  Status with_manifest_kept(const std::function<Status()>& action);

  // For recovery, single thread.
  /// Takes what load() found; the entry of the catalog is marked as recorded.
  void adopt(const EntryPointer& entry, TableState state);
  void adopt_mark(const CheckpointMark& mark, std::map<TableId, Timestamp> dropped) {
    mark_ = mark;
    dropped_ = std::move(dropped);
  }
  void set_recovering(bool recovering) { recovering_ = recovering; }

 private:
  struct Update {
    EntryPointer entry;
    std::shared_ptr<Table> table;  // null when it is not open
    TableState state;
  };
  struct FilesToRemove {
    std::shared_ptr<Table> table;
    std::vector<TableState::SegmentEntry> segments;  // when the table is not open
  };

  Result<TableState> capture(Table& table);
  Status collect(std::vector<Update>& updates, const std::vector<EntryPointer>& changed);
  Status write(std::vector<Update>& updates, const std::map<TableId, Timestamp>& dropped,
               const CheckpointMark& mark, bool with_mark);
  static bool differs(const TableState& state, const std::optional<RecordedState>& recorded);
  bool has_files(const Catalog::Dropped& dropped);
  /// Forgets the recorded state of a dropped table; what there is to remove.
  FilesToRemove let_go(const EntryPointer& entry);
  void remove_files(const std::vector<FilesToRemove>& files);

  DatabaseCore& core_;
  std::mutex mutex_;  // protects all below
  Manifest manifest_;
  CheckpointMark mark_;                             // the last one written
  std::map<TableId, Timestamp> dropped_;            // drops in the manifest that replay may still need
  std::map<TableId, Timestamp> dropped_unwritten_;  // drops for the next checkpoint: the tables have no files
  uint64_t live_bytes_ = 0;                         // of the newest record of every table
  bool recovering_ = false;
};

}  // namespace hailstone
