#include "api/haildb/filesystem.h"

#include "file/unsynced_filesystem.h"

namespace hailstone::haildb {

Filesystem& nosync_filesystem() {
  static UnsyncedFilesystem filesystem(posix_filesystem());
  return filesystem;
}

}  // namespace hailstone::haildb
