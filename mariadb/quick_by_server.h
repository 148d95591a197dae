// Blocks of which the server computes texts, row by row, also when the engine answers them, and whose rest is
// so little that the server is as quick by itself: hailstone_select_pushdown=AUTO leaves them to it. Belongs
// to the connection's thread.
#pragma once

#include "group_block.h"
#include "select_block.h"

namespace hailstone {

/// What the server computes then; null: the engine is quicker, or the table has few rows.
Item* quick_by_server(const SelectBlock& block);
Item* quick_by_server(const GroupBlock& block);

}  // namespace hailstone
