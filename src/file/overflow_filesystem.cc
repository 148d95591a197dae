#include "file/overflow_filesystem.h"

namespace hailstone {

Filesystem& OverflowFilesystem::of(const std::string& path) {
  if (memory_.exists(path)) return memory_;
  return disk_;
}

Result<std::unique_ptr<WritableFile>> OverflowFilesystem::create(const std::string& path) {
  if (memory_has_room()) return memory_.create(path);
  return disk_.create(path);
}

Result<std::unique_ptr<WritableFile>> OverflowFilesystem::create_whole(const std::string& path) {
  if (memory_has_room()) return memory_.create_whole(path);
  return disk_.create_whole(path);
}

}  // namespace hailstone
