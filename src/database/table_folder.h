// A folder with one table that moves as files. It is a database of that table: its files under the numbers
// that they have, a manifest, and a log with what the manifest lacks. So all that reads a database reads it,
// and checksums tell of each byte that has changed on the way (docs/moving-tables.md).
//
// Exports lie in the folder `export` of the database's directory, those to be imported in `import`; in both
// by the table's name: `export/shop/orders`. One thread at a time.
#pragma once

#include <string>
#include <vector>

#include "database/file_copy.h"
#include "database/manifest.h"
#include "log/log.h"

namespace hailstone {

/// In a database's directory. What is in it goes when the database is opened.
inline constexpr const char* export_folder = "export";
/// The same for tables that somebody has put there; only who has put them there removes them.
inline constexpr const char* import_folder = "import";

std::string export_path(const std::string& directory, const std::string& table);
std::string import_path(const std::string& directory, const std::string& table);

/// Makes the folders above that of an export or import.
Status make_folders_above(Filesystem& filesystem, const std::string& directory, const std::string& path);
/// Removes a folder that TableFolder has made, and those above that are empty then.
Status remove_table_folder(Filesystem& filesystem, const std::string& path);
/// Removes all that is in the folder of exports.
Status remove_exports(Filesystem& filesystem, const std::string& directory);

/// Names of the segments and delete vectors that a table's record names.
std::vector<std::string> files_of(const TableContents& contents);

class TableFolder {
 public:
  /// `from`: the directory with the table's files. `to` must be new or empty. `progress` may be empty.
  TableFolder(Filesystem& filesystem, std::string from, std::string to, const CopyProgress& progress);

  Status begin();
  enum class How : uint8_t { Link, Copy };
  /// Brings in files by their names.
  Status add_files(const std::vector<std::string>& names, How how);
  /// The folder's log, which begins at position 0.
  Log& log() { return *log_; }
  /// What the manifest is to hold. `mark` is of the original; where its log begins is filled in here.
  struct Content {
    std::vector<DatabaseIdentity> databases;
    const TableRecord* table = nullptr;  // null: the log makes it
    CheckpointMark mark;
  };
  /// Synced when it returns success; the folder is a database then, and stays. Without it what was made goes
  /// with this.
  Status finish(Content content);

 private:
  Filesystem& filesystem_;
  const std::string from_, to_;
  FileCopy files_;
  Counters counters_;
  std::unique_ptr<Log> log_;  // goes before the files are removed
};

}  // namespace hailstone
