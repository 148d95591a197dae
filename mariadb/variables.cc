#include "variables.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <string>

#include <strings.h>
#include <unistd.h>

#include "base/guard.h"
#include "base/processor_turns.h"
#include "data_folder.h"
#include "engine.h"
#include "error.h"
#include "query_history.h"
#include "select_outcome.h"
#include "server/differences.h"
#include "server_backup.h"
#include "trace.h"
#include "variable_list.h"

namespace hailstone {

namespace {

unsigned long long memory_budget_value;
unsigned long long delta_size_value;
unsigned long segment_rows_value;
unsigned long long in_memory_size_value;
unsigned long long temporary_memory_size_value;
unsigned long long checkpoint_log_size_value;
unsigned int background_threads_value;
unsigned int flush_log_value;
unsigned long long table_cache_size_value;
unsigned long long open_files_limit_value;
unsigned int log_write_timeout_value;
unsigned long long query_memory_value;
unsigned long long spill_limit_value;
char* data_dir_value;
std::string data_dir_in_use;  // what data_dir_value points to once the engine has started
my_bool trace_log_value;
my_bool checkpoint_now_value;
char no_backup[] = "";
char* backup_value = no_backup;  // of both variables: they stay empty
unsigned int snapshot_too_old_value;
unsigned int retention_interval_value;
unsigned int retention_lag_value;
unsigned long io_method_value;
unsigned int query_history_value;

// In the order of IoMethod.
const char* io_method_words[] = {"sync", "buffered", "async", "mmap", "direct", nullptr};
static_assert(std::size(io_method_words) == io_method_names.size() + 1);
TYPELIB io_method_typelib = typelib_of(io_method_names.size(), io_method_words);

void update_memory_budget(THD*, st_mysql_sys_var*, void* variable, const void* value) {
  const auto bytes = *static_cast<const unsigned long long*>(value);
  *static_cast<unsigned long long*>(variable) = bytes;
  if (Database* open = database_if_open(); open != nullptr)
    open->set_memory_budget(static_cast<size_t>(bytes));
}

/// 0: a quarter of the machine's memory.
unsigned long long in_memory_size_of(unsigned long long wanted) {
  if (wanted != 0) return wanted;
  constexpr unsigned long long share = 4;
  return static_cast<unsigned long long>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<unsigned long long>(sysconf(_SC_PAGESIZE)) / share;
}

void update_in_memory_size(THD*, st_mysql_sys_var*, void* variable, const void* value) {
  const auto bytes = in_memory_size_of(*static_cast<const unsigned long long*>(value));
  *static_cast<unsigned long long*>(variable) = bytes;
  if (Database* open = database_if_open(); open != nullptr)
    open->set_in_memory_size(static_cast<size_t>(bytes));
}

/// Of variables that an open database has as a setting, in some unit.
template <typename Number, typename Unit, auto set>
void update_setting(THD*, st_mysql_sys_var*, void* variable, const void* value) {
  const auto number = *static_cast<const Number*>(value);
  *static_cast<Number*>(variable) = number;
  if (Database* open = database_if_open(); open != nullptr) (open->*set)(static_cast<Unit>(number));
}
template <auto set>
constexpr auto update_number = update_setting<unsigned long long, size_t, set>;
template <auto set>
constexpr auto update_seconds = update_setting<unsigned int, std::chrono::seconds, set>;

constexpr auto update_temporary_memory_size = update_number<&Database::set_temporary_memory_size>;
constexpr auto update_checkpoint_log_size = update_number<&Database::set_checkpoint_log_bytes>;
constexpr auto update_table_cache_size = update_number<&Database::set_open_tables>;
constexpr auto update_open_files_limit = update_number<&Database::set_open_files>;
constexpr auto update_log_write_timeout = update_seconds<&Database::set_log_write_timeout>;
constexpr auto update_query_memory = update_number<&Database::set_query_memory>;
constexpr auto update_spill_limit = update_number<&Database::set_spill_limit>;
constexpr auto update_snapshot_too_old = update_seconds<&Database::set_snapshot_too_old>;
constexpr auto update_retention_interval = update_seconds<&Database::set_retention_interval>;
constexpr auto update_retention_lag = update_seconds<&Database::set_retention_lag>;

void update_io_method(THD*, st_mysql_sys_var*, void* variable, const void* value) {
  const auto method = *static_cast<const unsigned long*>(value);
  *static_cast<unsigned long*>(variable) = method;
  set_io_method(static_cast<IoMethod>(method));
}

/// For the library 3 is 1: what it adds is the session's to do.
constexpr unsigned int sync_again = 3;
FlushLogAtCommit flush_log_of(unsigned int mode) {
  return mode == sync_again ? FlushLogAtCommit::Sync : static_cast<FlushLogAtCommit>(mode);
}

void update_flush_log(THD*, st_mysql_sys_var*, void* variable, const void* value) {
  const auto mode = *static_cast<const unsigned int*>(value);
  *static_cast<unsigned int*>(variable) = mode;
  if (Database* open = database_if_open(); open != nullptr) {
    open->transactions().set_flush_log_at_commit(flush_log_of(mode));
  }
}

MYSQL_SYSVAR_ULONGLONG(
    memory_budget, memory_budget_value, PLUGIN_VAR_RQCMDARG,
    "Memory for rows that are not in segment files yet, for loads and for cached blocks, in bytes", nullptr,
    update_memory_budget, 512ULL << 20, 16ULL << 20, 1ULL << 44, 1ULL << 20);
MYSQL_SYSVAR_ULONGLONG(
    delta_size, delta_size_value, PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY,
    "Bytes of a table's new rows in memory at which they go to a segment file. 0: an "
    "eighth of hailstone_memory_budget, at most 64 MiB or, if that is more, a sixty-fourth of it",
    nullptr, nullptr, 0, 0, 1ULL << 40, 1);
MYSQL_SYSVAR_ULONG(segment_rows, segment_rows_value, PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY,
                   "Rows of a segment file at most", nullptr, nullptr, max_segment_rows, 1, max_segment_rows,
                   0);
MYSQL_SYSVAR_ULONGLONG(in_memory_size, in_memory_size_value, PLUGIN_VAR_RQCMDARG,
                       "Memory for the rows of all tables with IN_MEMORY=1, in bytes, beside "
                       "hailstone_memory_budget; a statement "
                       "that needs more ends with an error. 0: a quarter of the machine's memory",
                       nullptr, update_in_memory_size, 0, 0, 1ULL << 44, 1);
MYSQL_SYSVAR_ULONGLONG(temporary_memory_size, temporary_memory_size_value, PLUGIN_VAR_RQCMDARG,
                       "Memory for the columns of all temporary tables, in bytes, beside "
                       "hailstone_memory_budget; beyond it they "
                       "go to files",
                       nullptr, update_temporary_memory_size, 64ULL << 20, 0, 1ULL << 44, 1);
MYSQL_SYSVAR_ULONGLONG(
    checkpoint_log_size, checkpoint_log_size_value, PLUGIN_VAR_RQCMDARG,
    "Length of the log, in bytes, at which a checkpoint is taken. Longer: fewer writes, slower recovery",
    nullptr, update_checkpoint_log_size, 256ULL << 20, 1ULL << 20, 1ULL << 40, 1ULL << 20);
/// ON or OFF, or a number; nothing for what is neither.
std::optional<bool> switch_of(st_mysql_value& value) {
  if (value.value_type(&value) == MYSQL_VALUE_TYPE_INT) {
    long long number = 0;
    if (value.val_int(&value, &number) != 0 || (number != 0 && number != 1)) return std::nullopt;
    return number == 1;
  }
  std::array<char, 8> buffer{};
  int length = buffer.size();
  const char* const text = value.val_str(&value, buffer.data(), &length);
  if (text == nullptr) return std::nullopt;
  const std::string word(text, static_cast<size_t>(length));
  const auto is = [&](const char* other) { return strcasecmp(word.c_str(), other) == 0; };
  if (is("ON") || is("TRUE")) return true;
  if (is("OFF") || is("FALSE")) return false;
  return std::nullopt;
}

/// Here, where the server holds no mutex of its variables; `saved`: what update_checkpoint_now() gets.
int check_checkpoint_now(THD*, st_mysql_sys_var*, void* saved, st_mysql_value* value) {
  const auto wanted = switch_of(*value);
  if (!wanted) return 1;
  *static_cast<my_bool*>(saved) = 0;
  Database* const open = database_if_open();
  if (!*wanted || open == nullptr) return 0;
  const Status status = guarded([open] { return open->checkpoint(); });
  if (!status) raise_error(status.error());
  return status ? 0 : 1;
}
void update_checkpoint_now(THD*, st_mysql_sys_var*, void*, const void*) {}
MYSQL_SYSVAR_BOOL(checkpoint_now, checkpoint_now_value, PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_NOCMDOPT,
                  "Setting it to ON takes a checkpoint: the log gets short, and so does a recovery. It stays "
                  "OFF",
                  check_checkpoint_now, update_checkpoint_now, 0);

/// The text of a value, which lives as long as the statement; null for NULL and for what is no text.
const char* text_of(THD* thd, st_mysql_value& value) {
  if (value.value_type(&value) != MYSQL_VALUE_TYPE_STRING) return nullptr;
  std::array<char, FN_REFLEN> buffer{};
  int length = buffer.size();
  const char* const text = value.val_str(&value, buffer.data(), &length);
  return text == nullptr ? nullptr : thd_strmake(thd, text, static_cast<size_t>(length));
}

/// As check_checkpoint_now(): the work is done here, and the variable stays empty.
template <Status (*action)(THD*, const std::string&), bool empty_too>
int check_directory(THD* thd, st_mysql_sys_var*, void* saved, st_mysql_value* value) {
  const char* const directory = text_of(thd, *value);
  if (directory == nullptr || (*directory == '\0' && !empty_too)) return 1;
  *static_cast<const char**>(saved) = directory;
  if (*directory == '\0' || database_if_open() == nullptr) return 0;
  const Status status = guarded([&] { return action(thd, directory); });
  if (!status) raise_error(status.error());
  return status ? 0 : 1;
}
void update_create_backup(THD*, st_mysql_sys_var*, void*, const void*) {}
MYSQL_SYSVAR_STR(create_backup, backup_value, PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_NOCMDOPT,
                 "Setting it to a directory, new or empty, makes a backup of the engine's tables there, or "
                 "finishes the one that is armed there. It stays empty",
                 (check_directory<create_backup, false>), update_create_backup, "");
void update_backup_armed(THD*, st_mysql_sys_var*, void*, const void* saved) {
  if (**static_cast<const char* const*>(saved) == '\0') try_to(give_up_backup);
}
MYSQL_SYSVAR_STR(
    backup_armed, backup_value, PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_NOCMDOPT,
    "Setting it to a directory, new or empty, prepares a backup of the engine's tables there, "
    "whose moment is FLUSH ENGINE LOGS while BACKUP STAGE BLOCK_COMMIT is held. Setting it to nothing "
    "gives that up. It stays empty: Hailstone_backup_state tells",
    (check_directory<arm_backup, true>), update_backup_armed, "");
MYSQL_SYSVAR_UINT(background_threads, background_threads_value, PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY,
                  "Threads that write segments, merge them and take checkpoints", nullptr, nullptr, 2, 1, 64,
                  0);
MYSQL_SYSVAR_UINT(flush_log_at_trx_commit, flush_log_value, PLUGIN_VAR_RQCMDARG,
                  "When a commit is durable: 0 the log is written and synced once a second, 1 it is synced "
                  "at each commit, 2 it is "
                  "written at each commit and synced once a second, 3 as 1, and also where a commit's "
                  "decision is in the binary log already",
                  nullptr, update_flush_log, 1, 0, sync_again, 0);
MYSQL_SYSVAR_ULONGLONG(table_cache_size, table_cache_size_value, PLUGIN_VAR_RQCMDARG,
                       "Tables that stay ready in the engine's memory although the server has closed them",
                       nullptr, update_table_cache_size, 4096, 1, 1ULL << 32, 0);
MYSQL_SYSVAR_ULONGLONG(open_files_limit, open_files_limit_value, PLUGIN_VAR_RQCMDARG,
                       "Files of the engine's tables that stay open although nobody reads them; 0: half of "
                       "those that the server may have open",
                       nullptr, update_open_files_limit, 0, 0, 1ULL << 20, 0);
MYSQL_SYSVAR_UINT(log_write_timeout, log_write_timeout_value, PLUGIN_VAR_RQCMDARG,
                  "How long commits wait, in seconds, when the engine's log cannot be written, as on a full "
                  "disk; after that nothing can be committed until the server has been started again",
                  nullptr, update_log_write_timeout, 600, 0, 1'000'000, 0);
MYSQL_SYSVAR_ULONGLONG(
    query_memory, query_memory_value, PLUGIN_VAR_RQCMDARG,
    "Memory, in bytes, that the groups, the sorted rows or the joined tables of one SELECT take "
    "before they go to files. 0: a quarter of hailstone_memory_budget, and what is spare",
    nullptr, update_query_memory, 0, 0, 1ULL << 44, 1);
MYSQL_SYSVAR_ULONGLONG(
    spill_limit, spill_limit_value, PLUGIN_VAR_RQCMDARG,
    "Bytes that the engine's files of groups that its memory has no room for may have together; a statement "
    "that needs more ends with an error. 0: what the disk has",
    nullptr, update_spill_limit, 0, 0, ~0ULL, 0);
MYSQL_SYSVAR_UINT(
    snapshot_too_old, snapshot_too_old_value, PLUGIN_VAR_RQCMDARG,
    "Age in seconds at which a transaction's snapshot is ended: its reads fail from then on, and "
    "versions of rows that only it needed can go. 0: never",
    nullptr, update_snapshot_too_old, 0, 0, 100'000'000, 0);
MYSQL_SYSVAR_UINT(retention_interval, retention_interval_value, PLUGIN_VAR_RQCMDARG,
                  "Seconds between the beginnings of two looks for rows that are older than the RETAIN "
                  "option of their table says, which end then. 0: none are looked for",
                  nullptr, update_retention_interval, 60, 0, 100'000'000, 0);
MYSQL_SYSVAR_UINT(retention_lag, retention_lag_value, PLUGIN_VAR_RQCMDARG,
                  "Seconds that rows stay longer than the RETAIN option of their table says: on a replica, "
                  "so many that the primary's changes of rows still find them",
                  nullptr, update_retention_lag, 0, 0, 100'000'000, 0);
MYSQL_SYSVAR_ENUM(
    io_method, io_method_value, PLUGIN_VAR_RQCMDARG,
    "How files that are opened from now on are read, and new ones of columns written: sync (a "
    "system call for each block), buffered, async (io_uring), mmap, direct (past the page cache)",
    nullptr, update_io_method, static_cast<unsigned long>(default_io_method), &io_method_typelib);
MYSQL_SYSVAR_STR(
    data_dir, data_dir_value, PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY,
    "Directory of the engine's files, absolute or in the server's data directory; 'hailstone' is "
    "found where an earlier version has made it",
    nullptr, nullptr, default_data_folder);
MYSQL_THDVAR_BOOL(columnar_default, PLUGIN_VAR_OPCMDARG,
                  "Whether a new table whose columns do not say COLUMNAR is stored column by column (all but "
                  "its BLOB, TEXT, JSON "
                  "and GEOMETRY columns)",
                  nullptr, nullptr, 1);
MYSQL_THDVAR_ULONG(lock_wait_timeout, PLUGIN_VAR_RQCMDARG,
                   "How long a statement waits for a row lock, in seconds. 0: it does not wait; 100000000: "
                   "without limit",
                   nullptr, nullptr, 50, 0, endless_lock_wait, 0);
MYSQL_THDVAR_BOOL(lock_escalation, PLUGIN_VAR_OPCMDARG,
                  "What becomes of a statement that wants to lock a row when row locks take all the memory "
                  "that they may: OFF, it ends with error 1206; ON, it locks all rows of the table by one "
                  "lock",
                  nullptr, nullptr, 0);

void update_trace(THD*, st_mysql_sys_var*, void* variable, const void* value) {
  const auto on = *static_cast<const my_bool*>(value);
  *static_cast<my_bool*>(variable) = on;
  if (on != 0) tracing_was_on.store(true, std::memory_order_relaxed);
}

MYSQL_THDVAR_BOOL(
    trace, PLUGIN_VAR_OPCMDARG,
    "Whether INFORMATION_SCHEMA.HAILSTONE_TRACE shows which functions of the storage engine the "
    "server calls for this connection's statements",
    nullptr, update_trace, 0);
MYSQL_SYSVAR_BOOL(trace_log, trace_log_value, PLUGIN_VAR_OPCMDARG,
                  "Whether what hailstone_trace sees is written to the error log, too", nullptr, nullptr, 0);

// In the order of SelectPushdown.
const char* select_pushdown_words[] = {"OFF", "ON", "AUTO", nullptr};
TYPELIB select_pushdown_typelib = typelib_of(std::size(select_pushdown_words) - 1, select_pushdown_words);
MYSQL_THDVAR_ENUM(
    select_pushdown, PLUGIN_VAR_RQCMDARG,
    "Whether the engine answers blocks of SELECTs by itself: OFF, ON, or AUTO, which leaves those to the "
    "server that it answers quicker by an index",
    nullptr, nullptr, static_cast<unsigned long>(SelectPushdown::Auto), &select_pushdown_typelib);
MYSQL_THDVAR_UINT(query_threads, PLUGIN_VAR_RQCMDARG,
                  "How many threads may work at a query: the connection's own one, and helpers, as long as "
                  "processors are free. 0: as many as there are processors",
                  nullptr, nullptr, 0, 0, 64, 0);

MYSQL_THDVAR_ULONGLONG(plan_again_rows, PLUGIN_VAR_RQCMDARG,
                       "Where the tables of joins have so many rows together, the engine chooses the order "
                       "of the joins again when "
                       "it finds, before the first row is joined, that it has expected far more or fewer "
                       "rows. 0: also where that "
                       "is not quicker",
                       nullptr, nullptr, 1'000'000, 0, ~0ULL, 0);

void update_query_history(THD*, st_mysql_sys_var*, void* variable, const void* value) {
  *static_cast<unsigned int*>(variable) = *static_cast<const unsigned int*>(value);
  query_history().trim();
}
MYSQL_SYSVAR_UINT(
    query_history, query_history_value, PLUGIN_VAR_RQCMDARG,
    "How many blocks of SELECTs that the engine has answered "
    "INFORMATION_SCHEMA.HAILSTONE_QUERIES keeps, and how many of those that it has left to the server",
    nullptr, update_query_history, 100, 0, 10'000, 0);

constexpr size_t counter_count = counter_descriptions.size();
std::array<st_mysql_show_var, counter_count + 1> counter_variables;

/// Points the server at the counters themselves.
int show_counters(THD*, st_mysql_show_var* variable, void*, system_status_var*, enum_var_type) {
  variable->type = SHOW_ARRAY;
  variable->value = counter_variables.data();
  Database* open = database_if_open();
  if (open == nullptr) {
    counter_variables[0] = {nullptr, nullptr, SHOW_UNDEF};
    return 0;
  }
  Counters& counters = open->counters();
  for (size_t i = 0; i < counter_count; ++i) {
    const CounterDescription& description = counter_descriptions[i];
    counter_variables[i] = {description.name.data(), &(counters.*description.value), SHOW_LONGLONG};
  }
  counter_variables[counter_count] = {nullptr, nullptr, SHOW_UNDEF};
  return 0;
}

}  // namespace

#define HAILSTONE_LISTED(name) MYSQL_SYSVAR(name),
st_mysql_sys_var* system_variables[] = {HAILSTONE_VARIABLES(HAILSTONE_LISTED, HAILSTONE_LISTED) nullptr};

namespace {

/// Points the server at the counts of blocks.
int show_selects(THD*, st_mysql_show_var* variable, void*, system_status_var*, enum_var_type) {
  static std::array<st_mysql_show_var, select_outcomes.size() + 1> counts;
  for (size_t i = 0; i < select_outcomes.size(); ++i)
    counts[i] = {select_outcomes[i].name, &select_counts[i], SHOW_LONGLONG};
  counts.back() = {nullptr, nullptr, SHOW_UNDEF};
  variable->type = SHOW_ARRAY;
  variable->value = counts.data();
  return 0;
}

}  // namespace

st_mysql_show_var status_variables[] = {
    {"Hailstone", reinterpret_cast<void*>(&show_counters), SHOW_FUNC},
    {"Hailstone_selects", reinterpret_cast<void*>(&show_selects), SHOW_FUNC},
    {"Hailstone_backup", backup_variables, SHOW_ARRAY},
    {nullptr, nullptr, SHOW_UNDEF}};

bool columnar_by_default(THD* thd) { return THDVAR(thd, columnar_default) != 0; }
void note_trace_option() {
  if (THDVAR(nullptr, trace) != 0) tracing_was_on.store(true, std::memory_order_relaxed);
}
bool trace_wanted(THD* thd) { return THDVAR(thd, trace) != 0; }
bool syncs_commits_again() { return flush_log_value == sync_again; }
bool trace_log_wanted() { return trace_log_value != 0; }
bool lock_escalation(THD* thd) { return THDVAR(thd, lock_escalation) != 0; }
unsigned long lock_wait_timeout(THD* thd) { return THDVAR(thd, lock_wait_timeout); }

std::string data_directory() {
  return data_dir_value == nullptr || *data_dir_value == '\0' ? default_data_folder : data_dir_value;
}
void show_data_directory(const std::string& directory) {
  data_dir_in_use = directory.starts_with("./") ? directory.substr(2) : directory;
  data_dir_value = data_dir_in_use.data();
}

IoMethod io_method() { return static_cast<IoMethod>(io_method_value); }

DatabaseOptions database_options() {
  DatabaseOptions options;
  options.memory_budget = static_cast<size_t>(memory_budget_value);
  in_memory_size_value = in_memory_size_of(in_memory_size_value);
  options.in_memory_size = static_cast<size_t>(in_memory_size_value);
  options.temporary_memory_size = static_cast<size_t>(temporary_memory_size_value);
  options.flush_log_at_commit = flush_log_of(flush_log_value);
  options.checkpoint_log_bytes = static_cast<size_t>(checkpoint_log_size_value);
  options.background_threads = background_threads_value;
  options.snapshot_too_old = std::chrono::seconds(snapshot_too_old_value);
  options.retention_interval = std::chrono::seconds(retention_interval_value);
  options.retention_lag = std::chrono::seconds(retention_lag_value);
  options.open_tables = static_cast<size_t>(table_cache_size_value);
  options.open_files = static_cast<size_t>(open_files_limit_value);
  options.log_write_timeout = std::chrono::seconds(log_write_timeout_value);
  options.query_memory = static_cast<size_t>(query_memory_value);
  options.spill_limit = spill_limit_value;
  options.delta_limit = static_cast<size_t>(delta_size_value);
  options.segment_rows_limit = static_cast<uint32_t>(segment_rows_value);
  return options;
}

double plan_again_rows(THD* thd) { return static_cast<double>(THDVAR(thd, plan_again_rows)); }

size_t query_history_size() { return query_history_value; }

size_t memory_budget() { return static_cast<size_t>(memory_budget_value); }

SelectPushdown select_pushdown(THD* thd) { return static_cast<SelectPushdown>(THDVAR(thd, select_pushdown)); }

unsigned query_threads(THD* thd) {
  const unsigned wanted = THDVAR(thd, query_threads);
  const auto processors = static_cast<unsigned>(ProcessorTurns::available());
  return wanted != 0 ? std::min(wanted, 1 + processors) : processors;
}

}  // namespace hailstone
