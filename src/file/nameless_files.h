// Files in a folder for temporary ones that have no name there: gone when the last that has them open closes
// them, however the process ends. For the spill files of a database that is only read, whose directory stays
// as it is.
//
// A path that create() was given can be opened until it is removed; its name is for messages. All else is of
// the filesystem of the operating system. Thread-safe; outlives its files.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "file/descriptor.h"
#include "file/forwarding_filesystem.h"

namespace hailstone {

class NamelessFiles final : public ForwardingFilesystem {
 public:
  NamelessFiles() : ForwardingFilesystem(posix_filesystem()) {}

  Result<std::unique_ptr<RandomAccessFile>> open(const std::string& path) override;
  /// The path's folder must be there.
  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override;
  Status remove(const std::string& path) override;

 private:
  Mutex mutex_;
  std::map<std::string, Descriptor> files_ HAILSTONE_GUARDED_BY(mutex_);
};

/// TMPDIR of the environment; without it /var/tmp, which is on a disk where /tmp may be memory.
std::string folder_of_temporary_files();

}  // namespace hailstone
