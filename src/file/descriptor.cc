#include "file/descriptor.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "file/io_error.h"

namespace hailstone {

Result<Descriptor> open_file(std::string_view what, const std::string& path, int flags) {
  for (;;) {
    const int number = ::open(path.c_str(), flags | O_CLOEXEC, 0660);
    if (number >= 0) return Descriptor(number);
    if (errno != EINTR) return std::unexpected(io_error(what, path, errno));
  }
}

Result<uint64_t> size_of(const Descriptor& file, const std::string& path) {
  struct stat attributes;
  if (::fstat(file.number(), &attributes) != 0)
    return std::unexpected(io_error("get the size of", path, errno));
  return static_cast<uint64_t>(attributes.st_size);
}

}  // namespace hailstone
