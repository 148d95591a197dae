#include "query/rollup_groups.h"

#include "base/check.h"
#include "query/value_order.h"

namespace hailstone {

namespace {

std::vector<std::unique_ptr<Groups>> only(std::unique_ptr<Groups> finest) {
  std::vector<std::unique_ptr<Groups>> levels;
  levels.push_back(std::move(finest));
  return levels;
}

}  // namespace

RollupGroups::RollupGroups(std::unique_ptr<Groups> finest, const GroupingPlan& plan, OperatorCounts* counts)
    : RollupGroups(only(std::move(finest)), plan) {
  counts_ = counts;
  HAILSTONE_CHECK(plan.keeps_states, "{} aggregates are merged without their states", plan.aggregates.size());
  aggregates_ = plan.aggregates.size();
  for (size_t i = 0; i < keys_.size(); ++i) totals_.emplace_back(plan.aggregates);
}

void RollupGroups::hand_on() {
  if (totals_.empty()) return;
  if (level_ > 0) {
    for (size_t i = 0; i < aggregates_; ++i) totals_[level_ - 1].add(i, result(i));
  }
  if (level_ < totals_.size()) totals_[level_].clear();
}

void RollupGroups::remember_keys() {
  const std::span<const Value> keys = levels_.back()->keys();
  last_keys_.assign(keys.begin(), keys.end());
  last_bytes_.resize(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    last_bytes_[i] = keys[i].bytes;
    last_keys_[i].bytes = last_bytes_[i];
  }
}

size_t RollupGroups::keys_in_common() const {
  const std::span<const Value> keys = levels_.back()->keys();
  size_t common = 0;
  while (common < keys.size() && compare_values(keys_[common].column, keys[common], last_keys_[common]) == 0)
    ++common;
  return common;
}

Result<bool> RollupGroups::next() {
  const size_t finest = keys_.size();
  if (level_ == finest && over_) return false;
  if (begun_) hand_on();
  if (level_ == finest) {
    if (begun_) remember_keys();
    HAILSTONE_ASSIGN(const bool found, levels_.back()->next());
    over_ = !found;
    if (!begun_) {
      begun_ = true;
      return found;
    }
    ending_ = found ? keys_in_common() + 1 : 0;
  }
  if (level_ > ending_) {
    --level_;
    if (!totals_.empty()) {
      if (counts_ != nullptr) counts_->add_rows(0, 1);
      return true;
    }
    HAILSTONE_ASSIGN(const bool found, levels_[level_]->next());
    HAILSTONE_CHECK(found, "the level of {} keys has fewer groups than that of {}", level_, finest);
    return true;
  }
  level_ = finest;
  return !over_;
}

}  // namespace hailstone
