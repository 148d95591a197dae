#include "column/segment_filter.h"

#include <algorithm>
#include <utility>

#include "column/filter_node.h"

namespace hailstone {

struct SegmentFilter::State {
  std::shared_ptr<const Predicate> predicate;  // nodes refer to its tests and to its subtrees
  SegmentColumns columns;
  Counters& counters;
  FilterNode root;
};

SegmentFilter::SegmentFilter() = default;
SegmentFilter::SegmentFilter(SegmentFilter&&) noexcept = default;
SegmentFilter& SegmentFilter::operator=(SegmentFilter&&) noexcept = default;
SegmentFilter::~SegmentFilter() = default;

Result<SegmentFilter> SegmentFilter::prepare(std::shared_ptr<const Predicate> predicate,
                                             const SegmentColumns& columns, Counters& counters) {
  HAILSTONE_ASSIGN(auto root, make_filter_node(*predicate, columns));
  SegmentFilter filter;
  filter.state_ = std::make_unique<State>(State{std::move(predicate), columns, counters, std::move(root)});
  return filter;
}

bool SegmentFilter::excludes_segment() const { return state_->root.kind == FilterNode::Kind::Never; }

BlockOutcome SegmentFilter::outcome_of(uint32_t block) const {
  return block_outcome(state_->root, state_->columns.segment(), block);
}

bool SegmentFilter::excludes_block(uint32_t block) const {
  if (outcome_of(block) != BlockOutcome::None) return false;
  count(state_->counters.blocks_skipped);
  return true;
}

Status SegmentFilter::evaluate(BlockReader& reader, uint32_t block, BlockBitmap& bitmap) const {
  count(state_->counters.rows_scanned, bitmap.count());
  FilterRun run(reader, state_->counters, block);
  return run.apply(state_->root, bitmap);
}

}  // namespace hailstone
