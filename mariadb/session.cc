#include "session.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/guard.h"
#include "engine.h"
#include "query_history.h"
#include "trace.h"
#include "two_phase.h"
#include "variables.h"

// Declared by nobody: these are for engines.
extern "C" {
int thd_binlog_format(const MYSQL_THD thd);
int thd_need_wait_reports(const MYSQL_THD thd);
int thd_rpl_deadlock_check(MYSQL_THD thd, MYSQL_THD other);
int thd_need_ordering_with(const MYSQL_THD thd, const MYSQL_THD other);
int thd_deadlock_victim_preference(const MYSQL_THD thd, const MYSQL_THD other);
int thd_non_transactional_update(const MYSQL_THD thd);
}

namespace hailstone {

namespace {

Isolation isolation_of(THD* thd) {
  switch (thd_tx_isolation(thd)) {
    case ISO_READ_UNCOMMITTED:
      return Isolation::ReadUncommitted;
    case ISO_READ_COMMITTED:
      return Isolation::ReadCommitted;
    case ISO_SERIALIZABLE:
      return Isolation::Serializable;
    default:
      return Isolation::RepeatableRead;
  }
}

}  // namespace

bool repeats_statements(const THD* thd) {
  return thd_binlog_format(thd) == BINLOG_FORMAT_STMT && thd_tx_isolation(thd) >= ISO_REPEATABLE_READ;
}

bool applies_statement(const THD* thd) {
  return thd->rgi_slave != nullptr && thd_sql_command(thd) != SQLCOM_END;  // that is of rows
}

bool repeats_this_statement(const THD* thd) {
  if (applies_statement(thd)) return true;
  return mysql_bin_log.is_open() && thd->variables.sql_log_bin && !thd->is_current_stmt_binlog_format_row() &&
         thd_tx_isolation(thd) >= ISO_REPEATABLE_READ;
}

std::chrono::seconds lock_wait_limit(THD* thd) {
  const unsigned long own = lock_wait_timeout(thd);
  // The server's limit is for metadata locks, a day if it is not set; WAIT n sets it for the statement.
  constexpr auto longest = std::chrono::years(100);
  if (own >= endless_lock_wait && thd->lex->stmt_var_list.is_empty()) return longest;
  return std::chrono::seconds(std::min<unsigned long>(own, thd->variables.lock_wait_timeout));
}

Session* Session::find(THD* thd) { return static_cast<Session*>(thd_get_ha_data(thd, engine_handlerton())); }

Session& Session::of(THD* thd) {
  Session* session = find(thd);
  if (session == nullptr) {
    session = new Session(thd);
    thd_set_ha_data(thd, engine_handlerton(), session);
  }
  return *session;
}

void Session::destroy(THD* thd) {
  Session* session = find(thd);
  if (session == nullptr) return;
  thd_set_ha_data(thd, engine_handlerton(), nullptr);
  delete session;
}

Session::Session(THD* thd) : thd_(thd) {}

Session::~Session() { roll_back_transaction(); }

bool Session::in_multi_statement_transaction() const {
  return thd_test_options(thd_, OPTION_NOT_AUTOCOMMIT | OPTION_BEGIN) != 0;
}

Transaction& Session::enter_statement() {
  if (!transaction_) {
    // The server has detached the connection from what it has prepared (COM_RESET_CONNECTION).
    prepared_name_.clear();
    transaction_ = database().transactions().begin(isolation_of(thd_));
    transaction_id_.store(transaction_->id(), std::memory_order_release);
    THD* const thd = thd_;
    transaction_->set_interruption_check([this] {
      if (running_ != nullptr) running_->report_progress();
      return thd_kill_level(thd_) != THD_IS_NOT_KILLED;
    });
    if (thd_need_wait_reports(thd)) database().locks().set_commit_order(*transaction_, this);
  }
  if (!statement_) statement_.emplace(*transaction_);
  transaction_->set_locks_ranges(transaction_->isolation() == Isolation::Serializable ||
                                 repeats_statements(thd_) || applies_statement(thd_));
  transaction_->set_escalates_locks(lock_escalation(thd_));
  // SELECT … NOWAIT and WAIT n set the server's own timeout for the statement.
  transaction_->set_lock_wait_timeout(lock_wait_limit(thd_));
  trans_register_ha(thd_, false, engine_handlerton(), 0);
  if (in_multi_statement_transaction()) trans_register_ha(thd_, true, engine_handlerton(), 0);
  return *transaction_;
}

void Session::end_transaction() {
  for (TransactionUser* user : std::exchange(users_, {})) {
    user->slot_ = TransactionUser::no_slot;
    user->transaction_ends();
  }
  if (statement_) statement_->end();
  statement_.reset();
  transaction_id_.store(0, std::memory_order_release);
  has_savepoints_ = false;
}

Status Session::keep_table(const Table& table) {
  if (!thd_->transaction->xid_state.is_explicit_XA()) return {};
  return database().locks().lock_table(*transaction_, table.id(), TableLockMode::IntentionExclusive);
}

Status Session::prepare() {
  if (transaction_) {
    end_transaction();
    if (transaction_->has_writes()) {
      XID xid;
      thd_get_xid(thd_, reinterpret_cast<MYSQL_XID*>(&xid));
      std::string name = name_of_xid(xid);
      HAILSTONE_TRY(database().transactions().prepare(*transaction_, name));
      // The server lets others end it before the connection that goes is closed here.
      if (thd_->transaction->xid_state.is_explicit_XA() && !transaction_->name().empty()) {
        database().transactions().leave_prepared(std::move(transaction_));
        prepared_name_ = std::move(name);
      }
    }
  }
  return wait_for_turn();
}

void Session::take_back_prepared() {
  if (prepared_name_.empty()) return;
  transaction_ = database().transactions().take_prepared(prepared_name_);
  prepared_name_.clear();
}

Status Session::wait_for_turn_to_prepare() {
  if (!thd_->transaction->xid_state.is_explicit_XA() || !transaction_->has_writes()) return {};
  return wait_for_prior_commits();
}

Status Session::wait_for_turn() {
  // Without a binary log the server waits by itself; with one, only for what is written to it.
  if (!mysql_bin_log.is_open() || trans_has_updated_trans_table(thd_)) return {};
  return wait_for_prior_commits();
}

Status Session::wait_for_prior_commits() {
  if (thd_->wait_for_prior_commit() == 0) return {};
  return fail(ErrorCode::Interrupted, "a transaction that has to be committed before this one has failed");
}

void Session::commit_ordered() noexcept {
  take_back_prepared();
  if (!transaction_) return;
  ordered_ = guarded([&] { return database().transactions().commit_in_order(*transaction_); });
}

Status Session::commit(bool all) {
  if (ends_transaction(all)) take_back_prepared();
  if (!transaction_) return {};
  if (!ends_transaction(all)) {
    if (statement_) statement_->end();
    statement_.reset();
    return wait_for_turn_to_prepare();
  }
  end_transaction();
  auto transaction = std::move(transaction_);
  TransactionManager& transactions = database().transactions();
  const std::optional<Status> ordered = std::exchange(ordered_, {});
  const Status visible = ordered ? *ordered : transactions.commit_visible(*transaction);
  if (!visible) {
    // The server has decided: the next start, or XA COMMIT, goes on.
    if (transaction->state() == Transaction::State::Prepared)
      transactions.leave_prepared(std::move(transaction));
    return visible;
  }
  transactions.settle(*transaction);
  // The server's log has the decision, and this one the prepared transaction: a start after a crash commits
  // it.
  if (ordered && !syncs_commits_again()) return {};
  thd_wakeup_subsequent_commits(thd_, 0);
  return transactions.make_durable(*transaction);
}

void Session::rollback(bool all) {
  if (ends_transaction(all)) take_back_prepared();
  if (!transaction_) return;
  if (!all && in_multi_statement_transaction()) {
    if (!statement_) return;
    for (TransactionUser* user : users_) user->statement_rolls_back();
    statement_->roll_back();
    statement_.reset();
    return;
  }
  roll_back_transaction();
}

void Session::roll_back_transaction() {
  end_transaction();
  auto transaction = std::move(transaction_);
  if (transaction == nullptr) return;
  TransactionManager& transactions = database().transactions();
  if (transaction->state() != Transaction::State::Prepared) {
    transactions.rollback(*transaction);
    return;
  }
  const Status rolled_back = transactions.roll_back_prepared(*transaction);
  if (!rolled_back) sql_print_error("Hailstone: %s", rolled_back.error().message().c_str());
  if (transaction->state() == Transaction::State::Prepared)
    transactions.leave_prepared(std::move(transaction));
}

void Session::roll_back_to(const Savepoint& savepoint) {
  if (!transaction_) return;
  for (TransactionUser* user : users_) user->statement_rolls_back();
  transaction_->roll_back_to(savepoint);
}

void Session::roll_back_deadlock() {
  roll_back_transaction();
  thd_->mark_transaction_to_rollback(true);
}

Trace& Session::trace() {
  if (!trace_) trace_ = std::make_unique<Trace>(thd_);
  return *trace_;
}

void Session::add_user(TransactionUser* user) {
  if (user->slot_ != TransactionUser::no_slot) return;
  user->slot_ = users_.size();
  users_.push_back(user);
}

void Session::remove_user(TransactionUser* user) {
  if (user->slot_ == TransactionUser::no_slot) return;
  users_[user->slot_] = users_.back();
  users_[user->slot_]->slot_ = user->slot_;
  users_.pop_back();
  user->slot_ = TransactionUser::no_slot;
}

void Session::waits_for(const CommitOrder* other) noexcept {
  thd_rpl_deadlock_check(thd_, other == nullptr ? nullptr : static_cast<const Session*>(other)->thd_);
}

bool Session::settles(const CommitOrder& other) const noexcept {
  return thd_need_ordering_with(thd_, static_cast<const Session&>(other).thd_) == 0;
}

bool Session::precedes(const CommitOrder& other) const noexcept {
  THD* const others = static_cast<const Session&>(other).thd_;
  if (const int preference = thd_deadlock_victim_preference(thd_, others); preference != 0)
    return preference > 0;
  // What is changed in a table of an engine without transactions stays changed.
  return thd_non_transactional_update(thd_) != 0 && thd_non_transactional_update(others) == 0;
}

void Session::wake() const {
  if (const TransactionId id = transaction_id_.load(std::memory_order_acquire); id != 0)
    database().locks().wake(id);
}

}  // namespace hailstone
