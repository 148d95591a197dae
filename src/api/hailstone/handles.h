// What stands behind the handles of hailstone.h, how errors get into them, and how exceptions for lack of
// memory stay inside. The handles themselves are numbers (registry.h): each call pins those that it is given.
// Databases and tables are used by several threads; what belongs to a transaction by one at a time, which
// CallerLock sees to.
//
// How a database closes: it takes no new calls, asks those under way to stop, and retires all handles that
// were made from it. Each of them counts as a Use as long as it, or a call that has it pinned, lives. When
// there is none left, nothing can touch the database any more.
#pragma once

#include <atomic>
#include <chrono>
#include <expected>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "api/hailstone/caller_lock.h"
#include "api/hailstone/registry.h"
#include "base/check.h"
#include "base/mutex.h"
#include "database/database.h"
#include "file/method_filesystem.h"
#include "hailstone.h"
#include "table/column_update.h"
#include "table/row_reads.h"
#include "transaction/statement.h"

namespace hailstone::plan {
class ColumnIds;
}

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

class Dependent;

/// An open database as its handles share it. Thread-safe.
struct SharedDatabase {
  std::unique_ptr<MethodFilesystem> filesystem;  // outlives the database; null when that is in memory
  std::unique_ptr<Database> database;
  uint64_t number = 0;  // tells databases of a process apart
  hs_options options{};
  std::atomic<bool> closing{false};  // calls are refused, and those under way end
  Mutex panic_mutex;
  std::string last_panic HAILSTONE_GUARDED_BY(panic_mutex);

  /// From here on the application is told of a broken invariant, too.
  void watch_checks();
  ~SharedDatabase();

  /// Tells the application when the failure is one of those that break more than a call.
  void note(const Failure& failure, bool while_committing);

  /// Closes it, in one of the threads that ask for it; the others wait for that. HS_LOCK_TIMEOUT when calls
  /// have not ended after `most`: it stays closing then.
  Outcome close(std::chrono::milliseconds most);
  /// Why no call can begin; "" when one can.
  const char* refusal() const;
  /// Notes a handle to be retired at the end; false: the database closes already.
  bool enlist(Dependent& made) HAILSTONE_EXCLUDES(mutex_);

 private:
  friend class Use;
  friend class Dependent;
  /// Retires the handles that there are.
  void retire_all() HAILSTONE_EXCLUDES(mutex_);
  /// What waits for a lock looks whether it shall go on.
  void wake_all() HAILSTONE_REQUIRES(mutex_);
  Outcome close_unused();

  std::atomic<size_t> users_{0};
  Mutex mutex_;
  Condition changed_;
  enum class Closing : uint8_t { No, Waiting, Working, Done };
  Closing state_ HAILSTONE_GUARDED_BY(mutex_) = Closing::No;
  Dependent* first_ HAILSTONE_GUARDED_BY(mutex_) = nullptr;  // of the list of handles
};

/// Counts among the database's users as long as it lives.
class Use {
 public:
  explicit Use(std::shared_ptr<SharedDatabase> database) : database_(std::move(database)) {
    database_->users_.fetch_add(1);
  }
  Use(const Use& other) : Use(other.database_) {}
  Use& operator=(const Use&) = delete;
  ~Use();
  SharedDatabase& operator*() const { return *database_; }
  SharedDatabase* operator->() const { return database_.get(); }

 private:
  const std::shared_ptr<SharedDatabase> database_;
};

/// An object that was made from a database. It is in the list of those that the database's end retires.
class Dependent : public Handle {
 public:
  Dependent(HandleKind handle_kind, const Use& used, TransactionId transaction)
      : Handle(handle_kind), database(used), transaction_(transaction) {}
  ~Dependent() override;

  const Use database;

 private:
  friend struct SharedDatabase;
  const TransactionId transaction_;  // whose waits end with the database; 0: none
  Dependent *next_ = nullptr, *previous_ = nullptr;
  bool listed_ = false, retired_ = false;  // under the database's mutex
};

/// The object's handle. HS_INVALID when the database closes meanwhile. Throws std::bad_alloc.
Returned<uintptr_t> give_out_dependent(std::unique_ptr<Dependent> object);
template <typename T>
Outcome give_out(std::unique_ptr<T> object, typename T::Public** handle) {
  // As a number: it may be retired, and the object be gone, as soon as it is given out.
  HAILSTONE_ASSIGN(const uintptr_t bits, give_out_dependent(std::move(object)));
  *handle = public_handle<typename T::Public>(bits);
  return {};
}

