// The files below a folder, and what their bytes are. For files of a server; those of the engine go through a
// Filesystem.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backup/compressor.h"
#include "backup/file_target.h"
#include "base/status.h"
#include "text/input.h"

namespace hailstone {

/// Told how many bytes of one more file are done; false ends the work with ErrorCode::Interrupted. May be
/// called by several threads.
using BytesDone = std::function<bool(uint64_t bytes)>;

/// The plain files below the folder, by their paths in order, and their sizes. Others are
/// ErrorCode::InvalidArgument.
Result<std::vector<StoredFile>> files_below(const std::string& folder);
/// Those in the folders of `folder`, no deeper, that `accept` takes by the names of their folder and their
/// own; in order.
Result<std::vector<StoredFile>> files_in_folders(
    const std::string& folder,
    const std::function<bool(const std::string& inner_folder, const std::string& name)>& accept);
/// Reads each of the files below `folder`, decompressed, and fills in sizes and checksums.
Status read_checksums(const std::string& folder, std::vector<StoredFile>& files, unsigned threads,
                      const BytesDone& done);
/// Copies the files, which must be no links, from one folder to `folder` of the target, or to the target
/// itself; all are synced when it returns success. Sizes and checksums are those of what was read, and how
/// they are stored is as in the target.
Status copy_files(const std::string& from, FileTarget& to, const std::string& folder,
                  std::vector<StoredFile>& files, unsigned threads, const BytesDone& done);
/// Moves the files from one folder to another of the same filesystem.
Status move_files(const std::string& from, const std::string& to, const std::vector<StoredFile>& files);
/// Makes all names below the folder durable.
Status sync_folders(const std::string& folder);
bool is_folder(const std::string& path);
/// Removes the folder with all that is in it.
Status remove_tree(const std::string& folder);

/// TMPDIR, or /tmp.
std::string temporary_place();

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

/// A plain file, decompressed where its facts say so. Links are refused.
Result<std::unique_ptr<Input>> open_stored(const std::string& folder, const StoredFile& file);
/// Whether an error of such an input says that the compressed bytes are damaged.
bool is_of_decompressor(const Error& error);
/// Gives all that there is to `take`, piece by piece.
Status for_all_bytes(Input& input, const TakeBytes& take);
/// A small text file; ErrorCode::NotFound.
Result<std::string> read_text(const std::string& path);
/// Makes or replaces it; synced.
Status write_text(const std::string& path, const std::string& text);

}  // namespace hailstone
