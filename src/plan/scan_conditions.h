// Conditions that a scan looks at by itself, on encoded data and summaries of blocks: those that are the same
// as a Predicate (column/predicate.h).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "base/status.h"
#include "column/predicate.h"
#include "expression/expression.h"
#include "plan/plan.h"
#include "schema/table_definition.h"

namespace hailstone::plan {

/// The ordinal of a column in its table; nothing: its values are not those that the table stores.
using Ordinal = std::function<std::optional<uint16_t>(uint16_t id)>;
/// Nothing: the condition is no predicate.
std::optional<Predicate> predicate_of(const Expression& condition, const Ordinal& ordinal);

/// The ordinals of a scan's columns in its table, as a projection has them.
using Ordinals = std::map<ColumnId, uint16_t>;
/// ErrorCode::InvalidArgument: the table has no such column.
Result<Ordinals> ordinals_of(const Scan& scan, const TableDefinition& table);
/// Takes out of the list what a scan looks at by itself.
Predicate taken_by_scan(std::vector<Expression>& conditions, const Ordinals& ordinals);

}  // namespace hailstone::plan
