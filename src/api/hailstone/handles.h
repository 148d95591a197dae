// What stands behind the handles of hailstone.h, how errors get into them, and how exceptions for lack of
// memory stay inside. Handles begin with a Handle, by which a wrong one is recognised. hs_database and
// hs_table are used by several threads; all else by one at a time.
#pragma once

#include <atomic>
#include <expected>
#include <memory>
#include <new>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/mutex.h"
#include "database/database.h"
#include "file/method_filesystem.h"
#include "hailstone.h"
#include "table/column_update.h"
#include "transaction/statement.h"

namespace hailstone::capi {

/// A code of hailstone.h with its sentence.
struct Failure {
  hs_status status;
  std::string message;
  Failure(hs_status code, std::string sentence) : status(code), message(std::move(sentence)) {}
  Failure(const Error& error);  // NOLINT(google-explicit-constructor): HAILSTONE_TRY passes errors on
};
/// The library's code that hailstone.h gives as `status`; InvalidArgument for what is only the header's.
ErrorCode code_of(int status);
template <typename T>
using Returned = std::expected<T, Failure>;
using Outcome = Returned<void>;

inline std::unexpected<Failure> refuse(hs_status status, std::string message) {
  return std::unexpected(Failure(status, std::move(message)));
}

enum class HandleKind : uint32_t {
  Closed = 0,
  Database = 0x68730001,
  Transaction,
  Table,
  Schema,
  Cursor,
  Load,
  Scan,
  Predicate,
};

struct Handle {
  explicit Handle(HandleKind handle_kind) : kind(handle_kind) {}
  ~Handle() { kind = HandleKind::Closed; }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  volatile HandleKind kind;  // volatile, so that a closed handle is marked although nobody may look at it
  std::string message;       // of the last failure
};

/// An open database as its handles share it. Thread-safe.
struct SharedDatabase {
  std::unique_ptr<MethodFilesystem> filesystem;  // outlives the database; null when that is in memory
  std::unique_ptr<Database> database;
  std::atomic<size_t> users{0};  // handles and streams, without the database's own
  uint64_t number = 0;           // tells databases of a process apart
  hs_options options{};
  Mutex panic_mutex;
  std::string last_panic HAILSTONE_GUARDED_BY(panic_mutex);

  /// From here on the application is told of a broken invariant, too.
  void watch_checks();
  ~SharedDatabase();

  /// Tells the application when the failure is one of those that break more than a call.
  void note(const Failure& failure, bool while_committing);
};

/// Counts among the database's users as long as it lives.
class Use {
 public:
  explicit Use(std::shared_ptr<SharedDatabase> database) : database_(std::move(database)) {
    ++database_->users;
  }
  Use(const Use& other) : Use(other.database_) {}
  Use& operator=(const Use&) = delete;
  ~Use() {
    const size_t users = database_->users.fetch_sub(1);
    HAILSTONE_CHECK(users > 0, "database {} is left by more than use it", database_->number);
  }
  SharedDatabase& operator*() const { return *database_; }
  SharedDatabase* operator->() const { return database_.get(); }

 private:
  const std::shared_ptr<SharedDatabase> database_;
};

/// A transaction as its handle and what was made from it share it.
struct SharedTransaction {
  SharedTransaction(const Use& use, std::unique_ptr<Transaction> begun);
  ~SharedTransaction();

  /// Whether a statement may begin: the transaction is active and not interrupted. Else refuse_statement()
  /// says why it may not.
  bool takes_statements() const { return active && !interrupted.load(std::memory_order_relaxed); }
  Outcome refuse_statement() const;
  /// Before the first use of a table: it must be there. `writes`: and keeps it so until the end.
  Outcome check_table(const Table& table, bool writes) {
    if (table.id() == (writes ? last_written_ : last_read_)) [[likely]]
      return {};
    return look_up_table(table, writes);
  }
  /// The same before a plain read, which the snapshot must be fit for.
  Outcome check_read(const Table& table, ReadLock lock) {
    HAILSTONE_TRY(check_table(table, false));
    if (lock == ReadLock::None) HAILSTONE_TRY(table.check_snapshot(*transaction, false));
    return {};
  }
  /// Waits for the lock; the sentence of a failure names the table.
  Outcome lock_table(const Table& table, TableLockMode mode);
  /// Tables may have come or gone.
  void forget_tables() {
    readable_.clear();
    writable_.clear();
    last_read_ = last_written_ = no_table;
  }
  /// Passes a result on; a deadlock rolls the transaction back.
  Failure failed(Failure failure);
  void roll_back();

  Use database;
  std::unique_ptr<Transaction> transaction;
  bool active = true;
  const char* ended_by = "";  // why it is not active
  bool is_prepared() const { return transaction->state() == Transaction::State::Prepared; }
  std::atomic<bool> interrupted{false};
  struct Mark {
    std::string name;
    Savepoint savepoint;
  };
  std::vector<Mark> savepoints;

