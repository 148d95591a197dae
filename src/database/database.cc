#include "database/database.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "base/guard.h"
#include "base/kept_pages.h"
#include "database/checkpoint.h"
#include "database/core.h"
#include "database/maintenance.h"
#include "database/online_backup.h"
#include "database/recovery.h"
#include "database/state_recorder.h"
#include "database/table_export.h"
#include "file/overlay_filesystem.h"
#include "log/log_format.h"
#include "log/operation.h"
#include "transaction/statement.h"

namespace hailstone {
namespace {

constexpr size_t least_memory_budget = size_t{16} << 20;
constexpr size_t least_checkpoint_log_bytes = size_t{64} << 10;
constexpr size_t most_log_bytes_in_memory = size_t{1} << 20;
constexpr unsigned most_background_threads = 64;

Status validate(const std::string& directory, const DatabaseOptions& options) {
  if (directory.empty()) return fail(ErrorCode::InvalidArgument, "the database's directory has no name");
  if (options.memory_budget < least_memory_budget) {
    return fail(ErrorCode::InvalidArgument,
                fmt::format("a memory budget of {} bytes is too small; give at least {}",
                            options.memory_budget, least_memory_budget));
  }
  if (options.checkpoint_log_bytes < least_checkpoint_log_bytes) {
    return fail(ErrorCode::InvalidArgument,
                fmt::format("a checkpoint each {} bytes of log is too often; give at least {}",
                            options.checkpoint_log_bytes, least_checkpoint_log_bytes));
  }
  if (options.background_threads < 1 || options.background_threads > most_background_threads) {
    return fail(ErrorCode::InvalidArgument,
                fmt::format("{} background threads are not possible; give 1 to {}",
                            options.background_threads, most_background_threads));
  }
  return {};
}

/// What is in a directory that has no manifest must be no database, or one whose making a crash cut short.
Status check_new(Filesystem& filesystem, const std::string& directory,
                 const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto log_begin = parse_log_file_name(name);
    if (log_begin == 0) {
      HAILSTONE_ASSIGN(const uint64_t size, filesystem.file_size(directory + "/" + name));
      if (size <= log_file_header_size) continue;
    } else if (!log_begin && !file_number_of(name)) {
      continue;
    }
    return fail(
        ErrorCode::Corruption,
        fmt::format(
            "directory '{}' holds '{}', but the manifest '{}' is missing; restore it from a backup, or "
            "empty the directory to begin a new database",
            directory, name, Manifest::path_in(directory)));
  }
  return {};
}

/// Makes the name of a new database's directory durable.
Status sync_parent(Filesystem& filesystem, const std::string& directory, bool made) {
  const size_t end = directory.find_last_not_of('/');
  const std::string parent = parent_of(end == std::string::npos ? directory : directory.substr(0, end + 1));
  Status synced = filesystem.sync_directory(parent);
  // A directory that somebody else has made may lie where this process may not look; it is theirs to sync.
  if (!synced && !made && synced.error().system_error() == EACCES) return {};
  return synced;
}

Status check_known(const std::string& directory, const std::vector<std::string>& names) {
  const bool has_log =
      std::ranges::any_of(names, [](const auto& name) { return parse_log_file_name(name).has_value(); });
  if (has_log) return {};
  return fail(
      ErrorCode::Corruption,
      fmt::format(
          "directory '{}' holds the manifest of a database, but no log file; restore it from a backup",
          directory));
}

/// What replace_definition() may change are names, what the application keeps, how long rows stay, and that
/// bytes that were not known as decimals are.
Status check_redefinition(const TableDefinition& before, const TableDefinition& after) {
  TableDefinition allowed = before;
  bool same = before.columns.size() == after.columns.size() && before.indexes.size() == after.indexes.size();
  if (same) {
    allowed.application = after.application;
    allowed.retention = after.retention;
    for (size_t i = 0; i < after.columns.size(); ++i) {
      allowed.columns[i].name = after.columns[i].name;
      allowed.columns[i].application = after.columns[i].application;
      if (!before.columns[i].decimal.any()) allowed.columns[i].decimal = after.columns[i].decimal;
    }
    for (size_t i = 0; i < after.indexes.size(); ++i) allowed.indexes[i].name = after.indexes[i].name;
    same = allowed == after;
  }
  if (same) return {};
  return fail(
      ErrorCode::InvalidArgument,
      fmt::format(
          "the new definition of table '{}' changes how its rows are stored; make a new table and copy them",
          before.name));
}

std::string definition_operation(OperationKind kind, TableId id, const TableDefinition& definition) {
  std::string bytes, operation;
  definition.append_to(bytes);
  append_operation(operation, {.kind = kind, .table = id, .bytes = bytes});
  return operation;
}

}  // namespace

