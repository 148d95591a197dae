// All places of a table at an instant, and which segments may have a key. Immutable once it is the table's.
// A view shares with the one before it all that has not changed, so that another view costs little however
// many segments there are.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "base/bytes.h"
#include "table/places.h"
#include "table/segment_list.h"
#include "table/segment_order.h"

namespace hailstone {

/// What has become of the segments of a view, step by step.
struct SegmentStep {
  enum class Kind : uint8_t { Added, Gone, Renumbered };
  Kind kind = Kind::Added;
  const TableSegment* segment = nullptr;
  uint32_t number = 0;  // in the view; before it was renumbered
  uint32_t now = 0;     // afterwards
};

/// The orders of one list of segments, each made when it is first asked for, or out of that of the list
/// before. Thread-safe.
class SegmentOrders {
 public:
  explicit SegmentOrders(size_t secondary_count);
  /// Those of the list that comes of these steps. Orders that were not made are not made here either.
  SegmentOrders(const SegmentOrders& before, const std::vector<SegmentStep>& steps);
  SegmentOrders& operator=(const SegmentOrders&) = delete;
  ~SegmentOrders() = default;
  /// `segments`: the list.
  const SegmentOrder& of(size_t secondary, const SegmentList& segments) const;

 private:
  struct Slot {
    std::once_flag once;
    std::atomic<bool> made{false};
    SegmentOrder order;
  };
  const size_t count_;  // of secondary orders; the clustered one is behind them
  const std::unique_ptr<Slot[]> slots_;
};

struct TableView {
  static constexpr size_t clustered = ~size_t{0};
  SegmentList segments;
  std::vector<std::shared_ptr<TableDelta>> deltas;  // newest first; [0] takes writes
  /// Of `segments`. Two views with the same one have the same segments.
  std::shared_ptr<const SegmentOrders> orders;

  const SegmentOrder& order(size_t secondary) const { return orders->of(secondary, segments); }
  bool contains(const TableSegment& segment) const { return number_of(segment).has_value(); }
  std::optional<uint32_t> number_of(const TableSegment& segment) const;
  /// Takes segments out and adds others. Segments that are not there are not taken out.
  void change_segments(const TableSegments& gone, const TableSegments& added);
};

/// A view that is still empty, with room for all that the table's view holds: filling it needs no memory. It
/// has the one list that copies each segment, and its orders are made anew: it is for rollbacks.
struct SpareView {
  explicit SpareView(size_t secondary_count);
  void make_room(const TableView& wanted);
  /// Takes what is in `from` but for segments that the table counts no more
  /// (TableSegment::count_ended_in()). There must be room for it.
  void fill(const TableView& from) noexcept HAILSTONE_REQUIRES_SHARED(table_latch);

  TableView view;
};

}  // namespace hailstone
