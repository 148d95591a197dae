#include "backup/lasting_files.h"

#include <fmt/format.h>

#include "database/core.h"
#include "database/manifest.h"

namespace hailstone {

Result<std::set<std::string>> lasting_files(Filesystem& filesystem, const std::string& directory) {
  HAILSTONE_ASSIGN(const auto content, Manifest::load(filesystem, directory));
  if (!content)
    return fail(ErrorCode::NotFound, fmt::format("there is no database in directory '{}'", directory));
  std::set<std::string> names;
  const auto add = [&](const std::string& path, uint64_t number) {
    if (number != 0 && number < content->mark.next_file) names.insert(path.substr(path.rfind('/') + 1));
  };
  for (const auto& [id, stored] : content->tables) {
    for (const auto& segment : content->read(stored).segments) {
      add(segment_path_in(directory, segment.file), segment.file);
      add(delete_vector_path_in(directory, segment.delete_vector), segment.delete_vector);
    }
  }
  return names;
}

}  // namespace hailstone
