// What a backup asks of the server that it is of, by SQL, in one connection that the staged backup belongs
// to. One thread.
#pragma once

#include <string>
#include <vector>

#include "backup/backup_record.h"
#include "backup/innodb_log.h"
#include "base/status.h"
#include "collect/config.h"
#include "collect/server_connection.h"

namespace hailstone {

/// A lock was not had within so many seconds.
Error late_lock(unsigned seconds);

class BackedUpServer {
 public:
  /// `option_file`: of MariaDB's clients; empty: those that the clients read.
  explicit BackedUpServer(const std::string& option_file);

  /// Connects, keeps other backups out, and asks for what is noted in the record. Errors name the privilege
  /// that the account lacks.
  Status connect(BackupRecord& record);

  const std::string& data_directory() const { return data_directory_; }
  /// Of the staged backup, which only the server's own user and root can read.
  const std::string& staged() const { return staged_; }
  /// Tables, as `schema`.`table`, of other engines than Hailstone that are no part of the server itself.
  Result<std::vector<std::string>> tables_of_other_engines();

  /// The file of InnoDB's log.
  Result<std::string> innodb_log();
  Result<InnodbLogPlace> innodb_log_place();

  /// For how long the longest wait for a lock of a backup of this account has been going on, in seconds; 0:
  /// there is none.
  Result<double> lock_wait();
  /// The staged backup is got ready.
  Status arm();
  /// Whether its moment has been; `record` gets where the binary log was. ErrorCode::Unsupported: it has not.
  Status read_cut(BackupRecord& record);
  /// The staged backup gets whole.
  Status finish();
  /// It is removed.
  Status give_up();

  ServerConnection& connection() { return connection_; }

 private:
  Status probe(const std::string& statement, const char* privilege);

  ServerConfig config_;
  ServerConnection connection_;
  std::string data_directory_, staged_, account_;
};

}  // namespace hailstone
