#include "transaction/transaction.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <unordered_set>

#include "base/check.h"
#include "transaction/superseded.h"
#include "transaction/transaction_manager.h"

namespace hailstone {
namespace {

/// Redo beyond this goes to the log before the commit, so that a long transaction neither holds it in memory
/// nor delays others at its commit.
constexpr size_t redo_buffer_bytes = size_t{1} << 20;

/// Version::write holds the number of a change.
constexpr uint64_t most_changes = ~uint32_t{0};

/// Whether the end of another version goes on with the changes of a statement that ends row after row.
bool continues(const Change& last, const VersionStore* store, uint64_t slot, uint32_t number) {
  constexpr uint64_t greatest_stride = 3;  // an update ends a version and makes one
  constexpr uint16_t most = std::numeric_limits<uint16_t>::max();
  const uint64_t stride = number - last.last_number();
  return last.store == store && slot == last.slot + last.count && last.count < most &&
         (last.count == 1 ? stride <= greatest_stride : stride == last.stride);
}

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
  if (state_ == State::Active && !is_restored_) manager_.rollback(*this);
  manager_.settle(*this);
  if (!has_ended()) manager_.let_go(*this);
}

HeldSnapshot::HeldSnapshot(TransactionManager& manager, Timestamp own, bool may_expire)
    : manager_(manager), may_expire_(may_expire), taken_(std::chrono::steady_clock::now()) {
  snapshot_.own = own;
  manager.register_snapshot(*this);
}

HeldSnapshot::~HeldSnapshot() { manager_.forget_snapshot(*this); }

Status HeldSnapshot::too_old() const {
  return fail(
      ErrorCode::SnapshotTooOld,
      "the transaction's snapshot is too old: it was ended so that old versions of rows can go; begin a "
      "new transaction, or raise hailstone_snapshot_too_old (of a server; "
      "hs_options.snapshot_too_old_seconds of a program)");
}

const Snapshot& Transaction::snapshot() {
  if (held_ == nullptr) {
    held_ = std::make_shared<const HeldSnapshot>(manager_, marker());
    snapshot_ = **held_;
  }
  return snapshot_;
}

std::shared_ptr<const HeldSnapshot> Transaction::hold_snapshot() {
  snapshot();
  // A list of one place for each snapshot in use, so that is_behind() knows them all.
  if (isolation_ < Isolation::RepeatableRead) earlier_.reserve(earlier_.size() + 1);
  return held_;
}

void Transaction::give_up_snapshot() noexcept {
  std::erase_if(earlier_, [](const auto& each) { return each.expired(); });
  if (held_.use_count() > 1) earlier_.push_back(held_);
  held_.reset();
}

bool Transaction::is_behind(Timestamp timestamp) const {
  if (held_ != nullptr && timestamp > snapshot_.read) return true;
  return std::ranges::any_of(earlier_, [&](const auto& each) {
    const auto snapshot = each.lock();
    return snapshot != nullptr && timestamp > (**snapshot).read;
  });
}

Snapshot Transaction::current() const { return {.read = marker_bit - 1, .own = marker()}; }

void Transaction::add_change(const std::shared_ptr<VersionStore>& store, uint64_t slot,
                             Change::Kind kind) noexcept {
  HAILSTONE_CHECK(state_ == State::Active, "transaction {} has ended and changes a row", id_);
  std::vector<Change>& changes = kind == Change::Kind::Insert ? inserts_ : ends_;
  HAILSTONE_CHECK(changes.size() < changes.capacity() && stores_.size() < stores_.capacity(),
                  "transaction {} has made no room for change {}", id_, change_count_);
  const auto last = stores_.end() - static_cast<std::ptrdiff_t>(std::min(stores_.size(), stores_searched));
  if (std::find(last, stores_.end(), store) == stores_.end()) stores_.push_back(store);
  if (!is_writer_) manager_.writers_.fetch_add(1);
  is_writer_ = true;
  note_change();
  const auto number = static_cast<uint32_t>(change_count_++);
  if (kind == Change::Kind::End && !ends_.empty() && continues(ends_.back(), store.get(), slot, number)) {
    ends_.back().stride = static_cast<uint8_t>(number - ends_.back().last_number());
    ++ends_.back().count;
  } else {
    Change& change = changes.emplace_back();
    change.store = store.get();
    change.slot = slot;
    change.number = number;
    change.kind = kind;
  }
}

void Transaction::add_action(std::unique_ptr<TransactionAction> action) noexcept {
  HAILSTONE_CHECK(actions_.size() < actions_.capacity(), "transaction {} has made no room for action {}", id_,
                  actions_.size());
  actions_.push_back(std::move(action));
  note_change();
}

void Transaction::note_change() noexcept {
  if (!std::exchange(changes_something_, true)) manager_.changing_.fetch_add(1);
}

void Transaction::supersede(TableId table, ByteView key) {
  make_room(1);
  std::shared_ptr<SupersededKeys>& keys = superseded_[table];
  if (keys == nullptr) keys = std::make_shared<SupersededKeys>();
  const auto [entry, added] = keys->keys_.emplace(key, own_writes());
  if (added) add_change(keys, reinterpret_cast<uint64_t>(&entry->first), Change::Kind::Insert);
}

std::shared_ptr<const SupersededKeys> Transaction::superseded(TableId table) const {
  const auto found = superseded_.find(table);
  return found == superseded_.end() || found->second->keys_.empty() ? nullptr : found->second;
}

size_t Transaction::held_row_bytes() const {
  std::unordered_set<const VersionStore*> counted;
  size_t bytes = 0;
  for (const auto& store : stores_) {
    if (counted.insert(store.get()).second) bytes += store->row_bytes();
  }
  return bytes;
}

PrivateRows* Transaction::private_rows(TableId table) const {
  for (const auto& [id, rows] : private_rows_) {
    if (id == table) return rows.get();
  }
  return nullptr;
}

void Transaction::add_private_rows(TableId table, std::unique_ptr<PrivateRows> rows) {
  private_rows_.emplace_back(table, std::move(rows));
  note_change();
}

Result<bool> Transaction::spill_rows(size_t least) {
  const auto bytes = [](const auto& each) { return each.second->bytes_in_memory(); };
  const auto most = std::ranges::max_element(private_rows_, {}, bytes);
  if (most == private_rows_.end() || bytes(*most) <= least) return false;
  HAILSTONE_TRY(most->second->spill());
  return true;
}

void Transaction::forget_store(
    const VersionStore* store,
    const std::function<std::pair<VersionStore*, uint64_t>(uint64_t slot)>& moved) {
  std::erase_if(inserts_, [&](const Change& change) { return change.store == store; });
  for (Change& change : ends_) {
    if (change.store == store) std::tie(change.store, change.slot) = moved(change.slot);
  }
  std::erase_if(stores_, [&](const auto& each) { return each.get() == store; });
}

void Transaction::make_room(size_t changes) {
  const auto has_room = [&](const auto& list) { return list.capacity() - list.size() >= changes; };
  if (has_room(inserts_) && has_room(ends_) && has_room(stores_) && has_room(actions_) &&
      redo_.capacity() == redo_capacity_) [[likely]]
    return;
  const auto grow = [](auto& list, size_t by) {
    const size_t wanted = list.size() + by;
    if (wanted > list.capacity()) list.reserve(std::max(wanted, 2 * list.capacity()));
  };
  grow(inserts_, changes);
  grow(ends_, changes);
  grow(stores_, changes);
  grow(actions_, changes);
  const size_t held = changes_capacity() * sizeof(Change) + stores_.capacity() * sizeof(stores_[0]) +
                      actions_.capacity() * sizeof(actions_[0]) + redo_.capacity();
  if (held > memory_.bytes()) memory_.grow(held - memory_.bytes());
  redo_capacity_ = redo_.capacity();
}

Status Transaction::prepare(size_t changes) {
  // Changes cannot be put elsewhere; a transaction whose list of them fills the memory of all others is
  // refused.
  if (changes_capacity() * sizeof(Change) > manager_.budget_.limit() / 2) [[unlikely]] {
    return fail(ErrorCode::OutOfMemory, fmt::format("transaction {} has changed {} rows; the list of them "
                                                    "alone takes half of the memory budget of {} bytes: "
                                                    "commit more often, load in bulk, or raise the budget",
                                                    id_, change_count_, manager_.budget_.limit()));
  }
  if (change_count_ + changes >= most_changes) [[unlikely]] {
    return fail(ErrorCode::OutOfMemory,
                fmt::format("transaction {} has changed {} rows, more than which one transaction cannot "
                            "change one by one: commit more often, or load in bulk",
                            id_, change_count_));
  }
  // While the log cannot be written it stays here: the caller may hold a table's mutex and must not wait.
  if (redo_.size() >= redo_buffer_bytes && !manager_.log_.stall()) HAILSTONE_TRY(manager_.spill_redo(*this));
  make_room(changes);
  return {};
}

void Transaction::take_redo() noexcept { redo_length_ = redo_logged_ + redo_.size(); }

void Transaction::roll_back_to(const Savepoint& savepoint) noexcept {
  if (change_count_ > savepoint.number || actions_.size() > savepoint.actions) ++change_count_;
  undo_to(savepoint.number, savepoint.actions);
  // What the log holds beyond this is void: the next record of the transaction says where it goes on.
  redo_length_ = std::min(redo_length_, savepoint.redo);
  redo_logged_ = std::min(redo_logged_, redo_length_);
  redo_.resize(static_cast<size_t>(redo_length_ - redo_logged_));
}

void Transaction::undo_to(uint64_t number, size_t actions) noexcept {
  // Ends before inserts, so that a version which the transaction has made and ended is not live again when it
  // is taken back; rows before actions, so that a table made by an action is still there then.
  while (!ends_.empty() && ends_.back().last_number() >= number) {
    Change& last = ends_.back();
    Change undone = last;
    if (last.number < number) {
      const uint64_t kept = (number - last.number + last.stride - 1) / last.stride;
      undone.slot += kept;
      undone.count = static_cast<uint16_t>(last.count - kept);
      last.count = static_cast<uint16_t>(kept);
    } else {
      ends_.pop_back();
    }
    undone.store->undo(undone);
  }
  while (!inserts_.empty() && inserts_.back().number >= number) {
    const Change undone = inserts_.back();
    inserts_.pop_back();
    undone.store->undo(undone);
  }
  for (const auto& [table, rows] : private_rows_) rows->take_back(number);
  while (actions_.size() > actions) {
    actions_.back()->undo();
    actions_.pop_back();
  }
}

}  // namespace hailstone
