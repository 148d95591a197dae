#include "transaction/lock_manager.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <unordered_set>

#include "base/check.h"
#include "base/hash.h"
#include "base/mutex.h"
#include "base/number_map.h"
#include "transaction/commit_order.h"
#include "transaction/lock_queue.h"
#include "transaction/transaction.h"

namespace hailstone {

using locking::Holder;
using locking::Lock;
using locking::Owner;

namespace {

using Clock = std::chrono::steady_clock;

/// How long a waiter sleeps at most before it looks at its interruption check.
constexpr std::chrono::milliseconds interruption_interval{50};
/// Longer timeouts are cut to this, so that a deadline can be computed without overflow.
constexpr std::chrono::milliseconds longest_timeout = std::chrono::hours(24 * 365);

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
size_t memory_of(const Lock& lock) {
  constexpr size_t list_entries = 6 * sizeof(void*);  // of the set of locks, and of its owner's
  constexpr size_t key_in_place = 15;
  return sizeof(Lock) + list_entries + (lock.key.size() > key_in_place ? lock.key.size() : 0);
}

/// What a locked range takes beside its keys.
constexpr size_t memory_of_range = 4 * sizeof(void*) + 2 * sizeof(std::string);

TableLockMode mode_of(RowLockMode mode) {
  return mode == RowLockMode::Shared ? TableLockMode::Shared : TableLockMode::Exclusive;
}

}  // namespace

namespace {

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

}  // namespace

struct LockManager::State {
  State(Counters& its_counters, MemoryBudget& its_budget) : counters(its_counters), budget(its_budget) {}

  Counters& counters;
  MemoryBudget& budget;
  Mutex mutex;  // guards the locks and owners themselves, too
  NumberMap<std::unique_ptr<Owner>> owners HAILSTONE_GUARDED_BY(mutex);  // by the number of the transaction
  LockSet rows HAILSTONE_GUARDED_BY(mutex);
  LockSet tables HAILSTONE_GUARDED_BY(mutex);
  /// That have locked ranges, by table.
  NumberMap<std::vector<Owner*>> range_owners HAILSTONE_GUARDED_BY(mutex);
  uint64_t searches HAILSTONE_GUARDED_BY(mutex) = 0;  // for deadlocks

  // Row locks by table, several tables sharing a number: zero says, without the mutex, that the table has
  // none. Changed under the mutex.
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
    budget.reserve(memory_of(made));
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
      budget.release(memory_of(lock));
      rows.erase(rows.find(name));
    }
  }

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
  /// Asks the application, without the mutex: it may take long, or call in here.
  bool asked_to_stop(const Transaction& transaction) HAILSTONE_REQUIRES(mutex);
  void stop_waiting(Owner& waiter) noexcept HAILSTONE_REQUIRES(mutex);
  /// Lets `lock` be had; a lock that nobody holds does not stay when that fails.
  bool try_grant(Lock& lock, Owner& owner, TableLockMode mode) HAILSTONE_REQUIRES(mutex);
  Status lock(Lock& lock, Owner& owner, TableLockMode mode) HAILSTONE_REQUIRES(mutex);
};

