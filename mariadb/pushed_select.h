// Whole SELECTs that the engine answers: HAVING, OFFSET, LIMIT and what is sent are evaluated here, by the
// statement's own items, over the rows of a BlockResult. Belongs to the connection's thread.
#pragma once

#include <memory>

#include "block_result.h"
#include "ha_hailstone.h"
// clang-format off
#include "server.h"
#include <select_handler.h>
// clang-format on

namespace hailstone {

/// `reader`: of the only table that the statement reads, or of one of its partitions.
select_handler* make_pushed_select(THD& thd, SELECT_LEX& select, HailstoneHandler& reader,
                                   std::unique_ptr<BlockResult> result);

}  // namespace hailstone
