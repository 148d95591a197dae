#include "transaction/transaction.h"

#include <fmt/format.h>

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "transaction/transaction_manager.h"

namespace hailstone {
namespace {

/// Redo beyond this goes to the log before the commit, so that a long transaction neither holds it in memory
/// nor delays others at its commit.
constexpr size_t redo_buffer_bytes = size_t{1} << 20;

/// How many of the stores met last are searched before one is noted (again).
constexpr size_t stores_searched = 8;

}  // namespace

Transaction::Transaction(TransactionManager& manager, TransactionId id, Isolation isolation,
                         MemoryBudget& budget)
    : manager_(manager),
      id_(id),
      isolation_(isolation),
      locks_ranges_(isolation == Isolation::Serializable),
      memory_(budget) {}

Transaction::~Transaction() {
  if (state_ == State::Active) manager_.rollback(*this);
}

const Snapshot& Transaction::snapshot() {
  if (isolation_ == Isolation::ReadUncommitted) {
    // Every begin counts, markers too, and every end.
    snapshot_ = {.read = infinity - 1, .own = marker()};
    return snapshot_;
  }
  if (!has_snapshot_) {
    snapshot_ = manager_.acquire_snapshot(marker());
    has_snapshot_ = true;
  }
  return snapshot_;
}

void Transaction::next_statement() {
  if (!has_snapshot_ || isolation_ >= Isolation::RepeatableRead) return;
  manager_.release_snapshot(snapshot_);
  has_snapshot_ = false;
}

Snapshot Transaction::current() const { return {.read = marker_bit - 1, .own = marker()}; }

void Transaction::charge_memory() {
  const size_t held =
      changes_.capacity() * sizeof(Change) + stores_.capacity() * sizeof(stores_[0]) + redo_.capacity();
  if (held > memory_.bytes()) memory_.grow(held - memory_.bytes());
}

void Transaction::add_change(const std::shared_ptr<VersionStore>& store, uint64_t slot, Change::Kind kind) {
  const auto last = stores_.end() - static_cast<std::ptrdiff_t>(std::min(stores_.size(), stores_searched));
  if (std::find(last, stores_.end(), store) == stores_.end()) stores_.push_back(store);
  changes_.push_back({store.get(), slot, kind});
  ++change_count_;
  charge_memory();
}

size_t Transaction::held_row_bytes() const {
  absl::flat_hash_set<const VersionStore*> counted;
  size_t bytes = 0;
  for (const auto& store : stores_) {
    if (counted.insert(store.get()).second) bytes += store->row_bytes();
  }
  return bytes;
}

void Transaction::add_action(std::unique_ptr<TransactionAction> action) {
  actions_.push_back(std::move(action));
}

Status Transaction::add_redo(ByteView operation) {
  // Changes cannot be put elsewhere; a transaction whose list of them fills the memory of all others is
  // refused.
  if (changes_.capacity() * sizeof(Change) > manager_.budget_.limit() / 2) {
    return fail(ErrorCode::OutOfMemory, fmt::format("transaction {} has changed {} rows; the list of them "
                                                    "alone takes half of the memory budget of {} bytes: "
                                                    "commit more often, load in bulk, or raise the budget",
                                                    id_, changes_.size(), manager_.budget_.limit()));
  }
  redo_.append(operation);
  redo_length_ += operation.size();
  charge_memory();
  return redo_.size() < redo_buffer_bytes ? Status() : manager_.spill_redo(*this);
}

}  // namespace hailstone