namespace {

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
uint64_t work_of(const Owner& owner) { return owner.transaction->own_writes() + owner.row_locks.size(); }

/// Whether `a` has to be committed before `b`.
bool precedes(const Owner& a, const Owner& b) {
  const CommitOrder *const first = a.transaction->commit_order(), *const second =
                                                                      b.transaction->commit_order();
  return first != nullptr && second != nullptr && first->precedes(*second);
}

/// Whether the order of their commits keeps the two apart, so that locks of ranges need not.
bool order_is_settled(const Transaction& a, const Owner& b) {
  const CommitOrder *const first = a.commit_order(), *const second = b.transaction->commit_order();
  return first != nullptr && second != nullptr && first->settles(*second);
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

void LockManager::State::release_ranges(Owner& owner) noexcept {
  TableId last = 0;
  bool any = false;
  for (const auto& [order, ranges] : owner.ranges) {
    if (any && order.first == last) continue;  // several orders of one table
    any = true;
    last = order.first;
    std::vector<Owner*>* const found = range_owners.find(last);
    if (found == nullptr || std::erase(*found, &owner) == 0) continue;
    if (found->empty()) range_owners.erase(last);
    range_locks_of(last).fetch_sub(1, std::memory_order_release);
  }
  owner.ranges.clear();
  budget.release(std::exchange(owner.range_bytes, 0));
}

namespace {

bool ends_before(ByteView high, ByteView key) { return !high.empty() && high < key; }

/// Adds [low, high) to ranges that do not overlap, making one of all that it touches.
void add_range(std::map<std::string, std::string, std::less<>>& ranges, ByteView low, ByteView high) {
  std::string end(high);
  auto at = ranges.upper_bound(low);
  if (at != ranges.begin() && !ends_before(std::prev(at)->second, low)) {
    --at;
    if (at->second.empty() || (!high.empty() && high <= at->second)) return;
  } else {
    at = ranges.emplace_hint(at, low, std::string());
  }
  auto next = std::next(at);
  while (next != ranges.end() && (end.empty() || ByteView(next->first) <= end)) {
    if (!end.empty() && (next->second.empty() || end < next->second)) end = std::move(next->second);
    next = ranges.erase(next);
  }
  at->second = std::move(end);
}

}  // namespace

void LockManager::lock_range(Transaction& transaction, TableId table, uint32_t order, ByteView low,
                             ByteView high) {
  const MutexLock guard(state_->mutex);
  Owner& owner = state_->owner(transaction);
  // First, as the end of the transaction looks for its tables here.
  auto& ranges = owner.ranges[{table, order}];
  auto& owners = state_->range_owners[table];
  if (std::find(owners.begin(), owners.end(), &owner) == owners.end()) {
    owners.push_back(&owner);
    state_->range_locks_of(table).fetch_add(1, std::memory_order_release);
  }
  const size_t before = ranges.size();
  add_range(ranges, low, high);
  if (ranges.size() > before) {
    const size_t bytes = memory_of_range + low.size() + high.size();
    owner.range_bytes += bytes;
    state_->budget.reserve(bytes);
  }
}

TransactionId LockManager::range_locked_by_other(const Transaction& transaction, TableId table,
                                                 uint32_t order, ByteView key) const {
  if (state_->range_locks_of(table).load(std::memory_order_acquire) == 0) return 0;
  const MutexLock guard(state_->mutex);
  const std::vector<Owner*>* const owners = state_->range_owners.find(table);
  if (owners == nullptr) return 0;
  for (const Owner* const owner : *owners) {
    if (owner->id == transaction.id() || order_is_settled(transaction, *owner)) continue;
    const auto ranges = owner->ranges.find({table, order});
    if (ranges == owner->ranges.end()) continue;
    const auto behind = ranges->second.upper_bound(key);
    if (behind == ranges->second.begin()) continue;
    const std::string& high = std::prev(behind)->second;
    if (high.empty() || key < high) return owner->id;
  }
  return 0;
}

TransactionId LockManager::any_range_locked_by_other(const Transaction& transaction, TableId table) const {
  if (state_->range_locks_of(table).load(std::memory_order_acquire) == 0) return 0;
  const MutexLock guard(state_->mutex);
  const std::vector<Owner*>* const owners = state_->range_owners.find(table);
  if (owners == nullptr) return 0;
  for (const Owner* const owner : *owners) {
    if (owner->id != transaction.id() && !order_is_settled(transaction, *owner)) return owner->id;
  }
  return 0;
}

LockManager::LockManager(Counters& counters, MemoryBudget& budget)
    : state_(std::make_unique<State>(counters, budget)) {}
LockManager::~LockManager() = default;

bool LockManager::try_lock_row(Transaction& transaction, TableId table, ByteView key, RowLockMode mode) {
  const MutexLock guard(state_->mutex);
  Owner& owner = state_->owner(transaction);
  // A lock that is not there yet is always granted, so that a refusal leaves no empty one behind.
  return state_->try_grant(state_->row(table, key), owner, mode_of(mode));
}

Status LockManager::lock_row(Transaction& transaction, TableId table, ByteView key, RowLockMode mode) {
  const MutexLock guard(state_->mutex);
  Owner& owner = state_->owner(transaction);
  return state_->lock(state_->row(table, key), owner, mode_of(mode));
}

void LockManager::unlock_row(Transaction& transaction, TableId table, ByteView key) {
  const MutexLock guard(state_->mutex);
  const auto [lock, holder] = state_->held(transaction, {table, key});
  if (holder != nullptr && --holder->grants == 0) state_->leave(*lock, *holder);
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
                                      RowLockMode mode) const {
  if (state_->row_locks_of(table).load(std::memory_order_acquire) == 0) return false;
  const MutexLock guard(state_->mutex);
  const auto found = state_->rows.find(LockName{table, key});
  if (found == state_->rows.end()) return false;
  const auto& holders = (*found)->holders;
  const locking::Modes blocking = locking::conflicts(mode_of(mode));
  return std::any_of(holders.begin(), holders.end(), [&](const Holder& holder) {
    return holder.owner->id != transaction.id() && (holder.modes & blocking) != 0;
  });
}

Status LockManager::lock_table(Transaction& transaction, TableId table, TableLockMode mode) {
  const MutexLock guard(state_->mutex);
  Owner& owner = state_->owner(transaction);
  return state_->lock(state_->table(table), owner, mode);
}

Status LockManager::wait_for_end(Transaction& waiter, TransactionId holder) {
  const MutexLock guard(state_->mutex);
  const auto* const found = state_->owners.find(holder);
  if (found == nullptr) return {};
  Owner& owner = state_->owner(waiter);
  (*found)->end_waiters.push_back(&owner);
  owner.waits_for_end = found->get();
  report_wait(owner, **found);
  return state_->wait(owner);
}

void LockManager::add_transaction(Transaction& transaction) {
  auto owner = std::make_unique<Owner>(transaction.id(), transaction);
  const MutexLock guard(state_->mutex);
  state_->owners.emplace(transaction.id(), std::move(owner));
}

void LockManager::remove_transaction(Transaction& transaction) noexcept {
  std::unique_ptr<Owner> removed;  // freed after the mutex
  const MutexLock guard(state_->mutex);
  auto* const found = state_->owners.find(transaction.id());
  if (found == nullptr) return;  // there was no memory to add it
  HAILSTONE_CHECK(!(*found)->waits(), "transaction {} ends while it waits", transaction.id());
  removed = std::move(*found);
  state_->owners.erase(transaction.id());
  const auto leave = [&](Lock& lock) {
    lock.holders.erase(lock.holders.begin() + (lock.holder(*removed) - lock.holders.data()));
  };
  for (auto* const locks : {&removed->row_locks, &removed->table_locks}) {
    for (Lock* const lock : *locks) {
      leave(*lock);
      state_->settle(*lock);
    }
  }
  state_->release_ranges(*removed);
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
