// What the lock manager holds: all locks, and who holds and waits for them. Only lock_manager.cc,
// row_locks.cc and range_locks.cc use it.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/hash.h"
#include "base/mutex.h"
#include "base/number_map.h"
#include "transaction/commit_order.h"
#include "transaction/lock_manager.h"
#include "transaction/lock_memory.h"
#include "transaction/lock_queue.h"
#include "transaction/place_locks.h"
#include "transaction/transaction.h"

namespace hailstone {

using locking::Holder;
using locking::Lock;
using locking::Owner;
using locking::PlaceLocks;

struct LockName {
  TableId table;
  ByteView key;
  bool operator==(const LockName&) const = default;
};

struct LockHash {
  using is_transparent = void;
  size_t operator()(const LockName& name) const {
    return hash_bytes(name.key) ^ name.table * 0x9e37'79b9'7f4a'7c15u;
  }
  size_t operator()(const std::unique_ptr<Lock>& lock) const {
    return (*this)(LockName{lock->table, lock->key});
  }
};

struct LockEqual {
  using is_transparent = void;
  static LockName name(const LockName& name) { return name; }
  static LockName name(const std::unique_ptr<Lock>& lock) { return {lock->table, lock->key}; }
  bool operator()(const auto& a, const auto& b) const { return name(a) == name(b); }
};

using LockSet = std::unordered_set<std::unique_ptr<Lock>, LockHash, LockEqual>;

/// What a row lock takes that one transaction holds.
inline size_t memory_of(const Lock& lock) {
  constexpr size_t list_entries = 6 * sizeof(void*);  // of the set of locks, and of its owner's
  constexpr size_t key_in_place = 15;
  return sizeof(Lock) + list_entries + (lock.key.size() > key_in_place ? lock.key.size() : 0);
}

std::unexpected<Error> too_many_locks(const Transaction& transaction, size_t limit);

inline TableLockMode mode_of(RowLockMode mode) {
  return mode == RowLockMode::Shared ? TableLockMode::Shared : TableLockMode::Exclusive;
}

struct LockManager::State {
  State(Counters& its_counters, MemoryBudget& its_budget, size_t its_most_by_key)
      : counters(its_counters), memory(its_budget), most_by_key(its_most_by_key), places(memory) {}

  Counters& counters;
  locking::LockMemory memory;
  const size_t most_by_key;
  HeldTime mutex_held{counters.lock_mutex_microseconds};
  Mutex mutex{mutex_held};  // guards the locks and owners themselves, too
  NumberMap<std::unique_ptr<Owner>> owners HAILSTONE_GUARDED_BY(mutex);  // by the number of the transaction
  LockSet rows HAILSTONE_GUARDED_BY(mutex);
  locking::PlaceLockTable places HAILSTONE_GUARDED_BY(mutex);
  struct Whole {
    Owner* owner;
    locking::Modes modes;
  };
  /// Who has locked all rows of a table by one lock: one transaction, or several that share them.
  NumberMap<std::vector<Whole>> whole HAILSTONE_GUARDED_BY(mutex);
  LockSet tables HAILSTONE_GUARDED_BY(mutex);
  /// That have locked ranges, by table.
  NumberMap<std::vector<Owner*>> range_owners HAILSTONE_GUARDED_BY(mutex);
  uint64_t searches HAILSTONE_GUARDED_BY(mutex) = 0;  // for deadlocks

  // Rows that are locked, by table, several tables sharing a number: zero says, without the mutex, that the
  // table has none. Changed under the mutex.
  std::array<std::atomic<uint32_t>, 1024> row_locks{};

  // The same of transactions with range locks.
  std::array<std::atomic<uint32_t>, 1024> range_locks{};

  std::atomic<uint32_t>& range_locks_of(TableId table) { return range_locks[table % range_locks.size()]; }
  std::atomic<uint32_t>& row_locks_of(TableId table) { return row_locks[table % row_locks.size()]; }

  Owner& owner(const Transaction& transaction) HAILSTONE_REQUIRES(mutex) {
    const auto* const found = owners.find(transaction.id());
    HAILSTONE_CHECK(found != nullptr, "transaction {} asks for a lock and is not open", transaction.id());
    return **found;
  }

  Lock& row(TableId table, ByteView key) HAILSTONE_REQUIRES(mutex) {
    const auto found = rows.find(LockName{table, key});
    if (found != rows.end()) return **found;
    Lock& made = **rows.insert(std::make_unique<Lock>(Lock::Kind::Row, table, key)).first;
    row_locks_of(table).fetch_add(1, std::memory_order_release);
    count(counters.row_locks);
    memory.reserve(memory_of(made));
    return made;
  }

  Lock& table(TableId table) HAILSTONE_REQUIRES(mutex) {
    const auto found = tables.find(LockName{table, {}});
    return found != tables.end()
               ? **found
               : **tables.insert(std::make_unique<Lock>(Lock::Kind::Table, table, ByteView())).first;
  }

