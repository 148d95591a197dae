// Files that are in memory while all of them together take less than a limit, and on a disk beyond it: where
// a file goes is decided when it is made. So memory takes at most one file for each writer beyond the limit.
// Nothing is synced, as nobody is to find the files after a crash; directories are the disk's. Thread-safe;
// outlives the files that it has opened.
#pragma once

#include "base/memory_budget.h"
#include "file/memory_filesystem.h"
#include "file/unsynced_filesystem.h"

namespace hailstone {

class OverflowFilesystem final : public Filesystem {
 public:
  /// `budget`: of the files in memory. Both outlive this.
  OverflowFilesystem(Filesystem& disk, MemoryBudget& budget)
      : budget_(budget), memory_(&budget), disk_(disk) {}

  Result<std::unique_ptr<RandomAccessFile>> open(const std::string& path) override {
    return of(path).open(path);
  }
  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> create_whole(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> append_to(const std::string& path) override {
    return of(path).append_to(path);
  }
  /// Within memory, or within the disk.
  Status rename(const std::string& from, const std::string& to) override { return of(from).rename(from, to); }
  Status remove(const std::string& path) override { return of(path).remove(path); }
  Status link(const std::string& from, const std::string& to) override { return of(from).link(from, to); }
  Status truncate(const std::string& path, uint64_t size) override { return of(path).truncate(path, size); }
  Status sync_directory(const std::string&) override { return {}; }
  Status make_directory(const std::string& path) override { return disk_.make_directory(path); }
  Status remove_directory(const std::string& path) override { return disk_.remove_directory(path); }
  /// Those on the disk.
  Result<std::vector<std::string>> list(const std::string& path) override { return disk_.list(path); }
  bool exists(const std::string& path) override { return of(path).exists(path); }
  Result<uint64_t> file_size(const std::string& path) override { return of(path).file_size(path); }
  Result<std::unique_ptr<DirectoryLock>> lock_directory(const std::string& path) override {
    return disk_.lock_directory(path);
  }
  Result<std::unique_ptr<DirectoryLock>> lock_directory_to_read(const std::string& path) override {
    return disk_.lock_directory_to_read(path);
  }
  bool is_writable(const std::string& path) override { return disk_.is_writable(path); }
  Result<std::string> canonical_path(const std::string& path) override { return disk_.canonical_path(path); }

 private:
  /// Where the file is, or would be on the disk.
  Filesystem& of(const std::string& path);
  bool memory_has_room() const { return budget_.used() < budget_.limit(); }

  MemoryBudget& budget_;
  MemoryFilesystem memory_;
  UnsyncedFilesystem disk_;
};

}  // namespace hailstone
