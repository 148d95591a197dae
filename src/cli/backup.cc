// `hailstone backup`: a copy of a database. `hailstone restore`: a database from such a copy.
#include <fmt/format.h>

#include <map>
#include <memory>

#include "backup/compressor.h"
#include "cli/check.h"
#include "cli/commands.h"
#include "cli/in_use.h"
#include "cli/new_database.h"
#include "cli/progress.h"
#include "cli/segment_files.h"
#include "cli/server_backup.h"
#include "cli/server_restore.h"
#include "cli/table_restore.h"
#include "database/file_copy.h"
#include "database/server_folder.h"
#include "text/value_text.h"

namespace hailstone {
namespace {

struct BackupOptions {
  DatabaseArguments database;
  std::string target;
  bool of_server = false;
  ServerBackupOptions server;
};

std::string without_last_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

CopyProgress progress_of(const Session& session, const char* what, std::unique_ptr<Progress>& bar) {
  return [&session, what, &bar](uint64_t done, uint64_t all) {
    if (bar == nullptr) bar = std::make_unique<Progress>(what, all);
    bar->update(done, fmt::format("{} of {}", human_bytes(done), human_bytes(all)));
    return !session.is_interrupted();
  };
}

Status back_up(BackupOptions& options) {
  Session session;
  if (options.of_server != options.target.empty()) {
    return fail(
        ErrorCode::InvalidArgument,
        options.of_server
            ? "with --server there is nothing but the TARGET to name, a folder, or - for standard output"
            : "name the DATABASE and the TARGET, or --server and the TARGET");
  }
  if (options.of_server) {
    options.server.target = without_last_slashes(options.database.directory);
    options.server.base = without_last_slashes(options.server.base);
    return back_up_server(session, options.server);
  }
  if (options.server.compress != 0 || !options.server.base.empty() ||
      options.target == ServerBackupOptions::stream) {
    return fail(ErrorCode::InvalidArgument,
                "--base, --compress and - for the TARGET are for backups of a server: they need --server");
  }
  const std::string target = without_last_slashes(options.target);
  HAILSTONE_TRY(session.open(options.database));
  std::unique_ptr<Progress> bar;
  const Status made = session.engine().backup(target, progress_of(session, "backing up", bar));
  bar.reset();
  const Status closed = session.close();
  HAILSTONE_TRY(made);
  fmt::print("{} is a backup of {}; copy it to another disk\n", target, options.database.directory);
  return closed;
}

struct RestoreOptions {
  std::string backup;
  DatabaseArguments database;
  ServerRestoreOptions server;
  TableRestoreOptions table;
  bool to_server = false;
  bool check = false;
};

/// Prints a line for each table that is damaged. `damaged`: those of which that is known.
Result<CheckResult> check_restored(Session& session, const std::map<std::string, std::string>& damaged,
                                   bool read_all) {
  CheckResult result;
  const auto tell = [&](const std::string& name, const std::string& what) {
    ++result.damaged;
    fmt::print("{}: damaged: {}\n", printable(name), safe_for_terminal(what));
  };
  std::vector<std::string> others;
  for (const std::string& name : session.engine().table_names()) {
    if (session.is_interrupted()) return fail(ErrorCode::Interrupted, "interrupted");
    if (const auto known = damaged.find(name); known != damaged.end()) {
      tell(name, known->second);
      continue;
    }
    // Files that only the log names are opened by its replay.
    const auto table = session.engine().table(name);
    const Status usable = table ? (*table)->usable() : std::unexpected(table.error());
    const ErrorCode code = usable ? ErrorCode::Unsupported : usable.error().code();
    if (code == ErrorCode::Corruption) {
      tell(name, usable.error().message());
    } else if (code == ErrorCode::Unsupported) {  // sound, or for the server that made it to read
      others.push_back(name);
    } else {
      return std::unexpected(usable.error());
    }
  }
  if (!read_all) {
    result.sound = others.size();
  } else if (!others.empty()) {
    HAILSTONE_ASSIGN(const CheckResult read, check_tables(session, others, false));
    result.sound = read.sound;
    result.damaged += read.damaged;
    result.in_part = read.in_part;
    result.unchecked = read.unchecked;
  }
  return result;
}

Result<CheckResult> open_restored(Session& session, const RestoreOptions& options,
                                  const std::string& directory) {
  HAILSTONE_ASSIGN(const auto damaged, find_damaged_tables(directory));
  fmt::print("{}", torn_end(directory));
  DatabaseArguments arguments = options.database;
  arguments.directory = directory;
  // Only a copy that opens is a database.
  if (const Status opened = session.open_to_read(arguments); !opened) {
    return fail(
        opened.error().code(),
        fmt::format("'{}' cannot be opened after it was copied from '{}', so that nothing is restored: {}",
                    directory, options.backup, opened.error().message()));
  }
  HAILSTONE_ASSIGN(const CheckResult result, check_restored(session, damaged, options.check));
  HAILSTONE_TRY(session.close());
  return result;
}

Status restore_one_table(RestoreOptions& options) {
  Session session;
  TableRestoreOptions& table = options.table;
  const bool to_server = options.to_server || !table.option_file.empty();
  if (to_server != options.database.directory.empty()) {
    return fail(ErrorCode::InvalidArgument,
                "a table goes to a running server, by --server or "
                "--defaults-file, or else to the folder that is named");
  }
  table.backup = without_last_slashes(options.backup);
  table.folder = without_last_slashes(options.database.directory);
  table.bases = options.server.bases;
  table.threads = options.server.threads;
  return restore_table(session, table);
}

Result<int> restore(RestoreOptions& options) {
  if (!options.table.table.empty()) {
    HAILSTONE_TRY(restore_one_table(options));
    return 0;
  }
  if (options.database.directory.empty())
    return fail(ErrorCode::InvalidArgument, "name the DATABASE, or the data directory, to restore to");
  if (options.to_server || !options.table.option_file.empty() || !options.table.as.empty())
    return fail(ErrorCode::InvalidArgument, "--server, --defaults-file and --as are for --table");
  Session session;
  const std::string target = without_last_slashes(options.database.directory);
  if (is_server_backup(options.backup)) {
    options.server.backup = without_last_slashes(options.backup);
    options.server.data_directory = target;
    HAILSTONE_TRY(restore_server(session, options.server));
    return 0;
  }
  const NewDatabase made(target);
  {
    std::unique_ptr<Progress> bar;
    HAILSTONE_ASSIGN(const std::string backup,
                     find_database(posix_filesystem(), without_last_slashes(options.backup)));
    const Status copied =
        restore_database(posix_filesystem(), backup, target, progress_of(session, "restoring", bar));
    bar.reset();
    if (!copied) return std::unexpected(with_way_out(copied.error(), "restore", backup));
  }
  const auto result = open_restored(session, options, target);
  if (!result) {
    static_cast<void>(session.close());  // the first error is the one to be told
    return std::unexpected(made.remove_all(result.error()));
  }
  if (options.check) print_summary(*result);
  const uint64_t tables = result->sound + result->damaged + result->in_part + result->unchecked;
  if (result->damaged == 0) {
    fmt::print("{} is restored from {}: {}\n", target, options.backup, counted(tables, "table"));
    return 0;
  }
  fmt::print(
      "{} is restored from {}, but of {} {} damaged as said above; look for a backup in which {} not\n",
      target, options.backup, counted(tables, "table"),
      result->damaged == 1 ? "1 is" : fmt::format("{} are", result->damaged),
      result->damaged == 1 ? "it is" : "they are");
  return exit_damage;
}

}  // namespace

void add_backup_command(Arguments& root, Ending& ending) {
  Arguments command = root.add_subcommand("backup",
                                          "make a directory that is a copy of a database, with hard links "
                                          "where files never change; with --server: "
                                          "a backup of a whole MariaDB server that is at work");
  const auto options = std::make_shared<BackupOptions>();
  add_database_arguments(command, options->database, /*or_server=*/true);
  command.describe(
      "DATABASE",
      "the database, or the data directory of a server that is stopped; with --server the TARGET, where - is "
      "one stream to standard output, which restore reads");
  command.add("TARGET", options->target, "directory for the copy: new or empty, its parent must exist");
  command.add_flag(
      "--server", options->of_server,
      "back up the server that MariaDB's clients reach, with all its engines, while it works; as root or "
      "its user, on its machine");
  command.add(
      "--base", options->server.base,
      "an earlier backup of the server: this one gets what has changed since, and is of no use without it");
  command.add(
      "--defaults-file", options->server.option_file,
      "option file of MariaDB's clients that says where the server is, and user, password, TLS (default: "
      "those that the clients read)");
  command.add("--mariadb-backup", options->server.mariadb_backup,
              "the program that copies the other engines (default: mariadb-backup, where there are tables of "
              "others)");
  command
      .add("--mariadb-dump", options->server.mariadb_dump,
           "the program that dumps the server's own tables, where all others are Hailstone's")
      .show_default();
  command.add("--threads", options->server.threads, "threads that copy").between(1, 64).show_default();
  command
      .add_flag(
          "--compress", options->server.compress, Compressor::usual_level,
          fmt::format("store the files of the server's backup compressed by Zstandard, each where that pays; "
                      "=LEVEL: {} to {}, by default {}",
                      Compressor::least_level, Compressor::greatest_level, Compressor::usual_level))
      .between(Compressor::least_level, Compressor::greatest_level);
  command
      .add(
          "--max-rate", options->server.max_rate,
          "megabytes a second that the backup of a server copies and reads again, so that clients keep their "
          "disk; 0: as fast as it goes")
      .between(0, 1'000'000)
      .show_default();
  command
      .add("--lock-timeout", options->server.lock_seconds,
           "seconds to wait for each lock of the server; then the backup ends, and clients are free")
      .between(1, 31'536'000)
      .show_default();
  command.add_flag(
      "--no-check", options->server.no_check,
      "do not read every byte of the copied tables; damage then comes to light when it is too late");
  command.run([options, &ending] { ending.exit_code = finished("backup", back_up(*options)); });
}

void add_restore_command(Arguments& root, Ending& ending) {
  Arguments command = root.add_subcommand(
      "restore",
      "make a database from a backup: copies it, shares no file with it, opens it and each file of it; exit "
      "code 3: damage");
  const auto options = std::make_shared<RestoreOptions>();
  command
      .add("BACKUP", options->backup,
           "the directory of the backup, or of one with a server's #hailstone, or what backup --server has "
           "made, also a file with its stream, or - for a stream from standard input; it stays as it is")
      .required();
  add_database_arguments(command, options->database);
  command.make_optional("DATABASE");
  command.describe(
      "DATABASE",
      "directory for the database, or the data directory for a server, or with --table the folder for it: "
      "new or empty, its parent must exist");
  command.add("--table", options->table.table, "one table alone, as SCHEMA.TABLE");
  command.add_flag("--server", options->to_server,
                   "with --table: into the running server that MariaDB's clients reach, as root or its user, "
                   "on its machine");
  command.add("--as", options->table.as, "with --server: another name for the table, as SCHEMA.TABLE");
  command.add("--defaults-file", options->table.option_file,
              "with --table: option file of MariaDB's clients that says where the server is");
  command.add_flag("--check", options->check, "read every byte of the restored tables; exit code 3: damage");
  ServerRestoreOptions& server = options->server;
  command
      .add("--mariadb-backup", server.mariadb_backup,
           "of a server: the program that has copied the other engines")
      .show_default();
  command.add("--base", server.bases,
              "of a server: where backups are that this one has the changes to, if they have moved");
  command.add("--mariadbd", server.server_program, "of a server: the program that is to start with it")
      .show_default();
  command
      .add("--mariadb-install-db", server.install_program,
           "of a server whose tables were all Hailstone's: the program that makes its own tables")
      .show_default();
  command.add("--mariadb", server.client_program, "of such a server: the client that fills them")
      .show_default();
  command.add("--basedir", server.base_directory,
              "of such a server: where it is installed (default: as those programs know)");
  command.add("--plugin-dir", server.plugin_directory,
              "of a server: where its plugins are (default: its own)");
  command.add("--user", server.user,
              "of a server: who is to own the files, if root restores (default: the owner of the directory, "
              "else mysql)");
  command.add("--threads", server.threads, "of a server: threads that copy").between(1, 64).show_default();
  command.add_flag("--as-replica", server.as_replica,
                   "of a server: sets gtid_slave_pos, for a replica of the server that was backed up");
  command.run([options, &ending] {
    const auto code = restore(*options);
    ending.exit_code = code ? *code : finished("restore", std::unexpected(code.error()));
  });
}

}  // namespace hailstone
