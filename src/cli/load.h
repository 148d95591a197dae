// `hailstone load`: rows of files into a table, all or none.
#pragma once

#include <string>
#include <vector>

#include "cli/session.h"
#include "text/input.h"

namespace hailstone {

struct LoadOptions {
  DatabaseArguments database;
  std::string table;
  std::vector<std::string> files;
  std::string format;  // empty: by the names of the files
  TextOptions text;
  std::vector<std::string> columns;  // names for the fields; "-": not loaded
  // For a table that has to be made:
  bool create = false;
  std::vector<std::string> types;  // NAME=TYPE
  std::vector<std::string> key;
  std::vector<std::string> row_wise;
  uint64_t sample_rows = 10'000;
};

}  // namespace hailstone
