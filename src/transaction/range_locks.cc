// Ranges that locking reads keep others out of.
#include <map>
#include <string>

#include "transaction/lock_state.h"

namespace hailstone {

namespace {

using Ranges = std::map<std::string, std::string, std::less<>>;

size_t memory_of(const Ranges::value_type& range) {
  constexpr size_t beside_keys = 4 * sizeof(void*) + sizeof(range);
  return beside_keys + range.first.size() + range.second.size();
}

/// Whether the order of their commits keeps the two apart, so that locks of ranges need not.
bool order_is_settled(const Transaction& a, const Owner& b) {
  const CommitOrder *const first = a.commit_order(), *const second = b.transaction->commit_order();
  return first != nullptr && second != nullptr && first->settles(*second);
}

bool ends_before(ByteView high, ByteView key) { return !high.empty() && high < key; }

/// Adds [low, high) to ranges that do not overlap, making one of all that it touches. `bytes`, what the
/// ranges take, is brought up to date.
void add_range(Ranges& ranges, ByteView low, ByteView high, size_t& bytes) {
  std::string end(high);
  auto at = ranges.upper_bound(low);
  if (at != ranges.begin() && !ends_before(std::prev(at)->second, low)) {
    --at;
    if (at->second.empty() || (!high.empty() && high <= at->second)) return;
    bytes -= memory_of(*at);
  } else {
    at = ranges.emplace_hint(at, low, std::string());
  }
  auto next = std::next(at);
  while (next != ranges.end() && (end.empty() || ByteView(next->first) <= end)) {
    bytes -= memory_of(*next);
    if (!end.empty() && (next->second.empty() || end < next->second)) end = std::move(next->second);
    next = ranges.erase(next);
  }
  at->second = std::move(end);
  bytes += memory_of(*at);
}

}  // namespace

Status LockManager::lock_range(Transaction& transaction, TableId table, uint32_t order, ByteView low,
                               ByteView high) {
  if (state_->memory.is_used_up()) {
    if (!transaction.escalates_locks()) return too_many_locks(transaction, state_->memory.limit());
    low = high = {};
  }
  const MutexLock guard(state_->mutex);
  Owner& owner = state_->owner(transaction);
  // First, as the end of the transaction looks for its tables here.
  auto& ranges = owner.ranges[{table, order}];
  auto& owners = state_->range_owners[table];
  if (std::find(owners.begin(), owners.end(), &owner) == owners.end()) {
    owners.push_back(&owner);
    state_->range_locks_of(table).fetch_add(1, std::memory_order_release);
  }
  const size_t before = owner.range_bytes;
  add_range(ranges, low, high, owner.range_bytes);
  if (owner.range_bytes > before) {
    state_->memory.reserve(owner.range_bytes - before);
  } else {
    state_->memory.release(before - owner.range_bytes);
  }
  return {};
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
  memory.release(std::exchange(owner.range_bytes, 0));
}

}  // namespace hailstone
