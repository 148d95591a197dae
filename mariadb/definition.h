// What CREATE TABLE said, as the library's table definition.
#pragma once

#include <optional>
#include <string>

#include "record.h"
#include "retention.h"
#include "schema/table_definition.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// The column attribute COLUMNAR, for handlerton::field_options.
extern ha_create_table_option column_options[];
extern ha_create_table_option table_options[];

/// The definition of a table that is being created, or of an open one. `columnar_default`: for tables of
/// which no column says how it is stored.
Result<TableDefinition> define_table(const TABLE& form, std::string name, bool columnar_default);

/// The option of a retention that is wrong in a table that is being created; nothing: none is.
std::optional<WrongOption> wrong_retention(const TABLE& form);
/// The same of how a column is to be stored.
std::optional<WrongOption> wrong_layout(const TABLE& form);

/// Whether the options of two tables say the same of how long rows stay.
bool same_retention(const ha_table_option_struct* one, const ha_table_option_struct* other);
/// Whether the rows of both are in memory only, or of neither.
bool same_in_memory(const ha_table_option_struct* one, const ha_table_option_struct* other);

/// Why rows stored under `stored` cannot be read as `wanted`; empty when they can. Names and layout by column
/// or row do not count.
std::string difference(const TableDefinition& stored, const TableDefinition& wanted);

}  // namespace hailstone
