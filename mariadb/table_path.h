// Names of tables as the server's paths have them. Needs no header of the server, so that the stand-in
// (loader/stand_in.cc) has it, too.
#pragma once

#include <string_view>

namespace hailstone {

/// In the name of a part of a partitioned table, behind the table's.
inline constexpr std::string_view partition_mark = "#P#";

/// "database/table" of a path such as ./database/table.
inline std::string_view table_of_path(std::string_view path) {
  const size_t file = path.rfind('/');
  if (file == std::string_view::npos || file == 0) return path;
  const size_t folder = path.rfind('/', file - 1);
  return path.substr(folder == std::string_view::npos ? 0 : folder + 1);
}

}  // namespace hailstone
