#include "table/table_view.h"

#include <algorithm>

#include "base/check.h"

namespace hailstone {

SegmentOrders::SegmentOrders(size_t secondary_count)
    : count_(secondary_count), slots_(std::make_unique<Slot[]>(secondary_count + 1)) {}

SegmentOrders::SegmentOrders(const SegmentOrders& before, const std::vector<SegmentStep>& steps)
    : SegmentOrders(before.count_) {
  for (size_t i = 0; i <= count_; ++i) {
    const Slot& known = before.slots_[i];
    if (!known.made.load(std::memory_order_acquire)) continue;
    const size_t secondary = i == count_ ? TableView::clustered : i;
    std::call_once(slots_[i].once, [&] {
      SegmentOrder& order = slots_[i].order;
      order = known.order;
      for (const SegmentStep& step : steps) {
        const auto range = SegmentOrder::range_of(*step.segment, secondary, step.number);
        if (!range) continue;
        if (step.kind == SegmentStep::Kind::Added) {
          order.insert(*range);
        } else if (step.kind == SegmentStep::Kind::Gone) {
          const bool was_there = order.erase(*range);
          HAILSTONE_CHECK(was_there, "segment {} of file {} is in no order", step.number, step.segment->file);
        } else {
          order.renumber(*range, step.now);
        }
      }
      slots_[i].made.store(true, std::memory_order_release);
    });
  }
}

const SegmentOrder& SegmentOrders::of(size_t secondary, const SegmentList& segments) const {
  Slot& slot = slots_[secondary == TableView::clustered ? count_ : secondary];
  std::call_once(slot.once, [&] {
    slot.order = SegmentOrder(segments, secondary);
    slot.made.store(true, std::memory_order_release);
  });
  return slot.order;
}

std::optional<uint32_t> TableView::number_of(const TableSegment& segment) const {
  const auto range = SegmentOrder::range_of(segment, clustered, 0);
  const SortedRanges& by_first = order(clustered).by_first();
  for (size_t rank = by_first.rank_of(range->first); rank < by_first.size(); ++rank) {
    const SegmentRange& found = by_first[rank];
    if (found.first != range->first) break;
    if (segments[found.segment].get() == &segment) return found.segment;
  }
  return std::nullopt;
}

void TableView::change_segments(const TableSegments& gone, const TableSegments& added) {
  std::vector<uint32_t> numbers;
  for (const auto& segment : gone) {
    if (const auto number = number_of(*segment)) numbers.push_back(*number);
  }
  // From behind, so that the last segment, which takes the number of one that goes, stays.
  std::ranges::sort(numbers, std::ranges::greater());
  using Kind = SegmentStep::Kind;
  std::vector<SegmentStep> steps;
  for (const uint32_t number : numbers) {
    steps.push_back({.kind = Kind::Gone, .segment = segments[number].get(), .number = number});
    const auto last = static_cast<uint32_t>(segments.size() - 1);
    if (number != last) {
      steps.push_back(
          {.kind = Kind::Renumbered, .segment = segments[last].get(), .number = last, .now = number});
      segments.replace(number, segments[last]);
    }
    segments.pop_back();
  }
  for (const auto& segment : added) {
    const auto number = static_cast<uint32_t>(segments.size());
    steps.push_back({.kind = Kind::Added, .segment = segment.get(), .number = number});
    segments.push_back(segment);
  }
  if (!steps.empty()) orders = std::make_shared<const SegmentOrders>(*orders, steps);
}

SpareView::SpareView(size_t secondary_count) {
  view.orders = std::make_shared<const SegmentOrders>(secondary_count);
}

void SpareView::make_room(const TableView& wanted) {
  view.segments.make_room(wanted.segments.size());
  view.deltas.reserve(wanted.deltas.size());
}

void SpareView::fill(const TableView& from) noexcept {
  HAILSTONE_CHECK(view.deltas.capacity() >= from.deltas.size(), "room for {} deltas of {}",
                  view.deltas.capacity(), from.deltas.size());
  for (const auto& each : from.segments) {
    if (each->ended_rows != nullptr) view.segments.push_back(each);
  }
  for (const auto& each : from.deltas) view.deltas.push_back(each);
}

}  // namespace hailstone
