#include "api/haildb/engine.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <limits>

#include "api/haildb/client_order.h"
#include "api/haildb/config.h"
#include "api/haildb/cursor.h"
#include "api/haildb/decimal.h"
#include "api/haildb/filesystem.h"
#include "api/haildb/table.h"
#include "api/haildb/transaction.h"
#include "api/haildb/tuple.h"
#include "base/check.h"
#include "base/mutex.h"
#include "file/method_filesystem.h"

namespace hailstone::haildb {
namespace {

/// Below this the engine has no room for its deltas.
constexpr size_t least_memory = size_t{64} << 20;

/// Of the engine's files, within data_home_dir. No database can have this name, see ib_database_create.
constexpr const char* engine_directory = "hailstone.data";

struct Handlers {
  Mutex mutex;
  ib_msg_log_t log HAILSTONE_GUARDED_BY(mutex) = nullptr;  // null: standard error, without notes
  ib_msg_stream_t stream HAILSTONE_GUARDED_BY(mutex) = nullptr;
  ib_panic_handler_t panic HAILSTONE_GUARDED_BY(mutex) = nullptr;
};
Handlers& handlers() {
  static Handlers all;
  return all;
}

const char* name_of(DatabaseOptions::Severity severity) {
  switch (severity) {
    case DatabaseOptions::Severity::Note:
      return "note";
    case DatabaseOptions::Severity::Warning:
      return "warning";
    case DatabaseOptions::Severity::Error:
      return "error";
  }
  return "";
}

void call_panic_handler(ib_err_t code, const char* format, const char* message) {
  ib_panic_handler_t handler = nullptr;
  {
    const MutexLock guard(handlers().mutex);
    handler = handlers().panic;
  }
  if (handler != nullptr) handler(nullptr, code, const_cast<char*>(format), message);
}

DatabaseOptions options() {
  DatabaseOptions options;
  options.memory_budget = std::max<size_t>(number_of(Variable::BufferPoolSize), least_memory);
  // Programs of this interface change single rows: as many as fit stay in memory, and the log is long enough
  // for them.
  options.delta_limit = options.memory_budget * 3 / 8;
  options.checkpoint_log_bytes = std::max<size_t>(
      number_of(Variable::LogFileSize) * number_of(Variable::LogFilesInGroup), options.delta_limit);
  options.open_tables = number_of(Variable::OpenFiles);
  // Programs of this interface expect a full disk to be an error.
  options.log_write_timeout = std::chrono::seconds(10);
  options.flush_log_at_commit = static_cast<FlushLogAtCommit>(number_of(Variable::FlushLogAtTrxCommit));
  options.collations = &collations();
  options.logger = log_message;
  return options;
}

/// By the variable flush_method; lives for ever.
Filesystem& filesystem() {
  const char* const method = text_of(Variable::FlushMethod);
  const std::string_view name = method == nullptr ? "" : method;
  if (name == "nosync") return nosync_filesystem();
  if (name != "O_DIRECT") return posix_filesystem();
  static MethodFilesystem* const direct = new MethodFilesystem(
      {.method = IoMethod::Direct},
      [](const std::string& warning) { log_message(DatabaseOptions::Severity::Warning, warning); });
  return *direct;
}

/// In a child of fork(), whose engine is its parent's: each call is refused before it takes a lock.
void leave_to_parent() {
  Engine& now = engine();
  if (!now.running.load()) return;
  now.of_parent.store(true);
  now.stopped.store(DB_ERROR);
}

ib_err_t start(const char* format) {
  Engine& now = engine();
  static const int watched = pthread_atfork(nullptr, nullptr, leave_to_parent);
  if (watched != 0) return DB_OUT_OF_MEMORY;
  if (!now.initialised.load()) return refused("ib_startup() was called before ib_init()");
  if (now.running.load()) return refused("ib_startup() was called while the engine runs");
  const char* const file_format = file_format_of(format);
  if (file_format == nullptr) return DB_UNSUPPORTED;
  remove_check_handler(&now);
  add_check_handler([](void*, const char* message) { call_panic_handler(DB_FATAL, "%s", message); }, &now);
  const char* const home = text_of(Variable::DataHomeDir);
  now.home = home == nullptr ? "./" : home;
  auto database = Database::open(filesystem(), now.home + engine_directory, options());
  if (!database) return refused(database.error().message());
  now.database = std::move(*database);
  now.tables = std::make_unique<TableCache>(*now.database);
  now.rows_read.store(0);
  set_text(Variable::FileFormat, file_format);
  set_number(Variable::FileIoThreads,
             2 + number_of(Variable::ReadIoThreads) + number_of(Variable::WriteIoThreads));
  set_configuration_started();
  configuration_changed();
  now.running.store(true, std::memory_order_release);
  const ib_cb_t hook = callback_of(Variable::PreRollbackHook);
  if (hook != nullptr && now.database->counters().transactions_recovered.load() > 0) hook();
  return DB_SUCCESS;
}

/// Ends what a careless program left open, and closes the database.
ib_err_t stop() {
  Engine& now = engine();
  if (now.of_parent.load()) return DB_ERROR;
  ib_err_t result = DB_SUCCESS;
  if (now.running.load()) {
    for (auto* const transaction : transactions().in_use()) abandon(*transaction);
    for (auto* const cursor : cursors().in_use()) cursors().give_back(cursor);
    for (auto* const tuple : tuples().in_use()) tuples().give_back(tuple);
    for (auto* const transaction : transactions().in_use()) transactions().give_back(transaction);
    now.running.store(false, std::memory_order_release);
    now.tables.reset();
    if (Status status = now.database->close(); !status) {
      log_message(DatabaseOptions::Severity::Error, status.error().message());
      result = DB_ERROR;
    }
    now.database.reset();
  }
  return result;
}

}  // namespace

Engine& engine() {
  // Never destroyed: handles and the database may be used until the very end of the process.
  static Engine& the_engine = *new Engine;
  return the_engine;
}

void log_message(DatabaseOptions::Severity severity, const std::string& message) {
  ib_msg_log_t log = nullptr;
  ib_msg_stream_t stream = nullptr;
  {
    const MutexLock guard(handlers().mutex);
    log = handlers().log;
    stream = handlers().stream;
  }
  if (log != nullptr) {
    log(stream, "Hailstone: %s: %s\n", name_of(severity), message.c_str());
  } else if (severity != DatabaseOptions::Severity::Note) {
    std::fprintf(stderr, "Hailstone: %s: %s\n", name_of(severity), message.c_str());
  }
}

void panic(ib_err_t code, const std::string& message) {
  int none = DB_SUCCESS;
  if (!engine().stopped.compare_exchange_strong(none, code)) return;
  call_panic_handler(code, "%s", message.c_str());
}

ib_err_t refused(const std::string& reason) {
  log_message(DatabaseOptions::Severity::Error, reason);
  return DB_ERROR;
}

ib_err_t code_of(const Error& error, ib_err_t not_found) {
  const auto logged = [&error](ib_err_t code) {
    log_message(DatabaseOptions::Severity::Error, error.message());
    return code;
  };
  switch (error.code()) {
    case ErrorCode::NotFound:
      return not_found;
    case ErrorCode::AlreadyExists:
    case ErrorCode::Busy:
      return DB_TABLE_IS_BEING_USED;
    case ErrorCode::DuplicateKey:
      return DB_DUPLICATE_KEY;
    case ErrorCode::LockWaitTimeout:
      return DB_LOCK_WAIT_TIMEOUT;
    case ErrorCode::Deadlock:
      return DB_DEADLOCK;
    case ErrorCode::Interrupted:
      return DB_INTERRUPTED;
    case ErrorCode::SnapshotTooOld:
      return DB_MISSING_HISTORY;
    case ErrorCode::RowTooLarge:
      return DB_TOO_BIG_RECORD;
    case ErrorCode::TableChanged:
      return DB_MISSING_HISTORY;
    case ErrorCode::Unsupported:
      return logged(DB_UNSUPPORTED);
    case ErrorCode::OutOfMemory:
      return logged(DB_OUT_OF_MEMORY);
    case ErrorCode::DiskFull:
      return logged(DB_OUT_OF_FILE_SPACE);
    case ErrorCode::TooManyLocks:
      return DB_LOCK_TABLE_FULL;
    case ErrorCode::TableFull:
      return DB_OUT_OF_MEMORY;
    case ErrorCode::Io:
    case ErrorCode::InvalidArgument:
      return logged(DB_ERROR);
    case ErrorCode::Corruption:
      // One table is damaged; the others can be used.
      log_message(DatabaseOptions::Severity::Error, error.message());
      call_panic_handler(DB_CORRUPTION, "%s", error.message().c_str());
      return DB_CORRUPTION;
    case ErrorCode::ReadOnly:
      panic(logged(DB_ERROR), error.message());
      return DB_ERROR;
  }
  return DB_ERROR;
}

void configuration_changed() {
  Engine& now = engine();
  // From 10^8 seconds on it means: for ever.
  constexpr ib_ulint_t endless = 100'000'000;
  const ib_ulint_t seconds = number_of(Variable::LockWaitTimeout);
  now.lock_wait_milliseconds.store(seconds >= endless ? std::numeric_limits<int64_t>::max()
                                                      : static_cast<int64_t>(seconds) * 1000);
  if (!now.running.load(std::memory_order_acquire)) return;
  now.database->transactions().set_flush_log_at_commit(
      static_cast<FlushLogAtCommit>(number_of(Variable::FlushLogAtTrxCommit)));
}

}  // namespace hailstone::haildb

