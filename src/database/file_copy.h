// Copies of a database's files into another directory, for backup and restore. One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "file/filesystem.h"
#include "segment/file_identity.h"

namespace hailstone {

/// Told how many of the bytes are there; false ends the work with ErrorCode::Interrupted.
using CopyProgress = std::function<bool(uint64_t done, uint64_t all)>;

class FileCopy {
 public:
  /// `from` must be there. `progress` may be empty.
  FileCopy(Filesystem& filesystem, std::string from, std::string to, CopyProgress progress)
      : filesystem_(filesystem), from_(std::move(from)), to_(std::move(to)), progress_(std::move(progress)) {}
  FileCopy(const FileCopy&) = delete;
  FileCopy& operator=(const FileCopy&) = delete;
  /// Removes what was made, as far as that works, unless it is kept: also when memory has run out on the way.
  ~FileCopy();

  /// Makes `to`, unless it is there and empty. `what` it is to hold, for the sentence of an error:
  /// ErrorCode::AlreadyExists.
  Status make_directory(const std::string& what);
  /// Bytes that are to come, for the progress.
  void expect(uint64_t bytes) { all_ += bytes; }
  /// The first `size` bytes of the file, which must be a plain one, or all when it is shorter; synced.
  Status copy(const std::string& name, uint64_t size);
  /// The file under a second name, `as` in `to`, or copied where there can be none. Of a file that changes,
  /// who has the link sees the changes.
  Status link(const std::string& name, const std::string& as);
  /// Puts the first `size` bytes of what link() made as `linked` into a file of its own; synced.
  Status copy_linked(const std::string& linked, const std::string& name, uint64_t size);
  /// Of a file that was linked or copied; not an error when it was not.
  Status remove(const std::string& name);
  /// A file that the caller makes in `to`, before it does.
  void expect_made(const std::string& name) { made_.push_back(to_ + "/" + name); }
  /// Makes the names of the copies durable.
  Status sync();
  /// All is there, and stays.
  void keep() { kept_ = true; }

 private:
  Status copy_file(const std::string& source_path, const std::string& to, uint64_t size);
  Status advance(uint64_t bytes);

  Filesystem& filesystem_;
  const std::string from_, to_;
  const CopyProgress progress_;
  uint64_t all_ = 0, done_ = 0;
  bool is_new_ = false;  // the directory was made
  bool kept_ = false;
  std::vector<std::string> made_;  // a path is noted before its file is made, which must not need memory
};

/// Whether `path`, which need not be there, lies in `directory` or a folder of it.
Result<bool> is_within(Filesystem& filesystem, const std::string& path, const std::string& directory);

/// Removes a folder that holds a copied database, or what is left of one, and nothing else. What stays when
/// this is interrupted does not pass for a database.
Status remove_copied_database(Filesystem& filesystem, const std::string& folder);

/// The directory that holds the file or directory at `path`.
std::string parent_of(const std::string& path);

/// A number of its own for the copy of a database: files that either writes from now on are not taken for the
/// other's. `earlier`: what its manifest holds. `next_file`: a number that no file has yet, nor any beyond
/// it.
DatabaseIdentity next_identity(std::span<const DatabaseIdentity> earlier, uint64_t next_file);

/// Gives the database in a directory, which is a copy, its next_identity(). `manifest_bytes`: of its
/// manifest.
Status begin_new_identity(Filesystem& filesystem, const std::string& directory, uint64_t manifest_bytes,
                          std::span<const DatabaseIdentity> databases, uint64_t next_file);

/// begin_new_identity() for a copy that nobody has open. ErrorCode::NotFound: there is no database.
Status become_another_database(Filesystem& filesystem, const std::string& directory);

/// Makes `to`, which must be new or empty and not lie in `from`, a copy of the database in `from`, which
/// nobody may have open: ErrorCode::Busy. Nothing in `from` changes but that it may get a lock file. On an
/// error what was made is removed again. ErrorCode::Corruption when the manifest is damaged; other damage is
/// copied. ErrorCode::InvalidArgument for a symbolic link, a pipe or a device in place of a file: `from` may
/// come from somebody who must not choose what this process reads.
Status restore_database(Filesystem& filesystem, const std::string& from, const std::string& to,
                        const CopyProgress& progress);

}  // namespace hailstone
