#include "cli/check.h"

#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/progress.h"
#include "database/manifest.h"
#include "text/value_text.h"

namespace hailstone {
namespace {

struct CheckOptions {
  DatabaseArguments database;
  std::vector<std::string> tables;
  bool verbose = false;
};

/// What is wrong with one table.
Status check_table(Session& session, const std::string& name) {
  HAILSTONE_ASSIGN(const auto table, session.engine().table(name, &session.engine_transaction()));
  return table->check(session.engine_transaction(), session.stop());
}

int check_database(const CheckOptions& options) {
  Session session;
  const std::string torn = torn_end(options.database.directory);
  if (const Status opened = session.open_to_read(options.database); !opened) return finished("check", opened);
  fmt::print("{}", torn);
  const auto result = check_tables(session, options.tables, options.verbose);
  const Status closed = session.close();
  if (!result) return finished("check", std::unexpected(result.error()));
  print_summary(*result);
  if (result->damaged > 0) return exit_damage;
  return finished("check", closed);
}

}  // namespace

std::string torn_end(const std::string& directory) {
  // Opening the database tells what else is wrong with the manifest.
  const auto content = Manifest::load(posix_filesystem(), directory);
  if (!content || !*content || !(*content)->torn) return {};
  return fmt::format(
      "manifest {}: its end is torn and left out. After a crash that is as it should be; otherwise the file "
      "was "
      "damaged there, and the last changes to some tables may be lost\n",
      Manifest::path_in(directory));
}

Result<CheckResult> check_tables(Session& session, std::vector<std::string> names, bool verbose) {
  HAILSTONE_TRY(session.begin());
  if (names.empty()) names = session.engine().table_names();
  uint64_t bytes = 0;
  std::vector<uint64_t> sizes;
  for (const std::string& name : names) {
    const auto table = session.engine().table(name);
    if (!table && table.error().code() == ErrorCode::NotFound) return std::unexpected(table.error());
    const uint64_t size = table ? (*table)->statistics().data_bytes + (*table)->statistics().index_bytes : 0;
    sizes.push_back(size);
    bytes += size;
  }
  Progress progress("checking", std::max<uint64_t>(1, bytes));
  CheckResult result;
  uint64_t done = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    progress.update(done, printable(names[i]));
    const Status status = check_table(session, names[i]);
    done += sizes[i];
    if (session.is_interrupted()) return fail(ErrorCode::Interrupted, "interrupted");
    if (status) {
      ++result.sound;
      if (!verbose) continue;
    }
    progress.clear();
    if (status) {
      fmt::print("{}: sound\n", printable(names[i]));
    } else if (status.error().code() == ErrorCode::Corruption) {
      ++result.damaged;
      fmt::print("{}: damaged: {}\n", printable(names[i]), safe_for_terminal(status.error().message()));
    } else if (status.error().code() == ErrorCode::Unsupported) {
      ++result.unchecked;
      fmt::print("{}: not checked: {}\n", printable(names[i]), safe_for_terminal(status.error().message()));
    } else {
      return std::unexpected(status.error());
    }
  }
  return result;
}

void print_summary(const CheckResult& result) {
  fmt::print(
      "{} {} sound, {} damaged{}\n", counted(result.sound, "table"), result.sound == 1 ? "is" : "are",
      result.damaged,
      result.unchecked > 0
          ? fmt::format(", {} not checked: CHECK TABLE in the server that made them does", result.unchecked)
          : "");
}

void add_check_command(Arguments& root, Ending& ending) {
  Arguments command = root.add_subcommand(
      "check", "read every byte of tables and compare indexes with rows; exit code 3: damage");
  const auto options = std::make_shared<CheckOptions>();
  add_database_arguments(command, options->database);
  command.add("TABLE", options->tables, "tables, as group/table; default: all");
  command.add_flag("--verbose", options->verbose, "name the sound tables, too");
  command.run([options, &ending] { ending.exit_code = check_database(*options); });
}

}  // namespace hailstone
