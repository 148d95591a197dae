#include "session.h"

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

Session::~Session() {
  end_transaction();
  if (transaction_) database().transactions().rollback(*transaction_);
}

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
  if (!statement_open_) {
    statement_open_ = true;
    statement_ = transaction_->savepoint();
    transaction_->set_lock_wait_timeout(std::chrono::seconds(lock_wait_timeout(thd_)));
  }
  trans_register_ha(thd_, false, engine_handlerton(), 0);
  if (in_multi_statement_transaction()) trans_register_ha(thd_, true, engine_handlerton(), 0);
  return *transaction_;
}

void Session::end_transaction() {
  for (TransactionUser* user : std::exchange(users_, {})) {
    user->slot_ = TransactionUser::no_slot;
    user->transaction_ends();
  }
  statement_open_ = false;
  transaction_id_.store(0, std::memory_order_release);
}

Status Session::commit(bool all) {
  if (!transaction_) return {};
  if (!all && in_multi_statement_transaction()) {
    statement_open_ = false;
    transaction_->next_statement();
    return {};
  }
  end_transaction();
  const auto transaction = std::move(transaction_);
  return database().transactions().commit(*transaction);
}

void Session::rollback(bool all) {
  if (!transaction_) return;
  if (!all && in_multi_statement_transaction()) {
    if (!statement_open_) return;
    statement_open_ = false;
    // A statement that cannot be taken back alone takes the transaction with it.
    if (const Status status = roll_back_to(statement_); !status) {
      sql_print_error("Hailstone: %s", status.error().message().c_str());
      roll_back_deadlock();
      return;
    }
    transaction_->next_statement();
    return;
  }
  end_transaction();
  const auto transaction = std::move(transaction_);
  database().transactions().rollback(*transaction);
}

Status Session::roll_back_to(const Savepoint& savepoint) {
  if (!transaction_) return {};
  for (TransactionUser* user : users_) user->statement_rolls_back();
  return database().transactions().rollback_to(*transaction_, savepoint);
}

void Session::roll_back_deadlock() {
  if (transaction_) {
    end_transaction();
    const auto transaction = std::move(transaction_);
    database().transactions().rollback(*transaction);
  }
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
