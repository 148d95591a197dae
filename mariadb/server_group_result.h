// Runs a ServerGroupsBlock: the rows come sorted by their groups, and the server's own aggregates are given
// them one by one. Belongs to the connection's thread.
#pragma once

#include <memory>

#include "block_result.h"
#include "ha_hailstone.h"
#include "server_groups_block.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// `source`: the only table that the statement reads, `reader` its handler.
std::unique_ptr<BlockResult> make_server_group_result(ServerGroupsBlock block,
                                                      std::shared_ptr<BlockRecord> record);

}  // namespace hailstone