  /// A holder or waiter has left the lock: others may have it, or nobody needs it any more.
  void settle(Lock& lock) noexcept HAILSTONE_REQUIRES(mutex) {
    lock.grant_waiters();
    if (!lock.unused()) return;
    const LockName name{lock.table, lock.key};
    if (lock.kind == Lock::Kind::Table) {
      tables.erase(tables.find(name));
    } else {
      row_locks_of(lock.table).fetch_sub(1, std::memory_order_release);
      counters.row_locks.fetch_sub(1, std::memory_order_relaxed);
      memory.release(memory_of(lock));
      rows.erase(rows.find(name));
    }
  }

  /// So many more rows of the table are held by their places; fewer.
  void count_by_place(TableId of, size_t more) noexcept HAILSTONE_REQUIRES(mutex) {
    row_locks_of(of).fetch_add(static_cast<uint32_t>(more), std::memory_order_release);
    count(counters.row_locks, more);
  }
  void discount_by_place(TableId of, size_t fewer) noexcept HAILSTONE_REQUIRES(mutex) {
    row_locks_of(of).fetch_sub(static_cast<uint32_t>(fewer), std::memory_order_release);
    counters.row_locks.fetch_sub(fewer, std::memory_order_relaxed);
  }
  /// In which modes the owner, or anybody else, has locked all rows of the table by one lock.
  locking::Modes whole_of(const Owner& owner, TableId table) HAILSTONE_REQUIRES(mutex);
  locking::Modes whole_of_others(const Owner& owner, TableId table) HAILSTONE_REQUIRES(mutex);
  Status lock_whole(Owner& owner, TableId table, TableLockMode mode, bool waits,
                    std::unique_ptr<PlaceLocks>& replaced) HAILSTONE_REQUIRES(mutex);
  void release_whole(Owner& owner) noexcept HAILSTONE_REQUIRES(mutex);
  /// A lock for a row that is held by its place, or with all rows: all holders of it move there.
  Lock& lock_of_place(const LockName& name, const VersionPlace& place) HAILSTONE_REQUIRES(mutex);
  /// Whether the row was locked by its place; nothing: it has a Lock, or is to get one.
  std::optional<bool> try_lock_by_place(Owner& owner, const LockName& name, const VersionPlace& place,
                                        TableLockMode mode) HAILSTONE_REQUIRES(mutex);
  /// What the owner has locked by places, for the caller to free.
  std::unique_ptr<PlaceLocks> release_places(Owner& owner) noexcept HAILSTONE_REQUIRES(mutex);
  void discount(const PlaceLocks* chain) noexcept HAILSTONE_REQUIRES(mutex);
  void remove(const Transaction& transaction, std::unique_ptr<Owner>& removed,
              std::unique_ptr<PlaceLocks>& by_place) noexcept HAILSTONE_REQUIRES(mutex);
  /// The row's lock and the transaction's hold of it, or null.
  std::pair<Lock*, Holder*> held(const Transaction& transaction, const LockName& name)
      HAILSTONE_REQUIRES(mutex);
  void leave(Lock& lock, Holder& holder) noexcept HAILSTONE_REQUIRES(mutex);
  void release_ranges(Owner& owner) noexcept HAILSTONE_REQUIRES(mutex);
  bool waits_for_itself(Owner& requester) HAILSTONE_REQUIRES(mutex);
  /// Who of those that wait for each other, as waits_for_itself() found them, should give way.
  static Owner& victim_of_cycle(Owner& requester);
  /// Ends the deadlocks of a new wait: the requester has to give way, or others are told to.
  bool must_give_way(Owner& requester) HAILSTONE_REQUIRES(mutex);
  /// The waiter waits already; it does not any more when this returns or throws. Releases the mutex
  /// meanwhile.
  Status wait(Owner& waiter) HAILSTONE_REQUIRES(mutex);
  Status wait_until_granted(Owner& waiter) HAILSTONE_REQUIRES(mutex);
  Status wait_for_end(Owner& waiter, Owner& holder) HAILSTONE_REQUIRES(mutex);
  /// Asks the application, without the mutex: it may take long, or call in here.
  bool asked_to_stop(const Transaction& transaction) HAILSTONE_REQUIRES(mutex);
  void stop_waiting(Owner& waiter) noexcept HAILSTONE_REQUIRES(mutex);
  /// Lets `lock` be had; a lock that nobody holds does not stay when that fails.
  bool try_grant(Lock& lock, Owner& owner, TableLockMode mode) HAILSTONE_REQUIRES(mutex);
  Status lock(Lock& lock, Owner& owner, TableLockMode mode) HAILSTONE_REQUIRES(mutex);
};

}  // namespace hailstone
