// Checkpoints: after one, what was committed before it needs the log no more, and the log's old files go.
//
// 1. Under the commit mutex: the last commit C and, by rotating the log, the position P that follows it.
// 2. Every delta that holds a commit up to C goes to a segment, or, when it is small, into the log again as
//    a Carry record. A Carry record is the state of the delta at its place in the log: it is made under the
//    commit mutex.
// 3. The states of all tables that changed go to the manifest, with the mark that names P and C.
// 4. Log files before P are removed, but for those that hold operations of transactions still open.
//
// A failure in 2 or 3 leaves the mark before in force, and the log that it needs. Thread-safe.
#pragma once

#include <atomic>
#include <mutex>

#include "base/status.h"
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
  /// Where the last checkpoint before this start was; recovery says it.
  void set_position(Lsn position) { position_.store(position); }

 private:
  Status settle(Table& table, Timestamp committed, size_t& carry_left);
  Result<bool> carry(Table& table, Timestamp committed, size_t max_bytes, size_t& carried);

  DatabaseCore& core_;
  std::mutex mutex_;              // one checkpoint at a time
  std::atomic<Lsn> position_{0};  // of the last checkpoint
};

}  // namespace hailstone
