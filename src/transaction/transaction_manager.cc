#include "transaction/transaction_manager.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/guard.h"

namespace hailstone {
namespace {

/// Calls `store->commit` for each run of changes of one store.
void stamp_changes(std::span<const Change> changes, Timestamp timestamp) noexcept {
  while (!changes.empty()) {
    VersionStore* const store = changes.front().store;
    const auto other =
        std::find_if(changes.begin(), changes.end(), [&](const Change& each) { return each.store != store; });
    const auto run = static_cast<size_t>(other - changes.begin());
    store->commit(changes.first(run), timestamp);
    changes = changes.subspan(run);
  }
}

}  // namespace

TransactionManager::TransactionManager(Log& log, LockManager& locks, MemoryBudget& budget, Counters& counters,
                                       Timestamp last_committed, TransactionId next_id,
                                       uint64_t most_stamped_in_order)
    : log_(log),
      locks_(locks),
      budget_(budget),
      counters_(counters),
      most_stamped_in_order_(most_stamped_in_order),
      commit_mutex_held_(counters.commit_mutex_microseconds),
      last_committed_(last_committed),
      next_id_(next_id),
      mutex_held_(counters.snapshot_mutex_microseconds) {}

std::unique_ptr<Transaction> TransactionManager::begin(Isolation isolation) {
  const TransactionId id = next_id_.fetch_add(1, std::memory_order_relaxed);
  std::unique_ptr<Transaction> transaction(new Transaction(*this, id, isolation, budget_));
  count(counters_.transactions_active);
  locks_.add_transaction(*transaction);
  return transaction;
}

Status TransactionManager::prepare(Transaction& transaction, std::string_view name) {
  HAILSTONE_CHECK(!name.empty() && name.size() <= most_name_bytes, "a name of {} bytes", name.size());
  if (transaction.state_ != Transaction::State::Active) {
    return fail(ErrorCode::InvalidArgument, fmt::format("transaction {} is not active", transaction.id_));
  }
  if (!std::ranges::all_of(transaction.actions_, &TransactionAction::can_be_prepared)) {
    return fail(
        ErrorCode::Unsupported,
        "a transaction that has made, changed or dropped tables cannot be prepared: commit it at once");
  }
  if (transaction.redo_length_ > 0 || !transaction.inserts_.empty() || !transaction.ends_.empty()) {
    const Status logged = guarded([&]() -> Status {
      HAILSTONE_TRY(take_name(transaction, name));
      // What it has done to tables in memory a restart takes away, prepared or not.
      return transaction.redo_length_ > 0 ? log_prepare(transaction) : Status();
    });
    if (!logged) {
      forget_name(transaction);
      return logged;
    }
  }
  transaction.state_ = Transaction::State::Prepared;
  transaction.held_.reset();
  return {};
}

Status TransactionManager::take_name(Transaction& transaction, std::string_view name) {
  std::string taken(name);
  const MutexLock guard(mutex_);
  if (!prepared_.emplace(name, nullptr).second)
    return fail(ErrorCode::AlreadyExists, "another prepared transaction has this name");
  transaction.name_ = std::move(taken);
  return {};
}

void TransactionManager::forget_name(Transaction& transaction) noexcept {
  if (transaction.name_.empty()) return;
  const MutexLock guard(mutex_);
  const auto found = prepared_.find(transaction.name_);
  HAILSTONE_CHECK(found != prepared_.end() && found->second == nullptr,
                  "transaction {} is prepared under a name that is another's", transaction.id_);
  prepared_.erase(found);
  transaction.name_.clear();
}

Status TransactionManager::log_prepare(Transaction& transaction) {
  std::string record;
  record.reserve(2 * sizeof(uint64_t) + most_name_bytes + transaction.redo_.size());
  append_number(record, transaction.id_);
  append_number(record, transaction.redo_logged_);
  append_string(record, transaction.name_);
  record.append(transaction.redo_);
  const auto interrupted = [&] { return transaction.interrupted(); };
  HAILSTONE_TRY(log_.wait_for_room(interrupted));
  note_first_record(transaction);
  HAILSTONE_ASSIGN(const Lsn end, log_.append(LogRecordType::Prepare, record));
  transaction.redo_logged_ += transaction.redo_.size();
  transaction.redo_.clear();
  return reach(end, interrupted);
}

Status TransactionManager::roll_back_prepared(Transaction& transaction) {
  if (transaction.state_ != Transaction::State::Prepared) {
    return fail(ErrorCode::InvalidArgument, fmt::format("transaction {} is not prepared", transaction.id_));
  }
  if (transaction.first_logged_ != 0) {
    HAILSTONE_TRY(guarded([&]() -> Status {
      std::string record;
      append_number(record, transaction.id_);
      HAILSTONE_ASSIGN(transaction.commit_end_, log_.append(LogRecordType::Rollback, record));
      return {};
    }));
    // The files of its loads go. Without the record recovery would look for them.
    if (!transaction.actions_.empty()) HAILSTONE_TRY(log_.sync(transaction.commit_end_));
  }
  transaction.undo_to(0, 0);
  finish(transaction, Transaction::State::RolledBack);
  return make_durable(transaction);
}

void TransactionManager::leave_prepared(std::unique_ptr<Transaction> transaction) noexcept {
  HAILSTONE_CHECK(transaction->state_ == Transaction::State::Prepared, "transaction {} is not prepared",
                  transaction->id_);
  transaction->set_interruption_check({});
  locks_.set_commit_order(*transaction, nullptr);
  if (transaction->name_.empty()) {  // what it has done is for its owner alone
    static_cast<void>(roll_back_prepared(*transaction));
    return;
  }
  const MutexLock guard(mutex_);
  prepared_.find(transaction->name_)->second = std::move(transaction);
}

std::unique_ptr<Transaction> TransactionManager::take_prepared(std::string_view name) {
  const MutexLock guard(mutex_);
  const auto found = prepared_.find(name);
  return found == prepared_.end() ? nullptr : std::move(found->second);
}

std::vector<std::string> TransactionManager::prepared() const {
  std::vector<std::string> names;
  const MutexLock guard(mutex_);
  names.reserve(prepared_.size());
  for (const auto& [name, transaction] : prepared_) names.push_back(name);
  return names;
}

void TransactionManager::forget_prepared() noexcept {
  decltype(prepared_) left;
  const MutexLock guard(mutex_);
  left.swap(prepared_);
}

std::unique_ptr<Transaction> TransactionManager::begin_restored(TransactionId id) {
  std::unique_ptr<Transaction> transaction(new Transaction(*this, id, Isolation::ReadCommitted, budget_));
  transaction->is_restored_ = true;
  count(counters_.transactions_active);
  locks_.add_transaction(*transaction);
  return transaction;
}

void TransactionManager::note_restored(Transaction& transaction, uint64_t bytes) {
  transaction.redo_logged_ += bytes;
  transaction.redo_length_ = transaction.redo_logged_;
}

void TransactionManager::finish_restored(std::unique_ptr<Transaction> transaction, std::string name,
                                         Lsn first) {
  const MutexLock guard(mutex_);
  open_records_.emplace(transaction->id_, first);
  std::unique_ptr<Transaction>& place = prepared_[name];
  transaction->state_ = Transaction::State::Prepared;
  transaction->name_ = std::move(name);
  transaction->first_logged_ = first;
  place = std::move(transaction);
}

Status TransactionManager::commit(Transaction& transaction) {
  HAILSTONE_TRY(commit_visible(transaction));
  return make_durable(transaction);
}

Status TransactionManager::commit_visible(Transaction& transaction) {
  HAILSTONE_TRY(commit_in_order(transaction));
  settle(transaction);
  return {};
}

Status TransactionManager::commit_in_order(Transaction& transaction) {
  if (transaction.state_ != Transaction::State::Active &&
      transaction.state_ != Transaction::State::Prepared) {
    return fail(ErrorCode::InvalidArgument, fmt::format("transaction {} has ended already", transaction.id_));
  }
  if (!transaction.has_writes()) {
    finish(transaction, Transaction::State::Committed);
    return {};
  }
  const Status logged = guarded([&] { return log_commit(transaction); });
  if (!logged) {
    rollback(transaction);  // unless it is prepared
    return logged;
  }
  if (transaction.state_ != Transaction::State::Settling) finish(transaction, Transaction::State::Committed);
  return {};
}

Status TransactionManager::log_commit(Transaction& transaction) {
  // Sorted before the mutex: each table's latch is then taken once for all changes, not once for each.
  if (transaction.stores_.size() > 1) {
    const auto by_store = [](const Change& a, const Change& b) { return std::less<>()(a.store, b.store); };
    for (auto* const changes : {&transaction.inserts_, &transaction.ends_}) {
      if (!std::ranges::is_sorted(*changes, by_store)) std::ranges::sort(*changes, by_store);
    }
  }
  std::string record;
  record.reserve(3 * sizeof(uint64_t) + transaction.redo_.size());
  append_number(record, transaction.id_);
  append_number(record, Timestamp{0});  // known under the mutex only
  append_number(record, transaction.redo_logged_);
  record.append(transaction.redo_);
  // Changes without redo (of tables in memory only) need a timestamp, but nothing in the log.
  const bool logged = transaction.redo_length_ > 0;
  // Nobody may wait for the log under the mutex, where no interruption would be noticed.
  if (logged) {
    const bool is_prepared = transaction.state_ == Transaction::State::Prepared;
    HAILSTONE_TRY(log_.wait_for_room([&] { return !is_prepared && transaction.interrupted(); }));
  }
  std::list<Timestamp> marker;
  if (transaction.change_count_ > most_stamped_in_order_ && transaction.actions_.empty())
    marker.push_back(transaction.marker());
  const MutexLock guard(commit_mutex_);
  const Timestamp timestamp = last_committed_.load(std::memory_order_relaxed) + 1;
  if (logged) {
    store(record.data() + sizeof(uint64_t), timestamp);
    HAILSTONE_ASSIGN(transaction.commit_end_, log_.append(LogRecordType::Commit, record));
  }
  // The log has the commit: from here on nothing fails or needs memory.
  transaction.commit_timestamp_ = timestamp;
  // Who waits for all to settle waits for no more of them.
  if (!marker.empty() && stoppers_ == 0) {
    publish(transaction, std::move(marker));
    return {};
  }
  stamp(transaction);
  for (const auto& action : transaction.actions_) action->commit(timestamp);
  last_committed_.store(timestamp, std::memory_order_release);
  return {};
}

void TransactionManager::publish(Transaction& transaction, std::list<Timestamp> marker) noexcept {
  ++unsettled_;
  transaction.state_ = Transaction::State::Settling;
  // One step for register_snapshot().
  const MutexLock guard(mutex_);
  settling_.splice(settling_.end(), marker);
  last_committed_.store(transaction.commit_timestamp_, std::memory_order_release);
}

void TransactionManager::settle(Transaction& transaction) noexcept {
  if (transaction.state_ != Transaction::State::Settling) return;
  stamp(transaction);
  std::list<Timestamp> marker;
  {
    const MutexLock guard(mutex_);
    marker.splice(marker.end(), settling_, std::ranges::find(settling_, transaction.marker()));
  }
  {
    const MutexLock guard(commit_mutex_);
    if (--unsettled_ == 0 && stoppers_ > 0) all_settled_.notify_all();
  }
  finish(transaction, Transaction::State::Committed);
}

void TransactionManager::stamp(Transaction& transaction) noexcept {
  const Timestamp timestamp = transaction.commit_timestamp_;
  // Ends first: what is seen to have begun has its ends, too.
  stamp_changes(transaction.ends_, timestamp);
  stamp_changes(transaction.inserts_, timestamp);
  for (const auto& [table, rows] : transaction.private_rows_) rows->commit(timestamp);
}

Status TransactionManager::make_durable(Transaction& transaction) {
  if (transaction.commit_end_ == 0) return {};
  const Status reached = reach(transaction.commit_end_, [&] { return transaction.interrupted(); });
  if (reached || reached.error().code() != ErrorCode::Interrupted) return reached;
  // Others see it already, so it cannot be taken back.
  const bool committed = transaction.state_ == Transaction::State::Committed;
  return fail(ErrorCode::Interrupted,
              fmt::format("transaction {} is {}, but would be {} if the process ended now: {}",
                          transaction.id_, committed ? "committed" : "rolled back",
                          committed ? "lost" : "prepared again", reached.error().message()));
}

Status TransactionManager::reach(Lsn position, const Log::Interruption& interrupted) {
  switch (flush_log_at_commit()) {
    case FlushLogAtCommit::Sync:
      return log_.sync(position, interrupted);
    case FlushLogAtCommit::Write:
      return log_.write(position, interrupted);
    case FlushLogAtCommit::EverySecond:
      break;  // the database's background thread does both
  }
  return {};
}

void TransactionManager::rollback(Transaction& transaction) noexcept {
  if (transaction.state_ != Transaction::State::Active) return;
  transaction.undo_to(0, 0);
  finish(transaction, Transaction::State::RolledBack);
}

Timestamp TransactionManager::horizon() const {
  const MutexLock guard(mutex_);
  return snapshots_.empty() ? last_committed() : snapshots_.begin()->first;
}

bool TransactionManager::reads_newest(const Transaction& transaction) const {
  // In this order: a transaction is counted until its commit is the last one.
  if (changing_.load() != 0) return false;
  return !transaction.has_snapshot() || transaction.snapshot_.read >= last_committed();
}

SnapshotsInUse TransactionManager::snapshots_in_use() const {
  std::vector<Timestamp> reads;
  const MutexLock guard(mutex_);
  for (const auto& [read, snapshot] : snapshots_) {
    if (reads.empty() || reads.back() != read) reads.push_back(read);
  }
  return {std::move(reads), last_committed()};
}

size_t TransactionManager::expire_snapshots(std::chrono::steady_clock::time_point taken) {
  const MutexLock guard(mutex_);
  return std::erase_if(snapshots_, [&](const auto& each) {
    HeldSnapshot& snapshot = *each.second;
    if (!snapshot.may_expire_ || snapshot.taken_ > taken) return false;
    // Told first: a reader that finds it valid behind its read has read what the snapshot kept.
    snapshot.expired_.store(true);
    return true;
  });
}

Lsn TransactionManager::oldest_open_record(Lsn otherwise) const {
  const MutexLock guard(mutex_);
  Lsn oldest = otherwise;
  for (const auto& [id, first] : open_records_) oldest = std::min(oldest, first);
  return oldest;
}

Status TransactionManager::with_commits_stopped(const std::function<Status(Timestamp)>& action) {
  const MutexLock guard(commit_mutex_);
  ++stoppers_;
  while (unsettled_ > 0) all_settled_.wait(commit_mutex_);
  --stoppers_;
  return action(last_committed());
}

void TransactionManager::resume_after(Timestamp last_committed, TransactionId last_id) {
  last_committed_.store(last_committed, std::memory_order_release);
  next_id_.store(last_id + 1, std::memory_order_relaxed);
}

void TransactionManager::register_snapshot(HeldSnapshot& snapshot) {
  // Reading the timestamp and registering are one step for horizon(), or it could pass a snapshot that is
  // about to be registered. So are reading it and the markers, for publish().
  const MutexLock guard(mutex_);
  snapshot.settling_.assign(settling_.begin(), settling_.end());
  if (!snapshot.settling_.empty()) snapshot.snapshot_.settling = &snapshot.settling_;
  snapshot.snapshot_.read = last_committed();
  snapshots_.emplace(snapshot.snapshot_.read, &snapshot);
}

void TransactionManager::forget_snapshot(HeldSnapshot& snapshot) noexcept {
  const MutexLock guard(mutex_);
  snapshots_.erase({snapshot.snapshot_.read, &snapshot});
}

void TransactionManager::note_first_record(Transaction& transaction) {
  if (transaction.first_logged_ != 0) return;
  // With a position that cannot be behind the record.
  const MutexLock guard(mutex_);
  const Lsn first = std::max<Lsn>(log_.end(), 1);
  open_records_.emplace(transaction.id_, first);
  transaction.first_logged_ = first;
}

Status TransactionManager::spill_redo(Transaction& transaction) {
  note_first_record(transaction);
  std::string record;
  record.reserve(2 * sizeof(uint64_t) + transaction.redo_.size());
  append_number(record, transaction.id_);
  append_number(record, transaction.redo_logged_);
  record.append(transaction.redo_);
  const auto appended = log_.append(LogRecordType::Operations, record);
  if (!appended) return std::unexpected(appended.error());
  transaction.redo_logged_ += transaction.redo_.size();
  transaction.redo_.clear();
  return {};
}

void TransactionManager::finish(Transaction& transaction, Transaction::State state) noexcept {
  const bool committed = state == Transaction::State::Committed;
  if (transaction.first_logged_ != 0 && transaction.commit_end_ == 0) {
    // Only spares recovery the memory of the operations: without the record, too, they have no commit and are
    // void. So a failure costs nothing.
    try_to([&] {
      std::string record;
      append_number(record, transaction.id_);
      static_cast<void>(log_.append(LogRecordType::Rollback, record));
    });
  }
  HAILSTONE_CHECK(!transaction.has_ended(), "transaction {} ends twice", transaction.id_);
  forget_name(transaction);
  transaction.state_ = state;
  transaction.held_.reset();
  let_go(transaction);
  for (const auto& store : transaction.stores_) store->transaction_ended();
  // An ended transaction that is kept keeps none of its memory.
  transaction.inserts_ = std::vector<Change>();
  transaction.ends_ = std::vector<Change>();
  transaction.private_rows_ = decltype(transaction.private_rows_)();
  transaction.actions_ = std::vector<std::unique_ptr<TransactionAction>>();
  transaction.superseded_ = {};
  transaction.stores_ = std::vector<std::shared_ptr<VersionStore>>();
  transaction.redo_ = std::string();
  transaction.redo_logged_ = transaction.redo_length_ = 0;
  transaction.memory_.clear();
  count(committed ? counters_.transactions_committed : counters_.transactions_rolled_back);
}

void TransactionManager::let_go(Transaction& transaction) noexcept {
  if (std::exchange(transaction.is_writer_, false)) writers_.fetch_sub(1);
  if (std::exchange(transaction.changes_something_, false)) changing_.fetch_sub(1);
  if (transaction.first_logged_ != 0) {
    const MutexLock guard(mutex_);
    open_records_.erase(transaction.id_);
  }
  locks_.remove_transaction(transaction);
  counters_.transactions_active.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace hailstone
