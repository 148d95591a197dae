// Runs a GroupBlock that is a whole statement: HAVING, LIMIT and what is sent are evaluated here, by the
// statement's own items over a temporary table, as the server does it. Belongs to the connection's thread.
#pragma once

#include "group_block.h"
#include "ha_hailstone.h"
// clang-format off
#include "server.h"
#include <select_handler.h>
// clang-format on

namespace hailstone {

/// `source`: the only table that the statement reads, `reader` its handler.
select_handler* make_groups_handler(THD& thd, SELECT_LEX& select, HailstoneHandler& reader, TABLE& source,
                                    GroupBlock block, std::shared_ptr<BlockRecord> record);

}  // namespace hailstone
