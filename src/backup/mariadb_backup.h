// MariaDB's own program for backups at work: it copies the files of the engines that it knows, under locks of
// which the engine's moment is a part.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "backup/backup_record.h"
#include "backup/file_target.h"
#include "backup/file_tree.h"
#include "backup/innodb_log.h"
#include "backup/pace.h"
#include "base/status.h"

namespace hailstone {

struct MariadbBackup {
  std::string program = "mariadb-backup";
  std::string option_file;  // as for BackedUpServer
  unsigned threads = 1;
  std::string log;  // what it prints goes there
};

/// What it has copied.
struct CopiedServer {
  std::vector<StoredFile> files;
  std::optional<BinaryLogRecord> binary_log;  // where it was by what it has noted; nothing: it has noted none
};

struct ServerCopy {
  std::string data_directory;
  std::string base;    // a folder with a copy that this one is to have the changes to; empty: none
  FileTarget& target;  // gets the files in its folder BackupRecord::server_folder
  std::function<Status(const std::string& path)> remove;  // takes a path away from the target
  CopiedInnodbLog& innodb_log;                            // a new one
  std::string work;                                       // an empty folder
  Pace& pace;                                             // of InnoDB's rows
};

/// ErrorCode::Busy: it has failed by what clients did meanwhile, or has copied what they did wrongly; another
/// call may get through.
Result<CopiedServer> copy_server(const MariadbBackup& with, const ServerCopy& copy, const BytesDone& done);
/// Makes what it copied to `target` files that a server can start with; with `changes`, a copy that has
/// `target` as its base, brings them in. Both are changed.
Status prepare_server(const MariadbBackup& with, const std::string& target, const std::string& changes,
                      const std::function<bool()>& stop);
/// Whether a file of that name, in the folder itself, is the program's own and not the server's.
bool is_note_of_mariadb_backup(const std::string& name);

}  // namespace hailstone
