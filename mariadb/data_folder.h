// The folder of the engine's files in the server's data directory, as hailstone_data_dir names it or
// database/server_folder.h finds it. Called at the engine's start, by one thread.
#pragma once

#include <string>

#include "base/status.h"
#include "database/server_folder.h"

namespace hailstone {

/// Where the engine's files are, or will be, and hidden from the server's list of databases. `wanted` is
/// hailstone_data_dir: absolute, or relative to the data directory, which is the server's working directory.
/// With the default name, `hailstone` is taken where only that one is there and has the engine's files.
/// ErrorCode::InvalidArgument: both have them; the message says what to do.
Result<std::string> find_data_folder(std::string wanted);

/// Tells the server that a folder is no database.
void hide_data_folder(const std::string& folder);

/// hailstone_data_dir where nothing else is said.
inline constexpr const char* default_data_folder = server_folder;

}  // namespace hailstone
