// Opening and closing databases, errors and their sentences, counters, backup.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "api/hailstone/handles.h"
#include "base/check.h"
#include "base/version.h"

namespace hailstone::capi {

namespace {

hs_status status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::NotFound:
      return HS_NOT_FOUND;
    case ErrorCode::AlreadyExists:
      return HS_ALREADY_EXISTS;
    case ErrorCode::DuplicateKey:
      return HS_DUPLICATE_KEY;
    case ErrorCode::LockWaitTimeout:
      return HS_LOCK_TIMEOUT;
    case ErrorCode::Deadlock:
      return HS_DEADLOCK;
    case ErrorCode::Interrupted:
      return HS_INTERRUPTED;
    case ErrorCode::OutOfMemory:
    case ErrorCode::TooManyLocks:
      return HS_NO_MEMORY;
    case ErrorCode::DiskFull:
      return HS_DISK_FULL;
    case ErrorCode::TableFull:
      return HS_TABLE_FULL;
    case ErrorCode::Io:
      return HS_IO;
    case ErrorCode::Corruption:
      return HS_CORRUPT;
    case ErrorCode::InvalidArgument:
      return HS_INVALID;
    case ErrorCode::RowTooLarge:
      return HS_TOO_LARGE;
    case ErrorCode::Busy:
      return HS_BUSY;
    case ErrorCode::ReadOnly:
      return HS_READ_ONLY;
    case ErrorCode::Unsupported:
      return HS_UNSUPPORTED;
    case ErrorCode::TableChanged:
      return HS_TABLE_CHANGED;
    case ErrorCode::SnapshotTooOld:
      return HS_SNAPSHOT_TOO_OLD;
  }
  return HS_INVALID;
}

constexpr const char* status_names[] = {"ok",
                                        "not found",
                                        "already exists",
                                        "duplicate key",
                                        "lock wait timeout",
                                        "deadlock",
                                        "interrupted",
                                        "out of memory",
                                        "disk full",
                                        "input/output error",
                                        "corruption",
                                        "invalid argument",
                                        "too large",
                                        "busy",
                                        "read only",
                                        "unsupported",
                                        "out of range",
                                        "table changed",
                                        "snapshot too old",
                                        "table full"};

/// The last failure of a database call on this thread.
struct LastError {
  uint64_t database = 0;
  uintptr_t closed = 0;            // the handle, when it was closed by the call
  const char* constant = nullptr;  // the sentence, when it needs no memory
  std::string message;             // else
  const char* sentence() const { return constant != nullptr ? constant : message.c_str(); }
};
LastError& last_error() {
  thread_local LastError last;
  return last;
}

hs_options default_options() {
  const DatabaseOptions defaults;
  hs_options options{};
  options.struct_size = sizeof options;
  options.memory_bytes = defaults.memory_budget;
  options.checkpoint_log_bytes = defaults.checkpoint_log_bytes;
  options.in_memory_bytes = defaults.in_memory_size;
  options.retention_interval_seconds = static_cast<unsigned>(defaults.retention_interval.count());
  options.durability = HS_DURABLE;
  options.background_threads = defaults.background_threads;
  options.lock_wait_ms = 50'000;
  options.io_method = static_cast<hs_io_method>(default_io_method);
  options.log_write_timeout_ms = static_cast<unsigned>(defaults.log_write_timeout.count());
  return options;
}

Returned<hs_options> read_options(const hs_options* given) {
  hs_options options = default_options();
  if (given == nullptr) return options;
  // A program that was compiled with another version of the header has fewer options, or more.
  if (given->struct_size < offsetof(hs_options, memory_bytes) || given->struct_size > 4096) {
    return refuse(HS_INVALID, "the options were not filled in by hs_options_init()");
  }
  std::memcpy(&options, given, std::min(given->struct_size, sizeof options));
  options.struct_size = sizeof options;
  if (options.io_method < HS_IO_SYNC || options.io_method > HS_IO_DIRECT) {
    return refuse(HS_INVALID,
                  fmt::format("there is no method {} to read files by", static_cast<int>(options.io_method)));
  }
  if (options.durability < HS_DURABLE_EACH_SECOND || options.durability > HS_DURABLE_AGAINST_CRASH) {
    return refuse(HS_INVALID, fmt::format("there is no durability {}", static_cast<int>(options.durability)));
  }
  return options;
}

hs_log_level level_of(DatabaseOptions::Severity severity) {
  switch (severity) {
    case DatabaseOptions::Severity::Note:
      return HS_LOG_NOTE;
    case DatabaseOptions::Severity::Warning:
      return HS_LOG_WARNING;
    case DatabaseOptions::Severity::Error:
      break;
  }
  return HS_LOG_ERROR;
}

