// Row locks, table locks, waits and deadlocks. Thread-safe.
//
// Row locks here are explicit ones, taken by locking reads. A writer's uncommitted version is itself an
// exclusive lock: who meets it calls wait_for_end(). The table room takes try_ functions under its write
// mutex and waits outside of it, then looks again. Requests are granted in the order of arrival as far as
// they conflict; a transaction that wants more of a lock it holds goes first. A wait ends granted, or with
// LockWaitTimeout, Deadlock (the waits-for graph has a cycle; the victim is the one of it that has changed
// and locked fewest rows, the requester before others, but none that has to be committed before another one
// of it, commit_order.h) or Interrupted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/bytes.h"
#include "base/counters.h"
#include "base/memory_budget.h"
#include "base/status.h"
#include "base/table_id.h"
#include "base/timestamp.h"

namespace hailstone {

class CommitOrder;
class Transaction;
class VersionStore;
struct VersionPlace;

enum class RowLockMode : uint8_t { Shared, Exclusive };
enum class TableLockMode : uint8_t { IntentionShared, IntentionExclusive, Shared, Exclusive };

class LockManager {
 public:
  /// Locks of rows and ranges are charged to `budget`; both outlive this. A transaction that has locked
  /// `most_by_key` rows by their keys locks further ones by their places.
  LockManager(Counters& counters, MemoryBudget& budget, size_t most_by_key = 256);
  ~LockManager();

  // A row lock may be granted to one transaction several times; unlock_row takes one grant back, the end of
  // the transaction all. A Shared lock that the transaction holds becomes Exclusive by asking for that.
  //
  // A transaction that has locked many rows locks further ones by the `place` of their newest version, which
  // takes a bit or two bytes instead of two hundred. Its holder says where a row is, and follow_rows() when
  // rows move: all who give a place, and all who move rows, hold the table's write mutex. Null: the row is
  // not there, or its newest version is the transaction's own, which keeps all others away by itself.

  // Locks of rows and ranges have half of the budget. When that is used up a transaction gets no more, or, if
  // it escalates its locks, one that all rows of the table are locked by, those that are there and those that
  // come: it is granted to one transaction at a time, or to several that share the rows. Others' locks of
  // single rows, from before, are beside it, and are waited for when the rows are met.

  /// Before rows of the table are locked, without any mutex. TooManyLocks: there is no room for them. Where
  /// the locks are escalated, as lock_row(): it waits for those who have locked all rows of the table;
  /// without `waits` LockWaitTimeout in place of that.
  Status make_room(Transaction& transaction, TableId table, RowLockMode mode, bool waits = true);
  /// Whether make_room() has nothing to do.
  bool has_room(const Transaction& transaction, TableId table, RowLockMode mode) const;

  /// Grants at once (also when held in a sufficient mode) or returns false and changes nothing. False, too,
  /// when others wait for the lock already.
  bool try_lock_row(Transaction& transaction, TableId table, ByteView key, RowLockMode mode,
                    const VersionPlace* place = nullptr);
  /// Waits until granted, or until the row is locked no more: the caller tries again. It has been granted in
  /// a table of which nobody has locked rows by their places.
  Status lock_row(Transaction& transaction, TableId table, ByteView key, RowLockMode mode);
  /// Gives back one grant before the end of the transaction (a row that was read but did not match). The last
  /// one frees the row; a row that is held by its place, and was granted again, is kept. False: nothing was
  /// done, as only the row's place would tell.
  bool unlock_row(Transaction& transaction, TableId table, ByteView key, const VersionPlace* place = nullptr);
  /// Gives a lock back that was taken in this statement, for a row that the transaction has written since:
  /// its version keeps all others away. Not while others wait for the lock: the next of them would have it,
  /// and the transaction, if it wanted the row again, would wait for one that waits for its end.
  void unlock_written_row(Transaction& transaction, TableId table, ByteView key);
  /// True when another transaction holds an explicit lock on the row beside which `mode` cannot be granted:
  /// lock_row() waits for it. Cheap when nobody holds explicit locks on the table.
  bool row_locked_by_other(const Transaction& transaction, TableId table, ByteView key,
                           RowLockMode mode = RowLockMode::Exclusive, const VersionPlace* place = nullptr);
  /// Whether somebody has locked rows of the table, of the store, by their places.
  bool has_places_of(TableId table) const;
  bool has_rows_of(const VersionStore& store) const;
  /// The versions of the store are about to be somewhere else, too: who has locked a row has locked it there.
  /// `moved`: null where it is nowhere. Nothing that counts has been done when it throws.
  void follow_rows(const VersionStore& store, const std::function<VersionPlace(uint64_t slot)>& moved);
  /// They are there no more.
  void forget_rows(const VersionStore& store) noexcept;

  // A range lock keeps other transactions from making entries of one order of a table (an index, or the rows
  // themselves) between two keys. Range locks never conflict with each other. They are made and asked for
  // under the table's write mutex, and end with the transaction.
  static constexpr uint32_t clustered_order = ~uint32_t{0};

  /// Keys low <= key < high; empty `high`: all from `low` on. TooManyLocks: there is no room for one more;
  /// where locks are escalated the whole order is locked then.
  Status lock_range(Transaction& transaction, TableId table, uint32_t order, ByteView low, ByteView high);
  /// Another transaction that has locked a range which holds the key; 0: none. Cheap when nobody has locked
  /// ranges of the table.
  TransactionId range_locked_by_other(const Transaction& transaction, TableId table, uint32_t order,
                                      ByteView key) const;
  /// Another transaction that has locked any range of the table; 0: none.
  TransactionId any_range_locked_by_other(const Transaction& transaction, TableId table) const;

  Status lock_table(Transaction& transaction, TableId table, TableLockMode mode);

  /// Waits until the transaction `holder` has ended; at once when it is not active.
  Status wait_for_end(Transaction& waiter, TransactionId holder);

  /// Transactions announce themselves, so that others can wait for their end. remove_transaction releases all
  /// locks and wakes who waits; it needs no memory.
  void add_transaction(Transaction& transaction);
  void remove_transaction(Transaction& transaction) noexcept;

  /// What a coordinator knows of the transaction, for waits and deadlocks; it must live as long as the
  /// transaction or until null is set. At first null: none does.
  void set_commit_order(Transaction& transaction, CommitOrder* order) noexcept;

  /// Makes a waiting transaction look at its interruption check now.
  void wake(TransactionId transaction);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hailstone
