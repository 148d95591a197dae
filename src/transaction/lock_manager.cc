#include "transaction/lock_manager.h"

#include <fmt/format.h>

#include <chrono>

#include "transaction/lock_state.h"

namespace hailstone {

namespace {

using Clock = std::chrono::steady_clock;

/// How long a waiter sleeps at most before it looks at its interruption check.
constexpr std::chrono::milliseconds interruption_interval{50};
/// Longer timeouts are cut to this, so that a deadline can be computed without overflow.
constexpr std::chrono::milliseconds longest_timeout = std::chrono::hours(24 * 365);

/// Counts one lock wait, from its making to its end.
class WaitTimer {
 public:
  explicit WaitTimer(Counters& counters) : counters_(counters) {
    count(counters_.lock_waits);
    count(counters_.lock_waiting);
  }
  WaitTimer(const WaitTimer&) = delete;
  WaitTimer& operator=(const WaitTimer&) = delete;
  /// With the lock manager's mutex held, so that no longer wait is lost between look and store.
  ~WaitTimer() {
    counters_.lock_waiting.fetch_sub(1, std::memory_order_relaxed);
    const auto time = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin_).count();
    const auto taken = static_cast<uint64_t>(time);
    count(counters_.lock_wait_microseconds, taken);
    if (taken > counters_.lock_wait_longest_microseconds.load(std::memory_order_relaxed)) {
      counters_.lock_wait_longest_microseconds.store(taken, std::memory_order_relaxed);
    }
  }

 private:
  Counters& counters_;
  const Clock::time_point begin_ = Clock::now();
};

/// Tells who coordinates the commits that a transaction is about to wait for another one.
void report_wait(const Owner& waiter, const Owner& other) noexcept {
  if (CommitOrder* const order = waiter.transaction->commit_order())
    order->waits_for(other.transaction->commit_order());
}

/// A transaction that waits for the lock waits for its holders, and for those ahead of it, whose modes
/// conflict.
void report_waits(const Lock& lock) noexcept {
  for (auto waiter = lock.waiters.begin(); waiter != lock.waiters.end(); ++waiter) {
    if ((*waiter)->transaction->commit_order() == nullptr) continue;
    const locking::Modes blocking = locking::conflicts((*waiter)->wanted);
    for (const Holder& holder : lock.holders) {
      if (holder.owner != *waiter && (holder.modes & blocking) != 0) report_wait(**waiter, *holder.owner);
    }
    if ((*waiter)->conversion) continue;
    for (auto ahead = lock.waiters.begin(); ahead != waiter; ++ahead) {
      if ((locking::bit((*ahead)->wanted) & blocking) != 0) report_wait(**waiter, **ahead);
    }
  }
}

/// What would have to be done again if it were rolled back. It waits, so that it changes nothing meanwhile.
uint64_t work_of(const Owner& owner) {
  return owner.transaction->own_writes() + owner.row_locks.size() + owner.rows_by_place + owner.rows_in_whole;
}

/// Whether `a` has to be committed before `b`.
bool precedes(const Owner& a, const Owner& b) {
  const CommitOrder *const first = a.transaction->commit_order(), *const second =
                                                                      b.transaction->commit_order();
  return first != nullptr && second != nullptr && first->precedes(*second);
}

/// What somebody waits for, in words.
std::string wanted_by(const Owner& waiter) {
  if (waiter.waits_for_end != nullptr)
    return fmt::format("a row that transaction {} changed", waiter.waits_for_end->id);
  const Lock& lock = *waiter.waits_for_lock;
  const bool is_table = lock.kind == Lock::Kind::Table;
  for (const Holder& holder : lock.holders) {
    if (holder.owner != &waiter && (holder.modes & locking::conflicts(waiter.wanted)) != 0) {
      return fmt::format("{} that transaction {} has locked",
                         is_table ? fmt::format("table number {}", lock.table)
                                  : fmt::format("a row of table number {}", lock.table),
                         holder.owner->id);
    }
  }
  return fmt::format("{} that others wait for, too", is_table ? "a table" : "a row");
}

std::unexpected<Error> timed_out(const Owner& waiter) {
  return fail(ErrorCode::LockWaitTimeout,
              fmt::format("transaction {} waited {} ms for {}; try the statement again", waiter.id,
                          waiter.transaction->lock_wait_timeout().count(), wanted_by(waiter)));
}

}  // namespace

