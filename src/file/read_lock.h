// A lock on a directory for who only reads in it.
#pragma once

#include <memory>
#include <string>

#include "file/filesystem.h"

namespace hailstone {

/// Keeps Filesystem::lock_directory() of other holders from succeeding as long as it is held, and changes
/// nothing, so that it also works where nothing can be written. Others may hold it at the same time. Null
/// when there is no lock file: then nobody has ever locked the directory. ErrorCode::Busy when
/// lock_directory()'s lock is held. For the operating system's filesystem.
Result<std::unique_ptr<DirectoryLock>> lock_directory_to_read(const std::string& path);

}  // namespace hailstone
