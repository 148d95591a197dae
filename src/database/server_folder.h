// Where a database lies in the data directory of a MariaDB server: for the plugin, and for commands that are
// given the server's data directory. The server takes each folder there for a database of its own, so the
// engine's folder has a name that no database can have. A folder that an earlier version made under the name
// of a possible database goes on being used. Stateless, thread-safe.
#pragma once

#include <string>

#include "file/filesystem.h"

namespace hailstone {

inline constexpr const char* server_folder = "#hailstone";
/// Of earlier versions; a server's own database of this name has no manifest.
inline constexpr const char* earlier_server_folder = "hailstone";

/// The folder of the two that holds a database: `data_directory`, a slash and its name. Where neither does,
/// that of `server_folder`. ErrorCode::InvalidArgument where both do; the caller adds what to do.
Result<std::string> find_server_folder(Filesystem& filesystem, const std::string& data_directory);

/// The directory of a database that `given` stands for: itself, or where it holds none but is the data
/// directory of a server with tables of the engine, the engine's folder there. What holds neither comes back
/// as it is. ErrorCode::InvalidArgument where two folders could be meant: the sentence says which to name.
Result<std::string> find_database(Filesystem& filesystem, const std::string& given);

}  // namespace hailstone
