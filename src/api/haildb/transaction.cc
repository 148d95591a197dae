#include "api/haildb/transaction.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "api/haildb/config.h"
#include "api/haildb/cursor.h"
#include "base/mutex.h"
#include "transaction/statement.h"

namespace hailstone::haildb {
namespace {

constexpr const char* own_schema_lock =
    "another transaction of this thread holds the schema lock: unlock it first";

std::atomic<uint64_t> next_serial{1};

struct SchemaLatch {
  using Holders = std::vector<std::pair<const ib_trx_struct*, std::thread::id>>;  // with their threads

  Mutex mutex;
  Condition changed;
  const ib_trx_struct* exclusive HAILSTONE_GUARDED_BY(mutex) = nullptr;
  std::thread::id exclusive_thread HAILSTONE_GUARDED_BY(mutex);
  Holders shared HAILSTONE_GUARDED_BY(mutex);
  Holders changing HAILSTONE_GUARDED_BY(mutex);  // have made DDL

  /// Whether this thread holds what it would wait for: then nobody would let it go.
  bool is_own(SchemaLock wanted) const HAILSTONE_REQUIRES(mutex) {
    const auto self = std::this_thread::get_id();
    if (exclusive != nullptr && exclusive_thread == self) return true;
    return wanted == SchemaLock::Exclusive &&
           std::ranges::any_of(shared, [self](const auto& holder) { return holder.second == self; });
  }
};
SchemaLatch& schema_latch() {
  static SchemaLatch& latch = *new SchemaLatch;
  return latch;
}

Isolation isolation_of(ib_trx_level_t level) {
  switch (level) {
    case IB_TRX_READ_UNCOMMITTED:
      return Isolation::ReadUncommitted;
    case IB_TRX_READ_COMMITTED:
      return Isolation::ReadCommitted;
    case IB_TRX_REPEATABLE_READ:
      return Isolation::RepeatableRead;
    case IB_TRX_SERIALIZABLE:
      return Isolation::Serializable;
  }
  return Isolation::RepeatableRead;
}

bool is_level(ib_trx_level_t level) {
  return level >= IB_TRX_READ_UNCOMMITTED && level <= IB_TRX_SERIALIZABLE;
}

void set_lock_wait_timeout(Transaction& transaction) {
  transaction.set_lock_wait_timeout(
      std::chrono::milliseconds(engine().lock_wait_milliseconds.load(std::memory_order_relaxed)));
}

void start(ib_trx_struct& handle, ib_trx_level_t level) {
  handle.transaction = engine().database->transactions().begin(isolation_of(level));
  handle.serial = next_serial.fetch_add(1, std::memory_order_relaxed);
  handle.level = level;
  handle.client_data = nullptr;
  handle.ask = true;
  handle.has_duplicate = false;
  handle.savepoints.clear();
  handle.table_locks.clear();
  handle.schema_version = engine().schema_version.load();
  handle.made_ddl = false;
  set_lock_wait_timeout(*handle.transaction);
  handle.transaction->set_locks_ranges(level >= IB_TRX_REPEATABLE_READ);
  handle.transaction->set_interruption_check([&handle] {
    const auto asked = engine().interrupted.load(std::memory_order_acquire);
    return handle.ask && handle.client_data != nullptr && asked != nullptr && asked(handle.client_data) != 0;
  });
}

/// Cursors look their tables up again; what has changed is known to the transaction.
void raise_schema_version(ib_trx_struct& handle) {
  handle.schema_version = engine().schema_version.fetch_add(1) + 1;
}

/// A thread that waits for a lock of the transaction must find the tables that have replaced others as soon
/// as it has the lock, and readers with the commit's snapshot must see their rows.
class SchemaChange final : public TransactionAction {
 public:
  /// `rebuilt`: null when no table has been replaced.
  SchemaChange(ib_trx_struct& handle, std::shared_ptr<TableInfo> rebuilt)
      : handle_(handle), rebuilt_(std::move(rebuilt)) {}
  void commit(Timestamp timestamp) override {
    if (rebuilt_ != nullptr) rebuilt_->visible_from.store(timestamp, std::memory_order_release);
    raise_schema_version(handle_);
  }
  void undo() override {
    raise_schema_version(handle_);
    if (rebuilt_ == nullptr) return;
    engine().tables->take_back(*rebuilt_);
    std::erase(handle_.rebuilt, rebuilt_);
  }

