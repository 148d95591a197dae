// The data structures of the lock manager: who holds a lock, who waits for it in which order, and what may be
// granted. Only lock_manager.cc uses them, under its mutex; the condition variable of an owner is the one
// thing waited on.
//
// Fairness: a new request is granted only when it conflicts neither with holders nor with anybody who waits
// already, so that a stream of readers cannot starve a writer. A transaction that holds the lock and wants
// more of it (a conversion) conflicts with the other holders only: to queue it behind somebody who waits for
// it would be a deadlock.
#pragma once

#include <absl/container/inlined_vector.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "transaction/lock_manager.h"

namespace hailstone::locking {

// Sets of TableLockMode, one bit a mode. Row locks are Shared and Exclusive of the same.
using Modes = uint8_t;
constexpr Modes bit(TableLockMode mode) { return static_cast<Modes>(1u << static_cast<unsigned>(mode)); }
constexpr Modes intention_shared = bit(TableLockMode::IntentionShared);
constexpr Modes intention_exclusive = bit(TableLockMode::IntentionExclusive);
constexpr Modes shared = bit(TableLockMode::Shared);
constexpr Modes exclusive = bit(TableLockMode::Exclusive);
constexpr Modes all_modes = intention_shared | intention_exclusive | shared | exclusive;

/// The modes of others that `mode` cannot be granted beside.
constexpr Modes conflicts(TableLockMode mode) {
  switch (mode) {
    case TableLockMode::IntentionShared:
      return exclusive;
    case TableLockMode::IntentionExclusive:
      return shared | exclusive;
    case TableLockMode::Shared:
      return intention_exclusive | exclusive;
    case TableLockMode::Exclusive:
      return all_modes;
  }
  return all_modes;
}

/// The modes of which any one gives its holder all that `mode` gives.
constexpr Modes sufficient(TableLockMode mode) {
  switch (mode) {
    case TableLockMode::IntentionShared:
      return all_modes;
    case TableLockMode::IntentionExclusive:
      return intention_exclusive | exclusive;
    case TableLockMode::Shared:
      return shared | exclusive;
    case TableLockMode::Exclusive:
      return exclusive;
  }
  return exclusive;
}

struct Lock;

/// A transaction as the lock manager sees it. It waits for at most one thing at a time: a lock, or the end of
/// another transaction.
struct Owner {
  Owner(TransactionId its_id, const Transaction& its_transaction)
      : id(its_id), transaction(&its_transaction) {}

  TransactionId id;
  const Transaction* transaction;
  std::vector<Lock*> row_locks;
  std::vector<Lock*> table_locks;
  // Ranges by table and order: from its low key to its high one, empty for no limit. Those of one order do
  // not overlap.
  std::map<std::pair<TableId, uint32_t>, std::map<std::string, std::string, std::less<>>> ranges;
  size_t range_bytes = 0;                         // what the ranges take
  std::vector<const VersionStore*> place_stores;  // of which it has locked rows by their places
  size_t rows_by_place = 0;                       // how many
  std::vector<TableId> whole_tables;              // of which it has locked all rows by one lock
  size_t rows_in_whole = 0;                       // that these have taken the place of
  struct Recent {
    uint64_t name = 0;  // a hash of the row's key
    const VersionStore* store = nullptr;
    uint64_t slot = 0;
  };
  std::array<Recent, 4> recent{};  // those that it locked last
  size_t next_recent = 0;
  std::vector<Owner*> end_waiters;  // who waits for this transaction's end

  Lock* waits_for_lock = nullptr;
  Owner* waits_for_end = nullptr;
  TableLockMode wanted{};   // of waits_for_lock
  bool conversion = false;  // it holds some of waits_for_lock already
  int64_t position = 0;     // in the queue of waits_for_lock: who is ahead has less
  bool woken = false;       // has to look at its interruption check
  Condition changed;

  bool gives_way = false;  // has to end its wait with Deadlock

  uint64_t visited = 0;     // the search for a deadlock that met this owner
  Owner* met_by = nullptr;  // in that search: who waits for this one

  bool waits() const { return waits_for_lock != nullptr || waits_for_end != nullptr; }
};

struct Holder {
  Owner* owner;
  Modes modes;
  uint32_t grants;  // how often it was granted: unlock_row gives one back
  uint64_t since;   // the statement of the owner to which it was granted first
};

struct Lock {
  enum class Kind : uint8_t { Row, Table };
  Lock(Kind its_kind, TableId its_table, ByteView its_key) : kind(its_kind), table(its_table), key(its_key) {}

  Kind kind;
  TableId table;
  std::string key;  // of the row; empty for table locks
  absl::InlinedVector<Holder, 1> holders;
  std::vector<Owner*> waiters;  // conversions first, each kind in order of arrival; few, and mostly none
  uint32_t waiting[4] = {};     // waiters by mode
  int64_t next_position = 0;
  int64_t next_conversion = INT64_MIN / 2;

  // What a search for a deadlock has already followed here: all holders, and all waiters ahead of a position.
  uint64_t searched = 0;
  int64_t searched_position = 0;

  bool unused() const { return holders.empty() && waiters.empty(); }
  Holder* holder(const Owner& owner);
  bool conflicts_with_other_holders(const Owner& owner, TableLockMode mode) const;
  Modes waiting_modes() const;

  /// Grants when fairness and compatibility allow it, or when `owner` holds enough. A lock newly held is
  /// noted in the owner's list `held`.
  bool try_grant(Owner& owner, TableLockMode mode);
  /// Makes room for the grant, too.
  void enqueue(Owner& owner, TableLockMode mode);
  void dequeue(Owner& owner) noexcept;
  /// Of a lock that is new: another holder, for whom reserve_holders() has made room. `again`: it keeps the
  /// row until its end.
  void adopt(Owner& owner, Modes modes, bool again) noexcept;
  void reserve_holders(std::span<Owner* const> owners);
  /// After a holder or waiter left: grants to all who can have it now, and wakes them. Needs no memory.
  void grant_waiters() noexcept;

 private:
  std::vector<Lock*>& held_by(Owner& owner) const {
    return kind == Kind::Row ? owner.row_locks : owner.table_locks;
  }
  /// Room for `owner` as a holder, beside all who wait.
  void make_room(Owner& owner);
  void add_holder(Owner& owner, TableLockMode mode) noexcept;
};

}  // namespace hailstone::locking
