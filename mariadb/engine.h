// The one database of this server process, and the handlerton that the server knows the engine by. Set at
// plugin start, cleared at its end; read by any thread in between.
#pragma once

#include <memory>
#include <string>

#include "database/database.h"
#include "file/io_method.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// Starts with the plugin's variables; false after an error was logged.
bool start_engine(handlerton* engine);
void stop_engine();

Database& database();
/// Null before start_engine() and after stop_engine().
Database* database_if_open();
handlerton* engine_handlerton();

/// How files opened from now on are read and written.
void set_io_method(IoMethod method);

/// Fills in the functions that the server calls for transactions and for the engine as a whole (hooks.cc).
void set_hooks(handlerton* engine);

// Names. The server passes paths such as "./db/table" with encoded names; a table's name in the database is
// "db/table", as encoded there. Temporary tables have paths in the temporary directory; theirs is
// "#temporary/" and the file name.
std::string table_name_of_path(const char* path);
bool is_temporary_name(const std::string& name);
/// "db" and "table" as SQL shows them.
std::pair<std::string, std::string> sql_names(const std::string& table_name);

/// Runs `action` in a transaction of its own, which is committed when it succeeds.
template <typename Action>
Status in_own_transaction(Action action) {
  TransactionManager& transactions = database().transactions();
  const std::unique_ptr<Transaction> transaction = transactions.begin(Isolation::ReadCommitted);
  if (Status status = action(*transaction); !status) {
    transactions.rollback(*transaction);
    return status;
  }
  return transactions.commit(*transaction);
}

}  // namespace hailstone
