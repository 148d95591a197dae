// What system calls on files of a server have in common.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "base/status.h"
#include "file/descriptor.h"

namespace hailstone {

/// `reason`: errno.
inline std::unexpected<Error> failed_call(const std::string& what, int reason) {
  const ErrorCode code = reason == ENOENT                       ? ErrorCode::NotFound
                         : reason == ENOSPC || reason == EDQUOT ? ErrorCode::DiskFull
                                                                : ErrorCode::Io;
  return std::unexpected<Error>(Error(code, fmt::format("{}: {}", what, std::strerror(reason)), reason));
}

/// Not open where that fails, with errno set.
inline Descriptor opened(const std::string& path, int flags, mode_t mode = 0) {
  return Descriptor(open(path.c_str(), flags | O_CLOEXEC, mode));
}

/// Whether the file was not so before, and is now: past the page cache, or through it.
inline bool set_direct(int file, bool is_direct) {
  const int flags = fcntl(file, F_GETFL);
  return flags >= 0 && ((flags & O_DIRECT) != 0) != is_direct && fcntl(file, F_SETFL, flags ^ O_DIRECT) == 0;
}

inline Status write_all(int file, const std::string& path, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    // Only whole blocks can be written past the page cache.
    if (written < 0 && errno == EINVAL && set_direct(file, false)) continue;
    if (written < 0) return failed_call(fmt::format("cannot write to '{}'", path), errno);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

}  // namespace hailstone
