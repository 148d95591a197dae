#include "session.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine.h"
#include "trace.h"
#include "variables.h"

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

bool Session::in_xa_transaction() const { return thd_->transaction->xid_state.is_explicit_XA(); }

Transaction& Session::enter_statement() {
  if (!transaction_) {
    transaction_ = database().transactions().begin(isolation_of(thd_));
    transaction_id_.store(transaction_->id(), std::memory_order_release);
    THD* const thd = thd_;
    transaction_->set_interruption_check([thd] { return thd_kill_level(thd) != THD_IS_NOT_KILLED; });
  }
  if (!statement_) statement_.emplace(*transaction_);
  // SELECT … NOWAIT and WAIT n set the server's own timeout for the statement.
  transaction_->set_lock_wait_timeout(std::chrono::seconds(
      std::min<unsigned long>(lock_wait_timeout(thd_), thd_->variables.lock_wait_timeout)));
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

Status Session::commit(bool all) {
  if (!transaction_) return {};
  if (!all && in_multi_statement_transaction()) {
    if (statement_) statement_->end();
    statement_.reset();
    return {};
  }
  end_transaction();
  const auto transaction = std::move(transaction_);
  return database().transactions().commit(*transaction);
}

void Session::rollback(bool all) {
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
  if (const auto transaction = std::move(transaction_)) database().transactions().rollback(*transaction);
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

void Session::wake() const {
  if (const TransactionId id = transaction_id_.load(std::memory_order_acquire); id != 0)
    database().locks().wake(id);
}

}  // namespace hailstone
