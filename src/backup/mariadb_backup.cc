#include "backup/mariadb_backup.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

#include "backup/backup_stream.h"
#include "backup/child_process.h"

namespace hailstone {
namespace {

/// Milliseconds. While nobody can commit, the program waits for its next look at InnoDB's log; by itself it
/// looks once a second.
constexpr unsigned log_copy_interval = 20;
constexpr size_t longest_note = 4096;  // of a place in a binary log, in bytes

std::unexpected<Error> with_cure(const MariadbBackup& with, const Error& error) {
  if (error.code() != ErrorCode::NotFound) return std::unexpected(error);
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

/// The file that says where the binary log was. The first is its name up to 10.11.
bool is_note_of_position(std::string_view path) {
  return path == "xtrabackup_binlog_info" || path == "mariadb_backup_binlog_info";
}

/// InnoDB's rows. What else there is has no time to lose: the program must not fall behind those who write
/// the logs, and copies other engines' tables while nobody can change them.
bool has_innodb_rows(std::string_view path) {
  return path.ends_with(".ibd") || path.ends_with(".ibd.delta") || path.starts_with("ibdata") ||
         path.starts_with("undo");
}

BinaryLogRecord noted_position(const std::string& text) {
  BinaryLogRecord noted;
  std::istringstream words(text);
  words >> noted.file >> noted.position >> noted.gtid;
  return noted;
}

Status take_stream(Input& input, const ServerCopy& copy, const BytesDone& done, CopiedServer& copied) {
  StreamReader reader(input);
  StreamedFiles files(copy.target, fmt::format("{}/", BackupRecord::server_folder), copy.remove);
  std::string position;
  while (true) {
    HAILSTONE_ASSIGN(const auto piece, reader.next());
    if (!piece) break;
    // First: the target may be slow.
    if (piece->path == CopiedInnodbLog::file_name)
      HAILSTONE_TRY(piece->is_end ? copy.innodb_log.end_file() : copy.innodb_log.take(piece->bytes));
    HAILSTONE_TRY(files.take(*piece));
    if (has_innodb_rows(piece->path)) copy.pace.take(piece->bytes.size());
    if (is_note_of_position(piece->path) && position.size() < longest_note) position += piece->bytes;
    if (!done(piece->bytes.size())) return fail(ErrorCode::Interrupted, "interrupted");
  }
  if (!position.empty()) copied.binary_log = noted_position(position);
  for (const auto& [path, file] : files.ended()) copied.files.push_back(file);
  if (const std::string path = files.unended(); !path.empty())
    return fail(ErrorCode::Corruption, fmt::format("{} ends in the midst of '{}'", input.name(), path));
  return copy.target.sync();
}

}  // namespace

Result<CopiedServer> copy_server(const MariadbBackup& with, const ServerCopy& copy, const BytesDone& done) {
  std::vector<std::string> arguments{with.program};
  // It has to come first.
  if (!with.option_file.empty()) arguments.push_back("--defaults-file=" + with.option_file);
  arguments.insert(
      arguments.end(),
      {"--backup", "--stream=mbstream", "--target-dir=" + copy.work, "--datadir=" + copy.data_directory,
       fmt::format("--parallel={}", with.threads), fmt::format("--log-copy-interval={}", log_copy_interval)});
  if (!copy.base.empty()) arguments.push_back("--incremental-basedir=" + copy.base);
  auto program = ChildProcess::start_to_read(arguments, with.log);
  if (!program) return with_cure(with, program.error());
  const auto stop = [&done] { return !done(0); };
  CopiedServer copied;
  const Status taken = take_stream(*program->output(stop), copy, done, copied);
  // An error of the target, or of this process, comes before that of the program, which ends by it.
  if (!taken && taken.error().code() != ErrorCode::Corruption) return std::unexpected(taken.error());
  if (const Status ended = program->wait(stop); !ended) {
    if (may_pass(ended.error())) return fail(ErrorCode::Busy, ended.error().message());
    return std::unexpected(ended.error());
  }
  HAILSTONE_TRY(taken);
  HAILSTONE_TRY(copy.innodb_log.end(stop));
  return copied;
}

Status prepare_server(const MariadbBackup& with, const std::string& target, const std::string& changes,
                      const std::function<bool()>& stop) {
  std::vector<std::string> arguments{"--prepare", "--target-dir=" + target};
  if (!changes.empty()) arguments.push_back("--incremental-dir=" + changes);
  arguments.insert(arguments.begin(), with.program);
  const Status prepared = run_program(arguments, with.log, stop);
  if (!prepared) return with_cure(with, prepared.error());
  return {};
}

bool is_note_of_mariadb_backup(const std::string& name) {
  return name.starts_with("xtrabackup_") || name.starts_with("mariadb_backup_") || name == "backup-my.cnf";
}

}  // namespace hailstone
