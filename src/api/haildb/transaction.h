// Transaction handles of the HailDB interface, and the schema lock. See handles.h for handles.
#pragma once

#include <forward_list>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/haildb/engine.h"
#include "api/haildb/handles.h"
#include "api/haildb/table.h"
#include "haildb.h"
#include "transaction/statement.h"

namespace hailstone::haildb {

enum class SchemaLock : uint8_t { None, Shared, Exclusive };

}  // namespace hailstone::haildb

/// A transaction. It is not started when an error has rolled it back; its cursors are attached to it still
/// then.
struct ib_trx_struct : hailstone::haildb::Handle {
  static constexpr uint32_t kind = 0x54584e31;
  void clear();

  bool active() const { return transaction != nullptr; }

  std::unique_ptr<hailstone::Transaction> transaction;  // null: not started
  uint64_t serial = 0;                                  // of the start: no two starts have the same
  ib_trx_level_t level = IB_TRX_REPEATABLE_READ;
  uint64_t schema_version = 0;  // when it started, or made DDL: what its snapshot can know of
  bool made_ddl = false;
  void* client_data = nullptr;
  bool ask = true;  // whether the interruption handler may be asked now
  std::vector<ib_crsr_t> cursors;
  bool has_misses = false;  // some of them may have ib_crsr_struct::row_wanted
  uint64_t statements = 0;  // begun so far, each with a snapshot of its own
  struct Named {
    std::string name;
    hailstone::Savepoint at;
  };
  std::vector<Named> savepoints;
  bool has_duplicate = false;
  ib_id_t duplicate_table = 0;                     // of the row that was in the way
  std::forward_list<std::string> duplicate_names;  // that the table has had since, the last in front
  std::string duplicate_index;
  hailstone::haildb::SchemaLock schema_lock = hailstone::haildb::SchemaLock::None;
  std::set<std::pair<hailstone::TableId, hailstone::TableLockMode>> table_locks;
  std::vector<std::shared_ptr<hailstone::haildb::TableInfo>> rebuilt;  // tables, by this transaction
};

namespace hailstone::haildb {

HandlePool<ib_trx_struct>& transactions();

/// For functions that need a started transaction: DB_SUCCESS, DB_INVALID_INPUT for a bad handle, DB_ERROR for
/// one that is not started, or the code of a stopped engine. Brings the lock wait timeout up to date.
ib_err_t enter(ib_trx_t transaction);
/// The name of the table as the transaction sees it, which may have changed it. Of a table that has been
/// dropped the last one.
std::string name_of(const TableInfo& table, const ib_trx_struct& transaction);
/// For ib_get_duplicate_key(): the index of the table refused a row.
void note_duplicate(ib_trx_struct& transaction, const TableInfo& table, const std::string& index);
/// The code of a failed operation of the transaction. Rolls the transaction back where the interface says so.
ib_err_t failed(ib_trx_struct& transaction, const Error& error, ib_err_t not_found = DB_ERROR);
/// Commits; the handle is not started then, and keeps the schema lock.
ib_err_t commit_keeping_handle(ib_trx_struct& transaction);
/// Rolls back what is open and frees the schema lock; the handle stays.
void abandon(ib_trx_struct& transaction);

/// A change of the schema within a transaction, done wholly or not at all: what was done since the beginning
/// is taken back unless it is kept.
class SchemaStep {
 public:
  explicit SchemaStep(ib_trx_struct& handle) : handle_(handle), statement_(*handle.transaction) {}
  SchemaStep(const SchemaStep&) = delete;
  SchemaStep& operator=(const SchemaStep&) = delete;
  ~SchemaStep() {
    if (!handle_.active()) statement_.forget();
  }
  /// `rebuilt`: the table that has replaced another.
  Status keep(const std::shared_ptr<TableInfo>& rebuilt = nullptr);

 private:
  ib_trx_struct& handle_;
  Statement statement_;
};
/// Whether the transaction's snapshot has the rows of the table, which may have been rebuilt since.
bool sees(const ib_trx_struct& transaction, const TableInfo& info);
/// A table lock, once a mode.
ib_err_t lock_table(ib_trx_struct& transaction, TableId table, TableLockMode mode);
/// Locks the table as it is now, which `info` becomes: the last holder of the lock may have replaced it.
ib_err_t lock_newest_table(ib_trx_struct& transaction, std::shared_ptr<TableInfo>& info, TableLockMode mode);

bool has_exclusive_schema_lock(const ib_trx_struct& transaction);
/// The transaction that changes the schema on this thread, or has changed it and is not committed: functions
/// that are given none see what it sees.
const Transaction* transaction_of_this_thread();
/// Waits for the lock, without a limit. DB_ERROR when this thread holds it by another transaction.
ib_err_t lock_schema(ib_trx_struct& transaction, SchemaLock wanted);
void unlock_schema(ib_trx_struct& transaction);

/// A transaction of the interface's own, with the exclusive schema lock; rolled back unless committed.
class OwnTransaction {
 public:
  OwnTransaction();
  ~OwnTransaction();
  OwnTransaction(const OwnTransaction&) = delete;
  OwnTransaction& operator=(const OwnTransaction&) = delete;
  /// DB_ERROR: it has not got the schema lock, as this thread holds it by another transaction.
  ib_err_t begun() const { return begun_; }
  ib_trx_struct& handle() { return *handle_; }
  ib_err_t commit();

 private:
  ib_trx_t handle_;
  ib_err_t begun_;
};

}  // namespace hailstone::haildb
