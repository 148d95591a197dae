// Which files of a database's copy are good for a later copy, too.
#pragma once

#include <set>
#include <string>

#include "base/status.h"
#include "file/filesystem.h"

namespace hailstone {

/// The names of the segments and delete vectors that are whole, and whose numbers no other file will have as
/// long as the database goes on: the manifest names them, and they were there at its last checkpoint. Others
/// may have been at work when the copy was made, or have numbers that a crash forgets. ErrorCode::NotFound:
/// there is no database.
Result<std::set<std::string>> lasting_files(Filesystem& filesystem, const std::string& directory);

}  // namespace hailstone
