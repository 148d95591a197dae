// A transaction: its snapshot, its changes (for commit and rollback), its redo operations (for the log), its
// savepoints. One thread at a time uses a Transaction; others may only read its id and state through the
// TransactionManager and LockManager, or call wake().
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/memory_budget.h"
#include "base/status.h"
#include "base/table_id.h"
#include "base/timestamp.h"
#include "log/log.h"

namespace hailstone {

enum class Isolation : uint8_t { ReadUncommitted, ReadCommitted, RepeatableRead, Serializable };

class CommitOrder;
class LockManager;
class SupersededKeys;
class TransactionManager;
class VersionStore;

/// Changes to row versions: what commit stamps and rollback takes back. Mostly one. Ends of a store that
/// names its versions by numbers may be many: of the versions slot, slot + 1, …, made by the writes number,
/// number + stride, ….
struct Change {
  enum class Kind : uint8_t { Insert, End };
  VersionStore* store = nullptr;
  uint64_t slot = 0;    // the store's own name for the version
  uint32_t number = 0;  // Transaction::own_writes() before it
  uint16_t count = 1;
  uint8_t stride = 0;
  Kind kind = Kind::Insert;

  uint64_t last_number() const { return number + uint64_t{stride} * (count - 1U); }
};

/// Where row versions live, as commit and rollback see it. Implemented by the table room for deltas and
/// segments; each takes the table's latch itself.
class VersionStore {
 public:
  virtual ~VersionStore() = default;
  /// Replaces the transaction's marker by `timestamp` in each change; all are of this store, in any order.
  /// Holds the table's latch for some thousand changes at a time.
  virtual void commit(std::span<const Change> changes, Timestamp timestamp) = 0;
  /// Takes changes back: an inserted version is unlinked, ends become infinity. Needs no memory.
  virtual void undo(const Change& change) = 0;
  /// A transaction with changes here has ended, and its snapshot with it. Once or several times; the caller
  /// holds no mutex.
  virtual void transaction_ended() noexcept {}
  /// Bytes of rows in memory, which stay at least as long as a transaction has changes here, and may go to
  /// files then.
  virtual size_t row_bytes() const { return 0; }
};

/// Where a version of a row is: a store, and its own name for the version.
struct VersionPlace {
  std::shared_ptr<VersionStore> store;
  uint64_t slot = 0;
};

/// A change that is not a row version: private segments to publish, catalog changes.
class TransactionAction {
 public:
  virtual ~TransactionAction() = default;
  /// Called under the commit mutex, before the timestamp is published; must not fail, need memory or block.
  virtual void commit(Timestamp timestamp) = 0;
  /// Needs no memory.
  virtual void undo() = 0;
  /// Whether recovery can do it again for a prepared transaction.
  virtual bool can_be_prepared() const { return true; }
};

/// Rows that a large transaction has written to one table and keeps apart from those of others, so that they
/// need not stay in memory. Belongs to the transaction's thread.
class PrivateRows {
 public:
  virtual ~PrivateRows() = default;
  /// Bytes that spill() takes out of memory.
  virtual size_t bytes_in_memory() const = 0;
  /// Writes what is in memory to files. The transaction's changes to those rows are no more in its list
  /// (Transaction::forget_store()): their commit and rollback are the next two.
  virtual Status spill() = 0;
  /// Called behind all changes; must not fail, need memory or block.
  virtual void commit(Timestamp timestamp) noexcept = 0;
  /// Takes the rows in files back that were written by the write of this number or a later one. Needs no
  /// memory.
  virtual void take_back(uint64_t from) noexcept = 0;
};

/// A snapshot in use: no version that it sees goes as long as somebody holds this.
class HeldSnapshot {
 public:
  /// `may_expire`: TransactionManager::expire_snapshots() may end it.
  HeldSnapshot(TransactionManager& manager, Timestamp own, bool may_expire = true);
  ~HeldSnapshot();
  HeldSnapshot(const HeldSnapshot&) = delete;
  HeldSnapshot& operator=(const HeldSnapshot&) = delete;
  const Snapshot& operator*() const { return snapshot_; }
  /// ErrorCode::SnapshotTooOld when it was ended since: what was read by it may lack rows. A reader asks
  /// behind each read.
  Status check() const {
    if (!is_expired()) [[likely]]
      return {};
    return too_old();
  }
  bool is_expired() const { return expired_.load(); }

 private:
  friend class TransactionManager;
  Status too_old() const;