/// The databases that calls of this thread are in, so that none of them waits for itself.
class Frame {
 public:
  explicit Frame(const SharedDatabase* database) : database_(database), outer_(innermost()) {
    innermost() = this;
  }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;
  ~Frame() { innermost() = outer_; }
  static bool any_in(const SharedDatabase& database);

 private:
  static const Frame*& innermost();
  const SharedDatabase* const database_;
  const Frame* const outer_;
};

/// A transaction as its handle and what was made from it share it.
struct TableShape;

struct SharedTransaction {
  SharedTransaction(const Use& use, std::unique_ptr<Transaction> begun);
  ~SharedTransaction();

  /// Whether a statement may begin: the transaction is active and not interrupted. Else refuse_statement()
  /// says why it may not.
  bool takes_statements() const { return active && !is_stopped(); }
  Outcome refuse_statement() const;
  /// What it does is to end: hs_interrupt(), or the database closes.
  bool is_stopped() const {
    return interrupted.load(std::memory_order_relaxed) || database->closing.load(std::memory_order_relaxed);
  }
  /// HS_INVALID when a call of the same transaction is under way, which it must not end beneath.
  Outcome check_outermost() const;
  /// The calling thread, in turn with others.
  void enter() { calls.enter(); }
  void leave() noexcept {
    if (abandoned && calls.depth() == 1 && active) [[unlikely]]
      roll_back();
    calls.leave();
  }
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
  /// What is kept from one row of the table to the next that is read by its key.
  RowReads& reads_of(const TableShape& shape);
  /// It is active no more.
  void end() noexcept {
    active = false;
    reads_.reset();
  }
  /// Tables may have come or gone.
  void forget_tables() {
    reads_.reset();
    readable_.clear();
    writable_.clear();
    last_read_ = last_written_ = no_table;
  }
  /// Passes a result on; a deadlock rolls the transaction back.
  Failure failed(Failure failure);
  void roll_back();

  Use database;
  CallerLock calls;  // guards all below but `interrupted`
  std::unique_ptr<Transaction> transaction;
  bool active = true;
  bool abandoned = false;     // closed in the midst of a call, which rolls it back at its end
  const char* ended_by = "";  // why it is not active
  bool is_prepared() const { return transaction->state() == Transaction::State::Prepared; }
  std::atomic<bool> interrupted{false};
  struct Mark {
    std::string name;
    Savepoint savepoint;
  };
  std::vector<Mark> savepoints;
  std::weak_ptr<plan::ColumnIds> query_columns;  // of its queries, as long as there are some

 private:
  struct Reads {
    explicit Reads(const TableShape& shape);
    std::shared_ptr<Table> table;
    RowReads rows;
  };
  std::unique_ptr<Reads> reads_;  // of the table that was read last; null: of none

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
  /// Of a text of a table; null: of bytes, or UTF-8, by its type. One of another application has no weights.
  const Collation* collation = nullptr;
};

/// HS_UNSUPPORTED for what hailstone.h does not know.
Returned<hs_type> shown_type(const TableDefinition& table, const Column& column);

/// A column of that type, of texts without a limit, which is in no table.
Returned<ColumnShape> shape_of_type(const std::string& name, hs_type type);

/// What a table handle knows. Immutable.
struct TableShape {
  std::shared_ptr<Table> table;
  std::vector<ColumnShape> columns;

  /// HS_UNSUPPORTED when it has columns that hailstone.h does not know.
  static Returned<std::shared_ptr<const TableShape>> make(std::shared_ptr<Table> table);
  Returned<uint16_t> column(std::string_view name) const;
  const std::string& name() const { return table->definition().name; }
  /// The numbers of all columns.
  std::vector<uint16_t> all_columns() const;
};

struct DatabaseHandle : Handle {
  using Public = hs_database;
  static constexpr HandleKind its_kind = HandleKind::Database;
  DatabaseHandle() : Handle(its_kind) {}
  std::shared_ptr<SharedDatabase> shared;  // without a database when opening failed
};

