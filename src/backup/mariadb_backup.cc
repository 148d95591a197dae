#include "backup/mariadb_backup.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

#include "backup/child_process.h"

namespace hailstone {
namespace {

/// Milliseconds. While nobody can commit, the program waits for its next look at InnoDB's log; by itself it
/// looks once a second.
constexpr unsigned log_copy_interval = 20;

Status run(const MariadbBackup& with, std::vector<std::string> arguments, const std::function<bool()>& stop) {
  arguments.insert(arguments.begin(), with.program);
  Status done = run_program(arguments, with.log, stop);
  if (done || done.error().code() != ErrorCode::NotFound) return done;
  return fail(
      ErrorCode::NotFound,
      fmt::format("there is no program '{}', which copies the tables of other engines: install the package "
                  "mariadb-backup of the server's version, or name it by --mariadb-backup",
                  with.program));
}

/// What ends the program (10.11.18) beside clients at work, and not always: it reads one place of the log
/// again and again until it gives up, though nothing was written over; a file that a client had renamed a
/// moment ago is looked for under its earlier name.
constexpr std::array<std::string_view, 2> passing_failures = {"Was only able to copy log",
                                                              "Can't open datafile"};

bool may_pass(const Error& error) {
  return error.code() == ErrorCode::Io &&
         std::ranges::any_of(passing_failures, [&](std::string_view failure) {
           return error.message().find(failure) != std::string::npos;
         });
}

}  // namespace

Status copy_server(const MariadbBackup& with, const std::string& data_directory, const std::string& base,
                   const std::string& target, const std::function<bool()>& stop) {
  std::vector<std::string> arguments;
  // It has to come first.
  if (!with.option_file.empty()) arguments.push_back("--defaults-file=" + with.option_file);
  arguments.insert(arguments.end(), {"--backup", "--target-dir=" + target, "--datadir=" + data_directory,
                                     fmt::format("--parallel={}", with.threads),
                                     fmt::format("--log-copy-interval={}", log_copy_interval)});
  if (!base.empty()) arguments.push_back("--incremental-basedir=" + base);
  Status copied = run(with, std::move(arguments), stop);
  if (copied || !may_pass(copied.error())) return copied;
  return fail(ErrorCode::Busy, copied.error().message());
}

Status prepare_server(const MariadbBackup& with, const std::string& target, const std::string& changes,
                      const std::function<bool()>& stop) {
  std::vector<std::string> arguments{"--prepare", "--target-dir=" + target};
  if (!changes.empty()) arguments.push_back("--incremental-dir=" + changes);
  return run(with, std::move(arguments), stop);
}

Result<std::optional<BinaryLogRecord>> noted_position(const std::string& target) {
  // The first is the name up to 10.11.
  for (const char* const name : {"xtrabackup_binlog_info", "mariadb_backup_binlog_info"}) {
    const auto text = read_text(target + "/" + name);
    if (!text && text.error().code() == ErrorCode::NotFound) continue;
    HAILSTONE_TRY(text);
    BinaryLogRecord noted;
    std::istringstream words(*text);
    words >> noted.file >> noted.position >> noted.gtid;
    return noted;
  }
  return std::nullopt;
}

bool is_note_of_mariadb_backup(const std::string& name) {
  return name.starts_with("xtrabackup_") || name.starts_with("mariadb_backup_") || name == "backup-my.cnf";
}

}  // namespace hailstone
