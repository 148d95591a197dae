#include "file/nameless_files.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "file/io_error.h"
#include "file/sync_method.h"

namespace hailstone {
namespace {

/// Of all such files.
SystemCalls& calls() {
  static SystemCalls* const calls = new SystemCalls;
  return *calls;
}

Result<Descriptor> another(const Descriptor& file, const std::string& path) {
  Descriptor copy(::fcntl(file.number(), F_DUPFD_CLOEXEC, 0));
  if (!copy.is_open()) return std::unexpected(io_error("open", path, errno));
  return copy;
}

}  // namespace

Result<std::unique_ptr<RandomAccessFile>> NamelessFiles::open(const std::string& path) {
  const MutexLock guard(mutex_);
  const auto found = files_.find(path);
  if (found == files_.end()) return std::unexpected(io_error("open", path, ENOENT));
  HAILSTONE_ASSIGN(Descriptor file, another(found->second, path));
  return make_sync_reader({.calls = calls(), .descriptor = std::move(file), .path = path});
}

Result<std::unique_ptr<WritableFile>> NamelessFiles::create(const std::string& path) {
  std::string name = path.substr(0, path.rfind('/')) + "/hailstone-XXXXXX";
  Descriptor made(::mkostemp(name.data(), O_CLOEXEC));
  if (!made.is_open()) return std::unexpected(io_error("create", path, errno));
  if (::unlink(name.c_str()) != 0) return std::unexpected(io_error("remove", name, errno));
  HAILSTONE_ASSIGN(Descriptor file, another(made, path));
  const MutexLock guard(mutex_);
  files_.erase(path);
  files_.emplace(path, std::move(made));
  return make_sync_writer({.calls = calls(), .descriptor = std::move(file), .path = path});
}

Status NamelessFiles::remove(const std::string& path) {
  const MutexLock guard(mutex_);
  files_.erase(path);
  return {};
}

std::string folder_of_temporary_files() {
  const char* const chosen = ::getenv("TMPDIR");
  return chosen == nullptr || *chosen == '\0' ? "/var/tmp" : chosen;
}

}  // namespace hailstone