// Follows who waits for whom, from `requester` on; true when that leads back to it. Every cycle is found by
// the request that closes it: grants make edges only to transactions that run, and a request makes edges only
// from itself or, as a conversion that overtakes, to itself.
bool LockManager::State::waits_for_itself(Owner& requester) {
  const uint64_t search = ++searches;
  std::vector<Owner*> open{&requester};
  bool found = false;
  Owner* at = &requester;
  const auto meet = [&](Owner* owner) {
    if (owner == &requester && !found) {
      found = true;
      owner->met_by = at;
    }
    if (owner->visited == search || owner->gives_way) return;
    owner->visited = search;
    owner->met_by = at;
    if (owner->waits()) open.push_back(owner);
  };
  requester.visited = search;
  while (!open.empty() && !found) {
    Owner& waiter = *open.back();
    open.pop_back();
    at = &waiter;
    if (waiter.waits_for_end != nullptr) {
      meet(waiter.waits_for_end);
      continue;
    }
    Lock& lock = *waiter.waits_for_lock;
    // Behind somebody whose wait for everything ahead was followed, there is nothing new ahead. Keeps long
    // queues linear.
    if (lock.searched == search && waiter.position <= lock.searched_position) continue;
    const locking::Modes blocking = locking::conflicts(waiter.wanted);
    for (const Holder& holder : lock.holders) {
      if (holder.owner != &waiter && (holder.modes & blocking) != 0) meet(holder.owner);
    }
    if (waiter.conversion) continue;
    for (Owner* const ahead : lock.waiters) {
      if (ahead == &waiter) break;
      if ((locking::bit(ahead->wanted) & blocking) != 0) meet(ahead);
    }
    if (waiter.wanted == TableLockMode::Exclusive) {
      lock.searched = search;
      lock.searched_position = waiter.position;
    }
  }
  return found;
}

// Where the commits have no order the one that has done least gives way: if it were the requester always, who
// is about to end would be rolled back for the sake of who has just begun, and of many that want the same
// rows none would ever end.
Owner& LockManager::State::victim_of_cycle(Owner& requester) {
  const auto any_member = [&](const auto& found) {
    Owner* member = &requester;
    do {
      if (found(*member)) return true;
      member = member->met_by;
    } while (member != &requester);
    return false;
  };
  Owner* victim = nullptr;
  any_member([&](Owner& member) {
    const bool comes_first = any_member([&](const Owner& other) { return precedes(member, other); });
    if (!comes_first && (victim == nullptr || work_of(member) < work_of(*victim))) victim = &member;
    return false;
  });
  return victim != nullptr ? *victim : requester;
}

bool LockManager::State::must_give_way(Owner& requester) {
  while (waits_for_itself(requester)) {
    Owner* const victim = &victim_of_cycle(requester);
    if (victim == &requester) return true;
    victim->gives_way = true;
    victim->changed.notify_one();
  }
  return false;
}

bool LockManager::State::try_grant(Lock& lock, Owner& owner, TableLockMode mode) {
  try {
    const bool granted = lock.try_grant(owner, mode);
    // Who held less of the lock may have overtaken somebody.
    if (granted && !lock.waiters.empty()) report_waits(lock);
    return granted;
  } catch (const std::bad_alloc&) {
    settle(lock);
    throw;
  }
}

Status LockManager::State::lock(Lock& lock, Owner& owner, TableLockMode mode) {
  if (try_grant(lock, owner, mode)) return {};
  lock.enqueue(owner, mode);
  report_waits(lock);
  return wait(owner);
}

void LockManager::State::stop_waiting(Owner& waiter) noexcept {
  if (Owner* const other = std::exchange(waiter.waits_for_end, nullptr)) {
    auto& waiters = other->end_waiters;
    waiters.erase(std::find(waiters.begin(), waiters.end(), &waiter));
  } else if (Lock* const lock = waiter.waits_for_lock) {
    lock->dequeue(waiter);
    settle(*lock);
  }
}

Status LockManager::State::wait(Owner& waiter) {
  waiter.gives_way = false;
  try {
    return wait_until_granted(waiter);
  } catch (const std::bad_alloc&) {
    stop_waiting(waiter);
    throw;
  }
}

Status LockManager::State::wait_for_end(Owner& waiter, Owner& holder) {
  holder.end_waiters.push_back(&waiter);
  waiter.waits_for_end = &holder;
  report_wait(waiter, holder);
  return wait(waiter);
}

bool LockManager::State::asked_to_stop(const Transaction& transaction) {
  const MutexUnlock unlocked(mutex);
  return transaction.interrupted();
}

