// The one engine of the HailDB interface in a process: its database, its logger and handlers, the state after
// a panic, and how errors become codes. ib_init, ib_startup and ib_shutdown change it while nobody else is in
// here; all else is thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "database/database.h"
#include "haildb.h"

namespace hailstone::haildb {

class TableCache;

constexpr uint64_t page_bytes = 16384;  // of the original's pages, in which sizes are told

struct Engine {
  std::atomic<bool> initialised{false};
  std::atomic<bool> running{false};
  std::atomic<int> stopped{DB_SUCCESS};  // the code that all functions return since a panic
  std::atomic<bool> of_parent{false};    // this is a child of fork() of the process that started it
  std::unique_ptr<Database> database;    // there while running
  std::unique_ptr<TableCache> tables;    // there while running
  std::string home;                      // data_home_dir as it was at the start
  std::atomic<uint64_t> rows_read{0};    // by cursors
  /// Rises with each DDL statement and each end of a transaction that made some: a cursor that knows an older
  /// one looks whether its table has been replaced.
  std::atomic<uint64_t> schema_version{1};
  std::atomic<int64_t> lock_wait_milliseconds{0};

  std::atomic<ib_trx_is_interrupted_handler_t> interrupted{nullptr};
};
Engine& engine();

inline bool initialised() { return engine().initialised.load(std::memory_order_acquire); }

/// What a function that needs a running engine returns at once when it is not DB_SUCCESS.
inline ib_err_t check_running() {
  const Engine& now = engine();
  if (const int code = now.stopped.load(std::memory_order_acquire); code != DB_SUCCESS) [[unlikely]]
    return static_cast<ib_err_t>(code);
  return now.running.load(std::memory_order_acquire) ? DB_SUCCESS : DB_ERROR;
}
/// Whether it runs, and in this process: a child of fork() has its parent's.
inline bool running_here() {
  const Engine& now = engine();
  return now.running.load(std::memory_order_acquire) && !now.of_parent.load(std::memory_order_acquire);
}
/// The code of a panic, or DB_SUCCESS.
inline ib_err_t check_stopped() {
  return static_cast<ib_err_t>(engine().stopped.load(std::memory_order_acquire));
}

void log_message(DatabaseOptions::Severity severity, const std::string& message);
/// Ends all work: `code` is what functions return from now on. Tells the handler; the log has been told.
void panic(ib_err_t code, const std::string& message);
/// DB_ERROR, with the reason in the log.
ib_err_t refused(const std::string& reason);
/// What the interface calls an error; the words go to the logger when the code says too little.
ib_err_t code_of(const Error& error, ib_err_t not_found = DB_ERROR);
/// After a change of variables: those that work at once.
void configuration_changed();

}  // namespace hailstone::haildb
