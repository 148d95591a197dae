// `hailstone backup --server` and the restore of what it makes (docs/backup.md).
#pragma once

#include <string>

#include "cli/session.h"

namespace hailstone {

struct ServerBackupOptions {
  static constexpr const char* stream = "-";

  std::string target;  // a folder, or `stream`: to standard output
  std::string base;    // a backup that this one is to have the changes to; empty: none
  std::string option_file;
  std::string mariadb_backup;  // the program; empty: where there are tables of other engines only
  std::string mariadb_dump = "mariadb-dump";
  unsigned threads = 2;
  unsigned compress = 0;        // level of Zstandard; 0: not
  unsigned max_rate = 100;      // megabytes a second; 0: as fast as it goes
  unsigned lock_seconds = 300;  // how long each lock of the server is waited for
  bool no_check = false;
};

/// Makes `target`, a folder that must be new or empty, or a stream, a backup of the whole server.
Status back_up_server(Session& session, const ServerBackupOptions& options);

}  // namespace hailstone
