#include "data_folder.h"

#include <filesystem>

#include "fmt/format.h"

// The server exports it, but no header of its declares it.
extern void ignore_db_dirs_append(const char* name);

namespace hailstone {

namespace {

/// A relative path keeps its first part from being taken for an option or a drive.
std::string from_here(const std::string& path) {
  return path.starts_with('/') || path.starts_with("./") ? path : "./" + path;
}

}  // namespace

Result<std::string> find_data_folder(std::string wanted) {
  while (wanted.size() > 1 && wanted.back() == '/') wanted.pop_back();
  if (wanted != default_data_folder) return from_here(wanted);
  const auto found = find_server_folder(posix_filesystem(), ".");
  if (found) return found;
  return fail(found.error().code(),
              fmt::format("{}; say which one has the tables, as hailstone_data_dir=./{}, or "
                          "move the other one away",
                          found.error().message(), earlier_server_folder));
}

void hide_data_folder(const std::string& folder) {
  const std::filesystem::path path = folder;
  const std::filesystem::path parent = path.has_parent_path() ? path.parent_path() : ".";
  std::error_code failed;  // what cannot be looked at is no directory of the server's
  if (std::filesystem::equivalent(parent, ".", failed)) ignore_db_dirs_append(path.filename().c_str());
}

}  // namespace hailstone
