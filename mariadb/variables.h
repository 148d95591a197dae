// The plugin's system variables (hailstone_…) and its status variables, which are the database's counters.
#pragma once

#include <string>

#include "database/database.h"
#include "file/io_method.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

extern st_mysql_sys_var* system_variables[];
extern st_mysql_show_var status_variables[];

/// Session variables.
bool columnar_by_default(THD* thd);
/// In seconds; 0: a statement does not wait.
unsigned long lock_wait_timeout(THD* thd);
bool lock_escalation(THD* thd);
/// From so many seconds on there is no limit.
constexpr unsigned long endless_lock_wait = 100'000'000;
/// At the start: the configuration may have switched tracing on.
void note_trace_option();
bool trace_wanted(THD* thd);
/// Global ones.
bool trace_log_wanted();
/// Whether a commit is synced, too, where its decision is in the binary log already.
bool syncs_commits_again();

/// What the server was started with.
std::string data_directory();
/// From now on the variable shows this one.
void show_data_directory(const std::string& directory);
DatabaseOptions database_options();
IoMethod io_method();

enum class SelectPushdown : unsigned long { Off, On, Auto };
SelectPushdown select_pushdown(THD* thd);
/// How many threads may work at one query: the connection's own one, and background threads that are free.
unsigned query_threads(THD* thd);
/// From how many rows of the tables of joins on their order may be chosen again.
double plan_again_rows(THD* thd);
size_t memory_budget();
/// How many blocks of SELECTs HAILSTONE_QUERIES keeps, of each kind.
size_t query_history_size();

}  // namespace hailstone
