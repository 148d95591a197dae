// What the engine is to do for a whole SELECT with groups whose aggregates only the server computes: it sorts
// the rows by the groups, and gives them to the server's own aggregates. Made of the server's description
// before it has been optimised, once for each execution. Belongs to the connection's thread.
#pragma once

#include <expected>
#include <vector>

#include "row_block.h"
#include "select_outcome.h"
#include "statement_items.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

struct ServerGroupsBlock : RowBlock {
  struct Key {
    RowColumn by;
    bool descending = false;
    bool nullable = true;
  };
  using RowBlock::RowBlock;

  std::vector<Key> keys;           // in the order in which groups come
  std::vector<const Field*> read;  // fields that the items of a group read
  std::vector<Item_sum*> aggregates;

  OperatorPlan plan() const;
};

std::expected<ServerGroupsBlock, Declined> make_server_groups_block(THD& thd, SELECT_LEX& select,
                                                                    const SelectSource& source,
                                                                    HailstoneHandler& reader);

}  // namespace hailstone
