// Runs a GroupBlock: groups, which GroupRows stores in a temporary table's record one after the other.
// Belongs to the connection's thread.
#pragma once

#include <memory>

#include "block_result.h"
#include "group_block.h"
#include "ha_hailstone.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// `source`: the only table that the statement reads, `reader` its handler.
std::unique_ptr<BlockResult> make_group_result(GroupBlock block, std::shared_ptr<BlockRecord> record);

}  // namespace hailstone
