#include "transaction/lock_queue.h"

#include <algorithm>

#include "transaction/transaction.h"

namespace hailstone::locking {

Holder* Lock::holder(const Owner& owner) {
  for (Holder& each : holders) {
    if (each.owner == &owner) return &each;
  }
  return nullptr;
}

bool Lock::conflicts_with_other_holders(const Owner& owner, TableLockMode mode) const {
  return std::any_of(holders.begin(), holders.end(), [&](const Holder& each) {
    return each.owner != &owner && (each.modes & conflicts(mode)) != 0;
  });
}

Modes Lock::waiting_modes() const {
  Modes modes = 0;
  for (unsigned mode = 0; mode < 4; ++mode) {
    if (waiting[mode] > 0) modes = static_cast<Modes>(modes | 1u << mode);
  }
  return modes;
}

namespace {

void grow(auto& list, size_t wanted) {
  if (wanted > list.capacity()) list.reserve(std::max(wanted, 2 * list.capacity()));
}

}  // namespace

void Lock::reserve_holders(std::span<Owner* const> owners) {
  holders.reserve(owners.size());
  for (Owner* const owner : owners) grow(held_by(*owner), held_by(*owner).size() + 1);
}

void Lock::adopt(Owner& owner, Modes modes, bool again) noexcept {
  constexpr uint32_t many = 1U << 30;
  constexpr uint64_t earlier = ~uint64_t{0};  // no statement of the owner
  holders.push_back({&owner, modes, again ? many : 1, earlier});
  held_by(owner).push_back(this);
}

void Lock::make_room(Owner& owner) {
  grow(holders, holders.size() + waiters.size() + 1);
  grow(held_by(owner), held_by(owner).size() + 1);
}

void Lock::add_holder(Owner& owner, TableLockMode mode) noexcept {
  if (Holder* const already = holder(owner)) {
    already->modes |= bit(mode);
    ++already->grants;
    return;
  }
  holders.push_back({&owner, bit(mode), 1, owner.transaction->statements()});
  held_by(owner).push_back(this);
}

bool Lock::try_grant(Owner& owner, TableLockMode mode) {
  Holder* const already = holder(owner);
  if (already != nullptr && (already->modes & sufficient(mode)) != 0) {
    ++already->grants;
    return true;
  }
  if (already == nullptr && (waiting_modes() & conflicts(mode)) != 0) return false;
  if (conflicts_with_other_holders(owner, mode)) return false;
  make_room(owner);
  add_holder(owner, mode);
  return true;
}

void Lock::enqueue(Owner& owner, TableLockMode mode) {
  make_room(owner);
  const bool conversion = holder(owner) != nullptr;
  if (conversion) {
    waiters.insert(
        std::find_if(waiters.begin(), waiters.end(), [](const Owner* each) { return !each->conversion; }),
        &owner);
  } else {
    waiters.push_back(&owner);
  }
  owner.waits_for_lock = this;
  owner.wanted = mode;
  owner.conversion = conversion;
  owner.position = conversion ? next_conversion++ : next_position++;
  ++waiting[static_cast<unsigned>(mode)];
}

void Lock::dequeue(Owner& owner) noexcept {
  waiters.erase(std::find(waiters.begin(), waiters.end(), &owner));
  --waiting[static_cast<unsigned>(owner.wanted)];
  owner.waits_for_lock = nullptr;
}

void Lock::grant_waiters() noexcept {
  Modes ahead = 0;
  for (size_t i = 0; i < waiters.size();) {
    Owner& waiter = *waiters[i];
    // All behind a waiting Exclusive wait for it, but for conversions, which come first.
    if (!waiter.conversion && (ahead & exclusive) != 0) return;
    const bool overtakes = !waiter.conversion && (ahead & conflicts(waiter.wanted)) != 0;
    if (overtakes || conflicts_with_other_holders(waiter, waiter.wanted)) {
      ahead |= bit(waiter.wanted);
      ++i;
      continue;
    }
    dequeue(waiter);
    add_holder(waiter, waiter.wanted);
    waiter.changed.notify_one();
  }
}

}  // namespace hailstone::locking
