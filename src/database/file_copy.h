// Copies of a database's files into another directory, for backup and restore. One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "file/filesystem.h"

namespace hailstone {

/// Told how many of the bytes are there; false ends the work with ErrorCode::Interrupted.
using CopyProgress = std::function<bool(uint64_t done, uint64_t all)>;

class FileCopy {
 public:
  /// Both directories must be there. `all`: bytes to come, for `progress`, which may be empty.
  FileCopy(Filesystem& filesystem, std::string from, std::string to, CopyProgress progress)
      : filesystem_(filesystem), from_(std::move(from)), to_(std::move(to)), progress_(std::move(progress)) {}

  void expect(uint64_t bytes) { all_ += bytes; }
  /// The first `size` bytes of the file, or all when it is shorter; synced.
  Status copy(const std::string& name, uint64_t size);
  /// The file under a second name, or copied where there can be none. Only for files that never change.
  Status link(const std::string& name);
  /// Makes the names of the copies durable.
  Status sync();
  /// Removes what was made, as far as that works.
  void remove_all();

 private:
  Status advance(uint64_t bytes);

  Filesystem& filesystem_;
  const std::string from_, to_;
  const CopyProgress progress_;
  uint64_t all_ = 0, done_ = 0;
  std::vector<std::string> made_;
};

/// Whether `path`, which need not be there, lies in `directory` or a folder of it.
bool is_within(const std::string& path, const std::string& directory);

/// Makes the directory, unless it is there and empty. ErrorCode::AlreadyExists names what to do.
Status make_empty_directory(Filesystem& filesystem, const std::string& path, const std::string& what);

/// Makes `to`, which must be new or empty and not lie in `from`, a copy of the database in `from`, which
/// nobody may have open: ErrorCode::Busy. Nothing in `from` changes but that it may get a lock file. On an
/// error the files that were made are removed again. ErrorCode::Corruption when the manifest is damaged;
/// other damage is copied.
Status restore_database(Filesystem& filesystem, const std::string& from, const std::string& to,
                        const CopyProgress& progress);

}  // namespace hailstone
