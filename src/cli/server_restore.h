// The restore of what `hailstone backup --server` makes (docs/backup.md).
#pragma once

#include <string>
#include <vector>

#include "cli/session.h"

namespace hailstone {

struct ServerRestoreOptions {
  std::string backup;
  std::string data_directory;
  std::vector<std::string> bases;  // where bases are that have moved
  std::string mariadb_backup = "mariadb-backup";
  std::string server_program = "mariadbd";
  std::string install_program = "mariadb-install-db";
  std::string client_program = "mariadb";
  std::string base_directory;  // of the server, for install_program; empty: as that knows
  std::string plugin_directory;
  std::string user;  // empty: the owner of the data directory, or mysql
  unsigned threads = 2;
  bool as_replica = false;
};

/// Whether it is a backup of a server: a folder, a file with a stream, or "-", a stream from standard input.
bool is_server_backup(const std::string& backup);
/// Makes the data directory, which must be new or empty, one that a server can start with.
Status restore_server(Session& session, const ServerRestoreOptions& options);

}  // namespace hailstone
