#include "file/descriptor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "file/io_error.h"

namespace hailstone {

namespace {

/// Neither a file nor a directory.
bool is_special(const struct stat& attributes) {
  return !S_ISREG(attributes.st_mode) && !S_ISDIR(attributes.st_mode);
}

}  // namespace

Result<Descriptor> open_file(std::string_view what, const std::string& path, int flags) {
  const auto refused = [&] {
    return fail(
        ErrorCode::Io,
        fmt::format("cannot {} '{}': it is a pipe, a socket or a device; put a file there", what, path));
  };
  struct stat attributes;
  // A pipe opened to be read and a device may do something already when they are opened.
  if (::stat(path.c_str(), &attributes) == 0 && is_special(attributes)) return refused();
  for (;;) {
    // Nor does one that takes the file's place just now keep the caller waiting.
    const int number = ::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK, 0660);
    if (number < 0 && errno == EINTR) continue;
    if (number < 0) return std::unexpected(io_error(what, path, errno));
    Descriptor file(number);
    if (::fstat(number, &attributes) == 0 && is_special(attributes)) return refused();
    return file;
  }
}

Result<Descriptor> open_plain_file(std::string_view what, const std::string& path, int flags) {
  const auto refused = [&] {
    return fail(ErrorCode::InvalidArgument,
                fmt::format("cannot {} '{}': it is not a plain file; put the file itself there", what, path));
  };
  struct stat attributes;
  // A pipe opened to be read and a device may do something already when they are opened.
  if (::lstat(path.c_str(), &attributes) == 0 && !S_ISREG(attributes.st_mode)) return refused();
  HAILSTONE_ASSIGN(Descriptor file, open_file(what, path, flags | O_NOFOLLOW | O_NONBLOCK));
  if (::fstat(file.number(), &attributes) != 0) {
    return std::unexpected(io_error("get the kind of", path, errno));
  }
  if (!S_ISREG(attributes.st_mode)) return refused();
  return file;
}

Result<uint64_t> size_of(const Descriptor& file, const std::string& path) {
  struct stat attributes;
  if (::fstat(file.number(), &attributes) != 0)
    return std::unexpected(io_error("get the size of", path, errno));
  return static_cast<uint64_t>(attributes.st_size);
}

}  // namespace hailstone
