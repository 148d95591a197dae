// Parts of statements that the engine answers: the rows of a BlockResult, which the server asks for by
// group_by_handler. HAVING, OFFSET and LIMIT are its work. Belongs to the connection's thread.
#pragma once

#include <memory>

#include "block_result.h"
#include "ha_hailstone.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// `reader`: of the only table that the block reads, or of one of its partitions.
group_by_handler* make_pushed_part(THD& thd, SELECT_LEX& select, HailstoneHandler& reader,
                                   std::unique_ptr<BlockResult> result);

}  // namespace hailstone