Outcome open(const char* directory, const hs_options* given, SharedDatabase& shared) {
  HAILSTONE_ASSIGN(shared.options, read_options(given));
  if (shared.options.must_exist != 0) {
    if (directory == nullptr) {
      return refuse(HS_NOT_FOUND, "no directory is named, and a database in memory is always a new one");
    }
    if (!posix_filesystem().exists(std::string(directory) + "/manifest")) {
      return refuse(HS_NOT_FOUND, fmt::format("there is no database in directory '{}'", directory));
    }
  }
  DatabaseOptions options;
  options.memory_budget = static_cast<size_t>(shared.options.memory_bytes);
  options.checkpoint_log_bytes = static_cast<size_t>(shared.options.checkpoint_log_bytes);
  options.delta_limit = static_cast<size_t>(shared.options.row_memory_bytes);
  options.background_threads = shared.options.background_threads;
  options.in_memory_size = static_cast<size_t>(shared.options.in_memory_bytes);
  options.snapshot_too_old = std::chrono::seconds(shared.options.snapshot_too_old_seconds);
  options.retention_interval = std::chrono::seconds(shared.options.retention_interval_seconds);
  constexpr uint64_t memory_a_table = uint64_t{16} << 10, most_tables = 32'768;
  const uint64_t tables = shared.options.open_tables;
  options.open_tables = static_cast<size_t>(
      tables != 0 ? tables : std::min(shared.options.memory_bytes / memory_a_table, most_tables));
  options.flush_log_at_commit = static_cast<FlushLogAtCommit>(shared.options.durability);
  options.log_write_timeout = std::chrono::milliseconds(shared.options.log_write_timeout_ms);
  options.open_files = static_cast<size_t>(shared.options.open_files);
  options.read_only = shared.options.read_only != 0;
  if (shared.options.log != nullptr) {
    options.logger = [log = shared.options.log, context = shared.options.log_context](
                         DatabaseOptions::Severity severity, const std::string& message) {
      log(context, level_of(severity), message.c_str());
    };
  }
  shared.watch_checks();
  if (directory == nullptr) {
    HAILSTONE_ASSIGN(shared.database, Database::open_in_memory(std::move(options)));
    return {};
  }
  shared.filesystem = std::make_unique<MethodFilesystem>(
      IoSettings{.method = static_cast<IoMethod>(shared.options.io_method)},
      [logger = options.logger](const std::string& warning) {
        if (logger) logger(DatabaseOptions::Severity::Warning, warning);
      });
  HAILSTONE_ASSIGN(shared.database, Database::open(*shared.filesystem, directory, std::move(options)));
  return {};
}

std::atomic<uint64_t> databases{0};

}  // namespace

ErrorCode code_of(int status) {
  for (auto code = static_cast<int>(ErrorCode::NotFound); code <= static_cast<int>(ErrorCode::SnapshotTooOld);
       ++code) {
    if (status_of(static_cast<ErrorCode>(code)) == status) return static_cast<ErrorCode>(code);
  }
  return ErrorCode::InvalidArgument;
}

Failure::Failure(const Error& error) : status(status_of(error.code())), message(error.message()) {}

void set_database_message(const SharedDatabase& database, std::string&& message) noexcept {
  LastError& last = last_error();
  last.database = database.number;
  last.closed = 0;
  last.constant = nullptr;
  last.message = std::move(message);
}

void set_database_message(const SharedDatabase& database, const char* constant) noexcept {
  LastError& last = last_error();
  last.database = database.number;
  last.closed = 0;
  last.constant = constant;
}

int misuse(const hs_database* given, const char* sentence) noexcept {
  const DatabaseCall database(given);
  if (!database) return HS_INVALID;
  return run(*database, [&]() -> Outcome { return refuse(HS_INVALID, sentence); });
}

}  // namespace hailstone::capi

using namespace hailstone;
using namespace hailstone::capi;

const char* hs_version(void) { return hailstone::release().data(); }

const char* hs_status_name(int status) {
  if (status < 0 || static_cast<size_t>(status) >= std::size(status_names)) return "unknown";
  return status_names[status];
}

const char* hs_error_message(const void* handle) {
  if (handle == nullptr) return "";
  thread_local std::string shown;
  const LastError& last = last_error();
  for (const HandleKind kind : {HandleKind::Transaction, HandleKind::Database, HandleKind::Cursor,
                                HandleKind::Load, HandleKind::Scan, HandleKind::Query, HandleKind::Schema}) {
    const Handle* const object = pin(bits_of(handle), kind);
    if (object == nullptr) continue;
    const bool here = kind == HandleKind::Database &&
                      static_cast<const DatabaseHandle*>(object)->shared->number == last.database;
    const char* const message = here ? last.sentence() : object->message(shown);
    unpin(bits_of(handle));
    return message;
  }
  return last.closed == bits_of(handle) ? last.sentence() : why_not_live(bits_of(handle));
}

