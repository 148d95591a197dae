#include "query/rollup_groups.h"

#include "base/check.h"
#include "query/value_order.h"

namespace hailstone {

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
  while (common < keys.size() && compare_values(columns_[common], keys[common], last_keys_[common]) == 0)
    ++common;
  return common;
}

Result<bool> RollupGroups::next() {
  const size_t last = columns_.size();
  if (level_ == last) {
    if (over_) return false;
    if (begun_) remember_keys();
    HAILSTONE_ASSIGN(const bool found, levels_[last]->next());
    over_ = !found;
    if (!begun_) {
      begun_ = true;
      return found;
    }
    ending_ = found ? keys_in_common() + 1 : 0;
  }
  if (level_ > ending_) {
    --level_;
    HAILSTONE_ASSIGN(const bool found, levels_[level_]->next());
    HAILSTONE_CHECK(found, "the level of {} keys has fewer groups than that of {}", level_, last);
    return true;
  }
  level_ = last;
  return !over_;
}

}  // namespace hailstone
