// A lock on a directory for who only reads in it.
#pragma once

#include <memory>
#include <string>

#include "file/filesystem.h"

namespace hailstone {

/// What Filesystem::lock_directory_to_read() does on the operating system's filesystem, which calls it.
Result<std::unique_ptr<DirectoryLock>> lock_directory_to_read(const std::string& path);

}  // namespace hailstone
