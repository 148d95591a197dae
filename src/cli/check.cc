#include "cli/check.h"

#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/progress.h"
#include "database/manifest.h"
#include "database/server_folder.h"
#include "text/value_text.h"

namespace hailstone {
namespace {

struct CheckOptions {
  DatabaseArguments database;
  std::vector<std::string> tables;
  bool verbose = false;
};

/// What is wrong with one table. `in_part`: its indexes of which not all could be checked.
Status check_table(Session& session, const std::string& name, std::vector<std::string>& in_part) {
  HAILSTONE_ASSIGN(const auto table, session.engine().table(name, &session.engine_transaction()));
  return table->check(session.engine_transaction(), session.stop(), &in_part);
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", printable(name));
  return text;
}

int check_database(const CheckOptions& options) {
  Session session;
  const auto directory = find_database(posix_filesystem(), options.database.directory);
  if (!directory) return finished("check", std::unexpected(directory.error()));
  const std::string torn = torn_end(*directory);
  if (const Status opened = session.open_to_read(options.database); !opened) return finished("check", opened);
  fmt::print("{}", torn);
  const auto result = check_tables(session, options.tables, options.verbose);
  const Status closed = session.close();
  if (!result) return finished("check", std::unexpected(result.error()));
  print_summary(*result);
  if (result->damaged > 0) return exit_damage;
  const bool is_in_part = result->in_part > 0 || result->unchecked > 0;
  return closed && is_in_part ? exit_in_part : finished("check", closed);
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
    std::vector<std::string> in_part;
    const Status status = check_table(session, names[i], in_part);
    done += sizes[i];
    if (session.is_interrupted()) return fail(ErrorCode::Interrupted, "interrupted");
    const bool is_sound = status && in_part.empty();
    if (is_sound) {
      ++result.sound;
      if (!verbose) continue;
    }
    progress.clear();
    if (status && !is_sound) {
      ++result.in_part;
      fmt::print(
          "{}: nothing wrong found; not checked, as only the server that made it can: whether the stored "
          "keys of {} {} are those of the texts\n",
          printable(names[i]), in_part.size() == 1 ? "index" : "indexes", listed(in_part));
    } else if (status) {
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

std::string summary_of(const CheckResult& result) {
  return fmt::format(
      "{} {} sound, {} damaged{}{}{}", counted(result.sound, "table"), result.sound == 1 ? "is" : "are",
      result.damaged,
      result.in_part > 0 ? fmt::format(", {} sound but for keys that could not be checked", result.in_part)
                         : "",
      result.unchecked > 0 ? fmt::format(", {} not checked", result.unchecked) : "",
      result.in_part + result.unchecked > 0 ? ": CHECK TABLE in the server that made them checks all" : "");
}

void print_summary(const CheckResult& result) { fmt::print("{}\n", summary_of(result)); }

void add_check_command(Arguments& root, Ending& ending) {
  Arguments command = root.add_subcommand("check",
                                          "read every byte of tables and compare indexes with rows; exit "
                                          "code 3: damage, 4: not all could be checked");
  const auto options = std::make_shared<CheckOptions>();
  add_database_arguments(command, options->database, /*or_server=*/true);
  command.add("TABLE", options->tables, "tables, as group/table; default: all");
  command.add_flag("--verbose", options->verbose, "name the sound tables, too");
  command.run([options, &ending] { ending.exit_code = check_database(*options); });
}

}  // namespace hailstone
