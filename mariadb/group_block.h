// What the engine is to do for a block of a SELECT whose rows become groups: made of the server's description
// of it, once for each execution. Belongs to the connection's thread.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <vector>

#include "query/merged_group.h"
#include "query/sorted_groups.h"
#include "row_block.h"
#include "select_outcome.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// What goes into one field of a group's row.
struct GroupOutput {
  enum class Source : uint8_t {
    Key,
    Aggregate,
    Constant,
    Row,  // the server evaluates the item over a row of the group
  };
  size_t place = 0;      // of the item among those of the query
  Item* item = nullptr;  // that
  Source source = Source::Constant;
  size_t number = 0;             // of the key or the aggregate
  Item_sum_avg* mean = nullptr;  // the aggregate is a sum, of which the server wants this
  int64_t added = 0;             // the aggregate is a sum: to each of its values
  /// The aggregate is a spread, of which the server wants this.
  Item_sum_variance* variance = nullptr;
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
  /// What the outputs of Source::Row read: columns that are keys, or, where not all of them are, columns of
  /// some row of the group, the same for all of them.
  std::vector<const Field*> shown;
  bool reads_rows = false;

  /// The number of the key that a column is; nothing: it is none.
  std::optional<size_t> key_of(const Field& field) const;
  /// Whether each group is one row, so that the server makes none, but sorts rows.
  bool groups_are_rows() const;
  /// Of the places of rows, once everything else is known.
  uint16_t position_of_places() const { return static_cast<uint16_t>(width() + computed.size()); }
  std::vector<GroupOrder> order;
  /// What the order has that the server evaluates for each group: its place among the query's items.
  struct HostOrder {
    size_t place = 0;
    ServerValue kind = ServerValue::Real;
  };
  std::vector<HostOrder> host_order;
  /// What the server asks of a group before it evaluates that.
  Item* having = nullptr;
  size_t most = SortedGroups::all;  // groups that are wanted
  bool rolls_up = false;            // WITH ROLLUP
  /// Whether the groups of all keys, once they are sorted, tell the totals. Else each level is grouped by
  /// itself.
  bool merges_levels() const;
  /// Whether the server groups by way of a table, whose columns cut the extremes that it stores in them.
  bool by_table = false;
  /// Whether the server would send the columns of its table of groups, or of distinct rows.
  bool sends_table = false;

  uint64_t groups = 0;  // estimated: there are no more

  OperatorPlan plan() const;
};

std::expected<GroupBlock, Declined> make_group_block(THD& thd, const BlockStatement& statement);

}  // namespace hailstone
