// Transactions: begin, end, savepoints, interruption.
#include <fmt/format.h>

#include <algorithm>

#include "api/hailstone/handles.h"

namespace hailstone::capi {

SharedTransaction::SharedTransaction(const Use& use, std::unique_ptr<Transaction> begun)
    : database(use), transaction(std::move(begun)) {
  transaction->set_lock_wait_timeout(std::chrono::milliseconds(database->options.lock_wait_ms));
  transaction->set_interruption_check([this] { return is_stopped(); });
}

SharedTransaction::~SharedTransaction() {
  if (active) roll_back();
  if (is_prepared()) database->database->transactions().leave_prepared(std::move(transaction));
}

void SharedTransaction::roll_back() {
  database->database->transactions().rollback(*transaction);
  end();
}

namespace {

/// What they pin stays in memory, and their files on the disk, until the transaction ends.
constexpr size_t most_segments_pinned = 4;

}  // namespace

SharedTransaction::Reads::Reads(const TableShape& shape)
    : table(shape.table), rows(*shape.table, shape.all_columns(), most_segments_pinned) {}

RowReads& SharedTransaction::reads_of(const TableShape& shape) {
  if (reads_ == nullptr || reads_->table != shape.table) {
    reads_.reset();
    reads_ = std::make_unique<Reads>(shape);
  }
  return reads_->rows;
}

Outcome SharedTransaction::refuse_statement() const {
  if (!active) return refuse(HS_INVALID, std::string("the transaction has ended: ") + ended_by);
  if (database->closing.load()) return refuse(HS_INVALID, database->refusal());
  return refuse(HS_INTERRUPTED, "the transaction was interrupted");
}

Outcome SharedTransaction::lock_table(const Table& table, TableLockMode mode) {
  const Status locked = database->database->locks().lock_table(*transaction, table.id(), mode);
  if (locked) return {};
  Failure failure(locked.error());
  failure.message = fmt::format("table '{}': {}", table.definition().name, failure.message);
  return std::unexpected(std::move(failure));
}

Outcome SharedTransaction::look_up_table(const Table& table, bool writes) {
  auto& checked = writes ? writable_ : readable_;
  TableId& last = writes ? last_written_ : last_read_;
  if (checked.contains(table.id())) {
    last = table.id();
    return {};
  }
  if (writes) {
    HAILSTONE_TRY(database->database->check_writable());
    HAILSTONE_TRY(lock_table(table, TableLockMode::IntentionExclusive));
  }
  const auto found = database->database->table(table.id(), transaction.get());
  if (!found) {
    return refuse(HS_NOT_FOUND, fmt::format("table '{}' has been dropped", table.definition().name));
  }
  checked.insert(table.id());
  last = table.id();
  return {};
}

Outcome SharedTransaction::check_outermost() const {
  if (calls.depth() <= 1) return {};
  return refuse(HS_INVALID, "the transaction is in the midst of a call; do this when that has returned");
}

Failure SharedTransaction::failed(Failure failure) {
  if (failure.status == HS_INTERRUPTED && database->closing.load()) failure.message = database->refusal();
  if (failure.status == HS_DEADLOCK) {
    roll_back();
    ended_by = "a deadlock was found, and it was rolled back";
  }
  database->note(failure, false);
  return failure;
}

namespace {

/// Position of the savepoint.
Returned<size_t> find_savepoint(const SharedTransaction& shared, const char* name) {
  if (name == nullptr) return refuse(HS_INVALID, "the savepoint's name is NULL");
  const auto found = std::ranges::find(shared.savepoints, name, &SharedTransaction::Mark::name);
  if (found == shared.savepoints.end()) {
    return refuse(HS_NOT_FOUND, fmt::format("there is no savepoint '{}'", name));
  }
  return static_cast<size_t>(found - shared.savepoints.begin());
}

Outcome check_active(const SharedTransaction& shared) {
  HAILSTONE_TRY(shared.check_outermost());
  if (shared.active) return {};
  return refuse(HS_INVALID, std::string("the transaction has ended: ") + shared.ended_by);
}

/// It may be committed or rolled back.
Outcome check_open(const SharedTransaction& shared) {
  HAILSTONE_TRY(shared.check_outermost());
  if (shared.is_prepared()) return {};
  return check_active(shared);
}

ByteView view_of(const void* bytes, size_t size) { return {static_cast<const char*>(bytes), size}; }

Outcome check_id(const void* id, size_t size) {
  static_assert(HS_MAX_PREPARED_ID == TransactionManager::most_name_bytes);
  if (id != nullptr && size >= 1 && size <= HS_MAX_PREPARED_ID) return {};
  return refuse(HS_INVALID, fmt::format("an identity of a prepared transaction has 1 to {} bytes, not {}",
                                        HS_MAX_PREPARED_ID, id == nullptr ? 0 : size));
}

/// Lets `end` end the prepared transaction, which is still there if that fails.
template <typename End>
int end_prepared(hs_database* given, const void* id, size_t size, End&& end) {
  const DatabaseCall database(given);
  if (!database) return HS_INVALID;
  return run(*database, [&]() -> Outcome {
    HAILSTONE_TRY(check_id(id, size));
    HAILSTONE_TRY(database.database().check_writable());
    TransactionManager& transactions = database.database().transactions();
    std::unique_ptr<Transaction> transaction = transactions.take_prepared(view_of(id, size));
    if (transaction == nullptr) {
      if (const auto names = transactions.prepared();
          std::ranges::find(names, view_of(id, size)) == names.end())
        return refuse(HS_NOT_FOUND, "there is no prepared transaction of this identity");
      return refuse(HS_BUSY, "the handle of the prepared transaction is not closed yet");
    }
    const Status ended = std::forward<End>(end)(transactions, *transaction);
    if (transaction->state() == Transaction::State::Prepared)
      transactions.leave_prepared(std::move(transaction));
    HAILSTONE_TRY(ended);
    return {};
  });
}

}  // namespace

}  // namespace hailstone::capi

