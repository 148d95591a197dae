#include "transaction/place_locks.h"

#include <algorithm>

#include "base/check.h"

namespace hailstone::locking {

PlaceLocks* PlaceLockTable::find(const Owner& owner, const VersionStore& store) const {
  const OfStore* const all = stores_.find(key_of(store));
  if (all == nullptr) return nullptr;
  const auto found = std::ranges::find(*all, &owner, [](const auto& each) { return &each->owner; });
  return found == all->end() ? nullptr : found->get();
}

PlaceLocks& PlaceLockTable::make(Owner& owner, TableId table, const std::shared_ptr<VersionStore>& store) {
  if (PlaceLocks* const there = find(owner, *store)) return *there;
  auto made = std::make_unique<PlaceLocks>(owner, table, store);
  // All room first.
  const auto grow = [](auto& list) {
    if (list.size() == list.capacity()) list.reserve(2 * list.size() + 1);
  };
  grow(owner.place_stores);
  OfStore& all = stores_[key_of(*store)];
  grow(all);
  ++tables_[table];
  owner.place_stores.push_back(store.get());
  all.push_back(std::move(made));
  return *all.back();
}

void PlaceLockTable::charge(PlaceLocks& locks) {
  const size_t bytes = locks.shared_rows.bytes() + locks.exclusive_rows.bytes() + locks.again.bytes();
  if (bytes <= locks.charged) return;
  memory_.reserve(bytes - locks.charged);
  locks.charged = bytes;
}

Modes PlaceLockTable::modes_of(const Owner& owner, const VersionPlace& place) const {
  const PlaceLocks* const locks = find(owner, *place.store);
  return locks == nullptr ? Modes{0} : locks->modes(place.slot);
}

Modes PlaceLockTable::modes_of_others(const Owner& owner, const VersionPlace& place) const {
  Modes modes = 0;
  const OfStore* const all = stores_.find(key_of(*place.store));
  if (all == nullptr) return modes;
  for (const auto& each : *all) {
    if (&each->owner != &owner) modes = static_cast<Modes>(modes | each->modes(place.slot));
  }
  return modes;
}

Modes PlaceLockTable::modes_of(const Owner& owner, TableId table) const {
  Modes modes = 0;
  for (const VersionStore* const store : owner.place_stores) {
    const PlaceLocks& locks = *find(owner, *store);
    if (locks.table != table) continue;
    if (locks.shared_rows.size() > 0) modes |= shared;
    if (locks.exclusive_rows.size() > 0) modes |= exclusive;
  }
  return modes;
}

const TableId* PlaceLockTable::table_of(const VersionStore& store) const {
  const OfStore* const all = stores_.find(key_of(store));
  return all == nullptr || all->empty() ? nullptr : &all->front()->table;
}

std::optional<VersionPlace> PlaceLockTable::place_of(const Owner& owner, const VersionStore& store,
                                                     uint64_t slot) const {
  const PlaceLocks* const locks = find(owner, store);
  if (locks == nullptr) return std::nullopt;
  return VersionPlace{.store = locks->store, .slot = slot};
}

bool PlaceLockTable::grant(Owner& owner, TableId table, const VersionPlace& place, TableLockMode mode) {
  PlaceLocks& locks = make(owner, table, place.store);
  const Modes held = locks.modes(place.slot);
  if (held != 0) locks.again.insert(place.slot);
  if ((held & sufficient(mode)) == 0) {
    (mode == TableLockMode::Shared ? locks.shared_rows : locks.exclusive_rows).insert(place.slot);
    if (mode != TableLockMode::Shared) locks.shared_rows.erase(place.slot);
  }
  if (held == 0) ++owner.rows_by_place;
  charge(locks);
  return held == 0;
}

bool PlaceLockTable::give_back(const Owner& owner, const VersionPlace& place) noexcept {
  PlaceLocks* const locks = find(owner, *place.store);
  if (locks == nullptr || locks->again.contains(place.slot)) return false;
  if (!locks->exclusive_rows.erase(place.slot) && !locks->shared_rows.erase(place.slot)) return false;
  --locks->owner.rows_by_place;
  return true;
}

void PlaceLockTable::for_each_holder(
    const VersionPlace& place,
    const std::function<void(Owner& owner, Modes modes, bool again)>& holder) const {
  const OfStore* const all = stores_.find(key_of(*place.store));
  if (all == nullptr) return;
  for (const auto& each : *all) {
    const Modes modes = each->modes(place.slot);
    if (modes != 0) holder(each->owner, modes, each->again.contains(place.slot));
  }
}

size_t PlaceLockTable::let_go(const VersionPlace& place) noexcept {
  size_t holders = 0;
  OfStore* const all = stores_.find(key_of(*place.store));
  if (all == nullptr) return holders;
  for (const auto& each : *all) {
    if (!each->exclusive_rows.erase(place.slot) && !each->shared_rows.erase(place.slot)) continue;
    each->again.erase(place.slot);
    --each->owner.rows_by_place;
    ++holders;
  }
  return holders;
}

void PlaceLockTable::take_out(std::unique_ptr<PlaceLocks> locks,
                              std::unique_ptr<PlaceLocks>& chain) noexcept {
  locks->owner.rows_by_place -= locks->rows();
  memory_.release(locks->charged);
  size_t* const of_table = tables_.find(locks->table);
  HAILSTONE_CHECK(of_table != nullptr, "table {}", locks->table);
  if (--*of_table == 0) tables_.erase(locks->table);
  locks->next = std::move(chain);
  chain = std::move(locks);
}

template <typename Chosen>
std::unique_ptr<PlaceLocks> PlaceLockTable::release_if(Owner& owner, const Chosen& chosen) noexcept {
  std::unique_ptr<PlaceLocks> chain;
  std::erase_if(owner.place_stores, [&](const VersionStore* store) {
    OfStore* const all = stores_.find(key_of(*store));
    const auto found = std::ranges::find(*all, &owner, [](const auto& each) { return &each->owner; });
    if (!chosen(**found)) return false;
    take_out(std::move(*found), chain);
    all->erase(found);
    if (all->empty()) stores_.erase(key_of(*store));
    return true;
  });
  return chain;
}

std::unique_ptr<PlaceLocks> PlaceLockTable::release(Owner& owner) noexcept {
  return release_if(owner, [](const PlaceLocks&) { return true; });
}

std::unique_ptr<PlaceLocks> PlaceLockTable::release(Owner& owner, TableId table) noexcept {
  return release_if(owner, [&](const PlaceLocks& locks) { return locks.table == table; });
}

size_t PlaceLockTable::follow(const VersionStore& store,
                              const std::function<VersionPlace(uint64_t slot)>& moved) {
  OfStore* const all = stores_.find(key_of(store));
  if (all == nullptr) return 0;
  // As the list may lie elsewhere when the rows' new store has been added.
  std::vector<PlaceLocks*> before;
  for (const auto& each : *all) before.push_back(each.get());
  size_t rows = 0;
  for (const PlaceLocks* const from : before) {
    from->owner.recent = {};
    const auto copy = [&](const SlotSet& slots, TableLockMode mode) {
      slots.for_each([&](uint64_t slot) {
        const VersionPlace to = moved(slot);
        if (to.store == nullptr) return;
        if (grant(from->owner, from->table, to, mode)) ++rows;
        if (from->again.contains(slot)) grant(from->owner, from->table, to, mode);
      });
    };
    copy(from->shared_rows, TableLockMode::Shared);
    copy(from->exclusive_rows, TableLockMode::Exclusive);
  }
  return rows;
}

std::unique_ptr<PlaceLocks> PlaceLockTable::forget(const VersionStore& store) noexcept {
  std::unique_ptr<PlaceLocks> chain;
  OfStore* const all = stores_.find(key_of(store));
  if (all == nullptr) return chain;
  for (auto& each : *all) {
    auto& stores = each->owner.place_stores;
    stores.erase(std::find(stores.begin(), stores.end(), &store));
    take_out(std::move(each), chain);
  }
  stores_.erase(key_of(store));
  return chain;
}

}  // namespace hailstone::locking
