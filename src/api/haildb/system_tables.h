// The system tables of the HailDB interface: SYS_TABLES, SYS_COLUMNS, SYS_INDEXES, SYS_FIELDS, and
// SYS_FOREIGN, SYS_FOREIGN_COLS, which are always empty. They are made out of the catalog when a cursor is
// opened; read only.
#pragma once

#include <string>

#include "api/haildb/cursor.h"
#include "api/haildb/table.h"

namespace hailstone::haildb {

bool is_system_table(std::string_view name);
/// What a system table looks like. `name` is one.
Result<std::shared_ptr<TableInfo>> system_table(const std::string& name);
ib_err_t open_system_table(const std::string& name, ib_trx_t transaction, ib_crsr_t* cursor);
/// A cursor on another index of the system table that `open` reads: the same rows.
ib_err_t open_system_index(const ib_crsr_struct& open, size_t index, ib_crsr_t* cursor);

}  // namespace hailstone::haildb
