// A copy of a database that is at work, as of one moment: the manifest, the files that it or the log names,
// and the log up to a position, just as a crash at that moment would have left them. Recovery of the copy
// then finds what was committed by then.
//
// Three steps, so that the moment itself is short, whoever has to wait for it meanwhile:
// 1. begin() takes a checkpoint and links the segments and delete vectors that are there. They never change.
// 2. cut() is the moment: the log goes on in a new file; what has come since the first step is linked, and so
//    are the manifest and the files of the log, of which only the bytes up to now count.
// 3. finish() makes copies of log and manifest, which whoever opens the backup appends to. The manifest comes
//    last: without it the directory is no database.
// Nothing is kept from going on between the steps. cut() may be called again: the last one counts.
//
// Belongs to one thread at a time. The database must outlive it, and must not be closed before it has gone.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "database/file_copy.h"
#include "log/log.h"

namespace hailstone {

class DatabaseCore;

/// A folder of the database's own directory that may be the target of a backup. What it holds is removed when
/// the database is opened, whoever left it.
inline constexpr const char* staged_backup = "staged-backup";

class OnlineBackup {
 public:
  /// `target` must be new or empty, and outside of the database's directory but for staged_backup.
  OnlineBackup(DatabaseCore& core, std::string target, const CopyProgress& progress);
  OnlineBackup(const OnlineBackup&) = delete;
  OnlineBackup& operator=(const OnlineBackup&) = delete;
  /// Removes what was made, unless all was finished.
  ~OnlineBackup();

  const std::string& target() const { return target_; }
  Status begin();
  Status cut();
  bool has_cut() const { return has_cut_; }
  /// Behind a cut. Synced when it returns success; the directory is a database then, and stays.
  Status finish();

 private:
  Status check_target() const;
  Status link_new_files();
  Status link_log(Lsn log_start, Lsn end);

  DatabaseCore& core_;
  Filesystem& filesystem_;
  const std::string target_;
  FileCopy files_;
  std::set<std::string> linked_;                        // segments and delete vectors in the target
  std::vector<std::pair<std::string, uint64_t>> logs_;  // files of the log and how many bytes of them count
  uint64_t manifest_bytes_ = 0;
  bool has_cut_ = false;
};

/// Whether `path`, however it is written, is that folder.
Result<bool> is_staged_backup(Filesystem& filesystem, const std::string& directory, const std::string& path);

/// Removes what a backup has left in the staged_backup folder of the database's directory, and that folder.
Status remove_staged_backup(Filesystem& filesystem, const std::string& directory);

}  // namespace hailstone
