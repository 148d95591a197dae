// A column's type and its stored values in words.
#pragma once

#include <string>

#include "schema/table_definition.h"

namespace hailstone {

/// As `hailstone load --types` takes it where hailstone.h knows the type.
std::string column_type_text(const TableDefinition& table, const Column& column);
/// The ordered number of an Integer column as people write the value.
std::string ordered_text(const TableDefinition& table, const Column& column, uint64_t ordered);

}  // namespace hailstone
