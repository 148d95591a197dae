#include "table/segment_readers.h"

#include <algorithm>

#include "segment/key_filter.h"

namespace hailstone {

namespace {
/// A key is looked for in some tens of segments at most (table/merge.cc). So many are found quickly; of a
/// table with more, rows lie too far from each other for a reader to be worth keeping.
constexpr size_t most_readers = 128;
}  // namespace

SegmentReaders::Reader& SegmentReaders::of(const std::shared_ptr<TableSegment>& segment) {
  for (size_t i = 0; i < readers_.size(); ++i) {
    if (++last_ >= readers_.size()) last_ = 0;
    if (readers_[last_]->segment() == segment.get()) return *readers_[last_];
  }
  if (readers_.size() == most_readers) clear();
  readers_.push_back(std::make_unique<Reader>(segment, *keys_));
  last_ = readers_.size() - 1;
  return *readers_.back();
}

SegmentReaders::Reader& SegmentReaders::at(const TableView& view, uint32_t position) {
  Reader& reader = of(view.segments[position]);
  by_position_[position] = &reader;
  return reader;
}

void SegmentReaders::follow(const TableView& view) {
  if (orders_ == view.orders) return;
  clear();
  by_position_.resize(view.segments.size());
  // Last, as the step before may find no memory.
  orders_ = view.orders;
}

void SegmentReaders::clear() {
  std::ranges::fill(by_position_, nullptr);
  readers_.clear();
}

Result<OrdinalRange> find_clustered(const TableSegment& segment, const TableKeys& keys, ByteView key,
                                    uint64_t hash, Counters& counters, SegmentReaders::Reader* reader) {
  const Segment& file = *segment.segment;
  if (file.rows() == 0 || key < file.first_key() || file.last_key() < key) return OrdinalRange{};
  if (!keys.hidden_row_id()) {
    const KeyFilter& filter = file.key_filter();
    HAILSTONE_ASSIGN(const bool may_contain,
                     reader == nullptr ? filter.admits(hash) : filter.admits(hash, reader->filter()));
    if (!may_contain) {
      count(counters.bloom_filter_skips);
      return OrdinalRange{};
    }
  }
  std::optional<SegmentKeys> own;
  SegmentKeys& rows = reader == nullptr ? own.emplace(segment, keys, SegmentKeys::clustered) : reader->keys();
  HAILSTONE_ASSIGN(const uint32_t first, rows.lower_bound(key));
  OrdinalRange range{first, first};
  while (range.last < file.rows()) {
    HAILSTONE_ASSIGN(const int order, rows.compare(range.last, key));
    if (order != 0) break;
    ++range.last;
  }
  return range;
}

}  // namespace hailstone
