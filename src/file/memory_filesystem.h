// A filesystem whose files are in memory, for tables and databases that nothing of is to be on a disk. Files
// and directories are gone when it goes.
//
// A file lies in pieces that double from a page up to a mebibyte; closing the writer joins them to ones of up
// to 32 mebibytes, and cuts the last to what it holds. What lies in one piece is lent, not read. So a file
// takes its bytes and little more, and a removed one gives its memory back to the system when the last reader
// lets go. A budget, when given, is charged for all pieces, beyond its limit, too: its owner keeps the limit
// before files are written. Nothing here is ever lost or torn, so that sync() and the syncing of directories
// do nothing. Thread-safe; outlives the files that it has opened.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/memory_budget.h"
#include "base/mutex.h"
#include "file/filesystem.h"

namespace hailstone {

class MemoryFilesystem final : public Filesystem {
 public:
  explicit MemoryFilesystem(MemoryBudget* budget = nullptr) : budget_(budget) {}

  Result<std::unique_ptr<RandomAccessFile>> open(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> append_to(const std::string& path) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status remove(const std::string& path) override;
  Status link(const std::string& from, const std::string& to) override;
  Status truncate(const std::string& path, uint64_t size) override;
  Status sync_directory(const std::string&) override { return {}; }
  Status make_directory(const std::string& path) override;
  Status remove_directory(const std::string& path) override;
  Result<std::vector<std::string>> list(const std::string& path) override;
  bool exists(const std::string& path) override;
  Result<uint64_t> file_size(const std::string& path) override;
  Result<std::unique_ptr<DirectoryLock>> lock_directory(const std::string& path) override;
  Result<std::unique_ptr<DirectoryLock>> lock_directory_to_read(const std::string& path) override;
  bool is_writable(const std::string& path) override;
  /// There are no links here.
  Result<std::string> canonical_path(const std::string& path) override;

 private:
  class File;
  class Reader;
  class Writer;
  class Lock;
  class LockToRead;

  Result<std::shared_ptr<File>> find(std::string_view what, const std::string& path) const
      HAILSTONE_REQUIRES(mutex_);

  MemoryBudget* const budget_;
  mutable Mutex mutex_;
  std::map<std::string, std::shared_ptr<File>> files_ HAILSTONE_GUARDED_BY(mutex_);
  std::set<std::string> directories_ HAILSTONE_GUARDED_BY(mutex_);
  std::set<std::string> locked_ HAILSTONE_GUARDED_BY(mutex_);
  std::multiset<std::string> locked_to_read_ HAILSTONE_GUARDED_BY(mutex_);
};

}  // namespace hailstone
