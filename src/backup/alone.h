// What a backup takes of a server whose tables are all Hailstone's, without mariadb-backup: the files of
// definitions, and a dump of the server's own tables (users, grants, routines, events, plugins, statistics).
// One thread.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "backup/backed_up_server.h"
#include "base/status.h"

namespace hailstone {

/// The file of the dump, in the folder of server files.
inline constexpr const char* system_dump = "mysql.sql";

struct AloneBackup {
  std::string dump_program = "mariadb-dump";
  std::string option_file;    // as for BackedUpServer
  unsigned lock_seconds = 0;  // how long each lock is waited for
  std::string log;            // what programs print goes there
};

/// What is of the moment.
struct AloneMoment {
  std::optional<BinaryLogRecord> binary_log;  // by the server's own words
  std::string gtid_slave_pos;                 // of a replica: what it has of its primary
};

/// Holds off definitions, copies, and at last holds off commits for the moment of the armed backup, all in
/// the server's connection. ErrorCode::LockWaitTimeout when a lock is not to be had.
Result<AloneMoment> copy_alone(BackedUpServer& server, const AloneBackup& with, const std::string& target,
                               const std::function<bool()>& stop);

}  // namespace hailstone