  TransactionManager& manager_;
  const bool may_expire_;
  const std::chrono::steady_clock::time_point taken_;
  std::atomic<bool> expired_{false};
  std::vector<Timestamp> settling_;
  Snapshot snapshot_;
};

/// A point to roll back to. Valid while the transaction lives and has not been rolled back behind it.
struct Savepoint {
  uint64_t number = 0;  // of the next change
  size_t actions = 0;
  uint64_t redo = 0;
};

class Transaction {
 public:
  /// Prepared: changes nothing any more, and waits for its coordinator to say how it ends. Settling:
  /// committed, but its changes have still its marker, and it has its locks.
  enum class State : uint8_t { Active, Prepared, Settling, Committed, RolledBack };

  TransactionId id() const { return id_; }
  Timestamp marker() const { return marker_of(id_); }
  Isolation isolation() const { return isolation_; }
  bool reads_uncommitted() const { return isolation_ == Isolation::ReadUncommitted; }
  State state() const { return state_; }
  bool has_ended() const { return state_ >= State::Committed; }
  /// That it was prepared under; empty before, and when nothing of it is in the log.
  const std::string& name() const { return name_; }

  /// What plain reads see. Taken at the first call; kept to the end for RepeatableRead and above, until
  /// next_statement() below. Readers of READ UNCOMMITTED find each row by it, and give its latest version.
  const Snapshot& snapshot();
  /// The same, for a reader that may go on when the statement has ended.
  std::shared_ptr<const HeldSnapshot> hold_snapshot();
  /// False: the next snapshot() takes a new one.
  bool has_snapshot() const { return held_ != nullptr; }
  /// HeldSnapshot::check() of the snapshot.
  Status check_snapshot() const { return held_ == nullptr ? Status() : held_->check(); }
  /// Whether a commit of this time is newer than what some reader of the transaction sees.
  bool is_behind(Timestamp timestamp) const;
  /// Ends the statement: READ COMMITTED and READ UNCOMMITTED take a new snapshot at the next read.
  void next_statement() noexcept {
    ++statements_;
    if (held_ != nullptr && isolation_ < Isolation::RepeatableRead) give_up_snapshot();
  }
  /// How many have ended.
  uint64_t statements() const { return statements_; }
  /// The newest committed state and own changes: for locking reads and writes. Every timestamp counts as
  /// committed, also that of a commit which is being stamped: its redo is in the log, nothing can take it
  /// back, and what it has not stamped so far still has its marker, to wait for. So
  /// `read` is no timestamp to compare commits with. Not registered: keeps no version alive.
  Snapshot current() const;

  // What a Write (statement.h) notes; it has made room for it.

  /// Records a change so that commit and rollback act on it; `store` is kept alive to the end of the
  /// transaction.
  void add_change(const std::shared_ptr<VersionStore>& store, uint64_t slot, Change::Kind kind) noexcept;
  void add_action(std::unique_ptr<TransactionAction> action) noexcept;

  /// Only the own version of the row counts from the next write on (superseded.h). Makes room by itself.
  void supersede(TableId table, ByteView key);
  /// Null: none.
  std::shared_ptr<const SupersededKeys> superseded(TableId table) const;
  /// Writes so far: a reader that was made then passes over own versions of later ones, so that a statement
  /// does not meet what it writes itself.
  uint32_t own_writes() const { return static_cast<uint32_t>(change_count_); }
  /// Rises with every change and every rollback to a savepoint: a reader that reads ahead tells by it that
  /// the transaction has changed something since.
  uint64_t change_count() const { return change_count_; }
  /// Where its changes are, which stay at least until its end; some may be there twice.
  std::span<const std::shared_ptr<VersionStore>> stores() const { return stores_; }
  /// Bytes of rows in memory that nothing gives back before the end of this transaction.
  size_t held_row_bytes() const;
  /// Bytes of all its operations.
  uint64_t redo_bytes() const { return redo_logged_ + redo_.size(); }

  /// Bytes of rows that it has written, or taken back again, past the log.
  uint64_t unlogged_bytes() const { return unlogged_bytes_; }

  /// Null: it has none in this table.
  PrivateRows* private_rows(TableId table) const;
  void add_private_rows(TableId table, std::unique_ptr<PrivateRows> rows);
  /// Spills the private rows that take most memory, if they take more than `least` bytes. False: none do.
  Result<bool> spill_rows(size_t least);
  /// The versions of this store have moved: inserts are dropped, and the ends of its versions go where
  /// `moved` says: a store that somebody else keeps alive, and a slot. Needs no memory.
  void forget_store(const VersionStore* store,
                    const std::function<std::pair<VersionStore*, uint64_t>(uint64_t slot)>& moved);
  /// Whether it has changed rows: others may wait for its end.
  bool has_changes() const { return is_writer_; }
  bool has_writes() const {
    return !inserts_.empty() || !ends_.empty() || !actions_.empty() || redo_length_ > 0;
  }

