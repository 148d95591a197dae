// Turns what the operating system says into an Error.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace hailstone {

/// The Error for a failed call (`what`, as "write to") on `path`, from its errno. ENOSPC and EDQUOT are
/// ErrorCode::DiskFull, ENOENT NotFound, EEXIST AlreadyExists, ENOMEM OutOfMemory; all else is Io.
Error io_error(std::string_view what, const std::string& path, int error_number);

}  // namespace hailstone
