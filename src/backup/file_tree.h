// The files below a folder, and what their bytes are. For files of a server; those of the engine go through a
// Filesystem.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"

namespace hailstone {

struct FileFacts {
  std::string path;  // from the folder on
  uint64_t bytes = 0;
  uint64_t checksum = 0;  // XXH3, 64 bits

  bool operator==(const FileFacts&) const = default;
};

/// Told how many bytes of one more file are done; false ends the work with ErrorCode::Interrupted. May be
/// called by several threads.
using BytesDone = std::function<bool(uint64_t bytes)>;

/// The plain files below the folder, by their paths in order, and their sizes. Others are
/// ErrorCode::InvalidArgument.
Result<std::vector<FileFacts>> files_below(const std::string& folder);
/// Those in the folders of `folder`, no deeper, that `accept` takes by the names of their folder and their
/// own; in order.
Result<std::vector<FileFacts>> files_in_folders(
    const std::string& folder,
    const std::function<bool(const std::string& inner_folder, const std::string& name)>& accept);
/// Reads each of the files below `folder` and fills in the checksums.
Status read_checksums(const std::string& folder, std::vector<FileFacts>& files, unsigned threads,
                      const BytesDone& done);
/// Copies the files, which must be no links, from one folder to another, whose folders are made; all are
/// synced when it returns success. Sizes and checksums are those of what was read.
Status copy_files(const std::string& from, const std::string& to, std::vector<FileFacts>& files,
                  unsigned threads, const BytesDone& done);
/// Makes all names below the folder durable.
Status sync_folders(const std::string& folder);
/// Removes the folder with all that is in it.
Status remove_tree(const std::string& folder);

/// A folder of its own below TMPDIR, or /tmp, which nobody else can read. Goes with all that is in it.
class TemporaryFolder {
 public:
  static Result<TemporaryFolder> make();
  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();
  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

/// A small text file; ErrorCode::NotFound.
Result<std::string> read_text(const std::string& path);
/// Makes or replaces it; synced.
Status write_text(const std::string& path, const std::string& text);

}  // namespace hailstone
