// What the engine is to do for a block of a SELECT with groups whose aggregates only the server computes: it
// sorts the rows by the groups, and gives them to the server's own aggregates. Made of the server's
// description, once for each execution. Belongs to the connection's thread.
#pragma once

#include <expected>
#include <vector>

#include "row_block.h"
#include "select_outcome.h"
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
  /// An item of the statement, and its place among all of them.
  struct Computed {
    size_t place;
    Item_sum* aggregate;
  };
  std::vector<Computed> aggregates;
  /// What is shown of a group: a column or an expression of its first row.
  struct Shown {
    size_t place;
    Item* item;
    bool is_key = false;
  };
  std::vector<Shown> shown;
  bool is_one_group = false;  // also of no rows
  /// Whether the server would have the groups in a table: clients are told of its columns, and what reads
  /// extremes reads these.
  bool by_table = false;

  /// Whether all rows are there before the first becomes part of a group: they are sorted, or come of a join
  /// in which they would come in another order once keys have failed.
  bool collects_rows() const { return !keys.empty() || (join != nullptr && join->may_end()); }

  OperatorPlan plan() const;
};

std::expected<ServerGroupsBlock, Declined> make_server_groups_block(THD& thd,
                                                                    const BlockStatement& statement);

}  // namespace hailstone
