// Views and derived tables that the server merges into the block which reads them. It offers a block to an
// engine where each table that FROM names is the engine's, and counts a view there that it has merged: by the
// temporary table that it had in mind for the case that the view is not merged. So no block that reads a view
// would be offered.
#pragma once

// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// For a table of this engine, in the block that the optimizer is at, which has merged all views by then: if
/// the block reads tables of this engine alone, the temporary tables that its merged views have no more use
/// for say that they are of this engine, too. Nothing else looks at them, and is_in_engine() is false of
/// them.
void let_block_be_offered(const TABLE& table);

/// Whether the server offers the block, which it has not optimised yet, once it has. In executions of a
/// prepared statement or procedure after the first, merged views have no temporary tables.
bool is_offered_as_block(SELECT_LEX& select);

}  // namespace hailstone