struct TransactionHandle : Dependent {
  using Public = hs_transaction;
  static constexpr HandleKind its_kind = HandleKind::Transaction;
  explicit TransactionHandle(std::shared_ptr<SharedTransaction> begun)
      : Dependent(its_kind, begun->database, begun->transaction->id()), shared(std::move(begun)) {}
  const std::shared_ptr<SharedTransaction> shared;
  /// Scratch space. What calls give out lies there.
  struct Scratch {
    std::vector<Value> values;
    std::string row, key, text;
    ColumnUpdate update;
  };
  const std::shared_ptr<Scratch> scratch = std::make_shared<Scratch>();
  std::vector<Value>& values = scratch->values;
  std::string &row = scratch->row, &key = scratch->key, &text = scratch->text;
  ColumnUpdate& update = scratch->update;
};

struct TableHandle : Dependent {
  using Public = hs_table;
  static constexpr HandleKind its_kind = HandleKind::Table;
  TableHandle(const Use& used, std::shared_ptr<const TableShape> table_shape)
      : Dependent(its_kind, used, 0), shape(std::move(table_shape)) {}
  const std::shared_ptr<const TableShape> shape;
};

struct SchemaHandle : Handle {
  using Public = hs_schema;
  static constexpr HandleKind its_kind = HandleKind::Schema;
  SchemaHandle() : Handle(its_kind) {}
  TableDefinition definition;
};

/// What is made from a transaction: cursors, loads, scans, streams.
struct OfTransaction : Dependent {
  OfTransaction(HandleKind handle_kind, std::shared_ptr<SharedTransaction> made_from,
                std::shared_ptr<const TableShape> of_table)
      : Dependent(handle_kind, made_from->database, 0),
        shared(std::move(made_from)),
        shape(std::move(of_table)) {}
  const std::shared_ptr<SharedTransaction> shared;
  const std::shared_ptr<const TableShape> shape;
};

/// A call with a handle of a transaction, or of what was made from one. False when it is not live.
template <typename T>
class Call {
 public:
  explicit Call(const typename T::Public* handle) : pin_(handle), frame_(pin_ ? &*pin_->database : nullptr) {
    if (pin_) pin_->shared->enter();
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() {
    if (pin_) pin_->shared->leave();
  }
  explicit operator bool() const { return static_cast<bool>(pin_); }
  T& operator*() const { return *pin_; }
  T* operator->() const { return &*pin_; }

 private:
  const Pin<T> pin_;
  const Frame frame_;
};

/// A call with the handle of a database. False when it is not live, not open, or closing.
class DatabaseCall {
 public:
  explicit DatabaseCall(const hs_database* handle);
  explicit operator bool() const { return use_ && !(*use_)->closing.load(); }
  DatabaseHandle& operator*() const { return *pin_; }
  const Use& use() const { return *use_; }
  Database& database() const { return *(*use_)->database; }

 private:
  const Pin<DatabaseHandle> pin_;
  std::optional<Use> use_;
  std::optional<Frame> frame_;
};

/// Runs the work of an API function: its failure goes to the error handle.
template <typename Work>
int run(Handle& handle, Work&& work) noexcept {
  try {
    Outcome outcome = std::forward<Work>(work)();
    if (outcome) [[likely]]
      return HS_OK;
    handle.set_message(std::move(outcome.error().message));
    return outcome.error().status;
  } catch (const std::bad_alloc&) {
    handle.set_no_memory();
    return HS_NO_MEMORY;
  }
}
/// The same for a database, whose sentence is the calling thread's.
void set_database_message(const SharedDatabase& database, std::string&& message) noexcept;
void set_database_message(const SharedDatabase& database, const char* constant) noexcept;
template <typename Work>
int run(DatabaseHandle& handle, Work&& work) noexcept {
  try {
    Outcome outcome = std::forward<Work>(work)();
    if (outcome) return HS_OK;
    handle.shared->note(outcome.error(), false);
    set_database_message(*handle.shared, std::move(outcome.error().message));
    return outcome.error().status;
  } catch (const std::bad_alloc&) {
    set_database_message(*handle.shared, no_memory_sentence);
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
bool fit(const Call<TransactionHandle>& transaction, const Pin<TableHandle>& table);

/// HS_INVALID of a call that cannot begin, with its sentence when the error handle is a live one.
template <typename T>
int misuse(const typename T::Public* handle, const char* sentence) noexcept {
  const Pin<T> pinned(handle);
  if (!pinned) return HS_INVALID;
  return run(*pinned, [&]() -> Outcome { return refuse(HS_INVALID, sentence); });
}
int misuse(const hs_database* database, const char* sentence) noexcept;
/// Of handles that are not fit().
int misfit(const Call<TransactionHandle>& transaction) noexcept;

}  // namespace hailstone::capi
