#include "cli/in_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "backup/file_target.h"
#include "database/file_copy.h"
#include "database/manifest.h"
#include "database/server_folder.h"

namespace hailstone {
namespace {

struct WayOut {
  std::string_view command;
  std::string_view statement;  // of a server
};

constexpr std::array ways_out{
    WayOut{"tables",
           "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_ROWS FROM information_schema.TABLES WHERE ENGINE = "
           "'HAILSTONE' lists its tables"},
    WayOut{"describe", "SHOW CREATE TABLE and information_schema.HAILSTONE_COLUMNS describe its tables"},
    WayOut{"scan", "SELECT reads its tables, as mariadb --batch -e 'SELECT …' for a file"},
    WayOut{"check", "CHECK TABLE checks its tables, all of them by mariadb-check --all-databases"},
    WayOut{"inspect",
           "information_schema.HAILSTONE_COLUMNS and SHOW ENGINE HAILSTONE STATUS tell of its files"},
    WayOut{"backup", "hailstone backup --server backs up the whole of it (docs/backup.md)"},
    WayOut{"restore",
           "hailstone backup --server makes a copy of the whole of it that restore takes (docs/backup.md)"},
    WayOut{"load", "LOAD DATA INFILE loads rows into its tables"},
};

bool is_of_server(const Error& error, const std::string& directory) {
  // As lock_holder() names it.
  const auto held_by = [&](std::string_view program) { return error.message().contains(program); };
  if (held_by("(mariadbd)") || held_by("(mysqld)")) return true;
  // Whose process it is may not be told to this user.
  return !held_by("process ") && directory.ends_with(std::string("/") + server_folder);
}

}  // namespace

Error with_way_out(const Error& error, std::string_view command, const std::string& directory) {
  if (error.code() == ErrorCode::NotFound &&
      posix_filesystem().exists(stored_path({.path = Manifest::path_in(directory), .zstd_bytes = 0}))) {
    return {
        error.code(),
        fmt::format("'{0}' has the files of a compressed backup of a server, which cannot be read where they "
                    "are; hailstone restore '{1}' DATADIR makes a data directory of them",
                    directory, parent_of(directory))};
  }
  if (error.code() != ErrorCode::Busy) return error;
  const auto way = std::ranges::find(ways_out, command, &WayOut::command);
  if (way != ways_out.end() && is_of_server(error, directory)) {
    return {error.code(), fmt::format("{}; while the server runs, {}", error.message(), way->statement)};
  }
  return {error.code(),
          fmt::format("{}, or use a copy that the program makes by hs_backup()", error.message())};
}

}  // namespace hailstone