struct Database::State {
  std::unique_ptr<Filesystem> filesystem;  // of a database in memory, or one that is read only; else null
  std::unique_ptr<DatabaseCore> core;      // null once closed
};

Database::Database() : state_(std::make_unique<State>()) {}

Database::~Database() {
  if (state_->core == nullptr) return;
  std::function<void(DatabaseOptions::Severity, const std::string&)> logger;
  try_to([&] { logger = state_->core->options().logger; });
  const Status status = close();
  if (status || !logger) return;
  try_to([&] {
    logger(DatabaseOptions::Severity::Error,
           fmt::format("closing the database failed: {}", status.error().message()));
  });
}

Result<std::unique_ptr<Database>> Database::open(Filesystem& filesystem, const std::string& directory,
                                                 DatabaseOptions options) {
  return guarded([&]() -> Result<std::unique_ptr<Database>> {
    std::unique_ptr<Database> database(new Database);
    HAILSTONE_TRY(database->open_unguarded(filesystem, directory, std::move(options)));
    return database;
  });
}

Result<std::unique_ptr<Database>> Database::open_in_memory(DatabaseOptions options) {
  return guarded([&]() -> Result<std::unique_ptr<Database>> {
    std::unique_ptr<Database> database(new Database);
    database->state_->filesystem = std::make_unique<MemoryFilesystem>();
    Filesystem& filesystem = *database->state_->filesystem;
    // The log has definitions only; nothing is saved by keeping it long.
    options.checkpoint_log_bytes = std::min(options.checkpoint_log_bytes, most_log_bytes_in_memory);
    HAILSTONE_TRY(database->open_unguarded(filesystem, "in memory", std::move(options)));
    return database;
  });
}

Status Database::open_unguarded(Filesystem& given, const std::string& directory, DatabaseOptions options) {
  HAILSTONE_TRY(validate(directory, options));
  if (options.read_only) {
    if (!given.exists(Manifest::path_in(directory)))
      return fail(ErrorCode::NotFound, fmt::format("there is no database in directory '{}'", directory));
    options.retention_interval = std::chrono::seconds(0);
    state_->filesystem = std::make_unique<OverlayFilesystem>(given);
  }
  Filesystem& filesystem = options.read_only ? *state_->filesystem : given;
  const bool makes_directory = !filesystem.exists(directory);
  HAILSTONE_TRY(filesystem.make_directory(directory));
  auto owned = std::make_unique<DatabaseCore>(filesystem, directory, std::move(options));
  DatabaseCore& core = *owned;
  HAILSTONE_ASSIGN(core.directory_lock, filesystem.lock_directory(directory));
  HAILSTONE_ASSIGN(auto names, filesystem.list(directory));
  HAILSTONE_ASSIGN(auto content, Manifest::load(filesystem, directory, &core.counters()));
  const bool is_new = !content;
  HAILSTONE_TRY(is_new ? check_new(filesystem, directory, names) : check_known(directory, names));
  if (is_new) {
    content.emplace();
    // Also for one that is there already: its making may have been cut short before this.
    HAILSTONE_TRY(sync_parent(filesystem, directory, makes_directory));
  }

  HAILSTONE_ASSIGN(core.log,
                   Log::open(core.filesystem(),
                             {.directory = directory, .write_timeout = core.options().log_write_timeout},
                             core.counters()));
  core.transaction_manager = std::make_unique<TransactionManager>(
      *core.log, core.locks(), core.budget(), core.counters(), content->mark.committed, 1);
  core.transaction_manager->set_flush_log_at_commit(core.options().flush_log_at_commit);
  core.recorder = std::make_unique<StateRecorder>(
      core,
      Manifest(core.filesystem(), directory, core.counters(), content->file.size(), is_new || content->torn));
  core.checkpointer = std::make_unique<Checkpointer>(core);

  Recovery recovery(core, std::move(*content), std::move(names));
  recovery.remove_leftovers();
  if (const Status recovered = recovery.run(); !recovered) {
    recovery.remove_new_files();
    return std::unexpected(recovered.error());
  }
  if (is_new) HAILSTONE_TRY(core.recorder->record_checkpoint({}, 0, {}));
  // Drops are made durable first: a table that the manifest still knows must have its files.
  if (const auto finished = core.recorder->finish_drops()) {
    recovery.remove_orphans();
  } else if (finished.error().code() == ErrorCode::DiskFull) {
    // What else can be done is to be done: freeing space, too.
    core.log_message(DatabaseOptions::Severity::Warning,
                     fmt::format("files that no table uses stay until there is room for the manifest: {}",
                                 finished.error().message()));
  } else {
    return std::unexpected(finished.error());
  }

  HAILSTONE_ASSIGN(core.maintenance, Maintenance::start(core));
  for (const auto& [entry, table] : core.catalog().open_tables()) {
    if (table->delta_bytes() >= core.delta_limit_bytes()) core.request_flush(table);
  }
  state_->core = std::move(owned);
  return {};
}

