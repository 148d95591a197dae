// The segments of a view by their keys in one order of the table: a tree of two levels that copies share. A
// change copies the leaf that it changes, and the root, which has an entry for each leaf.
//
// A search meets only segments whose range of keys has to do with it, however many there are: root and leaves
// are searched as binary trees that know the greatest last key of each part. The tree also knows how many
// ranges meet where most do, and the smallest segment of each leaf: what merges ask for.
//
// A tree that others may see does not change: a copy does. Belongs to one thread until then. Valid as long as
// the segments, whose memory the keys are.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/bytes.h"

namespace hailstone {

class TableSegment;

/// The keys of a segment in an order.
struct SegmentRange {
  ByteView first, last;
  uint32_t segment = 0;  // number in the view
  int32_t meeting = 1;   // the tree's own
  uint64_t bytes = 0;    // that its rows take unpacked
};

/// Ranges by their first keys, or by their last ones.
class SortedRanges {
 public:
  enum class By : uint8_t { First, Last };
  explicit SortedRanges(By by) : by_(by) {}
  /// `ranges`: in no order.
  SortedRanges(By by, std::vector<SegmentRange> ranges);

  size_t size() const { return size_; }
  const SegmentRange& operator[](size_t rank) const;
  /// How many ranges have a key below `key`, or up to it.
  size_t rank_of(ByteView key) const;
  size_t rank_behind(ByteView key) const;

  void insert(SegmentRange range);
  /// False: it is not there. Ranges of equal keys are told apart by their segments.
  bool erase(const SegmentRange& range);
  /// The segment gets another number.
  void renumber(const SegmentRange& range, uint32_t number);

  /// By first key only: calls `visit` for each range, in this order, that may have keys from `low` up to
  /// `high` or up to a key that begins with `high`. False from it ends the visit.
  template <typename Visit>
  void visit_between(ByteView low, ByteView high, const Visit& visit) const {
    const Search<Visit> search{low, high, visit};
    search.visit(parts_, greatest_, 0, parts_.size());
  }
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (const Part& part : parts_) {
      for (const SegmentRange& range : part.leaf->ranges) visit(range);
    }
  }
  /// The same for the ranges of less than `bytes`, with their ranks; false from `visit` ends the visit.
  template <typename Visit>
  void visit_smaller(uint64_t bytes, const Visit& visit) const {
    for (const Part& part : parts_) {
      if (part.leaf->least_bytes >= bytes) continue;
      for (size_t i = 0; i < part.leaf->ranges.size(); ++i) {
        const SegmentRange& range = part.leaf->ranges[i];
        if (range.bytes < bytes && !visit(range, part.before + i)) return;
      }
    }
  }

  /// By first key only: the range at whose first key most ranges meet, and how many.
  std::pair<const SegmentRange*, size_t> deepest() const;

 private:
  struct Leaf {
    std::vector<SegmentRange> ranges;
    std::vector<ByteView> greatest;  // at the middle of a part: the greatest last key of the part
    int32_t most_meeting = 0;
    uint64_t least_bytes = 0;
    void note(By by);
  };
  struct Part {
    std::shared_ptr<Leaf> leaf;
    ByteView key;         // of its first range
    ByteView last;        // the greatest last key
    uint32_t before = 0;  // ranges in the parts before
    int32_t meeting = 0;  // to be added to that of each of its ranges
  };

  template <typename Visit>
  struct Search {
    ByteView low, high;
    const Visit& visit_range;

    /// Of parts, then of the ranges of a leaf: both are ascending by first key.
    template <typename Entry>
    bool visit(const std::vector<Entry>& entries, const std::vector<ByteView>& greatest, size_t begin,
               size_t end) const {
      if (begin >= end) return true;
      const size_t middle = begin + (end - begin) / 2;
      if (greatest[middle] < low) return true;
      if (!visit(entries, greatest, begin, middle)) return false;
      const Entry& entry = entries[middle];
      const ByteView first = first_of(entry);
      if (high < first && !first.starts_with(high)) return true;
      if (low <= entry.last && !meet(entry)) return false;
      return visit(entries, greatest, middle + 1, end);
    }

   private:
    static ByteView first_of(const SegmentRange& range) { return range.first; }
    static ByteView first_of(const Part& part) { return part.key; }
    bool meet(const SegmentRange& range) const { return visit_range(range); }
    bool meet(const Part& part) const {
      return visit(part.leaf->ranges, part.leaf->greatest, 0, part.leaf->ranges.size());
    }
  };

  ByteView key_of(const SegmentRange& range) const { return by_ == By::First ? range.first : range.last; }
  /// The part that a range of this rank is in.
  size_t part_of(size_t rank) const;
  std::optional<size_t> find(const SegmentRange& range) const;
  Leaf& own_leaf(size_t part);
  /// What the root knows of a part whose leaf has changed, or of all from it on.
  void note_part(size_t part);
  void note_all();
  ByteView note_greatest(size_t begin, size_t end);
  void note_greatest_at(size_t begin, size_t end, size_t part);
  /// So many more ranges meet at the first keys of these ranks.
  void add_meeting(size_t begin, size_t end, int32_t more);

  By by_;
  size_t size_ = 0;
  std::vector<Part> parts_;
  std::vector<ByteView> greatest_;
};

class SegmentOrder {
 public:
  SegmentOrder() : by_first_(SortedRanges::By::First), by_last_(SortedRanges::By::Last) {}
  explicit SegmentOrder(const std::vector<SegmentRange>& ranges)
      : by_first_(SortedRanges::By::First, ranges), by_last_(SortedRanges::By::Last, ranges) {}
  /// Of segments, numbered as they come. `secondary`: as range_of() takes it.
  template <typename Segments>
  SegmentOrder(const Segments& segments, size_t secondary) : SegmentOrder(ranges_of(segments, secondary)) {}

  /// Nothing: the segment has no entries in this order. `secondary`: number of a secondary index, or
  /// TableView::clustered.
  static std::optional<SegmentRange> range_of(const TableSegment& segment, size_t secondary, uint32_t number);

  const SortedRanges& by_first() const { return by_first_; }
  const SortedRanges& by_last() const { return by_last_; }
  template <typename Visit>
  void visit_between(ByteView low, ByteView high, const Visit& visit) const {
    by_first_.visit_between(low, high, visit);
  }

  void insert(const SegmentRange& range) {
    by_first_.insert(range);
    by_last_.insert(range);
  }
  bool erase(const SegmentRange& range) { return by_first_.erase(range) && by_last_.erase(range); }
  void renumber(const SegmentRange& range, uint32_t number) {
    by_first_.renumber(range, number);
    by_last_.renumber(range, number);
  }

 private:
  template <typename Segments>
  static std::vector<SegmentRange> ranges_of(const Segments& segments, size_t secondary) {
    std::vector<SegmentRange> ranges;
    ranges.reserve(segments.size());
    uint32_t number = 0;
    for (const auto& segment : segments) {
      if (auto range = range_of(*segment, secondary, number++)) ranges.push_back(*range);
    }
    return ranges;
  }

  SortedRanges by_first_, by_last_;
};

}  // namespace hailstone