  Savepoint savepoint() const { return {change_count_, actions_.size(), redo_length_}; }
  /// Undoes all since the savepoint; locks stay.
  void roll_back_to(const Savepoint& savepoint) noexcept;

  // Lock waits: how long (0: not at all), and who may end them. The check is called from the waiting thread
  // at least every 50 ms.
  void set_lock_wait_timeout(std::chrono::milliseconds timeout) { lock_wait_timeout_ = timeout; }
  std::chrono::milliseconds lock_wait_timeout() const { return lock_wait_timeout_; }
  void set_interruption_check(std::function<bool()> check) { interrupted_ = std::move(check); }
  /// Whether locking reads keep others from inserting into the ranges that they read. At first: for
  /// Serializable.
  void set_locks_ranges(bool on) { locks_ranges_ = on; }
  bool locks_ranges() const { return locks_ranges_; }
  /// Whether a locking read of one key that finds no row keeps others from making it: two transactions that
  /// both found nothing and make the row then would not be repeatable reads.
  bool locks_absent_keys() const { return locks_ranges_ || isolation_ >= Isolation::RepeatableRead; }
  /// Whether it may lock all rows of a table by one lock when there is no memory for more
  /// (LockManager::make_room()).
  void set_escalates_locks(bool on) { escalates_locks_ = on; }
  bool escalates_locks() const { return escalates_locks_; }
  bool interrupted() const { return interrupted_ && interrupted_(); }
  /// Set by LockManager::set_commit_order().
  CommitOrder* commit_order() const { return commit_order_; }

  /// Timestamp of the commit; 0 before it, and for a transaction without writes.
  Timestamp commit_timestamp() const { return commit_timestamp_; }

  /// Rolls back when it is still active. A prepared one belongs to TransactionManager::leave_prepared().
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

 private:
  friend class LockManager;
  friend class TransactionManager;
  friend class Write;
  Transaction(TransactionManager& manager, TransactionId id, Isolation isolation, MemoryBudget& budget);
  void give_up_snapshot() noexcept;
  Status prepare(size_t changes);
  /// What has been appended to `redo_` counts.
  void take_redo() noexcept;
  void undo_to(uint64_t number, size_t actions) noexcept;
  /// It does more than read.
  void note_change() noexcept;
  void make_room(size_t changes);
  size_t changes_capacity() const { return inserts_.capacity() + ends_.capacity(); }

  TransactionManager& manager_;
  TransactionId id_;
  Isolation isolation_;
  State state_ = State::Active;
  bool is_restored_ = false;  // made by recovery: its operations are in the log already
  std::string name_;
  Snapshot snapshot_;
  std::shared_ptr<const HeldSnapshot> held_;
  std::vector<std::weak_ptr<const HeldSnapshot>> earlier_;  // that readers may still use
  bool locks_ranges_;
  bool escalates_locks_ = false;
  // By ascending number. Apart, as ends in a row are one entry.
  std::vector<Change> inserts_, ends_;
  std::vector<std::pair<TableId, std::unique_ptr<PrivateRows>>> private_rows_;
  uint64_t change_count_ = 0;
  uint64_t unlogged_bytes_ = 0;
  uint64_t statements_ = 0;
  bool is_writer_ = false;                             // has changed rows, which may have been taken back
  bool changes_something_ = false;                     // rows, whole segments or definitions
  std::vector<std::shared_ptr<VersionStore>> stores_;  // kept alive; some may be in it twice
  std::vector<std::unique_ptr<TransactionAction>> actions_;
  std::map<TableId, std::shared_ptr<SupersededKeys>> superseded_;
  std::string redo_;          // operations not in the log yet
  size_t redo_capacity_ = 0;  // of it, as `memory_` has counted it
  uint64_t redo_logged_ = 0;  // length of those before; the log may hold more, which is void
  uint64_t redo_length_ = 0;  // all operations of writes that were kept
  Lsn first_logged_ = 0;      // where the first early record begins; 0 for none
  Lsn commit_end_ = 0;        // position to make durable
  Timestamp commit_timestamp_ = 0;
  std::chrono::milliseconds lock_wait_timeout_{50'000};
  std::function<bool()> interrupted_;
  CommitOrder* commit_order_ = nullptr;  // guarded by the lock manager's mutex
  Reservation memory_;
};

}  // namespace hailstone
