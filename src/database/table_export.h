// One table out of a database, as a folder (table_folder.h). The folder is synced when a function returns
// success; after an error nothing is left of it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "database/file_copy.h"

namespace hailstone {

class DatabaseCore;

/// Of an open database: its segments are linked, where the filesystem can. Rows that others have not
/// committed are not in it. The caller keeps writers of the table away. ErrorCode::Unsupported for a table
/// whose rows are in memory only.
Status export_table(DatabaseCore& core, const std::string& name, const std::string& target,
                    const CopyProgress& progress);

/// What extract_table() has found.
struct ExtractedTable {
  /// Names of the transactions that have changed the table and were prepared only: nothing of them is in it.
  std::vector<std::string> prepared;
};

/// Brings the files of these names to where the database is, as far as there are any.
using BringFiles = std::function<Status(const std::vector<std::string>& names)>;

/// Of a database that nobody has open, such as a backup: its files, and of its log what it has of this
/// table. The table need not be readable by this program: keys of its rows are not made. Whether its files
/// are sound is not looked at. ErrorCode::NotFound, with the tables that there are, by name; Corruption.
/// `bring` empty: files are copied, and nothing is written to `from`. Else `from` is a folder of the caller's
/// own, with manifest and log only, and files are linked when they have been brought.
Result<ExtractedTable> extract_table(Filesystem& filesystem, const std::string& from, const std::string& name,
                                     const std::string& target, const BringFiles& bring,
                                     const CopyProgress& progress);

}  // namespace hailstone