using namespace hailstone;
using namespace hailstone::capi;

int hs_begin(hs_database* given, hs_isolation isolation, hs_transaction** transaction) {
  if (transaction == nullptr) return misuse(given, "the place for the transaction's handle is NULL");
  *transaction = nullptr;
  const DatabaseCall database(given);
  if (!database) return HS_INVALID;
  return run(*database, [&]() -> Outcome {
    if (isolation < HS_READ_UNCOMMITTED || isolation > HS_SERIALIZABLE) {
      return refuse(HS_INVALID, fmt::format("there is no isolation {}", static_cast<int>(isolation)));
    }
    // READ UNCOMMITTED shows nothing more than READ COMMITTED here.
    constexpr Isolation levels[] = {Isolation::ReadCommitted, Isolation::ReadCommitted,
                                    Isolation::RepeatableRead, Isolation::Serializable};
    return give_out(std::make_unique<TransactionHandle>(std::make_shared<SharedTransaction>(
                        database.use(), database.database().transactions().begin(levels[isolation]))),
                    transaction);
  });
}

int hs_commit(hs_transaction* given_transaction) {
  const Call<TransactionHandle> transaction(given_transaction);
  if (!transaction) return HS_INVALID;
  SharedTransaction& shared = *transaction->shared;
  return run(*transaction, [&]() -> Outcome {
    HAILSTONE_TRY(check_open(shared));
    shared.end();
    const Status committed = shared.database->database->transactions().commit(*shared.transaction);
    if (!shared.is_prepared())
      shared.ended_by = committed ? "it was committed" : "hs_commit() gave an error that says what holds";
    if (committed) return {};
    Failure failure(committed.error());
    shared.database->note(failure, true);
    return std::unexpected(std::move(failure));
  });
}

int hs_rollback(hs_transaction* given_transaction) {
  const Call<TransactionHandle> transaction(given_transaction);
  if (!transaction) return HS_INVALID;
  SharedTransaction& shared = *transaction->shared;
  return run(*transaction, [&]() -> Outcome {
    HAILSTONE_TRY(check_open(shared));
    if (shared.is_prepared()) {
      HAILSTONE_TRY(shared.database->database->transactions().roll_back_prepared(*shared.transaction));
    } else {
      shared.roll_back();
    }
    shared.ended_by = "it was rolled back";
    return {};
  });
}