 private:
  ib_trx_struct& handle_;
  const std::shared_ptr<TableInfo> rebuilt_;
};

/// The transaction has ended.
void end_ddl(ib_trx_struct& handle) {
  if (!handle.made_ddl) return;
  handle.made_ddl = false;
  engine().tables->forget_replaced(handle.rebuilt);
  handle.rebuilt.clear();
  SchemaLatch& latch = schema_latch();
  const MutexLock guard(latch.mutex);
  std::erase_if(latch.changing, [&](const auto& each) { return each.first == &handle; });
}

/// Cursors keep their places, but nothing of the transaction.
void detach_cursors(ib_trx_struct& handle) {
  for (const ib_crsr_t cursor : handle.cursors) leave_transaction(*cursor);
}

void roll_back(ib_trx_struct& handle) {
  if (!handle.active()) return;
  detach_cursors(handle);
  engine().database->transactions().rollback(*handle.transaction);
  handle.transaction.reset();
  end_ddl(handle);
  handle.savepoints.clear();
  handle.table_locks.clear();
}

/// The handle's end: its cursors are without a transaction from now on.
void give_back(ib_trx_struct& handle) {
  for (const ib_crsr_t cursor : handle.cursors) forget_transaction(*cursor);
  handle.cursors.clear();
  unlock_schema(handle);
  transactions().give_back(&handle);
}

ib_err_t check_handle(const ib_trx_struct* handle) {
  if (const ib_err_t code = check_running(); code != DB_SUCCESS) return code;
  return good(handle) ? DB_SUCCESS : DB_INVALID_INPUT;
}

std::vector<ib_trx_struct::Named>::iterator find_savepoint(ib_trx_struct& handle, const void* name,
                                                           ib_ulint_t length) {
  const std::string_view wanted(static_cast<const char*>(name), length);
  return std::ranges::find_if(handle.savepoints, [&](const auto& each) { return each.name == wanted; });
}

}  // namespace

HandlePool<ib_trx_struct>& transactions() {
  static HandlePool<ib_trx_struct>& pool = *new HandlePool<ib_trx_struct>;
  return pool;
}

ib_err_t enter(ib_trx_t handle) {
  if (const ib_err_t code = check_handle(handle); code != DB_SUCCESS) return code;
  if (!handle->active()) return DB_ERROR;
  set_lock_wait_timeout(*handle->transaction);
  return DB_SUCCESS;
}

std::string name_of(const TableInfo& table, const ib_trx_struct& handle) {
  if (table.table == nullptr) return table.schema.name;
  auto name = engine().database->table_name(table.table->id(), handle.transaction.get());
  return name ? std::move(*name) : table.table->definition().name;
}

void note_duplicate(ib_trx_struct& handle, const TableInfo& table, const std::string& index) {
  std::string name = name_of(table, handle);
  handle.has_duplicate = true;
  handle.duplicate_table = table.id;
  handle.duplicate_names.clear();
  handle.duplicate_names.push_front(std::move(name));
  handle.duplicate_index = index;
}

ib_err_t failed(ib_trx_struct& handle, const Error& error, ib_err_t not_found) {
  switch (error.code()) {
    case ErrorCode::Deadlock:
      roll_back(handle);
      return DB_DEADLOCK;
    case ErrorCode::LockWaitTimeout:
    case ErrorCode::Interrupted:
      if (is_on(Variable::RollbackOnTimeout)) roll_back(handle);
      return DB_LOCK_WAIT_TIMEOUT;
    default:
      return code_of(error, not_found);
  }
}

ib_err_t commit_keeping_handle(ib_trx_struct& handle) {
  detach_cursors(handle);
  const Status status = engine().database->transactions().commit(*handle.transaction);
  const bool committed = handle.transaction->commit_timestamp() != 0;
  handle.transaction.reset();
  handle.savepoints.clear();
  handle.table_locks.clear();
  end_ddl(handle);
  if (status) return DB_SUCCESS;
  const ib_err_t code = code_of(status.error());
  // Others see what it has changed, and the log could not take it: they must not go on with that. When
  // only the wait for a log that cannot be written at present was ended, the commit is not on the disk yet.
  const bool only_interrupted = status.error().code() == ErrorCode::Interrupted;
  if (committed && !only_interrupted) panic(code, status.error().message());
  return code;
}

void abandon(ib_trx_struct& handle) {
  roll_back(handle);
  unlock_schema(handle);
}

ib_err_t lock_table(ib_trx_struct& handle, TableId table, TableLockMode mode) {
  if (handle.table_locks.contains({table, mode})) return DB_SUCCESS;
  if (Status status = engine().database->locks().lock_table(*handle.transaction, table, mode); !status) {
    return failed(handle, status.error());
  }
  handle.table_locks.insert({table, mode});
  return DB_SUCCESS;
}

ib_err_t lock_newest_table(ib_trx_struct& handle, std::shared_ptr<TableInfo>& info, TableLockMode mode) {
  TableCache& tables = *engine().tables;
  for (bool is_locked = false;;) {
    auto now = tables.newest(info, handle.transaction.get());
    if (!now) return failed(handle, now.error());
    if (is_locked && (*now)->table->id() == info->table->id()) return DB_SUCCESS;
    info = std::move(*now);
    if (const ib_err_t code = lock_table(handle, info->table->id(), mode); code != DB_SUCCESS) return code;
    is_locked = true;
  }
}

bool sees(const ib_trx_struct& handle, const TableInfo& info) {
  const Timestamp from = info.visible_from.load(std::memory_order_acquire);
  if (from == 0) [[likely]]
    return true;
  const bool is_own =
      std::ranges::any_of(handle.rebuilt, [&](const auto& own) { return own.get() == &info; });
  return is_own || handle.transaction->snapshot().read >= from;
}

Status SchemaStep::keep(const std::shared_ptr<TableInfo>& rebuilt) {
  handle_.made_ddl = true;
  raise_schema_version(handle_);
  Write write(*handle_.transaction);
  HAILSTONE_TRY(write.prepare(1));
  auto change = std::make_unique<SchemaChange>(handle_, rebuilt);
  {
    SchemaLatch& latch = schema_latch();
    const MutexLock guard(latch.mutex);
    const auto is_known = [&](const auto& each) { return each.first == &handle_; };
    if (std::ranges::none_of(latch.changing, is_known))
      latch.changing.emplace_back(&handle_, std::this_thread::get_id());
  }
  if (rebuilt != nullptr) handle_.rebuilt.push_back(rebuilt);
  handle_.transaction->add_action(std::move(change));
  write.keep();
  statement_.end();
  return {};
}

bool has_exclusive_schema_lock(const ib_trx_struct& handle) {
  return handle.schema_lock == SchemaLock::Exclusive;
}

const Transaction* transaction_of_this_thread() {
  SchemaLatch& latch = schema_latch();
  const auto self = std::this_thread::get_id();
  const MutexLock guard(latch.mutex);
  if (latch.exclusive != nullptr && latch.exclusive_thread == self) return latch.exclusive->transaction.get();
  const auto own = std::ranges::find(latch.changing, self, [](const auto& each) { return each.second; });
  return own == latch.changing.end() ? nullptr : own->first->transaction.get();
}

ib_err_t lock_schema(ib_trx_struct& handle, SchemaLock wanted) {
  SchemaLatch& latch = schema_latch();
  const MutexLock guard(latch.mutex);
  if (wanted == SchemaLock::Shared) {
    if (handle.schema_lock == SchemaLock::Exclusive) return DB_SUCCESS;
    if (handle.schema_lock == SchemaLock::Shared)
      return refused("the transaction holds the schema lock shared already");
    if (latch.is_own(wanted)) return refused(own_schema_lock);
    while (latch.exclusive != nullptr) latch.changed.wait(latch.mutex);
    latch.shared.emplace_back(&handle, std::this_thread::get_id());
  } else {
    if (handle.schema_lock == SchemaLock::Exclusive) return DB_SUCCESS;
    if (handle.schema_lock == SchemaLock::Shared) return DB_SCHEMA_NOT_LOCKED;
    if (latch.is_own(wanted)) return refused(own_schema_lock);
    while (latch.exclusive != nullptr || !latch.shared.empty()) latch.changed.wait(latch.mutex);
    latch.exclusive = &handle;
    latch.exclusive_thread = std::this_thread::get_id();
  }
  handle.schema_lock = wanted;
  return DB_SUCCESS;
}

void unlock_schema(ib_trx_struct& handle) {
  SchemaLatch& latch = schema_latch();
  {
    const MutexLock guard(latch.mutex);
    if (handle.schema_lock == SchemaLock::None) return;
    if (handle.schema_lock == SchemaLock::Exclusive) {
      latch.exclusive = nullptr;
    } else {
      std::erase_if(latch.shared, [&](const auto& holder) { return holder.first == &handle; });
    }
    handle.schema_lock = SchemaLock::None;
  }
  latch.changed.notify_all();
}

OwnTransaction::OwnTransaction() : handle_(transactions().take()) {
  start(*handle_, IB_TRX_REPEATABLE_READ);
  begun_ = lock_schema(*handle_, SchemaLock::Exclusive);
}

OwnTransaction::~OwnTransaction() {
  if (handle_->active()) roll_back(*handle_);
  give_back(*handle_);
}

ib_err_t OwnTransaction::commit() { return commit_keeping_handle(*handle_); }

}  // namespace hailstone::haildb

