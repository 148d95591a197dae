// A filesystem whose changes stay in memory: what is written, cut, renamed or removed seems so to its user,
// and the files below are as they were. So a database that lies where nothing can be written can be brought
// to its last committed state, and read.
//
// A file that is appended to has its beginning below and the rest in memory. Directories are only those
// below. The lock of a directory is one for readers (Filesystem::lock_directory_to_read()): others may hold
// it at the same time, and no lock file is made. Thread-safe; outlives the files that it has opened.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "file/filesystem.h"
#include "file/memory_filesystem.h"

namespace hailstone {

class OverlayFilesystem final : public Filesystem {
 public:
  /// `below` must outlive this.
  explicit OverlayFilesystem(Filesystem& below) : below_(below) {}

  Result<std::unique_ptr<RandomAccessFile>> open(const std::string& path) override;
  Result<std::unique_ptr<RandomAccessFile>> open_plain(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> append_to(const std::string& path) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status remove(const std::string& path) override;
  Status truncate(const std::string& path, uint64_t size) override;
  Status sync_directory(const std::string&) override { return {}; }
  Status make_directory(const std::string& path) override;
  Status remove_directory(const std::string& path) override;
  Result<std::vector<std::string>> list(const std::string& path) override;
  bool exists(const std::string& path) override;
  Result<uint64_t> file_size(const std::string& path) override;
  Result<std::unique_ptr<DirectoryLock>> lock_directory(const std::string& path) override;
  Result<std::unique_ptr<DirectoryLock>> lock_directory_to_read(const std::string& path) override {
    return below_.lock_directory_to_read(path);
  }
  /// Files can be made, in memory.
  bool is_writable(const std::string& path) override { return below_.exists(path); }
  Result<std::string> canonical_path(const std::string& path) override { return below_.canonical_path(path); }

 private:
  /// A file that is not as it is below.
  struct Changed {
    std::string base;         // the file below that it begins with
    uint64_t base_bytes = 0;  // that are left of it
    std::string rest;         // the file in memory_ that follows
  };
  class Reader;
  class Writer;

  /// What the file is here; with nothing changed yet when it is as below. ErrorCode::NotFound.
  Result<Changed> find(const char* what, const std::string& path) HAILSTONE_REQUIRES(mutex_);
  /// The same, kept, and with a file in memory for what is appended.
  Result<Changed> make_changed(const char* what, const std::string& path) HAILSTONE_REQUIRES(mutex_);
  std::string next_rest() HAILSTONE_REQUIRES(mutex_) { return "rest/" + std::to_string(rests_++); }
  Result<std::unique_ptr<RandomAccessFile>> open_changed(const std::string& path) HAILSTONE_REQUIRES(mutex_);

  Filesystem& below_;
  MemoryFilesystem memory_;
  Mutex mutex_;
  /// By path; nothing: the file is removed.
  std::map<std::string, std::optional<Changed>> changed_ HAILSTONE_GUARDED_BY(mutex_);
  uint64_t rests_ HAILSTONE_GUARDED_BY(mutex_) = 0;
};

}  // namespace hailstone