void hs_options_init_sized(hs_options* options, size_t struct_size) {
  if (options == nullptr) return;
  const hs_options defaults = default_options();
  std::memset(options, 0, struct_size);
  std::memcpy(options, &defaults, std::min(struct_size, sizeof defaults));
  options->struct_size = struct_size;
}

int hs_open(const char* directory, const hs_options* options, hs_database** database) {
  if (database == nullptr) return HS_INVALID;
  *database = nullptr;
  try {
    auto handle = std::make_unique<DatabaseHandle>();
    handle->shared = std::make_shared<SharedDatabase>();
    handle->shared->number = databases.fetch_add(1) + 1;
    DatabaseHandle& opened = *handle;
    *database = give_out_free(std::move(handle));
    const int status = run(opened, [&] { return open(directory, options, *opened.shared); });
    if (status == HS_OK) return HS_OK;
    opened.shared->database.reset();
    // A failure to open may be looked at by another thread.
    if (last_error().constant != nullptr) {
      opened.set_no_memory();
    } else {
      opened.set_message(std::string(last_error().message));
    }
    return status;
  } catch (const std::bad_alloc&) {
    return HS_NO_MEMORY;
  }
}

namespace {

int close_database(hs_database* given, std::chrono::milliseconds most) {
  if (given == nullptr) return HS_OK;
  const Pin<DatabaseHandle> database(given);
  if (!database) return HS_INVALID;
  SharedDatabase& shared = *database->shared;
  if (Frame::any_in(shared)) {
    return run(*database, [&]() -> Outcome {
      return refuse(HS_BUSY, "the database cannot be closed from within one of its own calls");
    });
  }
  const int status = shared.database == nullptr ? HS_OK : run(*database, [&] { return shared.close(most); });
  if (status == HS_LOCK_TIMEOUT) return status;
  if (status != HS_OK) last_error().closed = bits_of(given);
  retire(bits_of(given));
  return status;
}

}  // namespace

int hs_close(hs_database* database) { return close_database(database, std::chrono::hours(24) * 365 * 100); }

int hs_close_within(hs_database* database, unsigned milliseconds) {
  return close_database(database, std::chrono::milliseconds(milliseconds));
}

int hs_checkpoint(hs_database* given) {
  const DatabaseCall database(given);
  if (!database) return HS_INVALID;
  return run(*database, [&]() -> Outcome {
    HAILSTONE_TRY(database.database().checkpoint());
    return {};
  });
}

int hs_expire(hs_database* given, uint64_t* rows) {
  if (rows != nullptr) *rows = 0;
  const DatabaseCall database(given);
  if (!database) return HS_INVALID;
  return run(*database, [&]() -> Outcome {
    const StopToken stop([&] { return database.use()->closing.load(); });
    HAILSTONE_ASSIGN(const Table::Expired expired, database.database().expire_rows(stop));
    if (rows != nullptr) *rows = expired.rows;
    return {};
  });
}

int hs_backup(hs_database* given, const char* directory) {
  const DatabaseCall database(given);
  if (!database) return HS_INVALID;
  return run(*database, [&]() -> Outcome {
    if (directory == nullptr) return refuse(HS_INVALID, "the backup's directory is NULL");
    HAILSTONE_TRY(database.database().backup(
        directory, [&](uint64_t, uint64_t) { return !database.use()->closing.load(); }));
    return {};
  });
}

int hs_counter_at(hs_database* given, size_t index, const char** name, const char** description,
                  uint64_t* value) {
  const DatabaseCall database(given);
  if (!database) return HS_INVALID;
  if (index >= counter_descriptions.size()) return HS_NOT_FOUND;
  return run(*database, [&]() -> Outcome {
    const CounterDescription& counter = counter_descriptions[index];
    // Both are made from literals, which end with a zero.
    if (name != nullptr) *name = counter.name.data();
    if (description != nullptr) *description = counter.description.data();
    if (value != nullptr) *value = (database.database().counters().*counter.value).load();
    return {};
  });
}

int hs_counter(hs_database* given, const char* name, uint64_t* value) {
  if (name == nullptr || value == nullptr) {
    return misuse(given, "the counter's name or the place for its value is NULL");
  }
  const DatabaseCall database(given);
  if (!database) return HS_INVALID;
  const auto counter = std::ranges::find(counter_descriptions, name, &CounterDescription::name);
  if (counter != counter_descriptions.end()) {
    return hs_counter_at(given, static_cast<size_t>(counter - counter_descriptions.begin()), nullptr, nullptr,
                         value);
  }
  return run(*database, [&]() -> Outcome {
    return refuse(HS_NOT_FOUND, fmt::format("there is no counter '{}'", name));
  });
}
