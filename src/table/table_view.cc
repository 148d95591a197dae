#include "table/table_view.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace hailstone {

SegmentOrder::SegmentOrder(const TableSegments& segments, size_t secondary) {
  by_first_.reserve(segments.size());
  for (uint32_t i = 0; i < segments.size(); ++i) {
    const Segment& file = *segments[i]->segment;
    if (secondary == TableView::clustered) {
      by_first_.push_back({file.first_key(), file.last_key(), i});
    } else if (file.index_entries(secondary) != 0) {
      by_first_.push_back({file.index_sample(secondary, 0), file.index_last_key(secondary), i});
    }
  }
  std::ranges::stable_sort(by_first_, {}, &Range::first);
  greatest_.resize(by_first_.size());
  note_greatest(0, by_first_.size());
  by_last_.resize(by_first_.size());
  std::iota(by_last_.begin(), by_last_.end(), 0U);
  std::ranges::stable_sort(by_last_, {}, [&](uint32_t i) { return by_first_[i].last; });
}

ByteView SegmentOrder::note_greatest(size_t begin, size_t end) {
  if (begin >= end) return {};
  const size_t middle = begin + (end - begin) / 2;
  return greatest_[middle] =
             std::max({note_greatest(begin, middle), by_first_[middle].last, note_greatest(middle + 1, end)});
}

SegmentOrders::SegmentOrders(TableSegments segments, size_t secondary_count)
    : segments_(std::move(segments)),
      count_(secondary_count),
      slots_(std::make_unique<Slot[]>(secondary_count + 1)) {}

const SegmentOrder& SegmentOrders::of(size_t secondary) const {
  Slot& slot = slots_[secondary == TableView::clustered ? count_ : secondary];
  std::call_once(slot.once, [&] { slot.order = SegmentOrder(segments_, secondary); });
  return slot.order;
}

SpareView::SpareView(size_t secondary_count)
    : orders_(std::make_shared<SegmentOrders>(TableSegments(), secondary_count)) {
  view.orders = orders_;
}

void SpareView::make_room(const TableView& wanted) {
  view.segments.reserve(wanted.segments.size());
  view.deltas.reserve(wanted.deltas.size());
  orders_->segments_.reserve(wanted.segments.size());
}

void SpareView::fill(const TableView& from, const TableSegments& without) noexcept {
  HAILSTONE_CHECK(
      view.segments.capacity() >= from.segments.size() && view.deltas.capacity() >= from.deltas.size(),
      "room for {} segments of {}", view.segments.capacity(), from.segments.size());
  for (const auto& each : from.segments) {
    if (std::ranges::find(without, each) != without.end()) continue;
    view.segments.push_back(each);
    orders_->segments_.push_back(each);
  }
  for (const auto& each : from.deltas) view.deltas.push_back(each);
}

}  // namespace hailstone
