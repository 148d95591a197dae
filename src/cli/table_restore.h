// `hailstone restore --table`: one table out of a backup, into a running server or a folder
// (docs/backup.md).
#pragma once

#include <string>
#include <vector>

#include "cli/session.h"

namespace hailstone {

struct TableRestoreOptions {
  std::string backup;
  std::string table;   // "schema.table", or as the engine names it, "schema/table"
  std::string as;      // another name in the server; empty: the same
  std::string folder;  // empty: into the server
  std::string option_file;
  std::vector<std::string> bases;  // where bases are that have moved
  unsigned threads = 2;
};

Status restore_table(Session& session, const TableRestoreOptions& options);

}  // namespace hailstone
