// GROUP BY … WITH ROLLUP: groups in the order of their keys, and behind those that have their first keys in
// common one more group of all their rows, which has these keys only; the last one has none.
//
// A *level* has the groups of so many of the first keys. Those of the finest level come sorted, so the groups
// that one of a coarser level is made of follow each other: it takes a MergedGroup a level, and no more scan.
// Where not all aggregates can be merged, each level is grouped and sorted by itself. As all are sorted
// alike, their groups come in the order in which they are wanted. docs/design/rollup.md.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "query/grouping.h"
#include "query/merged_group.h"

namespace hailstone {

class RollupGroups final : public Groups {
 public:
  /// `finest`: groups of all keys of the plan, sorted by them, with states (Grouping::keep_states()). All
  /// aggregates of the plan can be merged. The plan outlives the groups. Totals are counted as rows that come
  /// out of the operator that `counts` are of; may be null.
  RollupGroups(std::unique_ptr<Groups> finest, const GroupingPlan& plan, OperatorCounts* counts = nullptr);
  /// `levels`: number i has groups of the first i keys, sorted by them; all of the same rows. `plan`: of the
  /// last one.
  RollupGroups(std::vector<std::unique_ptr<Groups>> levels, const GroupingPlan& plan)
      : levels_(std::move(levels)), keys_(plan.keys), level_(keys_.size()) {}

  /// Without rows there is no group.
  Result<bool> next() override;
  /// Fewer than all where the group is one of several others.
  std::span<const Value> keys() const override {
    return level_ == keys_.size() ? levels_.back()->keys() : std::span(last_keys_).first(level_);
  }
  AggregateResult result(size_t aggregate) const override {
    if (level_ == keys_.size()) return levels_.back()->result(aggregate);
    return totals_.empty() ? levels_[level_]->result(aggregate) : totals_[level_].result(aggregate);
  }
  uint64_t rows_read() const override { return levels_.back()->rows_read(); }
  const QueryHost& host() const override { return levels_.back()->host(); }
  Status read_place(uint64_t place, std::span<Value> values) const override {
    return levels_.back()->read_place(place, values);
  }

 private:
  /// The group at hand, which has been given, becomes part of the next coarser one.
  void hand_on();
  void remember_keys();
  /// How many of the first keys the group at hand of the finest level has in common with the one before.
  size_t keys_in_common() const;

  const std::vector<std::unique_ptr<Groups>> levels_;  // only the finest one where there are totals
  const std::span<const GroupingPlan::Key> keys_;
  size_t aggregates_ = 0;            // of each of totals_
  std::vector<MergedGroup> totals_;  // by level, but for the finest one
  OperatorCounts* counts_ = nullptr;
  size_t level_;                       // where it stands
  size_t ending_ = 0;                  // levels below level_, down to this, have a group that comes next
  bool begun_ = false, over_ = false;  // of the finest level
  std::vector<Value> last_keys_;       // of its group before
  std::vector<std::string> last_bytes_;
};

}  // namespace hailstone
