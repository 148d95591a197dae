#include "backup/backed_up_server.h"

#include <fmt/format.h>
#include <mysqld_error.h>

#include <map>

#include "database/online_backup.h"

namespace hailstone {
namespace {

/// What a server's tools keep in schemas of their own.
constexpr const char* schemas_of_the_server = "'mysql', 'information_schema', 'performance_schema', 'sys'";

/// As long as a connection may be without a statement, which copying takes.
constexpr unsigned longest_wait_seconds = 31'536'000;

}  // namespace

Error late_lock(unsigned seconds) {
  return {
      ErrorCode::LockWaitTimeout,
      fmt::format("the backup has not had its lock within {} s: a statement or LOCK TABLES of a client is in "
                  "its way, which SHOW PROCESSLIST shows. The backup has ended, and no client waits for it; "
                  "try again later, or with a longer --lock-timeout",
                  seconds)};
}

BackedUpServer::BackedUpServer(const std::string& option_file) : connection_(config_) {
  config_.option_file = option_file;
}

Status BackedUpServer::probe(const std::string& statement, const char* privilege) {
  const auto answered = connection_.query(statement);
  if (answered) return {};
  if (answered.error().system_error() != ER_SPECIFIC_ACCESS_DENIED_ERROR)
    return std::unexpected(answered.error());
  return fail(
      ErrorCode::InvalidArgument,
      fmt::format(
          "the account {} lacks the privilege {}: {}. A backup needs GRANT RELOAD, PROCESS, SUPER, BINLOG "
          "MONITOR, LOCK TABLES, REPLICA MONITOR, SELECT, SHOW VIEW, EVENT, TRIGGER ON *.* TO {}",
          account_, privilege, answered.error().message(), account_));
}

Status BackedUpServer::connect(BackupRecord& record) {
  HAILSTONE_TRY(connection_.connect());
  HAILSTONE_TRY(connection_.execute(fmt::format("SET SESSION wait_timeout = {}", longest_wait_seconds)));
  HAILSTONE_ASSIGN(
      const auto facts,
      connection_.query("SELECT CURRENT_USER(), VERSION(), @@hostname, @@datadir, @@gtid_slave_pos"));
  if (facts.size() != 1 || facts[0].size() != 5)
    return fail(ErrorCode::Unsupported, "the server does not answer what a backup asks; is it MariaDB?");
  account_ = facts[0][0];
  record.server_version = facts[0][1];
  record.host = facts[0][2];
  data_directory_ = record.data_directory = facts[0][3];
  record.gtid_slave_pos = facts[0][4];
  HAILSTONE_ASSIGN(
      const auto plugin,
      connection_.query("SELECT plugin_auth_version, plugin_status FROM information_schema.plugins "
                        "WHERE plugin_name = 'HAILSTONE'"));
  if (plugin.size() != 1 || plugin[0][1] != "ACTIVE") {
    return fail(
        ErrorCode::Unsupported,
        "the server has no engine HAILSTONE at work, so that there is nothing here that mariadb-backup "
        "does not copy; where tables have disappeared, docs/install.md says why");
  }
  record.plugin_version = plugin[0][0];
  HAILSTONE_ASSIGN(const auto variables,
                   connection_.query("SHOW GLOBAL VARIABLES WHERE variable_name IN ('hailstone_data_dir', "
                                     "'hailstone_backup_armed')"));
  for (const auto& variable : variables) {
    if (variable[0] != "hailstone_data_dir") continue;
    const std::string& folder = variable[1];
    staged_ = fmt::format("{}{}/{}", folder.starts_with('/') ? "" : data_directory_, folder, staged_backup);
  }
  if (variables.size() != 2) {
    return fail(
        ErrorCode::Unsupported,
        fmt::format("the server's plugin, version {}, makes no backups; upgrade it", record.plugin_version));
  }
  HAILSTONE_ASSIGN(const auto lock, connection_.query("SELECT GET_LOCK('hailstone_backup', 0)"));
  if (lock.empty() || lock[0][0] != "1") {
    return fail(ErrorCode::Busy,
                "another backup of this server is under way (it holds the lock 'hailstone_backup'); wait for "
                "its end");
  }
  HAILSTONE_TRY(probe("FLUSH NO_WRITE_TO_BINLOG ENGINE LOGS", "RELOAD"));
  HAILSTONE_TRY(probe("SHOW MASTER STATUS", "BINLOG MONITOR"));
  HAILSTONE_TRY(probe("SHOW ENGINE HAILSTONE STATUS", "PROCESS"));
  return {};
}

Result<std::vector<std::string>> BackedUpServer::tables_of_other_engines() {
  HAILSTONE_ASSIGN(
      const auto rows,
      connection_.query(fmt::format(
          "SELECT table_schema, table_name FROM information_schema.tables WHERE table_type IN ('BASE TABLE', "
          "'SYSTEM VERSIONED', 'SEQUENCE') AND IFNULL(engine, '') <> 'HAILSTONE' AND table_schema NOT IN "
          "({})",
          schemas_of_the_server)));
  std::vector<std::string> tables;
  for (const auto& row : rows) tables.push_back(quoted_identifier(row[0]) + "." + quoted_identifier(row[1]));
  return tables;
}

Result<std::string> BackedUpServer::innodb_log() {
  HAILSTONE_ASSIGN(const auto rows, connection_.query("SELECT @@innodb_log_group_home_dir"));
  const std::string& folder = rows.at(0).at(0);
  return fmt::format("{}{}/{}", folder.starts_with('/') ? "" : data_directory_, folder,
                     CopiedInnodbLog::file_name);
}

Result<InnodbLogPlace> BackedUpServer::innodb_log_place() {
  HAILSTONE_ASSIGN(const auto rows,
                   connection_.query("SELECT (SELECT variable_value FROM information_schema.global_status "
                                     "WHERE variable_name = 'INNODB_LSN_FLUSHED'), (SELECT variable_value "
                                     "FROM information_schema.global_status WHERE variable_name = "
                                     "'INNODB_LSN_CURRENT')"));
  return InnodbLogPlace{.current = number_of(rows.at(0).at(1)), .flushed = number_of(rows.at(0).at(0))};
}

Result<double> BackedUpServer::lock_wait() {
  HAILSTONE_ASSIGN(
      const auto rows,
      connection_.query("SELECT IFNULL(MAX(time_ms), 0) DIV 1 FROM information_schema.processlist "
                        "WHERE state = 'Waiting for backup lock' AND info LIKE 'BACKUP STAGE %' "
                        "AND user = SUBSTRING_INDEX(USER(), '@', 1)"));
  return static_cast<double>(number_of(rows.at(0).at(0))) / 1000;
}

Status BackedUpServer::arm() {
  return probe(fmt::format("SET GLOBAL hailstone_backup_armed = {}", quoted_text(staged_)), "SUPER");
}

Status BackedUpServer::read_cut(BackupRecord& record) {
  HAILSTONE_ASSIGN(const auto rows, connection_.query("SHOW GLOBAL STATUS LIKE 'Hailstone\\_backup\\_%'"));
  std::map<std::string, std::string> status;
  for (const auto& row : rows) status[row[0].substr(std::string_view("Hailstone_backup_").size())] = row[1];
  if (status["state"] != "cut") {
    const std::string& error = status["error"];
    return fail(ErrorCode::Unsupported, fmt::format("the engine has not been asked for its moment, FLUSH "
                                                    "ENGINE LOGS while BACKUP STAGE BLOCK_COMMIT is held{}{}",
                                                    error.empty() ? "; was --no-lock given?" : ": ", error));
  }
  record.cut_microseconds = number_of(status["cut_microseconds"]);
  record.binary_log.reset();
  if (!status["binlog_file"].empty()) {
    record.binary_log = BinaryLogRecord{.file = status["binlog_file"],
                                        .position = number_of(status["binlog_position"]),
                                        .gtid = status["binlog_gtid"]};
  }
  return {};
}

Status BackedUpServer::finish() {
  HAILSTONE_TRY(
      connection_.execute(fmt::format("SET GLOBAL hailstone_create_backup = {}", quoted_text(staged_))));
  return {};
}

Status BackedUpServer::give_up() {
  HAILSTONE_TRY(connection_.execute("SET GLOBAL hailstone_backup_armed = ''"));
  return {};
}

}  // namespace hailstone