Status Database::close() {
  if (state_->core == nullptr) return {};
  state_->core->closing.store(true);
  state_->core->maintenance->stop();
  // Without a checkpoint, too, all that was committed is in the log.
  Status status = guarded([&] { return state_->core->checkpointer->run(); });
  state_->core->transactions().forget_prepared();  // the log has them
  state_->core.reset();
  return status;
}

Status Database::check_writable() const {
  const DatabaseCore& core = *state_->core;
  if (!core.options().read_only) return {};
  return fail(ErrorCode::Unsupported,
              fmt::format("the database in directory '{}' was opened to be read only; open it without that "
                          "option, where it can be written to",
                          core.directory()));
}

TransactionManager& Database::transactions() { return state_->core->transactions(); }
LockManager& Database::locks() { return state_->core->locks(); }
MemoryBudget& Database::budget() { return state_->core->budget(); }
QueryGate& Database::query_gate() { return state_->core->query_gate(); }

TableHost& Database::statement_host() { return *state_->core; }

ProcessorTurns& Database::processor_turns() { return *state_->core->processor_turns(); }

Counters& Database::counters() {
  DatabaseCore& core = *state_->core;
  Counters& counters = core.counters();
  counters.memory_used.store(core.budget().used(), std::memory_order_relaxed);
  counters.memory_kept.store(KeptPages::of_process().bytes(), std::memory_order_relaxed);
  counters.memory_budget.store(core.budget().limit(), std::memory_order_relaxed);
  MemoryBudget& of_tables_in_memory = core.memory_host().row_budget();
  counters.in_memory_used.store(of_tables_in_memory.used(), std::memory_order_relaxed);
  counters.in_memory_size.store(of_tables_in_memory.limit(), std::memory_order_relaxed);
  counters.temporary_memory_used.store(core.temporary_host().file_budget().used(), std::memory_order_relaxed);
  counters.tables.store(core.catalog().size(), std::memory_order_relaxed);
  counters.files_open.store(core.open_files(), std::memory_order_relaxed);
  counters.tables_open.store(core.catalog().open_count(), std::memory_order_relaxed);
  return counters;
}

Result<std::shared_ptr<Table>> Database::create_table(Transaction& transaction,
                                                      const TableDefinition& wanted) {
  HAILSTONE_TRY(check_writable());
  TableDefinition definition = wanted;
  definition.in_memory |= is_in_memory();
  HAILSTONE_TRY(definition.validate());
  DatabaseCore& core = *state_->core;
  const TableId id = core.next_table.fetch_add(1);
  Write write(transaction);
  HAILSTONE_TRY(write.prepare(1));
  HAILSTONE_ASSIGN(auto table, core.catalog().create(transaction, id, definition));
  // Others find the table while the commit goes on; they may write to it when all of the commit is done.
  HAILSTONE_TRY(locks().lock_table(transaction, id, TableLockMode::Exclusive));
  if (!definition.temporary)
    write.redo().append(definition_operation(OperationKind::CreateTable, id, definition));
  write.keep();
  return table;
}