int hs_prepare(hs_transaction* given_transaction, const void* id, size_t id_size) {
  const Call<TransactionHandle> transaction(given_transaction);
  if (!transaction) return HS_INVALID;
  SharedTransaction& shared = *transaction->shared;
  return run(*transaction, [&]() -> Outcome {
    HAILSTONE_TRY(shared.check_outermost());
    if (!shared.takes_statements()) return shared.refuse_statement();
    HAILSTONE_TRY(check_id(id, id_size));
    const Status prepared =
        shared.database->database->transactions().prepare(*shared.transaction, view_of(id, id_size));
    if (!prepared) {
      Failure failure(prepared.error());
      shared.database->note(failure, true);
      return std::unexpected(std::move(failure));
    }
    shared.end();
    shared.ended_by = "it is prepared, and can only be committed or rolled back";
    return {};
  });
}

int hs_prepared(hs_database* given, hs_prepared_callback each, void* context) {
  const DatabaseCall database(given);
  if (!database) return HS_INVALID;
  return run(*database, [&]() -> Outcome {
    if (each == nullptr) return refuse(HS_INVALID, "the function to be called is NULL");
    for (const std::string& name : database.database().transactions().prepared())
      each(context, name.data(), name.size());
    return {};
  });
}

int hs_commit_prepared(hs_database* database, const void* id, size_t id_size) {
  return end_prepared(database, id, id_size, [](TransactionManager& transactions, Transaction& transaction) {
    return transactions.commit(transaction);
  });
}

int hs_rollback_prepared(hs_database* database, const void* id, size_t id_size) {
  return end_prepared(database, id, id_size, [](TransactionManager& transactions, Transaction& transaction) {
    return transactions.roll_back_prepared(transaction);
  });
}

void hs_transaction_close(hs_transaction* given_transaction) {
  {
    const Call<TransactionHandle> transaction(given_transaction);
    if (!transaction) return;
    SharedTransaction& shared = *transaction->shared;
    if (shared.active) {
      if (shared.calls.depth() > 1) {
        shared.abandoned = true;
      } else {
        shared.roll_back();
      }
      shared.ended_by = "it was closed";
    }
  }
  retire(bits_of(given_transaction));
}

int hs_savepoint(hs_transaction* given_transaction, const char* name) {
  const Call<TransactionHandle> transaction(given_transaction);
  if (!transaction) return HS_INVALID;
  SharedTransaction& shared = *transaction->shared;
  return run(*transaction, [&]() -> Outcome {
    HAILSTONE_TRY(shared.check_outermost());
    if (!shared.takes_statements()) return shared.refuse_statement();
    if (name == nullptr) return refuse(HS_INVALID, "the savepoint's name is NULL");
    std::erase_if(shared.savepoints, [&](const auto& mark) { return mark.name == name; });
    shared.savepoints.push_back({name, shared.transaction->savepoint()});
    return {};
  });
}

int hs_rollback_to(hs_transaction* given_transaction, const char* name) {
  const Call<TransactionHandle> transaction(given_transaction);
  if (!transaction) return HS_INVALID;
  SharedTransaction& shared = *transaction->shared;
  return run(*transaction, [&]() -> Outcome {
    HAILSTONE_TRY(check_active(shared));
    HAILSTONE_ASSIGN(const size_t found, find_savepoint(shared, name));
    shared.forget_tables();
    shared.transaction->roll_back_to(shared.savepoints[found].savepoint);
    shared.savepoints.erase(shared.savepoints.begin() + static_cast<std::ptrdiff_t>(found) + 1,
                            shared.savepoints.end());
    return {};
  });
}

int hs_release(hs_transaction* given_transaction, const char* name) {
  const Call<TransactionHandle> transaction(given_transaction);
  if (!transaction) return HS_INVALID;
  SharedTransaction& shared = *transaction->shared;
  return run(*transaction, [&]() -> Outcome {
    HAILSTONE_TRY(shared.check_outermost());
    if (!shared.takes_statements()) return shared.refuse_statement();
    HAILSTONE_ASSIGN(const size_t found, find_savepoint(shared, name));
    shared.savepoints.resize(found);
    return {};
  });
}

void hs_interrupt(hs_transaction* given_transaction, int on) {
  const Pin<TransactionHandle> transaction(given_transaction);
  if (!transaction) return;
  SharedTransaction& shared = *transaction->shared;
  shared.interrupted.store(on != 0, std::memory_order_relaxed);
  if (on != 0) shared.database->database->locks().wake(shared.transaction->id());
}
