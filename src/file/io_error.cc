#include "file/io_error.h"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

namespace hailstone {

namespace {

ErrorCode code_of(int error_number) {
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return ErrorCode::DiskFull;
    case ENOENT:
      return ErrorCode::NotFound;
    case EEXIST:
      return ErrorCode::AlreadyExists;
    case ENOMEM:
      return ErrorCode::OutOfMemory;
    default:
      return ErrorCode::Io;
  }
}

std::string_view cure_of(int error_number) {
  switch (error_number) {
    case ENOSPC:
      return "; free space on its disk";
    case EDQUOT:
      return "; raise the disk quota of the user that this process runs as";
    case EFBIG:
      return "; raise the limit on the size of files (ulimit -f, or that of its filesystem)";
    case EACCES:
    case EPERM:
      return "; check its owner and permissions";
    case EMFILE:
    case ENFILE:
      return "; raise the limit on open files";
    case EROFS:
      return "; its filesystem is mounted read-only";
    case EIO:
      return "; check the disk and the system's log for hardware errors";
    default:
      return "";
  }
}

}  // namespace

Error io_error(std::string_view what, const std::string& path, int error_number) {
  return {code_of(error_number),
          fmt::format("cannot {} '{}': {} (errno {}){}", what, path,
                      std::error_code(error_number, std::generic_category()).message(), error_number,
                      cure_of(error_number)),
          error_number};
}

}  // namespace hailstone