using namespace hailstone::haildb;

ib_u64_t ib_api_version(void) { return ib_u64_t{6} << 32; }

ib_err_t ib_init(void) try {
  if (const ib_err_t code = check_stopped(); code != DB_SUCCESS) return code;
  if (initialised()) return DB_ERROR;
  reset_configuration();
  {
    const hailstone::MutexLock guard(handlers().mutex);
    handlers().log = nullptr;
    handlers().stream = nullptr;
  }
  engine().initialised.store(true);
  return DB_SUCCESS;
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

ib_err_t ib_startup(const char* format) try {
  if (const ib_err_t code = check_stopped(); code != DB_SUCCESS) return code;
  return start(format);
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

ib_err_t ib_shutdown(ib_shutdown_t flag) try {
  const ib_err_t stopped = check_stopped();
  if (flag < IB_SHUTDOWN_NORMAL || flag > IB_SHUTDOWN_NO_BUFPOOL_FLUSH) return DB_INVALID_INPUT;
  const ib_err_t result = stop();
  if (stopped != DB_SUCCESS) return stopped;  // also in a child of fork()
  reset_configuration();
  set_client_compare(nullptr);
  engine().interrupted.store(nullptr);
  engine().initialised.store(false);
  return result;
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

void ib_logger_set(ib_msg_log_t ib_msg_log, ib_msg_stream_t ib_msg_stream) {
  const hailstone::MutexLock guard(handlers().mutex);
  handlers().log = ib_msg_log;
  handlers().stream = ib_msg_stream;
}

void ib_set_panic_handler(ib_panic_handler_t new_panic_handler) {
  const hailstone::MutexLock guard(handlers().mutex);
  handlers().panic = new_panic_handler;
}

void ib_set_trx_is_interrupted_handler(ib_trx_is_interrupted_handler_t handler) {
  engine().interrupted.store(handler);
}

void ib_set_client_compare(ib_client_cmp_t client_cmp_func) { set_client_compare(client_cmp_func); }

ib_err_t ib_error_inject(int error_to_inject) try {
  if (error_to_inject != 1) return DB_ERROR;
  int none = DB_SUCCESS;
  if (!engine().stopped.compare_exchange_strong(none, DB_CORRUPTION)) return static_cast<ib_err_t>(none);
  const char* const message = "test panic message";
  log_message(hailstone::DatabaseOptions::Severity::Error, message);
  call_panic_handler(DB_CORRUPTION, message, "");
  return DB_SUCCESS;
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

const char* ib_strerror(ib_err_t db_errno) try {
  static constexpr struct {
    ib_err_t code;
    const char* text;
  } texts[] = {
      {DB_SUCCESS, "Success"},
      {DB_ERROR, "Failed; the log has the reason"},
      {DB_INTERRUPTED, "Interrupted by the application"},
      {DB_OUT_OF_MEMORY, "Not enough memory"},
      {DB_OUT_OF_FILE_SPACE, "The disk is full"},
      {DB_LOCK_WAIT, "The lock is not granted yet"},
      {DB_DEADLOCK, "Deadlock: the transaction was rolled back"},
      {DB_ROLLBACK, "Rolled back"},
      {DB_DUPLICATE_KEY, "Another row has the same key"},
      {DB_QUE_THR_SUSPENDED, "Suspended"},
      {DB_MISSING_HISTORY, "No transaction, or the index is newer than its snapshot"},
      {DB_CLUSTER_NOT_FOUND, "No such cluster"},
      {DB_TABLE_NOT_FOUND, "No such table or index"},
      {DB_MUST_GET_MORE_FILE_SPACE, "The file has to grow"},
      {DB_TABLE_IS_BEING_USED, "The table is in use, or there already"},
      {DB_TOO_BIG_RECORD, "The row is too long"},
      {DB_LOCK_WAIT_TIMEOUT, "The lock was not granted in time"},
      {DB_NO_REFERENCED_ROW, "No row has the key referred to"},
      {DB_ROW_IS_REFERENCED, "Other rows refer to the row"},
      {DB_CANNOT_ADD_CONSTRAINT, "The constraint cannot be added"},
      {DB_CORRUPTION, "Stored data is damaged"},
      {DB_COL_APPEARS_TWICE_IN_INDEX, "The index has the column already"},
      {DB_CANNOT_DROP_CONSTRAINT, "The constraint cannot be dropped"},
      {DB_NO_SAVEPOINT, "No savepoint of this name"},
      {DB_TABLESPACE_ALREADY_EXISTS, "The tablespace is there already"},
      {DB_TABLESPACE_DELETED, "The table is being dropped"},
      {DB_LOCK_TABLE_FULL, "No memory for more locks"},
      {DB_FOREIGN_DUPLICATE_KEY, "A foreign key led to equal keys"},
      {DB_TOO_MANY_CONCURRENT_TRXS, "Too many transactions at once"},
      {DB_UNSUPPORTED, "Not supported"},
      {DB_PRIMARY_KEY_IS_NULL, "The primary key is NULL"},
      {DB_FATAL, "Fatal failure"},
      {DB_FAIL, "Failed; trying again may help"},
      {DB_OVERFLOW, "Overflow"},
      {DB_UNDERFLOW, "Underflow"},
      {DB_STRONG_FAIL, "Failed; trying again does not help"},
      {DB_ZIP_OVERFLOW, "Compressed data does not fit"},
      {DB_RECORD_NOT_FOUND, "No such row"},
      {DB_END_OF_INDEX, "No more rows in this direction"},
      {DB_SCHEMA_ERROR, "The schema is not possible"},
      {DB_DATA_MISMATCH, "Wrong type, length or name"},
      {DB_SCHEMA_NOT_LOCKED, "The transaction has not locked the schema"},
      {DB_NOT_FOUND, "No such name"},
      {DB_READONLY, "Cannot be set now"},
      {DB_INVALID_INPUT, "Invalid argument"},
  };
  for (const auto& each : texts) {
    if (each.code == db_errno) return each.text;
  }
  return "Unknown error";
} catch (const std::bad_alloc&) {
  return nullptr;
}
