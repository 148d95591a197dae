#include "database/server_folder.h"

#include <fmt/format.h>

#include "database/manifest.h"

namespace hailstone {

Result<std::string> find_server_folder(Filesystem& filesystem, const std::string& data_directory) {
  const std::string usual = fmt::format("{}/{}", data_directory, server_folder);
  const std::string earlier = fmt::format("{}/{}", data_directory, earlier_server_folder);
  if (!filesystem.exists(Manifest::path_in(earlier))) return usual;
  if (!filesystem.exists(Manifest::path_in(usual))) return earlier;
  return fail(ErrorCode::InvalidArgument,
              fmt::format("the data directory has two folders of the engine, '{}' and '{}'", server_folder,
                          earlier_server_folder));
}

Result<std::string> find_database(Filesystem& filesystem, const std::string& given) {
  if (filesystem.exists(Manifest::path_in(given))) return given;
  std::string directory = given;
  while (directory.size() > 1 && directory.back() == '/') directory.pop_back();
  auto folder = find_server_folder(filesystem, directory);
  if (!folder) {
    return fail(folder.error().code(),
                fmt::format("'{0}': {1}; name the one that is meant: '{0}/{2}' or '{0}/{3}'", directory,
                            folder.error().message(), server_folder, earlier_server_folder));
  }
  return filesystem.exists(Manifest::path_in(*folder)) ? *folder : given;
}

}  // namespace hailstone