 private:
  Outcome look_up_table(const Table& table, bool writes);
  std::unordered_set<TableId> readable_, writable_;  // tables that check_table() has passed
  static constexpr TableId no_table = ~TableId{0};
  TableId last_read_ = no_table, last_written_ = no_table;  // by check_table()
};

/// A column as hailstone.h shows it.
struct ColumnShape {
  std::string name;
  hs_type type = HS_INT64;
  bool integer = false;  // held as an ordered number
  Type stored = Type::Signed;
  unsigned width = 8;
  bool nullable = true;
  bool columnar = true;
  uint32_t most_bytes = 0;  // of a text; 0: no limit of its own
};

/// HS_UNSUPPORTED for what hailstone.h does not know.
Returned<hs_type> shown_type(const TableDefinition& table, const Column& column);

/// What a table handle knows. Immutable.
struct TableShape {
  std::shared_ptr<Table> table;
  std::vector<ColumnShape> columns;

  /// HS_UNSUPPORTED when it has columns that hailstone.h does not know.
  static Returned<std::shared_ptr<const TableShape>> make(std::shared_ptr<Table> table);
  Returned<uint16_t> column(std::string_view name) const;
  const std::string& name() const { return table->definition().name; }
};

}  // namespace hailstone::capi

struct hs_database : hailstone::capi::Handle {
  hs_database() : Handle(hailstone::capi::HandleKind::Database) {}
  std::shared_ptr<hailstone::capi::SharedDatabase> shared;  // without a database when opening failed
};

struct hs_transaction : hailstone::capi::Handle {
  hs_transaction() : Handle(hailstone::capi::HandleKind::Transaction) {}
  std::shared_ptr<hailstone::capi::SharedTransaction> shared;
  std::vector<hailstone::Value> values;  // scratch space of reads
  std::string row, key, text;            // likewise
  hailstone::ColumnUpdate update;        // likewise
};

struct hs_table : hailstone::capi::Handle {
  explicit hs_table(const hailstone::capi::Use& used)
      : Handle(hailstone::capi::HandleKind::Table), database(used) {}
  const hailstone::capi::Use database;
  std::shared_ptr<const hailstone::capi::TableShape> shape;
};

struct hs_schema : hailstone::capi::Handle {
  hs_schema() : Handle(hailstone::capi::HandleKind::Schema) {}
  hailstone::TableDefinition definition;
};

namespace hailstone::capi {

/// The handle, when it is one of this kind.
template <typename T>
bool is_live(const T* handle, HandleKind kind) {
  return handle != nullptr && handle->kind == kind;
}

/// Runs the work of an API function: its failure goes to the error handle.
template <typename Work>
int run(Handle& handle, Work&& work) noexcept {
  try {
    Outcome outcome = std::forward<Work>(work)();
    if (outcome) [[likely]]
      return HS_OK;
    handle.message = std::move(outcome.error().message);
    return outcome.error().status;
  } catch (const std::bad_alloc&) {
    handle.message.clear();  // the sentence would need memory, too
    return HS_NO_MEMORY;
  }
}
/// The same for a database, whose sentence is the calling thread's.
void set_database_message(const SharedDatabase& database, std::string message);
template <typename Work>
int run(hs_database& handle, Work&& work) noexcept {
  try {
    Outcome outcome = std::forward<Work>(work)();
    if (outcome) return HS_OK;
    handle.shared->note(outcome.error(), false);
    set_database_message(*handle.shared, std::move(outcome.error().message));
    return outcome.error().status;
  } catch (const std::bad_alloc&) {
    return HS_NO_MEMORY;
  }
}
/// A statement of a transaction, with `handle` for the error.
template <typename Work>
int run_statement(Handle& handle, SharedTransaction& transaction, Work&& work) noexcept {
  return run(handle, [&]() -> Outcome {
    if (!transaction.takes_statements()) [[unlikely]]
      return transaction.refuse_statement();
    Statement statement(*transaction.transaction);
    Outcome outcome = std::forward<Work>(work)();
    if (!outcome) [[unlikely]] {
      statement.roll_back();
      return std::unexpected(transaction.failed(std::move(outcome).error()));
    }
    statement.end();
    return outcome;
  });
}

/// Whether the handles are live and of one database.
bool fit(const hs_transaction* transaction, const hs_table* table);

/// HS_INVALID of a call that cannot begin, with its sentence when the error handle is a live one.
int misuse(Handle* handle, HandleKind kind, const char* sentence) noexcept;
int misuse(hs_database* database, const char* sentence) noexcept;
inline int misuse(hs_transaction* transaction, const char* sentence) noexcept {
  return misuse(transaction, HandleKind::Transaction, sentence);
}
/// Of handles that are not fit().
inline int misfit(hs_transaction* transaction) noexcept {
  return misuse(transaction, "the table is NULL, closed, or of another database");
}

}  // namespace hailstone::capi
