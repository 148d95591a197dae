// `hailstone backup`: a copy of a database. `hailstone restore`: a database from such a copy.
#include <fmt/format.h>

#include <memory>

#include "cli/check.h"
#include "cli/commands.h"
#include "cli/progress.h"
#include "database/file_copy.h"

namespace hailstone {
namespace {

struct BackupOptions {
  DatabaseArguments database;
  std::string target;
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

Status back_up(const BackupOptions& options) {
  Session session;
  HAILSTONE_TRY(session.open(options.database));
  const std::string target = without_last_slashes(options.target);
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
  bool check = false;
};

Result<int> restore(const RestoreOptions& options) {
  Session session;
  const std::string target = without_last_slashes(options.database.directory);
  {
    std::unique_ptr<Progress> bar;
    HAILSTONE_TRY(restore_database(posix_filesystem(), without_last_slashes(options.backup), target,
                                   progress_of(session, "restoring", bar)));
  }
  DatabaseArguments arguments = options.database;
  arguments.directory = target;
  // Only a copy that opens is a database.
  const Status opened = session.open(arguments);
  if (!opened) {
    return fail(opened.error().code(), fmt::format("the files are restored to '{}', but they are no good: {}",
                                                   target, opened.error().message()));
  }
  CheckResult result;
  if (options.check) {
    auto checked_tables = check_tables(session, {}, false);
    if (!checked_tables) {
      static_cast<void>(session.close());  // the first error is the one to be told
      return std::unexpected(checked_tables.error());
    }
    result = *checked_tables;
  }
  const size_t tables = session.engine().table_names().size();
  HAILSTONE_TRY(session.close());
  if (options.check) print_summary(result);
  fmt::print("{} is restored from {}: {} tables\n", target, options.backup, tables);
  return result.damaged > 0 ? exit_damage : 0;
}

}  // namespace

void add_backup_command(CLI::App& app, Ending& ending) {
  CLI::App* const command = app.add_subcommand(
      "backup", "make a directory that is a copy of a database, with hard links where files never change");
  const auto options = std::make_shared<BackupOptions>();
  add_database_arguments(*command, options->database);
  command
      ->add_option("TARGET", options->target, "directory for the copy: new or empty, its parent must exist")
      ->required();
  command->callback([options, &ending] { ending.exit_code = finished("backup", back_up(*options)); });
}

void add_restore_command(CLI::App& app, Ending& ending) {
  CLI::App* const command = app.add_subcommand(
      "restore", "make a database from a backup: copies it, shares no file with it, opens it");
  const auto options = std::make_shared<RestoreOptions>();
  command->add_option("BACKUP", options->backup, "the backup's directory, which stays as it is")->required();
  add_database_arguments(*command, options->database);
  command->get_option("DATABASE")
      ->description("directory for the database: new or empty, its parent must exist");
  command->add_flag("--check", options->check, "read every byte of the restored tables; exit code 3: damage");
  command->callback([options, &ending] {
    const auto code = restore(*options);
    ending.exit_code = code ? *code : finished("restore", std::unexpected(code.error()));
  });
}

}  // namespace hailstone
