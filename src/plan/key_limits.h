// What conditions on small tables leave of large ones by the columns that are equal. A year leaves a range of
// days. Sales are not of all the days that a calendar has, so the share of these says little of the share of
// sales: a sample of them under that range does. docs/design/join-plans.md has the example.
//
// Belongs to the thread of the statistics.
#pragma once

#include "plan/join_group.h"

namespace hailstone::plan {

/// Adds the limits to the equalities of the graph, which is that of the group.
void add_key_limits(const JoinGroup& group, Statistics& statistics, JoinGraph& graph);

}  // namespace hailstone::plan
