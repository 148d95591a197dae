// A backup of a server, and the backups that it has the changes to. For restores. One thread at a time.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "backup/backup_record.h"
#include "backup/file_tree.h"
#include "base/status.h"

namespace hailstone {

class BackupChain {
 public:
  /// A backup and its folder.
  struct Part {
    std::string folder;
    BackupRecord record;
  };

  /// `bases`: where to look for bases, before where they were. ErrorCode::NotFound names the one that is not
  /// there.
  static Result<BackupChain> read(const std::string& folder, const std::vector<std::string>& bases);

  /// Of the backup itself.
  const BackupRecord& record() const { return parts_.back().record; }
  /// A whole backup, then what has the changes to it, and so on to the backup itself.
  const std::vector<Part>& parts() const { return parts_; }
  /// All files of the engine's database, by the part that has them. ErrorCode::Corruption: one is in none.
  Result<std::vector<std::pair<const Part*, std::vector<StoredFile>>>> database_files() const;

 private:
  std::vector<Part> parts_;
};

/// Copies files of a backup, decompressed. ErrorCode::Corruption: they are not what was backed up.
Status copy_compared(const std::string& from, const std::string& to, const std::vector<StoredFile>& wanted,
                     unsigned threads, const BytesDone& done);

}  // namespace hailstone
