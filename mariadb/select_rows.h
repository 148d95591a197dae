// Runs a SelectBlock: rows in an order, which it puts into the table's record one after the other, where the
// statement's own items read them. Belongs to the connection's thread.
#pragma once

#include "ha_hailstone.h"
#include "select_block.h"
// clang-format off
#include "server.h"
#include <select_handler.h>
// clang-format on

namespace hailstone {

/// `source`: the only table that the statement reads, `reader` its handler.
select_handler* make_rows_handler(THD& thd, SELECT_LEX& select, HailstoneHandler& reader, TABLE& source,
                                  SelectBlock block, std::shared_ptr<BlockRecord> record);

}  // namespace hailstone
