// What the conditions of small tables leave of large ones by the columns that are equal. A year leaves a
// range of days. Sales are not of all the days that a calendar has, so the share of these says little of the
// share of sales: a sample of them under that range does. Belongs to the connection's thread.
#pragma once

#include <span>
#include <vector>

#include "join_tree.h"
#include "query/join/join_search.h"

namespace hailstone {

struct LimitsByKeys {
  struct Column {
    size_t member;
    const Field* field;
  };
  const SourceTables& sources;
  std::span<const JoinNode* const> members;      // tables, with their own conditions
  std::span<const std::vector<Column>> columns;  // of each equality; none: of one that is not to be looked at

  /// Adds them to the equalities of the graph, which has the same ones.
  void add_to(JoinGraph& graph) const;
};

}  // namespace hailstone
