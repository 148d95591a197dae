#include "query/merged_group.h"

#include "base/check.h"
#include "query/group_numbers.h"
#include "query/group_order.h"

namespace hailstone {

namespace {

using Kind = Aggregate::Kind;

}  // namespace

bool MergedGroup::can_merge(const Aggregate& wanted) {
  switch (wanted.kind) {
    case Kind::Rows:
    case Kind::Values:
    case Kind::Minimum:
    case Kind::Maximum:
    case Kind::Sum:
    case Kind::Spread:
    case Kind::BitAnd:
    case Kind::BitOr:
    case Kind::BitXor:
      return !wanted.distinct;
  }
  return false;
}

MergedGroup::MergedGroup(std::span<const GroupingPlan::Item> aggregates)
    : aggregates_(aggregates), states_(aggregates.size()) {
  for (const GroupingPlan::Item& item : aggregates_)
    HAILSTONE_CHECK(can_merge(item.wanted), "groups have an aggregate that cannot be merged, of kind {}",
                    static_cast<int>(item.wanted.kind));
  clear();
}

void MergedGroup::clear() {
  for (size_t i = 0; i < states_.size(); ++i) {
    const GroupingPlan::Item& item = aggregates_[i];
    State& state = states_[i];
    state.result = {};
    if (item.wanted.kind == Kind::Minimum || item.wanted.kind == Kind::BitAnd)
      state.result.integer = ~uint64_t{0};
    if (item.wanted.kind == Kind::Spread) {
      state.spreads.clear();
      state.spreads.push_back(is_real(item.column));
    } else if (item.wanted.kind == Kind::Sum && is_real(item.column)) {
      state.reals.clear();
      state.reals.push_back();
    }
  }
}

void MergedGroup::add(size_t aggregate, const AggregateResult& result) {
  const GroupingPlan::Item& item = aggregates_[aggregate];
  State& state = states_[aggregate];
  AggregateResult& here = state.result;
  const bool is_first = here.count == 0;
  here.count += result.count;
  // What nothing has been added to has no text, and no state.
  if (result.count == 0) return;
  ByteReader bytes(result.bytes);
  bool is_taken = true;
  switch (item.wanted.kind) {
    case Kind::Rows:
    case Kind::Values:
      break;
    case Kind::Minimum:
    case Kind::Maximum:
      if (item.column.integer) {
        here.integer = joined_bests(item.wanted.kind, here.integer, result.integer);
      } else if (is_first ||
                 is_better_text(item.wanted.kind, *item.column.collation, result.bytes, here.bytes)) {
        here.bytes = result.bytes;
      }
      break;
    case Kind::Sum:
      if (is_real(item.column)) {
        is_taken = state.reals.add_from(bytes, 0);
      } else if (has_integer_sum(item.column)) {
        here.integer_sum += result.integer_sum;
      } else {
        here.huge_sum += result.huge_sum;
      }
      break;
    case Kind::Spread:
      is_taken = state.spreads.add_from(bytes, 0);
      break;
    case Kind::BitAnd:
    case Kind::BitOr:
    case Kind::BitXor:
      here.integer = joined_bests(item.wanted.kind, here.integer, result.integer);
      break;
  }
  HAILSTONE_CHECK(is_taken, "{} bytes are no state of aggregate {}", result.bytes.size(), aggregate);
}

AggregateResult MergedGroup::result(size_t aggregate) const {
  const State& state = states_[aggregate];
  AggregateResult result = state.result;
  if (!state.reals.empty()) {
    result.real_sum = state.reals.result(0);
    state.reals.append_to(result.bytes, 0);
  }
  if (!state.spreads.empty() && result.count != 0) {
    result.spread = state.spreads.result(0, result.count);
    state.spreads.append_to(result.bytes, 0);
  }
  return result;
}

}  // namespace hailstone
