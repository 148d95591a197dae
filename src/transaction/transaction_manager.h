// Begins and ends transactions, hands out timestamps and snapshots. Thread-safe.
//
// A commit is three steps, so that a server can order them:
//   commit_in_order()  gives the timestamp, appends the commit record and publishes the commit, under the
//                      commit mutex;
//   settle()           stamps the changes and releases the locks, under no mutex that others need;
//   make_durable()     brings the log to where flush_log_at_commit says.
// commit_visible() does the first two, commit() all. Locks need not be kept until the log is durable: who
// takes them over has its commit record behind this one, so that it cannot survive this one's loss.
//
// A snapshot sees each transaction wholly or not at all. Timestamps are published in order, for snapshots to
// start from. A snapshot that is taken before a published transaction has settled knows its marker: for it
// the marker is as good as the timestamp (Snapshot::settling). Who wants to change what still has a marker
// waits for the transaction, as before its commit. A small transaction is stamped at once, before it is
// published, and so is one with actions (loads, changes of definitions), which others must meet in order.
//
// In a two-phase commit prepare() puts all that the transaction has done into the log, under a name that its
// coordinator gave it. From then on neither the end of its owner nor that of the process rolls it back: it
// waits, with its locks, for commit() or roll_back_prepared(), after a restart as well.
//
// Record payloads (docs/formats.md); transaction ids in one log are unique. What a transaction has taken back
// by a rollback to a savepoint is void: its next record has an offset before it.
//   Operations   u64 transaction id, u64 offset in its redo, operations
//   Prepare      u64 id, u64 offset in its redo, name, operations
//   Commit       u64 id, u64 timestamp, u64 offset in its redo, operations
//   Rollback     u64 id
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/counters.h"
#include "base/mutex.h"
#include "base/snapshots_in_use.h"
#include "transaction/lock_manager.h"
#include "transaction/transaction.h"

namespace hailstone {

/// When a commit is durable, as innodb_flush_log_at_trx_commit: 0 written and synced once a second, 1 synced
/// at commit, 2 written at commit, synced once a second.
enum class FlushLogAtCommit : uint8_t { EverySecond = 0, Sync = 1, Write = 2 };

class TransactionManager {
 public:
  /// `last_committed` and `next_id`: where recovery left off. A transaction that has changed more rows than
  /// `most_stamped_in_order` is stamped after it has been published: stamping fewer takes some microseconds.
  TransactionManager(Log& log, LockManager& locks, MemoryBudget& budget, Counters& counters,
                     Timestamp last_committed, TransactionId next_id, uint64_t most_stamped_in_order = 256);

  std::unique_ptr<Transaction> begin(Isolation isolation);

  Status commit(Transaction& transaction);
  Status commit_visible(Transaction& transaction);
  /// On error (the log cannot take the record, and the transaction's interruption ends the wait) the
  /// transaction has been rolled back; never ErrorCode::Interrupted. InvalidArgument when it had ended
  /// before.
  Status commit_in_order(Transaction& transaction);
  /// Of one that is committed: it keeps its locks until then. May be another thread than that of
  /// commit_in_order(). Needs no memory.
  void settle(Transaction& transaction) noexcept;
  /// Waits as long as the log cannot be written, but for the transaction's interruption:
  /// ErrorCode::Interrupted leaves it committed, and durable as soon as the log can be written.
  Status make_durable(Transaction& transaction);
  /// Every commit that is visible is durable when it returns, whatever flush_log_at_commit says.
  Status sync_commits() { return log_.sync(log_.end()); }
  /// Needs no memory. Nothing to do for a transaction that is not active.
  void rollback(Transaction& transaction) noexcept;

  // Two-phase commit. The functions above are for prepared transactions, too, but an error of
  // commit_in_order() leaves them prepared, and no interruption ends it.

  static constexpr size_t most_name_bytes = 255;
  /// Durable as flush_log_at_commit says. `name`: 1 to most_name_bytes bytes. The transaction stays active on
  /// error: AlreadyExists when another prepared one has the name; Unsupported when it has changed the
  /// catalog; InvalidArgument when it is not active; the log's errors.
  Status prepare(Transaction& transaction, std::string_view name);
  /// Durable as a commit. On error it is still prepared.
  Status roll_back_prepared(Transaction& transaction);
  /// Its owner gives it up: the caller that takes it by its name next says how it ends.
  void leave_prepared(std::unique_ptr<Transaction> transaction) noexcept;
  /// Null: there is none of this name that was left.
  std::unique_ptr<Transaction> take_prepared(std::string_view name);
  /// The names of all prepared transactions that have done something, in byte order.
  std::vector<std::string> prepared() const;
  /// Forgets those that were left: the database closes.
  void forget_prepared() noexcept;

  void set_flush_log_at_commit(FlushLogAtCommit mode) { flush_mode_.store(mode, std::memory_order_relaxed); }
  FlushLogAtCommit flush_log_at_commit() const { return flush_mode_.load(std::memory_order_relaxed); }

