// Checkpoints: after one, what was committed before it needs the log no more, and the log's old files go.
//
// 1. Under the commit mutex: the last commit C and, by rotating the log, the position P that follows it.
// 2. Every delta that holds a commit up to C goes to a segment, but for small ones. What has to stay in a
//    delta because of open transactions, or because the table is damaged, goes into the log again as Carry
//    records. A Carry record is the state of the delta at its place in the log: it is made under the commit
//    mutex.
// 3. The states of all tables that changed go to the manifest, with the rows of their small deltas, and the
//    mark that names P and C. So a table that does not change costs a checkpoint nothing, though its few rows
//    are in no file of their own.
// 4. Log files before P are removed, but for those that hold operations of transactions still open.
//
// A failure in 2 or 3 leaves the mark before in force, and the log that it needs. So does, on purpose, a
// table that is damaged: changes of it may be in the log only, and are applied when its files are whole
// again. The states of all other tables are recorded nevertheless. That ends when the table is dropped or
// truncated, or when the log has become long_log times as long as one between two checkpoints. Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <unordered_set>

#include "base/mutex.h"
#include "base/status.h"
#include "database/manifest.h"
#include "log/log.h"
#include "table/table.h"

namespace hailstone {

class DatabaseCore;

class Checkpointer {
 public:
  explicit Checkpointer(DatabaseCore& core) : core_(core) {}

  Status run();
  /// Bytes of log since the last checkpoint.
  uint64_t log_bytes() const;
  /// For recovery: the mark that it began with, and the tables whose operations it could not apply.
  void start_from(const CheckpointMark& mark, const std::unordered_set<TableId>& damaged) {
    const MutexLock guard(mutex_);
    in_force_ = mark;
    damaged_ = damaged;
    position_.store(mark.carried);
  }

 private:
  /// Brings the commits of a table up to `committed` to where the manifest or the log behind the rotation
  /// holds them: into a segment, or Carry records (then the table is `carried`), or nowhere now, when
  /// record_checkpoint() is to take them along as they are few. `rows_left`: bytes that it should do so for.
  Status settle(Table& table, Timestamp committed, size_t& rows_left, std::unordered_set<TableId>& carried);
  bool fits_manifest(const Table& table, size_t& rows_left) const;
  Status carry(Table& table, Timestamp committed);

  /// Whether the mark in force must stay so, for the sake of damaged tables, with the log up to `end`.
  bool must_keep_log(Lsn end) HAILSTONE_REQUIRES(mutex_);

  DatabaseCore& core_;
  Mutex mutex_;  // one checkpoint at a time
  CheckpointMark in_force_ HAILSTONE_GUARDED_BY(mutex_);
  std::unordered_set<TableId> damaged_ HAILSTONE_GUARDED_BY(mutex_);   // the log is kept for them
  std::unordered_set<TableId> given_up_ HAILSTONE_GUARDED_BY(mutex_);  // it is not any more
  std::atomic<Lsn> position_{0};                                       // of the last checkpoint
};

}  // namespace hailstone
