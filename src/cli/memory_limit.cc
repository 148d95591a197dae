#include "cli/memory_limit.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <optional>
#include <system_error>

#include "cli/session.h"

namespace hailstone {
namespace {

struct ControlGroup {
  std::string folder;  // the one that this process is in
  bool version_2 = false;
};

/// Where the system shows its control groups, from /proc/self/mounts.
std::string mounted_at(std::string_view type, std::string_view option) {
  std::ifstream mounts("/proc/self/mounts");
  std::string device, place, mounted_type, options, rest;
  while (mounts >> device >> place >> mounted_type >> options && std::getline(mounts, rest)) {
    if (mounted_type != type) continue;
    if (option.empty() || fmt::format(",{},", options).find(fmt::format(",{},", option)) != std::string::npos)
      return place;
  }
  return {};
}

std::optional<ControlGroup> own_group() {
  std::optional<ControlGroup> found;
  std::ifstream groups("/proc/self/cgroup");
  // "5:cpu,memory:/path" in version 1, "0::/path" in version 2.
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    if (controllers.find(",memory,") != std::string::npos) {
      const std::string root = mounted_at("cgroup", "memory");
      if (!root.empty()) return ControlGroup{root + (path == "/" ? "" : path), false};
    } else if (controllers == ",,") {
      const std::string root = mounted_at("cgroup2", "");
      if (!root.empty()) found = ControlGroup{root + (path == "/" ? "" : path), true};
    }
  }
  return found;
}

/// False with errno set.
bool put(const std::string& path, const std::string& text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool written = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int number = errno;
  ::close(file);
  errno = number;
  return written;
}

std::unexpected<Error> refused(uint64_t bytes, const std::string& reason) {
  return fail(ErrorCode::Unsupported,
              fmt::format("the memory cannot be limited from here: {}; use 'systemd-run --scope -p "
                          "MemoryMax={} hailstone disk ...' without --memory-limit, or run as root",
                          reason, bytes));
}

std::string why(std::string_view what, const std::string& path) {
  return fmt::format("{} '{}': {}", what, path, std::error_code(errno, std::generic_category()).message());
}

}  // namespace

Result<std::unique_ptr<MemoryLimit>> MemoryLimit::set(uint64_t bytes) {
  const auto own = own_group();
  if (!own) return refused(bytes, "the system has no control groups for memory");
  const std::string group = fmt::format("{}/hailstone-disk-{}", own->folder, ::getpid());
  if (::mkdir(group.c_str(), 0755) != 0) return refused(bytes, why("cannot make", group));
  std::unique_ptr<MemoryLimit> limit(new MemoryLimit(own->folder, group));
  const std::string file = group + (own->version_2 ? "/memory.max" : "/memory.limit_in_bytes");
  if (own->version_2 && ::access(file.c_str(), F_OK) != 0) {
    const std::string control = own->folder + "/cgroup.subtree_control";
    if (!put(control, "+memory")) return refused(bytes, why("cannot write to", control));
  }
  if (!put(file, std::to_string(bytes))) return refused(bytes, why("cannot write to", file));
  const std::string members = group + "/cgroup.procs";
  if (!put(members, std::to_string(::getpid()))) return refused(bytes, why("cannot write to", members));
  return limit;
}

MemoryLimit::~MemoryLimit() {
  // A failure here leaves an empty group, or this process in it until it ends.
  (void)put(parent_ + "/cgroup.procs", std::to_string(::getpid()));
  // In version 1 the page cache still belongs to the group until it is given back.
  (void)put(group_ + "/memory.force_empty", "0");
  (void)::rmdir(group_.c_str());
}

}  // namespace hailstone
