// A group that is made of other groups, and not of rows: their aggregates are added up. It is what a group of
// the rows of all of them would be, to the last bit. Belongs to one thread.
#pragma once

#include <span>
#include <vector>

#include "query/exact_spread.h"
#include "query/exact_sum.h"
#include "query/group_table.h"

namespace hailstone {

class MergedGroup {
 public:
  /// Whether results of groups tell the result of all their rows. Those of distinct values do not: several
  /// groups may have the same value.
  static bool can_merge(const Aggregate& wanted);

  /// `aggregates` outlive it, all of which can be merged.
  explicit MergedGroup(std::span<const GroupingPlan::Item> aggregates);

  /// Of no groups again.
  void clear();
  /// The result of one more group, with its state (GroupingPlan::keeps_states), which this one's has as well.
  void add(size_t aggregate, const AggregateResult& result);
  AggregateResult result(size_t aggregate) const;

 private:
  struct State {
    AggregateResult result = {};  // but for what is rounded
    ExactSums reals = {};
    ExactSpreads spreads = {};
  };
  const std::span<const GroupingPlan::Item> aggregates_;
  std::vector<State> states_;
};

}  // namespace hailstone