  Timestamp last_committed() const { return last_committed_.load(std::memory_order_acquire); }
  /// Whether what the transaction reads is what all others read, until one begins to change something: no
  /// open transaction has changed anything, and its snapshot, if it has one, has all commits.
  bool reads_newest(const Transaction& transaction) const;
  /// Which versions somebody may still see: all others are dead.
  SnapshotsInUse snapshots_in_use() const;
  /// No snapshot in use, nor any taken later, reads before this.
  Timestamp horizon() const;
  /// Ends snapshots that were taken at or before `taken`: reads by them fail from now on
  /// (HeldSnapshot::check()), and versions that only they needed are dead. Returns how many.
  size_t expire_snapshots(std::chrono::steady_clock::time_point taken);

  /// Says that the transaction waits for memory, as long as it lives.
  class MemoryWait {
   public:
    MemoryWait(TransactionManager& manager, const Transaction& transaction)
        : waiting_(transaction.has_changes() ? &manager.writers_waiting_ : nullptr) {
      if (waiting_ != nullptr) waiting_->fetch_add(1);
    }
    MemoryWait(const MemoryWait&) = delete;
    MemoryWait& operator=(const MemoryWait&) = delete;
    ~MemoryWait() {
      if (waiting_ != nullptr) waiting_->fetch_sub(1);
    }

   private:
    std::atomic<size_t>* waiting_;
  };
  /// Whether every open transaction that has changed rows waits for memory: none of them will end.
  bool all_writers_wait() const { return writers_waiting_.load() >= writers_.load(); }

  /// Position before which no open transaction has records in the log; `otherwise` when none has. A
  /// checkpoint has to call it within with_commits_stopped(), after rotating the log: otherwise a transaction
  /// that commits meanwhile could lose its early records.
  Lsn oldest_open_record(Lsn otherwise) const;
  /// Runs `action` with the last commit timestamp while no commit can happen, and none has still to settle.
  Status with_commits_stopped(const std::function<Status(Timestamp)>& action);

  // For recovery only, before any begin(): timestamps and ids continue behind these.
  void resume_after(Timestamp last_committed, TransactionId last_id);

  /// The transaction of a prepared one whose operations are in the log; recovery does them again.
  std::unique_ptr<Transaction> begin_restored(TransactionId id);
  /// So many bytes of its operations have been done.
  static void note_restored(Transaction& transaction, uint64_t bytes);
  /// All have been: it is prepared again. `first`: where its first record begins.
  void finish_restored(std::unique_ptr<Transaction> transaction, std::string name, Lsn first);

 private:
  friend class HeldSnapshot;
  friend class Transaction;
  /// Says what the snapshot reads.
  void register_snapshot(HeldSnapshot& snapshot);
  void forget_snapshot(HeldSnapshot& snapshot) noexcept;
  /// Gives the commit its timestamp, and publishes it. Nothing has been done when it fails.
  Status log_commit(Transaction& transaction);
  /// Gives the transaction's changes the timestamp of its commit.
  static void stamp(Transaction& transaction) noexcept;
  /// Publishes the commit of one that has still to settle. `marker`: a list of that alone.
  void publish(Transaction& transaction, std::list<Timestamp> marker) noexcept
      HAILSTONE_REQUIRES(commit_mutex_);
  /// Brings the log there as flush_log_at_commit says.
  Status reach(Lsn position, const Log::Interruption& interrupted);
  Status spill_redo(Transaction& transaction);
  /// Registers the transaction before its first record: a checkpoint must keep the log from there on.
  void note_first_record(Transaction& transaction);
  /// ErrorCode::AlreadyExists.
  Status take_name(Transaction& transaction, std::string_view name);
  Status log_prepare(Transaction& transaction);
  /// Its locks go, and it is known no more; what it has changed stays as it is.
  void let_go(Transaction& transaction) noexcept;
  void forget_name(Transaction& transaction) noexcept;
  void finish(Transaction& transaction, Transaction::State state) noexcept;

  Log& log_;
  LockManager& locks_;
  MemoryBudget& budget_;
  Counters& counters_;
  const uint64_t most_stamped_in_order_;
  HeldTime commit_mutex_held_;
  Mutex commit_mutex_{commit_mutex_held_};
  size_t unsettled_ HAILSTONE_GUARDED_BY(commit_mutex_) = 0;  // published, and not settled
  size_t stoppers_ HAILSTONE_GUARDED_BY(commit_mutex_) = 0;   // that wait for these
  Condition all_settled_;
  std::atomic<Timestamp> last_committed_;  // rises under commit_mutex_
  std::atomic<TransactionId> next_id_;
  std::atomic<FlushLogAtCommit> flush_mode_{FlushLogAtCommit::Sync};
  std::atomic<size_t> writers_{0};  // open transactions that have changed rows
  std::atomic<size_t> writers_waiting_{0};
  std::atomic<size_t> changing_{0};  // open transactions that have changed anything
  HeldTime mutex_held_;
  mutable Mutex mutex_{mutex_held_};
  std::set<std::pair<Timestamp, HeldSnapshot*>> snapshots_ HAILSTONE_GUARDED_BY(mutex_);
  std::list<Timestamp> settling_ HAILSTONE_GUARDED_BY(mutex_);  // markers of those in unsettled_
  std::map<TransactionId, Lsn> open_records_ HAILSTONE_GUARDED_BY(mutex_);
  /// By name; those that somebody has are null.
  std::map<std::string, std::unique_ptr<Transaction>, std::less<>> prepared_ HAILSTONE_GUARDED_BY(mutex_);
};

}  // namespace hailstone
