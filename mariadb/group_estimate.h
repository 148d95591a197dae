// How many groups a block may have, and whether memory has room for them. Belongs to the connection's thread.
#pragma once

#include "group_block.h"

namespace hailstone {

/// Estimated: not more than there are rows. `source`: what the block reads, `reader` its handler.
uint64_t most_groups(const GroupBlock& block, TABLE& source, const HailstoneHandler& reader);

/// Whether all groups, with what they take in each thread, may be at hand at once. For more of them, sorted,
/// the server has its disk.
bool groups_fit(const GroupBlock& block, const HailstoneHandler& reader);

}  // namespace hailstone
