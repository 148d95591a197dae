// All places of a table at an instant, and which segments may have a key. Immutable once it is the table's.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "table/places.h"

namespace hailstone {

/// The segments of a view by their keys in one order of the table. A search meets only those whose range of
/// keys has to do with it, however many there are: it walks a tree that knows the greatest last key of each
/// part. Immutable; valid as long as the segments.
class SegmentOrder {
 public:
  /// The keys of a segment in this order; segments without entries in it are left out.
  struct Range {
    ByteView first, last;
    uint32_t segment = 0;  // position in the view
  };
  SegmentOrder() = default;
  /// `secondary`: number of a secondary index, or TableView::clustered.
  SegmentOrder(const TableSegments& segments, size_t secondary);

  std::span<const Range> by_first() const { return by_first_; }
  /// Positions in by_first(), by ascending last key.
  std::span<const uint32_t> by_last() const { return by_last_; }

  /// Calls `visit` for each segment, by first key, that may have entries from `low` up to `high` or up to a
  /// key that begins with `high`. False from it ends the visit.
  template <typename Visit>
  void visit_between(ByteView low, ByteView high, const Visit& visit) const {
    visit_part(0, by_first_.size(), low, high, visit);
  }

 private:
  template <typename Visit>
  bool visit_part(size_t begin, size_t end, ByteView low, ByteView high, const Visit& visit) const {
    if (begin >= end) return true;
    const size_t middle = begin + (end - begin) / 2;
    if (greatest_[middle] < low) return true;
    if (!visit_part(begin, middle, low, high, visit)) return false;
    const Range& range = by_first_[middle];
    if (high < range.first && !range.first.starts_with(high)) return true;
    if (low <= range.last && !visit(range)) return false;
    return visit_part(middle + 1, end, low, high, visit);
  }
  ByteView note_greatest(size_t begin, size_t end);

  std::vector<Range> by_first_;
  std::vector<ByteView> greatest_;  // at the middle of a part: the greatest last key of the part
  std::vector<uint32_t> by_last_;
};

/// The orders of one list of segments, each made when it is first asked for. Thread-safe.
class SegmentOrders {
 public:
  SegmentOrders(TableSegments segments, size_t secondary_count);
  SegmentOrders(const SegmentOrders&) = delete;
  SegmentOrders& operator=(const SegmentOrders&) = delete;
  const SegmentOrder& of(size_t secondary) const;

 private:
  struct Slot {
    std::once_flag once;
    SegmentOrder order;
  };
  friend struct SpareView;
  TableSegments segments_;
  const size_t count_;
  const std::unique_ptr<Slot[]> slots_;
};

struct TableView {
  static constexpr size_t clustered = ~size_t{0};
  TableSegments segments;
  std::vector<std::shared_ptr<TableDelta>> deltas;  // newest first; [0] takes writes
  /// Of `segments`; set as the view becomes the table's. Two views with the same one have the same segments.
  std::shared_ptr<const SegmentOrders> orders;

  const SegmentOrder& order(size_t secondary) const { return orders->of(secondary); }
};

/// A view that is still empty, with room for all that the table's view holds: filling it needs no memory.
struct SpareView {
  explicit SpareView(size_t secondary_count);
  void make_room(const TableView& wanted);
  /// Takes what is in `from` but for some segments. There must be room for it.
  void fill(const TableView& from, const TableSegments& without) noexcept;

  TableView view;

 private:
  const std::shared_ptr<SegmentOrders> orders_;
};

}  // namespace hailstone
