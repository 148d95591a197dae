// What the engine is to do for a block of a SELECT whose rows become groups: made of the server's description
// of it, once for each execution. Belongs to the connection's thread.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "query/sorted_groups.h"
#include "row_block.h"
#include "select_outcome.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// What goes into one field of a group's row.
struct GroupOutput {
  enum class Source : uint8_t { Key, Aggregate, Constant };
  size_t place = 0;      // of the item among those of the query
  Item* item = nullptr;  // that
  Source source = Source::Constant;
  size_t number = 0;             // of the key or the aggregate
  Item_sum_avg* mean = nullptr;  // the aggregate is a sum, of which the server wants this
  int64_t added = 0;             // the aggregate is a sum: to each of its values
};

struct GroupBlock : RowBlock {
  struct Counted {
    Aggregate wanted;  // without its position
    RowColumn of;
  };
  using RowBlock::RowBlock;

  std::vector<RowColumn> keys;
  std::vector<Counted> aggregates;
  std::vector<GroupOutput> outputs;
  std::vector<GroupOrder> order;
  size_t most = SortedGroups::all;  // groups that are wanted

  /// What it does, in words.
  std::string describe() const;
};

/// A block of a SELECT over one table, as the server has it.
struct GroupStatement {
  const Query& query;
  SELECT_LEX& select;
  TABLE& table;
  std::vector<Item*> conditions;  // all of them on the table's rows
};
std::expected<GroupBlock, Declined> make_group_block(THD& thd, const GroupStatement& statement,
                                                     HailstoneHandler& reader);

}  // namespace hailstone
