// Runs a SelectBlock: rows in an order or in none, which it puts into the table's record one after the other,
// where the statement's own items read them. Belongs to the connection's thread.
#pragma once

#include <memory>

#include "block_result.h"
#include "ha_hailstone.h"
#include "select_block.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// `source`: the only table that the statement reads, `reader` its handler.
std::unique_ptr<BlockResult> make_row_result(SelectBlock block, std::shared_ptr<BlockRecord> record);

}  // namespace hailstone
