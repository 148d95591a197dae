#include "backup/alone.h"

#include <fmt/format.h>
#include <mysqld_error.h>

#include <algorithm>
#include <array>

#include "backup/child_process.h"
#include "backup/file_tree.h"
#include "file/filesystem.h"

namespace hailstone {
namespace {

/// Tables of the schema mysql that are not dumped: what InnoDB keeps of its own tables, of which there are
/// none, what is recorded by itself, and logs.
constexpr std::array left_out = {"innodb_index_stats", "innodb_table_stats", "transaction_registry",
                                 "gtid_slave_pos",     "general_log",        "slow_log"};

/// How often the copy begins again because users or routines were changed meanwhile.
constexpr int most_tries = 5;

bool is_of_the_server(const std::string& folder) {
  return folder.starts_with('#') || folder == "mysql" || folder == "performance_schema" || folder == "sys";
}

bool is_definition(const std::string& name) {
  constexpr std::array<std::string_view, 5> ends = {".frm", ".par", ".opt", ".TRG", ".TRN"};
  return std::ranges::any_of(ends, [&](std::string_view end) { return name.ends_with(end); });
}

class AloneCopy {
 public:
  AloneCopy(BackedUpServer& server, const AloneBackup& with, const std::string& target,
            const std::function<bool()>& stop)
      : server_(server), with_(with), target_(target), stop_(stop) {}

  Result<AloneMoment> run() {
    HAILSTONE_TRY(execute(fmt::format("SET SESSION lock_wait_timeout = {}", with_.lock_seconds)));
    for (int i = 0; i < most_tries; ++i) {
      const auto taken = try_once();
      // Also when it has failed; the connection may be of no use any more, which ends it as well.
      static_cast<void>(execute("BACKUP STAGE END"));
      HAILSTONE_TRY(taken);
      if (*taken) return moment_;
      HAILSTONE_TRY(remove_tree(target_));
    }
    return fail(ErrorCode::Busy,
                "users, routines or other tables of the schema mysql change all the time; try again");
  }

 private:
  Status execute(const std::string& statement) {
    const auto done = server_.connection().query(statement);
    if (done) return {};
    if (done.error().system_error() == ER_LOCK_WAIT_TIMEOUT)
      return std::unexpected(late_lock(with_.lock_seconds));
    return std::unexpected(done.error());
  }

  /// False: the server's own tables have changed between their dump and the moment.
  Result<bool> try_once() {
    HAILSTONE_TRY(execute("BACKUP STAGE START"));
    HAILSTONE_TRY(execute("BACKUP STAGE FLUSH"));
    HAILSTONE_TRY(execute("BACKUP STAGE BLOCK_DDL"));
    HAILSTONE_ASSIGN(
        auto definitions,
        files_in_folders(server_.data_directory(), [](const std::string& folder, const std::string& name) {
          return !is_of_the_server(folder) && is_definition(name);
        }));
    HAILSTONE_TRY(posix_filesystem().make_directory(target_));
    FolderTarget folder(target_);
    HAILSTONE_TRY(copy_files(server_.data_directory(), folder, "", definitions, 1,
                             [this](uint64_t) { return !stop_ || !stop_(); }));
    HAILSTONE_ASSIGN(const std::string before, checksums());
    HAILSTONE_TRY(dump());
    HAILSTONE_TRY(execute("BACKUP STAGE BLOCK_COMMIT"));
    HAILSTONE_TRY(execute("FLUSH NO_WRITE_TO_BINLOG ENGINE LOGS"));
    HAILSTONE_ASSIGN(moment_.binary_log, position());
    HAILSTONE_ASSIGN(moment_.gtid_slave_pos, slave_position());
    HAILSTONE_ASSIGN(const std::string after, checksums());
    return before == after;
  }

  Result<std::string> checksums() {
    HAILSTONE_ASSIGN(const auto rows, server_.connection().query("CHECKSUM TABLE " + dumped_tables()));
    std::string all;
    for (const auto& row : rows) all += fmt::format("{}\n", fmt::join(row, " "));
    return all;
  }

  /// Those that people change by statements; the others, such as time zones and help, are large and are
  /// dumped only.
  static std::string dumped_tables() {
    return "mysql.global_priv, mysql.db, mysql.tables_priv, mysql.columns_priv, mysql.procs_priv, "
           "mysql.proxies_priv, "
           "mysql.roles_mapping, mysql.proc, mysql.event, mysql.func, mysql.plugin, mysql.servers";
  }

  Status dump() {
    std::vector<std::string> command{with_.dump_program};
    // It has to come first.
    if (!with_.option_file.empty()) command.push_back("--defaults-file=" + with_.option_file);
    command.insert(command.end(),
                   {"--skip-lock-tables", "--skip-opt", "--create-options", "--quick", "--extended-insert",
                    "--add-drop-table", "--events", "--hex-blob", "--skip-triggers"});
    for (const char* const table : left_out) command.push_back(fmt::format("--ignore-table=mysql.{}", table));
    command.push_back("mysql");
    return run_program(command, with_.log, stop_, target_ + "/" + system_dump);
  }

  Result<std::optional<BinaryLogRecord>> position() {
    HAILSTONE_ASSIGN(const auto rows, server_.connection().query("SHOW MASTER STATUS"));
    if (rows.empty()) return std::nullopt;
    HAILSTONE_ASSIGN(const auto gtid, server_.connection().query("SELECT @@gtid_binlog_pos"));
    return BinaryLogRecord{
        .file = rows[0].at(0), .position = number_of(rows[0].at(1)), .gtid = gtid.at(0).at(0)};
  }

  /// From the tables, which are changed by the transactions themselves; the variable comes after them.
  Result<std::string> slave_position() {
    HAILSTONE_ASSIGN(
        const auto tables,
        server_.connection().query("SELECT table_name FROM information_schema.tables WHERE table_schema = "
                                   "'mysql' AND table_name LIKE 'gtid\\_slave\\_pos%'"));
    std::string all;
    for (const auto& table : tables)
      all += fmt::format("{}SELECT * FROM mysql.{}", all.empty() ? "" : " UNION ALL ",
                         quoted_identifier(table.at(0)));
    if (all.empty()) return std::string();
    HAILSTONE_ASSIGN(
        const auto rows,
        server_.connection().query(fmt::format(
            "SELECT CONCAT_WS('-', domain_id, server_id, seq_no) FROM ({0}) p WHERE (domain_id, sub_id) IN "
            "(SELECT domain_id, MAX(sub_id) FROM ({0}) q GROUP BY domain_id) ORDER BY domain_id",
            all)));
    std::string position;
    for (const auto& row : rows) position += (position.empty() ? "" : ",") + row.at(0);
    return position;
  }

  BackedUpServer& server_;
  const AloneBackup& with_;
  const std::string& target_;
  const std::function<bool()>& stop_;
  AloneMoment moment_;
};

}  // namespace

Result<AloneMoment> copy_alone(BackedUpServer& server, const AloneBackup& with, const std::string& target,
                               const std::function<bool()>& stop) {
  return AloneCopy(server, with, target, stop).run();
}

}  // namespace hailstone
