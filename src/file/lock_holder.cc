// Locks of open files belong to no process, so the kernel's list of locks names none. But each process tells
// of its open files, and of the locks that these hold.
#include "file/lock_holder.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <vector>

#include "file/descriptor.h"

namespace hailstone {
namespace {

/// Names that are numbers.
std::vector<std::string> numbers_in(const std::string& path) {
  std::vector<std::string> names;
  const OpenDirectory directory(::opendir(path.c_str()));
  if (directory == nullptr) return names;
  while (const dirent* entry = ::readdir(directory.get())) {
    const std::string name = entry->d_name;
    if (std::ranges::all_of(name, [](unsigned char c) { return std::isdigit(c) != 0; }))
      names.push_back(name);
  }
  return names;
}

bool holds_lock(const std::string& process, const std::string& descriptor) {
  std::ifstream info("/proc/" + process + "/fdinfo/" + descriptor);
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("lock:")) return true;
  }
  return false;
}

}  // namespace

std::string lock_holder(const std::string& path) {
  struct stat wanted, open_file;
  if (::stat(path.c_str(), &wanted) != 0) return {};
  for (const std::string& process : numbers_in("/proc")) {
    const std::string descriptors = "/proc/" + process + "/fd";
    for (const std::string& descriptor : numbers_in(descriptors)) {
      if (::stat((descriptors + "/" + descriptor).c_str(), &open_file) != 0) continue;
      if (open_file.st_dev != wanted.st_dev || open_file.st_ino != wanted.st_ino) continue;
      if (!holds_lock(process, descriptor)) continue;
      std::ifstream name_file("/proc/" + process + "/comm");
      std::string name;
      std::getline(name_file, name);
      return fmt::format("process {} ({})", process, name);
    }
  }
  return {};
}

std::unexpected<Error> directory_in_use(const std::string& directory, const std::string& lock_path) {
  const std::string holder = lock_holder(lock_path);
  return fail(
      ErrorCode::Busy,
      fmt::format("directory '{}' is in use: {} holds '{}'; close the database there first", directory,
                  holder.empty() ? "another database object of this or another process" : holder, lock_path));
}

}  // namespace hailstone
