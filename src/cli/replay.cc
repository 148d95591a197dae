// `hailstone replay`: what the binary logs have from a backup on, shown, and replayed.
#include <fmt/format.h>

#include <memory>

#include "backup/backup_record.h"
#include "backup/backup_stream.h"
#include "backup/binary_log.h"
#include "cli/commands.h"
#include "cli/session.h"
#include "file/filesystem.h"
#include "text/plain_input.h"
#include "text/value_text.h"

namespace hailstone {
namespace {

/// So many definitions are shown: the last ones, among which the mistake is looked for.
constexpr size_t shown_definitions = 20;

struct ReplayOptions {
  std::string backup;
  std::vector<std::string> logs;
  std::string until;
  bool run = false;
  std::string option_file;
  std::string binlog_program = "mariadb-binlog";
  std::string client = "mariadb";
};

void show(const LogSummary& summary) {
  if (summary.transactions == 0) {
    fmt::print("  nothing\n");
    return;
  }
  fmt::print("  {}, from {} ({}) to {} ({})\n", counted(summary.transactions, "transaction"),
             summary.first.gtid, summary.first.time, summary.last.gtid, summary.last.time);
  for (const auto& [table, rows] : summary.tables) {
    fmt::print("  {}: {} inserted, {} updated, {} deleted\n", printable(table), counted(rows.inserted, "row"),
               rows.updated, rows.deleted);
  }
  if (summary.statements > 0) fmt::print("  {} logged as text\n", counted(summary.statements, "change"));
  const size_t all = summary.definitions.size();
  if (all == 0) return;
  const size_t first = all > shown_definitions ? all - shown_definitions : 0;
  fmt::print("  {}{}:\n", counted(all, "definition"),
             first > 0 ? fmt::format(", of which the last {}", shown_definitions) : "");
  for (size_t i = first; i < all; ++i)
    fmt::print("    {}  {}\n", summary.definitions[i].time, safe_for_terminal(summary.definitions[i].text));
}

Result<BackupRecord> record_of(const Session& session, const std::string& backup) {
  if (!is_backup_stream(backup)) return read_backup_record(backup);
  HAILSTONE_ASSIGN(const auto input, open_plain_input(backup, session.interrupt_descriptor()));
  return read_streamed_record(*input);
}

Status replay(const ReplayOptions& options) {
  Session session;
  const auto stop = [&session] { return session.is_interrupted(); };
  HAILSTONE_ASSIGN(const BackupRecord record, record_of(session, options.backup));
  if (!record.binary_log) {
    return fail(
        ErrorCode::InvalidArgument,
        fmt::format(
            "the server of the backup '{}' wrote no binary log, so that nothing is known of what came "
            "later",
            options.backup));
  }
  HAILSTONE_ASSIGN(LogPart part, logs_from(*record.binary_log, options.logs));
  part.program = options.binlog_program;
  part.until = options.until;
  HAILSTONE_ASSIGN(const TemporaryFolder folder, TemporaryFolder::make());
  HAILSTONE_ASSIGN(const LogSummary summary, summarise_log(part, folder.path(), stop));
  fmt::print("from {} position {} to {}, in {}:\n", record.binary_log->file, record.binary_log->position,
             options.until.empty() ? "the end" : options.until, counted(part.files.size(), "file"));
  show(summary);
  if (summary.transactions == 0) return {};
  if (!options.run) {
    fmt::print(
        "nothing is replayed yet; on the restored server, and before anybody changes it: the same with "
        "--run\n");
    return {};
  }
  HAILSTONE_TRY(replay_log(part, options.client, options.option_file, folder.path(), stop));
  fmt::print("replayed\n");
  return {};
}

}  // namespace

void add_replay_command(Arguments& root, Ending& ending) {
  Arguments command = root.add_subcommand("replay",
                                          "what the binary logs of a server have since a backup of it, up to "
                                          "a time: shows it, and with --run replays it on the "
                                          "restored server");
  const auto options = std::make_shared<ReplayOptions>();
  command.add("BACKUP", options->backup, "what backup --server has made").required();
  command.add("LOG", options->logs, "binary logs of the server that was backed up, or a folder with them")
      .required();
  command.add("--until", options->until,
              "as '2026-11-29 09:41:00', in this machine's time zone: what was committed from then on is "
              "left out (default: "
              "all is taken)");
  command.add_flag("--run", options->run, "replay it");
  command.add(
      "--defaults-file", options->option_file,
      "option file of MariaDB's clients for the restored server (default: those that the clients read)");
  command.add("--mariadb-binlog", options->binlog_program, "the program that reads binary logs")
      .show_default();
  command.add("--mariadb", options->client, "the client that replays").show_default();
  command.run([options, &ending] { ending.exit_code = finished("replay", replay(*options)); });
}

}  // namespace hailstone
