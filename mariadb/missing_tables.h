// Tables that the server should have and the engine has not: its folder was left out when the server was
// copied, as by mariadb-backup. They are known by the lists in the folders of databases
// (database/table_list.h), which this writes, and reads at the engine's start. The error log tells of them
// then, and each statement that asks for one gets a warning. Thread-safe.
#pragma once

#include <string>

// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// Reads the lists of all databases, and tells the error log what is missing. At the engine's start, when the
/// database is open.
void find_missing_tables();

/// Brings the lists of all databases up to date: when a backup of the server begins, so that it copies them,
/// and before the database is closed. CREATE and DROP TABLE do not touch them. Errors go to the error log. A
/// database that is being made, altered or dropped at this moment is passed over.
void write_table_lists();

/// When the table of this name in the engine, or one that it is a partition of, is missing: gives the
/// statement a warning that says so. Its code is one that the server does not keep to itself: from 11.8 on
/// DROP goes by the code of the first condition.
void warn_of_missing_table(THD* thd, const std::string& name, uint code = ER_NO_SUCH_TABLE);

/// Raises the error of a partition that the engine has not although the server has the files of its table.
/// Returns the handler's error number. It is none of "no such table": by that the server would remove its
/// files, which may be all that is left of the table until the engine's folder is back.
int refuse_missing_partition(const std::string& name);

}  // namespace hailstone
