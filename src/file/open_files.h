// A filesystem that keeps a limited number of files open for reading: the descriptor of a file that nobody
// has read lately is given back when there are too many, and the file is opened again by its name at the next
// read. So a database may have more segments than its process may have open files. When the system has no
// descriptor left, idle ones are given back and the call is tried once more.
//
// Only for files that keep their name and content while they are open. Passes all else on. Thread-safe; must
// outlive its files.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "file/forwarding_filesystem.h"

namespace hailstone {

class OpenFiles final : public ForwardingFilesystem {
 public:
  OpenFiles(Filesystem& below, size_t limit) : ForwardingFilesystem(below), limit_(limit) {}

  /// More than the limit are open only while more are being read at once.
  void set_limit(size_t limit);
  /// Files that hold a descriptor now.
  size_t open_count() const;
  /// Half of the descriptors that the process may have, as the host program and other files need some, too.
  static size_t default_limit();

  Result<std::unique_ptr<RandomAccessFile>> open(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> create_whole(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> append_to(const std::string& path) override;
  Status truncate(const std::string& path, uint64_t size) override;
  Status sync_directory(const std::string& path) override;
  Result<std::vector<std::string>> list(const std::string& path) override;

 private:
  class File;
  using Place = std::list<File*>::iterator;

  /// Calls again when there was no descriptor and some could be given back.
  template <typename Call>
  auto with_descriptor(const Call& call) -> decltype(call());
  /// Gives back descriptors of files that nobody has read lately, until at most `most` are left, or all left
  /// are being read.
  void shrink(size_t most);
  void note_opened(File& file);
  void note_closed(File& file);

  /// What the mutex is called by those that it guards, here and in the files.
  static Mutex list_mutex;
  Mutex& mutex() const HAILSTONE_RETURN_CAPABILITY(list_mutex) { return mutex_; }

  std::atomic<size_t> limit_;
  mutable Mutex mutex_;  // taken before the mutex of a file only to try that
  std::list<File*> open_ HAILSTONE_GUARDED_BY(list_mutex);
  Place hand_ HAILSTONE_GUARDED_BY(list_mutex) = open_.end();  // where the search for an idle file goes on
};

}  // namespace hailstone
