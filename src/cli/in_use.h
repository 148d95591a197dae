// What can be done with a database that another program has open.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace hailstone {

/// The error; where it is ErrorCode::Busy, with what to do in place of `command`, such as "check": statements
/// of the server that holds the directory, or a copy that another program can make.
Error with_way_out(const Error& error, std::string_view command, const std::string& directory);

}  // namespace hailstone
