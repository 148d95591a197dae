// Locks of rows: by their keys, by their places, and all of a table by one.
#include <fmt/format.h>

#include "transaction/lock_state.h"

namespace hailstone {

std::unexpected<Error> too_many_locks(const Transaction& transaction, size_t limit) {
  return fail(ErrorCode::TooManyLocks,
              fmt::format("transaction {} cannot lock another row or range: locks take {} bytes, half of the "
                          "memory budget; end transactions that hold many, lock fewer rows (by an index, in "
                          "parts, READ COMMITTED), raise the budget, or let locks be escalated",
                          transaction.id(), limit));
}

locking::Modes LockManager::State::whole_of(const Owner& owner, TableId table) {
  if (std::ranges::find(owner.whole_tables, table) == owner.whole_tables.end()) return 0;
  return std::ranges::find(*whole.find(table), &owner, &Whole::owner)->modes;
}

locking::Modes LockManager::State::whole_of_others(const Owner& owner, TableId table) {
  locking::Modes modes = 0;
  const std::vector<Whole>* const holders = whole.find(table);
  if (holders == nullptr) return modes;
  for (const Whole& each : *holders) {
    if (each.owner != &owner) modes |= each.modes;
  }
  return modes;
}

Status LockManager::State::lock_whole(Owner& owner, TableId table, TableLockMode mode, bool waits,
                                      std::unique_ptr<PlaceLocks>& replaced) {
  // It takes the place of the rows that are held already.
  if ((places.modes_of(owner, table) & locking::exclusive) != 0) mode = TableLockMode::Exclusive;
  const auto has_conflict = [&](const Whole& each) {
    return each.owner != &owner && (each.modes & locking::conflicts(mode)) != 0;
  };
  for (;;) {
    std::vector<Whole>& holders = whole[table];
    const auto other = std::ranges::find_if(holders, has_conflict);
    if (other == holders.end()) break;
    if (!waits) return fail(ErrorCode::LockWaitTimeout, "another transaction has locked all rows");
    HAILSTONE_TRY(wait_for_end(owner, *other->owner));
  }
  std::vector<Whole>& holders = whole[table];
  const auto own = std::ranges::find(holders, &owner, &Whole::owner);
  if (own != holders.end()) {
    own->modes |= locking::bit(mode);
  } else {
    holders.reserve(holders.size() + 1);
    owner.whole_tables.push_back(table);
    holders.push_back({.owner = &owner, .modes = locking::bit(mode)});  // has room
    row_locks_of(table).fetch_add(1, std::memory_order_release);
    count(counters.lock_escalations);
  }
  const size_t before = owner.rows_by_place;
  replaced = places.release(owner, table);
  owner.rows_in_whole += before - owner.rows_by_place;
  discount(replaced.get());
  return {};
}

void LockManager::State::release_whole(Owner& owner) noexcept {
  for (const TableId table : owner.whole_tables) {
    std::vector<Whole>& holders = *whole.find(table);
    std::erase_if(holders, [&](const Whole& each) { return each.owner == &owner; });
    if (holders.empty()) whole.erase(table);
    row_locks_of(table).fetch_sub(1, std::memory_order_release);
  }
  owner.whole_tables.clear();
}

bool LockManager::has_room(const Transaction& transaction, TableId table, RowLockMode mode) const {
  if (!state_->memory.is_used_up()) [[likely]]
    return true;
  const MutexLock guard(state_->mutex);
  return (state_->whole_of(state_->owner(transaction), table) & locking::sufficient(mode_of(mode))) != 0;
}

Status LockManager::make_room(Transaction& transaction, TableId table, RowLockMode mode, bool waits) {
  if (has_room(transaction, table, mode)) [[likely]]
    return {};
  if (!transaction.escalates_locks()) return too_many_locks(transaction, state_->memory.limit());
  std::unique_ptr<PlaceLocks> replaced;  // freed after the mutex
  Status status;
  {
    const MutexLock guard(state_->mutex);
    status = state_->lock_whole(state_->owner(transaction), table, mode_of(mode), waits, replaced);
  }
  PlaceLocks::free_all(std::move(replaced));
  return status;
}

Lock& LockManager::State::lock_of_place(const LockName& name, const VersionPlace& place) {
  Lock& made = row(name.table, name.key);
  const std::vector<Whole>* const of_table = whole.find(name.table);
  try {
    std::vector<Owner*> holders;
    places.for_each_holder(place, [&](Owner& owner, auto...) { holders.push_back(&owner); });
    if (of_table != nullptr) {
      for (const Whole& each : *of_table) holders.push_back(each.owner);
    }
    made.reserve_holders(holders);
  } catch (const std::bad_alloc&) {
    settle(made);
    throw;
  }
  places.for_each_holder(
      place, [&](Owner& owner, locking::Modes modes, bool again) { made.adopt(owner, modes, again); });
  discount_by_place(name.table, places.let_go(place));
  if (of_table == nullptr) return made;
  for (const Whole& each : *of_table) {
    // In the strongest mode that it can have beside those who locked the row before: where they share it,
    // it may have shared it with them.
    for (const TableLockMode mode : {TableLockMode::Exclusive, TableLockMode::Shared}) {
      if ((each.modes & locking::sufficient(mode)) == 0) continue;
      if (made.conflicts_with_other_holders(*each.owner, mode)) continue;
      made.adopt(*each.owner, locking::bit(mode), true);
      break;
    }
  }
  return made;
}

std::optional<bool> LockManager::State::try_lock_by_place(Owner& owner, const LockName& name,
                                                          const VersionPlace& place, TableLockMode mode) {
  if (rows.contains(name)) return std::nullopt;
  const locking::Modes others = places.modes_of_others(owner, place);
  const locking::Modes own = whole_of(owner, name.table);
  const bool conflict = (others & locking::conflicts(mode)) != 0;
  if (!conflict && (own & locking::sufficient(mode)) != 0) return true;
  if (conflict || own != 0 || whole_of_others(owner, name.table) != 0) {
    lock_of_place(name, place);
    return std::nullopt;
  }
  const bool is_held = others != 0 || places.modes_of(owner, place) != 0;
  if (!is_held && owner.row_locks.size() < most_by_key) return std::nullopt;
  if (places.grant(owner, name.table, place, mode)) count_by_place(name.table, 1);
  owner.recent[owner.next_recent++ % owner.recent.size()] = {
      .name = LockHash()(name), .store = place.store.get(), .slot = place.slot};
  return true;
}

std::unique_ptr<PlaceLocks> LockManager::State::release_places(Owner& owner) noexcept {
  std::unique_ptr<PlaceLocks> chain = places.release(owner);
  discount(chain.get());
  return chain;
}

void LockManager::State::discount(const PlaceLocks* chain) noexcept {
  for (; chain != nullptr; chain = chain->next.get()) discount_by_place(chain->table, chain->rows());
}

bool LockManager::try_lock_row(Transaction& transaction, TableId table, ByteView key, RowLockMode mode,
                               const VersionPlace* place) {
  const MutexLock guard(state_->mutex);
  Owner& owner = state_->owner(transaction);
  if (place != nullptr) {
    if (const auto locked = state_->try_lock_by_place(owner, {table, key}, *place, mode_of(mode)))
      return *locked;
  }
  // A lock that is not there yet is always granted, so that a refusal leaves no empty one behind.
  return state_->try_grant(state_->row(table, key), owner, mode_of(mode));
}

Status LockManager::lock_row(Transaction& transaction, TableId table, ByteView key, RowLockMode mode) {
  const MutexLock guard(state_->mutex);
  Owner& owner = state_->owner(transaction);
  // Who waited for has gone, and somebody else may hold the row by its place since.
  const bool has_others = state_->places.has_table(table) || state_->whole.contains(table);
  if (has_others && !state_->rows.contains(LockName{table, key})) return {};
  return state_->lock(state_->row(table, key), owner, mode_of(mode));
}

bool LockManager::unlock_row(Transaction& transaction, TableId table, ByteView key,
                             const VersionPlace* place) {
  const MutexLock guard(state_->mutex);
  const LockName name{table, key};
  const auto [lock, holder] = state_->held(transaction, name);
  if (lock != nullptr) {
    if (holder != nullptr && --holder->grants == 0) state_->leave(*lock, *holder);
    return true;
  }
  Owner& owner = state_->owner(transaction);
  if (owner.rows_by_place == 0 || state_->whole_of(owner, table) != 0) return true;
  std::optional<VersionPlace> known;
  if (place == nullptr) {
    const auto found = std::ranges::find(owner.recent, LockHash()(name), &Owner::Recent::name);
    if (found == owner.recent.end() || found->store == nullptr) return false;
    known = state_->places.place_of(owner, *found->store, found->slot);
    place = known ? &*known : nullptr;
  }
  if (place != nullptr && state_->places.give_back(owner, *place)) state_->discount_by_place(table, 1);
  return true;
}

bool LockManager::has_places_of(TableId table) const {
  const MutexLock guard(state_->mutex);
  return state_->places.has_table(table);
}

bool LockManager::has_rows_of(const VersionStore& store) const {
  const MutexLock guard(state_->mutex);
  return state_->places.table_of(store) != nullptr;
}

void LockManager::follow_rows(const VersionStore& store,
                              const std::function<VersionPlace(uint64_t slot)>& moved) {
  const MutexLock guard(state_->mutex);
  const TableId* const table = state_->places.table_of(store);
  if (table == nullptr) return;
  state_->count_by_place(*table, state_->places.follow(store, moved));
}

void LockManager::forget_rows(const VersionStore& store) noexcept {
  std::unique_ptr<PlaceLocks> chain;  // freed after the mutex
  {
    const MutexLock guard(state_->mutex);
    chain = state_->places.forget(store);
    state_->discount(chain.get());
  }
  PlaceLocks::free_all(std::move(chain));
}

void LockManager::unlock_written_row(Transaction& transaction, TableId table, ByteView key) {
  const MutexLock guard(state_->mutex);
  const auto [lock, holder] = state_->held(transaction, {table, key});
  if (holder != nullptr && holder->since == transaction.statements() && lock->waiters.empty()) {
    state_->leave(*lock, *holder);
  }
}

std::pair<Lock*, Holder*> LockManager::State::held(const Transaction& transaction, const LockName& name) {
  const auto found = rows.find(name);
  if (found == rows.end()) return {nullptr, nullptr};
  return {found->get(), (*found)->holder(owner(transaction))};
}

void LockManager::State::leave(Lock& lock, Holder& holder) noexcept {
  Owner& owner = *holder.owner;
  lock.holders.erase(lock.holders.begin() + (&holder - lock.holders.data()));
  // Mostly the lock given back is the one taken last.
  const auto listed = std::find(owner.row_locks.rbegin(), owner.row_locks.rend(), &lock);
  *listed = owner.row_locks.back();
  owner.row_locks.pop_back();
  settle(lock);
}

bool LockManager::row_locked_by_other(const Transaction& transaction, TableId table, ByteView key,
                                      RowLockMode mode, const VersionPlace* place) {
  if (state_->row_locks_of(table).load(std::memory_order_acquire) == 0) return false;
  const MutexLock guard(state_->mutex);
  const locking::Modes blocking = locking::conflicts(mode_of(mode));
  const auto found = state_->rows.find(LockName{table, key});
  if (found == state_->rows.end()) {
    if (place == nullptr) return false;
    const Owner& owner = state_->owner(transaction);
    const locking::Modes others =
        state_->places.modes_of_others(owner, *place) | state_->whole_of_others(owner, table);
    if ((others & blocking) == 0) return false;
    // So that lock_row() has somebody to wait for.
    state_->lock_of_place({table, key}, *place);
    return true;
  }
  const auto& holders = (*found)->holders;
  return std::any_of(holders.begin(), holders.end(), [&](const Holder& holder) {
    return holder.owner->id != transaction.id() && (holder.modes & blocking) != 0;
  });
}

}  // namespace hailstone
