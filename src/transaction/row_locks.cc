// Locks of rows: by their keys, and by their places.
#include "transaction/lock_state.h"

namespace hailstone {

Lock& LockManager::State::lock_of_place(const LockName& name, const VersionPlace& place) {
  Lock& made = row(name.table, name.key);
  try {
    std::vector<Owner*> holders;
    places.for_each_holder(place, [&](Owner& owner, auto...) { holders.push_back(&owner); });
    made.reserve_holders(holders);
  } catch (const std::bad_alloc&) {
    settle(made);
    throw;
  }
  places.for_each_holder(
      place, [&](Owner& owner, locking::Modes modes, bool again) { made.adopt(owner, modes, again); });
  discount_by_place(name.table, places.let_go(place));
  return made;
}

std::optional<bool> LockManager::State::try_lock_by_place(Owner& owner, const LockName& name,
                                                          const VersionPlace& place, TableLockMode mode) {
  if (rows.contains(name)) return std::nullopt;
  const locking::Modes others = places.modes_of_others(owner, place);
  if ((others & locking::conflicts(mode)) != 0) {
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
  if (state_->places.has_table(table) && !state_->rows.contains(LockName{table, key})) return {};
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
  if (owner.rows_by_place == 0) return true;
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
    if (place == nullptr || !state_->places.has_table(table)) return false;
    if ((state_->places.modes_of_others(state_->owner(transaction), *place) & blocking) == 0) return false;
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
