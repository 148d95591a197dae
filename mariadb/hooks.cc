// What the server calls on the engine as a whole: transactions, savepoints, connections, KILL, SHOW ENGINE
// STATUS.
#include <fmt/format.h>

#include <cstring>

#include "base/guard.h"
#include "definition.h"
#include "discovery.h"
#include "engine.h"
#include "error.h"
#include "ha_hailstone.h"
#include "missing_tables.h"
#include "part_pushdown.h"
#include "select_pushdown.h"
#include "server/hooks.h"
#include "server_backup.h"
#include "session.h"
#include "trace.h"
#include "two_phase.h"

namespace hailstone {

namespace {

handler* create_handler(handlerton* engine, TABLE_SHARE* share, MEM_ROOT* memory) {
  return new (memory) HailstoneHandler(engine, share);
}

/// Of a commit or rollback: `all` alone does not say what ends.
TracedCall end_of(const char* function, THD* thd, bool all) {
  const bool transaction = all || thd_test_options(thd, OPTION_NOT_AUTOCOMMIT | OPTION_BEGIN) == 0;
  return {function, Returns::Error, Argument::TransactionEnd, all, transaction};
}

int prepare(THD* thd, bool all) {
  return run_traced(thd, end_of("prepare", thd, all), [&]() -> int {
    Session* session = Session::find(thd);
    if (session == nullptr || !session->ends_transaction(all)) return 0;
    if (const Status status = session->prepare(); !status) {
      raise_error(status.error());
      return 1;
    }
    return 0;
  });
}

void commit_ordered(THD* thd, bool all) {
  run_traced(thd, {.function = "commit_ordered", .returns = Returns::Nothing}, [&]() {
    Session* session = Session::find(thd);
    if (session != nullptr && session->ends_transaction(all)) session->commit_ordered();
  });
}

int commit(THD* thd, bool all) {
  return run_traced(thd, end_of("commit", thd, all), [&]() -> int {
    Session* session = Session::find(thd);
    if (session == nullptr) return 0;
    if (const Status status = session->commit(all); !status) {
      raise_error(status.error());
      return 1;
    }
    return 0;
  });
}

int rollback(THD* thd, bool all) {
  return run_traced(thd, end_of("rollback", thd, all), [&]() -> int {
    if (Session* session = Session::find(thd); session != nullptr) session->rollback(all);
    return 0;
  });
}

int set_savepoint(THD* thd, void* area) {
  return run_traced(thd, {"savepoint_set"}, [&]() -> int {
    const Transaction* transaction = Session::of(thd).transaction();
    const Savepoint savepoint = transaction != nullptr ? transaction->savepoint() : Savepoint{};
    std::memcpy(area, &savepoint, sizeof savepoint);
    Session::of(thd).note_savepoint();
    return 0;
  });
}

int roll_back_to_savepoint(THD* thd, void* area) {
  return run_traced(thd, {"savepoint_rollback"}, [&]() -> int {
    Savepoint savepoint;
    std::memcpy(&savepoint, area, sizeof savepoint);
    Session::of(thd).roll_back_to(savepoint);
    return 0;
  });
}

int release_savepoint(THD* thd, void*) {
  return run_traced(thd, {"savepoint_release"}, [&]() -> int { return 0; });
}

int close_connection(THD* thd) {
  try_to([&] { end_backup_of(thd); });
  Session::destroy(thd);
  return 0;
}

int start_consistent_snapshot(THD* thd) {
  return run_traced(thd, {"start_consistent_snapshot"}, [&]() -> int {
    Transaction& transaction = Session::of(thd).enter_statement();
    if (transaction.isolation() >= Isolation::RepeatableRead) transaction.snapshot();
    return 0;
  });
}

void kill_query(handlerton*, THD* thd, thd_kill_levels) {
  if (const Session* session = Session::find(thd); session != nullptr) session->wake();
}

int drop_table(handlerton*, const char* path) {
  return run_traced(current_thd, {.function = "drop_table", .path = path}, [&]() -> int {
    // Without a .frm file the server knows no kind of table. Of an ordinary one it says then that there is no
    // such sequence, as it does under LOCK TABLES; a message from here would come before that one.
    if (thd_sql_command(current_thd) == SQLCOM_DROP_SEQUENCE) {
      const auto definition = database().definition(table_name_of_path(path));
      if (definition && !is_temporary_name(definition->name) && !is_sequence(*definition))
        return HA_ERR_NO_SUCH_TABLE;
    }
    const int error = drop_table_of_path(current_thd, path);
    // All engines are asked for a table that the server has no file of; it hides "no such table" then.
    if (error == HA_ERR_NO_SUCH_TABLE)
      warn_of_missing_table(current_thd, table_name_of_path(path), ER_BAD_TABLE_ERROR);
    return error;
  });
}

/// What is left of a database when its directory has gone.
void drop_database(handlerton*, char* path) {
  run_traced(
      current_thd,
      {.function = "drop_database", .returns = Returns::Nothing, .argument = Argument::Text, .text = path},
      [&]() {
        std::string name(path);
        while (!name.empty() && name.back() == '/') name.pop_back();
        name.erase(0, name.find_last_of('/') + 1);
        if (name.empty()) return;
        for (const std::string& table : database().table_names(name + "/")) {
          const Status dropped = in_own_transaction([&](Transaction& transaction) -> Status {
            HAILSTONE_TRY(wait_for_prepared(current_thd, table));
            return database().drop_table(transaction, table);
          });
          if (!dropped) sql_print_error("Hailstone: %s", dropped.error().message().c_str());
        }
      });
}

bool flush_logs(handlerton*) {
  return run_traced(current_thd, {"flush_logs"}, [&]() -> bool {
    // No more than that: a backup of the server asks while it holds all commits.
    const Status status = guarded([]() -> Status {
      if (is_moment_of_backup(current_thd)) return take_moment_of_backup(current_thd);
      return database().transactions().sync_commits();
    });
    if (!status) sql_print_error("Hailstone: %s", status.error().message().c_str());
    return !status;
  });
}

void prepare_for_backup() {
  run_traced(current_thd, {.function = "prepare_for_backup", .returns = Returns::Nothing}, [&]() {
    begin_stages_of_backup();
    write_table_lists();
  });
}

void end_backup() {
  run_traced(current_thd, {.function = "end_backup", .returns = Returns::Nothing},
             [&]() { end_stages_of_backup(); });
}

std::string last_expiry_as_text(const Database::LastExpiry& last) {
  if (last.at == 0) return {};
  return fmt::format(
      "The last look for rows that are older than RETAIN ended at Unix time {}: {} tables, {} rows and {} "
      "whole segments expired, {} rows were locked, {:.3f} s\n",
      last.at, last.tables, last.expired.rows, last.expired.segments, last.expired.locked, last.seconds);
}

bool show_status(handlerton*, THD* thd, stat_print_fn* print, ha_stat_type type) {
  return run_traced(thd, {"show_status"}, [&]() -> bool {
    if (type != HA_ENGINE_STATUS) return false;
    const Counters& counters = database().counters();
    std::string text;
    for (const CounterDescription& counter : counter_descriptions) {
      text += fmt::format("{:<28}{:>20}  {}\n", counter.name,
                          (counters.*counter.value).load(std::memory_order_relaxed), counter.description);
    }
    text += last_expiry_as_text(database().last_expiry());
    text += prepared_as_text();
    return print(thd, STRING_WITH_LEN("HAILSTONE"), STRING_WITH_LEN(""), text.data(), text.size());
  });
}

const char* no_files[] = {nullptr};

}  // namespace

void set_hooks(handlerton* engine) {
  engine->create = create_handler;
  // Entries of an index have the clustered key behind their own.
  engine->flags = HTON_SUPPORTS_EXTENDED_KEYS;
  engine->savepoint_offset = sizeof(Savepoint);
  set_hook<set_savepoint>(engine->savepoint_set);
  set_hook<roll_back_to_savepoint>(engine->savepoint_rollback);
  set_hook<release_savepoint>(engine->savepoint_release);
  set_hook<prepare>(engine->prepare);
  set_hook<commit_ordered>(engine->commit_ordered);
  set_hook<commit>(engine->commit);
  set_hook<rollback>(engine->rollback);
  set_hook<close_connection>(engine->close_connection);
  set_hook<start_consistent_snapshot>(engine->start_consistent_snapshot);
  engine->kill_query = kill_query;
  engine->drop_table = drop_table;
  engine->drop_database = drop_database;
  engine->flush_logs = flush_logs;
  engine->prepare_for_backup = prepare_for_backup;
  engine->end_backup = end_backup;
  engine->show_status = show_status;
  set_select_hook<create_select_handler>(engine->create_select);
  engine->create_group_by = create_part_handler;
  engine->field_options = column_options;
  engine->table_options = table_options;
  engine->tablefile_extensions = no_files;
  set_discovery(engine);
  set_two_phase_hooks(engine);
}

}  // namespace hailstone
