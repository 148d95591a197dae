#include "engine.h"

#include "base/check.h"
#include "base/guard.h"
#include "collation.h"
#include "data_folder.h"
#include "file/method_filesystem.h"
#include "missing_tables.h"
#include "retention.h"
#include "server_backup.h"
#include "table_path.h"
#include "variables.h"

namespace hailstone {

namespace {

constexpr const char* temporary_prefix = "#temporary/";
// Begins the file name of every temporary table (sql/temporary_tables.cc builds them so).
constexpr const char* temporary_file_prefix = "#sql-temptable-";

std::unique_ptr<MethodFilesystem> the_filesystem;  // outlives the database
std::unique_ptr<Database> the_database;
handlerton* the_engine = nullptr;

void log_message(DatabaseOptions::Severity severity, const std::string& message) {
  switch (severity) {
    case DatabaseOptions::Severity::Note:
      sql_print_information("Hailstone: %s", message.c_str());
      break;
    case DatabaseOptions::Severity::Warning:
      sql_print_warning("Hailstone: %s", message.c_str());
      break;
    case DatabaseOptions::Severity::Error:
      sql_print_error("Hailstone: %s", message.c_str());
      break;
  }
}

/// Earlier versions had temporary tables in the log: a crash left them behind.
Status drop_left_over_temporary_tables() {
  for (const std::string& name : the_database->table_names(temporary_prefix)) {
    HAILSTONE_TRY(in_own_transaction(
        [&](Transaction& transaction) { return the_database->drop_table(transaction, name); }));
  }
  return {};
}

std::string sql_name(const std::string& encoded) {
  char buffer[NAME_LEN * 2 + 64];
  const uint length = filename_to_tablename(encoded.c_str(), buffer, sizeof buffer, true);
  return {buffer, length};
}

}  // namespace

bool start_engine(handlerton* engine) {
  the_engine = engine;
  add_check_handler([](void*, const char* message) { sql_print_error("Hailstone: %s", message); },
                    &the_engine);
  note_trace_option();
  const Result<std::string> directory = find_data_folder(data_directory());
  if (!directory) {
    sql_print_error("Hailstone: %s", directory.error().message().c_str());
    return false;
  }
  show_data_directory(*directory);
  DatabaseOptions options = database_options();
  options.collations = &mariadb_collations();
  options.retention_clock = &mariadb_retention_clock();
  options.logger = log_message;
  the_filesystem = std::make_unique<MethodFilesystem>(
      IoSettings{.method = io_method()},
      [](const std::string& warning) { log_message(DatabaseOptions::Severity::Warning, warning); });
  auto opened = Database::open(*the_filesystem, *directory, std::move(options));
  if (!opened) {
    sql_print_error("Hailstone: %s", opened.error().message().c_str());
    return false;
  }
  the_database = std::move(*opened);
  if (const Status dropped = drop_left_over_temporary_tables(); !dropped) {
    sql_print_warning("Hailstone: temporary tables of the last run stay until the next start: %s",
                      dropped.error().message().c_str());
  }
  hide_data_folder(*directory);
  find_missing_tables();
  return true;
}

void stop_engine() {
  if (!the_database) return;
  give_up_backup();
  try_to(write_table_lists);
  if (const Status closed = the_database->close(); !closed)
    sql_print_error("Hailstone: %s", closed.error().message().c_str());
  the_database.reset();
}

void set_io_method(IoMethod method) {
  if (the_filesystem) the_filesystem->set_method(method);
}

Database& database() { return *the_database; }
Database* database_if_open() { return the_database.get(); }
handlerton* engine_handlerton() { return the_engine; }

std::string table_name_of_path(const char* path) {
  const std::string_view name = table_of_path(path);
  const size_t slash = name.rfind('/');
  if (slash != std::string_view::npos && name.substr(slash + 1).starts_with(temporary_file_prefix))
    return std::string(temporary_prefix).append(name.substr(slash + 1));
  return std::string(name);
}

bool is_temporary_name(const std::string& name) { return name.starts_with(temporary_prefix); }

std::pair<std::string, std::string> sql_names(const std::string& table_name) {
  const size_t slash = table_name.find('/');
  if (slash == std::string::npos) return {"", sql_name(table_name)};
  return {sql_name(table_name.substr(0, slash)), sql_name(table_name.substr(slash + 1))};
}

}  // namespace hailstone
