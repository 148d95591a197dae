#include "table/segment_order.h"

#include <algorithm>

#include "base/check.h"
#include "table/places.h"
#include "table/table_view.h"

namespace hailstone {

namespace {

/// A leaf of more ranges is divided; two neighbours of fewer together are joined.
constexpr size_t most_ranges = 128;
constexpr size_t few_ranges = 48;

}  // namespace

void SortedRanges::Leaf::note(By by) {
  most_meeting = 0;
  least_bytes = ~uint64_t{0};
  for (const SegmentRange& range : ranges) {
    most_meeting = std::max(most_meeting, range.meeting);
    least_bytes = std::min(least_bytes, range.bytes);
  }
  greatest.resize(ranges.size());
  if (by == By::Last) return;  // nobody searches it so
  const auto note_part = [this](const auto& self, size_t begin, size_t end) -> ByteView {
    if (begin >= end) return {};
    const size_t middle = begin + (end - begin) / 2;
    return greatest[middle] =
               std::max({self(self, begin, middle), ranges[middle].last, self(self, middle + 1, end)});
  };
  note_part(note_part, 0, ranges.size());
}

SortedRanges::SortedRanges(By by, std::vector<SegmentRange> ranges) : by_(by), size_(ranges.size()) {
  std::ranges::stable_sort(ranges, {}, [this](const SegmentRange& range) { return key_of(range); });
  if (by_ == By::First) {
    std::vector<ByteView> lasts;
    lasts.reserve(ranges.size());
    for (const SegmentRange& range : ranges) lasts.push_back(range.last);
    std::ranges::sort(lasts);
    // Those that begin up to the key, but for those that end before it.
    for (size_t i = 0, begun = 0, ended = 0; i < ranges.size(); ++i) {
      while (begun < ranges.size() && ranges[begun].first <= ranges[i].first) ++begun;
      while (lasts[ended] < ranges[i].first) ++ended;
      ranges[i].meeting = static_cast<int32_t>(begun - ended);
    }
  }
  constexpr size_t filled = most_ranges * 3 / 4;
  for (size_t begin = 0; begin < ranges.size(); begin += filled) {
    auto leaf = std::make_shared<Leaf>();
    const auto first = ranges.begin() + static_cast<std::ptrdiff_t>(begin);
    leaf->ranges.assign(first, first + static_cast<std::ptrdiff_t>(std::min(filled, ranges.size() - begin)));
    leaf->note(by_);
    parts_.emplace_back().leaf = std::move(leaf);
  }
  note_all();
}

size_t SortedRanges::part_of(size_t rank) const {
  const auto after = std::ranges::upper_bound(parts_, rank, {}, &Part::before);
  return static_cast<size_t>(after - parts_.begin()) - 1;
}

const SegmentRange& SortedRanges::operator[](size_t rank) const {
  const Part& part = parts_[part_of(rank)];
  return part.leaf->ranges[rank - part.before];
}

size_t SortedRanges::rank_of(ByteView key) const {
  // Ranges with the key may begin in the part before the first that begins with it.
  const auto from = std::ranges::lower_bound(parts_, key, {}, &Part::key);
  if (from == parts_.begin()) return 0;
  const Part& part = *std::prev(from);
  const auto& ranges = part.leaf->ranges;
  const auto found =
      std::ranges::lower_bound(ranges, key, {}, [this](const SegmentRange& range) { return key_of(range); });
  return part.before + static_cast<size_t>(found - ranges.begin());
}

size_t SortedRanges::rank_behind(ByteView key) const {
  const auto behind = std::ranges::upper_bound(parts_, key, {}, &Part::key);
  if (behind == parts_.begin()) return 0;
  const Part& part = *std::prev(behind);
  const auto& ranges = part.leaf->ranges;
  const auto found =
      std::ranges::upper_bound(ranges, key, {}, [this](const SegmentRange& range) { return key_of(range); });
  return part.before + static_cast<size_t>(found - ranges.begin());
}

SortedRanges::Leaf& SortedRanges::own_leaf(size_t part) {
  std::shared_ptr<Leaf>& leaf = parts_[part].leaf;
  // Nobody can come to share it meanwhile.
  if (leaf.use_count() > 1) leaf = std::make_shared<Leaf>(*leaf);
  return *leaf;
}

ByteView SortedRanges::note_greatest(size_t begin, size_t end) {
  if (begin >= end) return {};
  const size_t middle = begin + (end - begin) / 2;
  return greatest_[middle] =
             std::max({note_greatest(begin, middle), parts_[middle].last, note_greatest(middle + 1, end)});
}

void SortedRanges::note_greatest_at(size_t begin, size_t end, size_t part) {
  const size_t middle = begin + (end - begin) / 2;
  if (part < middle) note_greatest_at(begin, middle, part);
  if (part > middle) note_greatest_at(middle + 1, end, part);
  const auto known = [this](size_t from, size_t to) {
    return from < to ? greatest_[from + (to - from) / 2] : ByteView();
  };
  greatest_[middle] = std::max({known(begin, middle), parts_[middle].last, known(middle + 1, end)});
}

void SortedRanges::note_part(size_t part) {
  Part& changed = parts_[part];
  Leaf& leaf = *changed.leaf;
  changed.key = key_of(leaf.ranges.front());
  if (by_ == By::First) {
    changed.last = leaf.greatest[leaf.ranges.size() / 2];
    note_greatest_at(0, parts_.size(), part);
  }
}

void SortedRanges::note_all() {
  greatest_.resize(parts_.size());
  uint32_t before = 0;
  for (Part& part : parts_) {
    part.before = before;
    before += static_cast<uint32_t>(part.leaf->ranges.size());
    part.key = key_of(part.leaf->ranges.front());
    if (by_ == By::First) part.last = part.leaf->greatest[part.leaf->ranges.size() / 2];
  }
  if (by_ == By::First) note_greatest(0, parts_.size());
}

void SortedRanges::add_meeting(size_t begin, size_t end, int32_t more) {
  for (size_t number = begin < end ? part_of(begin) : parts_.size();
       number < parts_.size() && parts_[number].before < end; ++number) {
    Part& part = parts_[number];
    const size_t count = part.leaf->ranges.size();
    const size_t from = std::max<size_t>(begin, part.before) - part.before;
    const size_t to = std::min<size_t>(end - part.before, count);
    if (from == 0 && to == count) {
      part.meeting += more;
      continue;
    }
    Leaf& leaf = own_leaf(number);
    for (size_t i = from; i < to; ++i) leaf.ranges[i].meeting += more;
    leaf.most_meeting = std::ranges::max(leaf.ranges, {}, &SegmentRange::meeting).meeting;
  }
}

void SortedRanges::insert(SegmentRange range) {
  if (parts_.empty()) {
    *this = SortedRanges(by_, {range});
    return;
  }
  if (by_ == By::First) {
    range.meeting = 1;
    visit_between(range.first, range.first, [&](const SegmentRange& other) {
      // A key that begins with ours is behind it.
      if (other.first <= range.first) ++range.meeting;
      return true;
    });
    add_meeting(rank_of(range.first), rank_behind(range.last), 1);
  }
  const size_t rank = rank_behind(key_of(range));
  const size_t number = rank == 0 ? 0 : part_of(rank - 1);
  Leaf& leaf = own_leaf(number);
  range.meeting -= parts_[number].meeting;
  leaf.ranges.insert(leaf.ranges.begin() + static_cast<std::ptrdiff_t>(rank - parts_[number].before), range);
  ++size_;
  if (leaf.ranges.size() > most_ranges) {
    auto behind = std::make_shared<Leaf>();
    // Keys mostly come in their order: what is full stays nearly full.
    const bool at_end = number + 1 == parts_.size() && rank + 1 == size_;
    const auto cut = leaf.ranges.begin() + static_cast<std::ptrdiff_t>(most_ranges / (at_end ? 1 : 2));
    behind->ranges.assign(cut, leaf.ranges.end());
    leaf.ranges.erase(cut, leaf.ranges.end());
    behind->note(by_);
    leaf.note(by_);
    Part part;
    part.leaf = std::move(behind);
    part.meeting = parts_[number].meeting;
    parts_.insert(parts_.begin() + static_cast<std::ptrdiff_t>(number) + 1, std::move(part));
    note_all();
    return;
  }
  leaf.note(by_);
  for (size_t i = number + 1; i < parts_.size(); ++i) ++parts_[i].before;
  note_part(number);
}

std::optional<size_t> SortedRanges::find(const SegmentRange& range) const {
  const ByteView key = key_of(range);
  for (size_t rank = rank_of(key); rank < size_; ++rank) {
    const SegmentRange& found = (*this)[rank];
    if (key_of(found) != key) break;
    if (found.segment == range.segment) return rank;
  }
  return std::nullopt;
}

bool SortedRanges::erase(const SegmentRange& range) {
  const std::optional<size_t> rank = find(range);
  if (!rank) return false;
  const size_t number = part_of(*rank);
  Leaf& leaf = own_leaf(number);
  leaf.ranges.erase(leaf.ranges.begin() + static_cast<std::ptrdiff_t>(*rank - parts_[number].before));
  --size_;
  const auto part = parts_.begin() + static_cast<std::ptrdiff_t>(number);
  if (leaf.ranges.empty()) {
    parts_.erase(part);
    note_all();
  } else if (number > 0 && leaf.ranges.size() + parts_[number - 1].leaf->ranges.size() < few_ranges) {
    Leaf& joined = own_leaf(number - 1);
    const int32_t more = part->meeting - parts_[number - 1].meeting;
    for (SegmentRange moved : leaf.ranges) {
      moved.meeting += more;
      joined.ranges.push_back(moved);
    }
    joined.note(by_);
    parts_.erase(part);
    note_all();
  } else {
    leaf.note(by_);
    for (size_t i = number + 1; i < parts_.size(); ++i) --parts_[i].before;
    note_part(number);
  }
  if (by_ == By::First) add_meeting(rank_of(range.first), rank_behind(range.last), -1);
  return true;
}

void SortedRanges::renumber(const SegmentRange& range, uint32_t number) {
  const std::optional<size_t> rank = find(range);
  HAILSTONE_CHECK(rank, "segment {} is in no order", range.segment);
  const size_t part = part_of(*rank);
  own_leaf(part).ranges[*rank - parts_[part].before].segment = number;
}

std::pair<const SegmentRange*, size_t> SortedRanges::deepest() const {
  const auto most = [](const Part& part) { return part.meeting + part.leaf->most_meeting; };
  const auto part = std::ranges::max_element(parts_, {}, most);
  if (part == parts_.end()) return {nullptr, 0};
  return {&*std::ranges::max_element(part->leaf->ranges, {}, &SegmentRange::meeting),
          static_cast<size_t>(most(*part))};
}

std::optional<SegmentRange> SegmentOrder::range_of(const TableSegment& segment, size_t secondary,
                                                   uint32_t number) {
  const Segment& file = *segment.segment;
  SegmentRange range;
  range.segment = number;
  range.bytes = file.unpacked_bytes();
  if (secondary == TableView::clustered) {
    range.first = file.first_key();
    range.last = file.last_key();
  } else if (file.index_entries(secondary) != 0) {
    range.first = file.index_sample(secondary, 0);
    range.last = file.index_last_key(secondary);
  } else {
    return std::nullopt;
  }
  return range;
}

}  // namespace hailstone