Status LockManager::State::wait_until_granted(Owner& waiter) {
  if (waiter.transaction->lock_wait_timeout() <= std::chrono::milliseconds::zero()) {
    auto error = timed_out(waiter);
    stop_waiting(waiter);
    return error;
  }
  const auto give_way = [&]() HAILSTONE_REQUIRES(mutex) {
    auto error = fail(ErrorCode::Deadlock,
                      fmt::format("transaction {} and others wait for each other: it wants {}; run the whole "
                                  "transaction again",
                                  waiter.id, wanted_by(waiter)));
    count(counters.deadlocks);
    stop_waiting(waiter);
    return error;
  };
  if (must_give_way(waiter)) return give_way();
  const WaitTimer timer(counters);
  const Clock::time_point deadline =
      Clock::now() + std::min(waiter.transaction->lock_wait_timeout(), longest_timeout);
  while (waiter.waits()) {
    waiter.woken = false;
    const bool interrupted = asked_to_stop(*waiter.transaction);
    const Clock::time_point now = Clock::now();
    if (!waiter.waits()) break;
    if (waiter.gives_way) return give_way();
    if (interrupted) {
      auto error = fail(
          ErrorCode::Interrupted,
          fmt::format("transaction {} was interrupted while it waited for {}", waiter.id, wanted_by(waiter)));
      stop_waiting(waiter);
      return error;
    }
    if (now >= deadline) {
      count(counters.lock_wait_timeouts);
      auto error = timed_out(waiter);
      stop_waiting(waiter);
      return error;
    }
    const Clock::time_point wake = std::min(deadline, now + interruption_interval);
    while (waiter.waits() && !waiter.woken && !waiter.gives_way && waiter.changed.wait_until(mutex, wake)) {
    }
  }
  return {};
}

LockManager::LockManager(Counters& counters, MemoryBudget& budget, size_t most_by_key)
    : state_(std::make_unique<State>(counters, budget, most_by_key)) {}
LockManager::~LockManager() = default;

Status LockManager::lock_table(Transaction& transaction, TableId table, TableLockMode mode) {
  const MutexLock guard(state_->mutex);
  Owner& owner = state_->owner(transaction);
  return state_->lock(state_->table(table), owner, mode);
}

Status LockManager::wait_for_end(Transaction& waiter, TransactionId holder) {
  const MutexLock guard(state_->mutex);
  const auto* const found = state_->owners.find(holder);
  if (found == nullptr) return {};
  return state_->wait_for_end(state_->owner(waiter), **found);
}

void LockManager::add_transaction(Transaction& transaction) {
  auto owner = std::make_unique<Owner>(transaction.id(), transaction);
  const MutexLock guard(state_->mutex);
  state_->owners.emplace(transaction.id(), std::move(owner));
}

void LockManager::remove_transaction(Transaction& transaction) noexcept {
  std::unique_ptr<Owner> removed;  // freed after the mutex
  std::unique_ptr<PlaceLocks> by_place;
  {
    const MutexLock guard(state_->mutex);
    state_->remove(transaction, removed, by_place);
  }
  PlaceLocks::free_all(std::move(by_place));
}

void LockManager::State::remove(const Transaction& transaction, std::unique_ptr<Owner>& removed,
                                std::unique_ptr<PlaceLocks>& by_place) noexcept {
  auto* const found = owners.find(transaction.id());
  if (found == nullptr) return;  // there was no memory to add it
  HAILSTONE_CHECK(!(*found)->waits(), "transaction {} ends while it waits", transaction.id());
  removed = std::move(*found);
  owners.erase(transaction.id());
  by_place = release_places(*removed);
  release_whole(*removed);
  const auto leave = [&](Lock& lock) {
    lock.holders.erase(lock.holders.begin() + (lock.holder(*removed) - lock.holders.data()));
  };
  for (auto* const locks : {&removed->row_locks, &removed->table_locks}) {
    for (Lock* const lock : *locks) {
      leave(*lock);
      settle(*lock);
    }
  }
  release_ranges(*removed);
  for (Owner* const waiter : removed->end_waiters) {
    waiter->waits_for_end = nullptr;
    waiter->changed.notify_one();
  }
}

void LockManager::set_commit_order(Transaction& transaction, CommitOrder* order) noexcept {
  const MutexLock guard(state_->mutex);
  transaction.commit_order_ = order;
}

void LockManager::wake(TransactionId transaction) {
  const MutexLock guard(state_->mutex);
  const auto* const found = state_->owners.find(transaction);
  if (found == nullptr) return;
  (*found)->woken = true;
  (*found)->changed.notify_one();
}

}  // namespace hailstone
