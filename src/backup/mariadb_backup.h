// MariaDB's own program for backups at work: it copies the files of the engines that it knows, under locks of
// which the engine's moment is a part.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "backup/backup_record.h"
#include "base/status.h"

namespace hailstone {

struct MariadbBackup {
  std::string program = "mariadb-backup";
  std::string option_file;  // as for BackedUpServer
  unsigned threads = 1;
  std::string log;  // what it prints goes there
};

/// Copies the server into `target`, which must not be there; with `base`, the `target` of an earlier call,
/// what has changed since. `stop` as for ChildProcess::wait(). ErrorCode::Busy: it has failed by what
/// clients did meanwhile; another call may get through.
Status copy_server(const MariadbBackup& with, const std::string& data_directory, const std::string& base,
                   const std::string& target, const std::function<bool()>& stop);
/// Where the binary log was by what it has noted in `target`; nothing where it has noted none.
Result<std::optional<BinaryLogRecord>> noted_position(const std::string& target);
/// Makes what it copied to `target` files that a server can start with; with `changes`, a copy that has
/// `target` as its base, brings them in. Both are changed.
Status prepare_server(const MariadbBackup& with, const std::string& target, const std::string& changes,
                      const std::function<bool()>& stop);
/// Whether a file of that name, in the folder itself, is the program's own and not the server's.
bool is_note_of_mariadb_backup(const std::string& name);

}  // namespace hailstone