using namespace hailstone::haildb;

void ib_trx_struct::clear() {
  transaction.reset();
  cursors.clear();
  savepoints.clear();
  table_locks.clear();
  rebuilt.clear();
  has_duplicate = false;
  client_data = nullptr;
}

ib_trx_t ib_trx_begin(ib_trx_level_t ib_trx_level) try {
  if (!running_here() || !is_level(ib_trx_level)) return nullptr;
  ib_trx_t const handle = transactions().take();
  start(*handle, ib_trx_level);
  return handle;
} catch (const std::bad_alloc&) {
  return nullptr;
}

ib_err_t ib_trx_start(ib_trx_t ib_trx, ib_trx_level_t ib_trx_level) try {
  if (const ib_err_t code = check_handle(ib_trx); code != DB_SUCCESS) return code;
  if (!is_level(ib_trx_level)) return DB_INVALID_INPUT;
  ib_trx->client_data = nullptr;
  if (ib_trx->active()) return refused("ib_trx_start() was called for a transaction that is active");
  start(*ib_trx, ib_trx_level);
  return DB_SUCCESS;
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

ib_err_t ib_trx_commit(ib_trx_t ib_trx) try {
  if (const ib_err_t bad = check_handle(ib_trx); bad != DB_SUCCESS) return bad;
  if (!ib_trx->active()) return DB_ERROR;
  const ib_err_t code = commit_keeping_handle(*ib_trx);
  give_back(*ib_trx);
  return code;
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

ib_err_t ib_trx_rollback(ib_trx_t ib_trx) try {
  if (const ib_err_t code = check_handle(ib_trx); code != DB_SUCCESS) return code;
  roll_back(*ib_trx);
  give_back(*ib_trx);
  return DB_SUCCESS;
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

ib_err_t ib_trx_release(ib_trx_t ib_trx) try {
  if (const ib_err_t code = check_handle(ib_trx); code != DB_SUCCESS) return code;
  if (ib_trx->active() || ib_trx->schema_lock != SchemaLock::None) return DB_ERROR;
  give_back(*ib_trx);
  return DB_SUCCESS;
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

ib_trx_state_t ib_trx_state(ib_trx_t ib_trx) try {
  return good(ib_trx) && ib_trx->active() ? IB_TRX_ACTIVE : IB_TRX_NOT_STARTED;
} catch (const std::bad_alloc&) {
  return {};
}

void ib_trx_set_client_data(ib_trx_t ib_trx, void* client_data) {
  if (good(ib_trx)) ib_trx->client_data = client_data;
}

ib_err_t ib_get_duplicate_key(ib_trx_t ib_trx, const char** table_name, const char** index_name) try {
  if (const ib_err_t code = check_handle(ib_trx); code != DB_SUCCESS) return code;
  if (table_name == nullptr || index_name == nullptr) return DB_INVALID_INPUT;
  if (!ib_trx->has_duplicate) return DB_ERROR;
  // The transaction may have renamed the table since.
  if (const auto table = engine().tables->find(ib_trx->duplicate_table, ib_trx->transaction.get())) {
    std::string name = name_of(**table, *ib_trx);
    if (name != ib_trx->duplicate_names.front()) ib_trx->duplicate_names.push_front(std::move(name));
  }
  *table_name = ib_trx->duplicate_names.front().c_str();
  *index_name = ib_trx->duplicate_index.c_str();
  return DB_SUCCESS;
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

void ib_savepoint_take(ib_trx_t ib_trx, const void* name, ib_ulint_t name_len) try {
  if (enter(ib_trx) != DB_SUCCESS || name == nullptr || name_len == 0) return;
  const auto same = find_savepoint(*ib_trx, name, name_len);
  if (same != ib_trx->savepoints.end()) ib_trx->savepoints.erase(same);
  ib_trx->savepoints.push_back(
      {std::string(static_cast<const char*>(name), name_len), ib_trx->transaction->savepoint()});
} catch (const std::bad_alloc&) {
  // There is nobody to tell.
}

ib_err_t ib_savepoint_release(ib_trx_t ib_trx, const void* name, ib_ulint_t name_len) try {
  if (const ib_err_t code = check_handle(ib_trx); code != DB_SUCCESS) return code;
  if (name == nullptr) return DB_NO_SAVEPOINT;
  const auto found = find_savepoint(*ib_trx, name, name_len);
  if (found == ib_trx->savepoints.end()) return DB_NO_SAVEPOINT;
  ib_trx->savepoints.erase(found);
  return DB_SUCCESS;
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

ib_err_t ib_savepoint_rollback(ib_trx_t ib_trx, const void* name, ib_ulint_t name_len) try {
  if (const ib_err_t code = enter(ib_trx); code != DB_SUCCESS) return code;
  const auto found = name == nullptr ? ib_trx->savepoints.begin() : find_savepoint(*ib_trx, name, name_len);
  if (found == ib_trx->savepoints.end()) return DB_NO_SAVEPOINT;
  const hailstone::Savepoint at = found->at;
  ib_trx->savepoints.erase(found + 1, ib_trx->savepoints.end());
  settle_misses(*ib_trx);
  ib_trx->transaction->roll_back_to(at);
  return DB_SUCCESS;
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

ib_err_t ib_schema_lock_shared(ib_trx_t ib_trx) try {
  if (const ib_err_t code = check_handle(ib_trx); code != DB_SUCCESS) return code;
  return lock_schema(*ib_trx, SchemaLock::Shared);
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

ib_err_t ib_schema_lock_exclusive(ib_trx_t ib_trx) try {
  if (const ib_err_t code = check_handle(ib_trx); code != DB_SUCCESS) return code;
  return lock_schema(*ib_trx, SchemaLock::Exclusive);
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

ib_bool_t ib_schema_lock_is_exclusive(const ib_trx_t ib_trx) {
  return good(ib_trx) && ib_trx->schema_lock == SchemaLock::Exclusive ? IB_TRUE : IB_FALSE;
}

ib_bool_t ib_schema_lock_is_shared(const ib_trx_t ib_trx) {
  return good(ib_trx) && ib_trx->schema_lock == SchemaLock::Shared ? IB_TRUE : IB_FALSE;
}

ib_err_t ib_schema_unlock(ib_trx_t ib_trx) try {
  if (const ib_err_t code = check_handle(ib_trx); code != DB_SUCCESS) return code;
  if (ib_trx->schema_lock == SchemaLock::None) return DB_SCHEMA_NOT_LOCKED;
  unlock_schema(*ib_trx);
  return DB_SUCCESS;
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}