Status Database::drop_table(Transaction& transaction, const std::string& name) {
  HAILSTONE_TRY(check_writable());
  Write write(transaction);
  HAILSTONE_TRY(write.prepare(1));
  HAILSTONE_ASSIGN(const auto entry, state_->core->catalog().drop(transaction, name));
  if (!entry->is_temporary)
    append_operation(write.redo(), {.kind = OperationKind::DropTable, .table = entry->id});
  write.keep();
  return {};
}

Status Database::rename_table(Transaction& transaction, const std::string& from, const std::string& to) {
  HAILSTONE_TRY(check_writable());
  Write write(transaction);
  HAILSTONE_TRY(write.prepare(1));
  const auto rename = [&](const TableDefinition& present) -> Result<TableDefinition> {
    TableDefinition definition = present;
    definition.name = to;
    HAILSTONE_TRY(definition.validate());
    return definition;
  };
  HAILSTONE_ASSIGN(const auto entry, state_->core->catalog().redefine(transaction, from, rename));
  if (!entry->is_temporary) {
    append_operation(write.redo(), {.kind = OperationKind::RenameTable, .table = entry->id, .bytes = to});
  }
  write.keep();
  return {};
}

Result<std::shared_ptr<Table>> Database::truncate_table(Transaction& transaction, const std::string& name) {
  Catalog& catalog = state_->core->catalog();
  Write both(transaction);
  HAILSTONE_ASSIGN(const TableDefinition definition, catalog.definition(name, &transaction));
  HAILSTONE_TRY(drop_table(transaction, name));
  HAILSTONE_ASSIGN(auto table, create_table(transaction, definition));
  both.keep();
  return table;
}

Status Database::replace_definition(Transaction& transaction, const std::string& name,
                                    TableDefinition definition) {
  HAILSTONE_TRY(check_writable());
  HAILSTONE_TRY(definition.validate());
  Write write(transaction);
  HAILSTONE_TRY(write.prepare(1));
  bool expires_otherwise = false;
  const auto replace = [&](const TableDefinition& present) -> Result<TableDefinition> {
    HAILSTONE_TRY(check_redefinition(present, definition));
    expires_otherwise = present.retention != definition.retention;
    return definition;
  };
  HAILSTONE_ASSIGN(const auto entry, state_->core->catalog().redefine(transaction, name, replace));
  // Rows that are just expiring by the old retention are gone before this commits, and no others then are.
  if (expires_otherwise) HAILSTONE_TRY(locks().lock_table(transaction, entry->id, TableLockMode::Exclusive));
  if (!entry->is_temporary)
    write.redo().append(definition_operation(OperationKind::ReplaceDefinition, entry->id, definition));
  write.keep();
  return {};
}

namespace {
/// The table of the entry that `find` gives; what is dropped between the two may have been replaced.
template <typename Find>
Result<std::shared_ptr<Table>> open_found(Catalog& catalog, const Find& find) {
  for (EntryPointer before;;) {
    HAILSTONE_ASSIGN(auto entry, find());
    auto table = catalog.open(entry);
    if (table || table.error().code() != ErrorCode::NotFound || entry == before) return table;
    before = std::move(entry);
  }
}
}  // namespace

Result<std::shared_ptr<Table>> Database::table(const std::string& name, const Transaction* transaction) {
  Catalog& catalog = state_->core->catalog();
  return open_found(catalog, [&] { return catalog.find(name, transaction); });
}

Result<std::shared_ptr<Table>> Database::table(TableId id, const Transaction* transaction) {
  return last_table({&id, 1}, transaction);
}

Result<std::shared_ptr<Table>> Database::last_table(std::span<const TableId> ids,
                                                    const Transaction* transaction) {
  Catalog& catalog = state_->core->catalog();
  return open_found(catalog, [&] { return catalog.find_last(ids, transaction); });
}

Result<std::string> Database::table_name(TableId id, const Transaction* transaction) {
  return state_->core->catalog().name(id, transaction);
}

Result<TableDefinition> Database::definition(const std::string& name) {
  return state_->core->catalog().definition(name, nullptr);
}

