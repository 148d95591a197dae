// How many groups a block may have. Belongs to the connection's thread.
#pragma once

#include "group_block.h"

namespace hailstone {

/// Estimated: not more than there are rows. `source`: what the block reads, `reader` its handler.
uint64_t most_groups(const GroupBlock& block);

}  // namespace hailstone
