// The order of joins: inner joins that stand next to each other, with the filters between them, are joined
// in the order that costs least by estimates (query/join/join_search.h), in whichever order a query was
// written. Rows of the left input of a join are looked up in those of the right one.
//
// Stateless; the thread of the statistics.
#pragma once

#include "plan/plan.h"
#include "plan/statistics.h"

namespace hailstone::plan {

/// The same rows and columns. What passes validate() makes what does. Where no other order costs clearly
/// less, it is the same node.
///   - Other joins are not moved; their inputs are planned by themselves.
///   - What may fail is asked of no row that it was not asked of before: a filter or a join with such a
///     condition is above the others of its group.
Plan order_joins(const Plan& plan, Statistics& statistics);

}  // namespace hailstone::plan
