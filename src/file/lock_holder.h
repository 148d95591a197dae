// Who holds a lock file, as far as the system tells.
#pragma once

#include <string>

#include "base/status.h"

namespace hailstone {

/// "process 4711 (mariadbd)" when a process that may be looked into holds a lock on the file; else empty.
std::string lock_holder(const std::string& path);

/// ErrorCode::Busy, for who cannot have the lock of a directory.
std::unexpected<Error> directory_in_use(const std::string& directory, const std::string& lock_path);

}  // namespace hailstone
