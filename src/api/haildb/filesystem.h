// The operating system's filesystem without its syncs: flush_method "nosync".
#pragma once

#include "file/filesystem.h"

namespace hailstone::haildb {

/// Lives for ever. After a loss of power nothing can be said about what was written.
Filesystem& nosync_filesystem();

}  // namespace hailstone::haildb
