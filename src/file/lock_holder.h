// Who holds a lock file, as far as the system tells.
#pragma once

#include <string>

namespace hailstone {

/// "process 4711 (mariadbd)" when a process that may be looked into holds a lock on the file; else empty.
std::string lock_holder(const std::string& path);

}  // namespace hailstone