bool Database::has_table(const std::string& name) {
  return state_->core->catalog().find(name, nullptr).has_value();
}

std::vector<std::string> Database::table_names(const std::string& prefix, const Transaction* transaction) {
  return state_->core->catalog().names(prefix, transaction);
}

std::vector<std::pair<std::string, Timestamp>> Database::names_with_commits() {
  return state_->core->catalog().committed_names();
}

void Database::visit_tables(const std::function<void(TableId, const TableDefinition&)>& visit) {
  for (const auto& entry : state_->core->catalog().entries()) {
    const auto definition = state_->core->catalog().committed_definition(entry);
    if (definition) visit(entry->id, definition->first.unpack());
  }
}

std::vector<uint64_t> Database::numbers() {
  std::vector<uint64_t> numbers;
  for (const DatabaseIdentity& each : state_->core->file_numbers.databases())
    numbers.push_back(each.database);
  return numbers;
}

Status Database::checkpoint() {
  HAILSTONE_TRY(check_writable());
  return state_->core->checkpointer->run();
}

bool Database::is_in_memory() const { return state_->filesystem != nullptr; }

Status Database::backup(const std::string& directory, const CopyProgress& progress) {
  HAILSTONE_ASSIGN(const auto backup, begin_backup(directory, progress));
  HAILSTONE_TRY(backup->cut());
  return backup->finish();
}

Result<std::unique_ptr<OnlineBackup>> Database::begin_backup(const std::string& directory,
                                                             const CopyProgress& progress) {
  HAILSTONE_TRY(check_writable());
  if (is_in_memory()) {
    return fail(
        ErrorCode::Unsupported,
        fmt::format("the database is in memory, so that no backup can be made in '{}'; copy its tables "
                    "to a database in a directory",
                    directory));
  }
  auto backup = std::make_unique<OnlineBackup>(*state_->core, directory, progress);
  HAILSTONE_TRY(backup->begin());
  return backup;
}

Status Database::export_table(const std::string& name, const std::string& directory,
                              const CopyProgress& progress) {
  HAILSTONE_TRY(check_writable());
  return hailstone::export_table(*state_->core, name, directory, progress);
}

const std::string& Database::directory() const { return state_->core->directory(); }

Filesystem& Database::filesystem() const { return state_->core->filesystem(); }

void Database::set_memory_budget(size_t bytes) {
  DatabaseCore& core = *state_->core;
  core.budget().set_limit(std::max(bytes, least_memory_budget));
  const size_t used = core.budget().used();
  const size_t limit = core.budget().limit();
  if (used > limit) core.cache().evict(used - limit);
}

void Database::set_in_memory_size(size_t bytes) { state_->core->memory_host().row_budget().set_limit(bytes); }

void Database::set_temporary_memory_size(size_t bytes) {
  state_->core->temporary_host().file_budget().set_limit(bytes);
}

void Database::set_checkpoint_log_bytes(size_t bytes) {
  state_->core->checkpoint_log_bytes.store(std::max(bytes, least_checkpoint_log_bytes));
}

void Database::set_open_tables(size_t tables) { state_->core->open_tables.store(tables); }

void Database::set_open_files(size_t files) { state_->core->set_open_files(files); }

void Database::set_log_write_timeout(std::chrono::milliseconds timeout) {
  state_->core->log->set_write_timeout(timeout);
}

void Database::set_query_memory(size_t bytes) { budget().set_query_limit(bytes); }

void Database::set_spill_limit(uint64_t bytes) { state_->core->spill_space().set_limit(bytes); }

void Database::set_retention_interval(std::chrono::seconds interval) {
  state_->core->retention_interval.store(interval);
}
void Database::set_retention_lag(std::chrono::seconds lag) { state_->core->retention_lag.store(lag); }
Result<Table::Expired> Database::expire_rows(const StopToken& stop) {
  HAILSTONE_TRY(check_writable());
  return state_->core->expire_rows(stop);
}
Database::LastExpiry Database::last_expiry() const { return state_->core->last_expiry(); }
void Database::set_snapshot_too_old(std::chrono::seconds age) { state_->core->snapshot_too_old.store(age); }

void Database::wait_for_background_work() { state_->core->maintenance->wait(); }

}  // namespace hailstone
