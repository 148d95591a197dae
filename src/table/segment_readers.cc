#include "table/segment_readers.h"

#include <algorithm>

#include "segment/key_filter.h"

namespace hailstone {

namespace {
/// What readers pin of filters is limited for all together.
constexpr size_t most_readers = 1024;
}  // namespace

SegmentReaders::Reader& SegmentReaders::of(const std::shared_ptr<TableSegment>& segment) {
  for (size_t i = 0; i < readers_.size(); ++i) {
    if (++last_ >= readers_.size()) last_ = 0;
    if (readers_[last_]->segment() == segment.get()) return *readers_[last_];
  }
  if (readers_.size() == most_readers) clear();
  readers_.push_back(std::make_unique<Reader>(segment, *this));
  last_ = readers_.size() - 1;
  return *readers_.back();
}

SegmentReaders::Reader& SegmentReaders::at(const TableView& view, uint32_t position) {
  if (Reader* const known = by_position_[position]) return *known;
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
  row_readers_ = 0;
}

void SegmentReaders::make_room_for_rows() {
  if (row_readers_ == most_that_read_rows_) {
    for (const auto& reader : readers_) reader->let_go_of_rows();
    row_readers_ = 0;
  }
  ++row_readers_;
}

SegmentKeys& SegmentReaders::Reader::keys() {
  if (keys_) return *keys_;
  if (!reads_rows()) all_.make_room_for_rows();
  return keys_.emplace(*segment_, *all_.keys_, SegmentKeys::clustered);
}

BlockReader& SegmentReaders::Reader::blocks() {
  if (blocks_) return *blocks_;
  if (!reads_rows()) all_.make_room_for_rows();
  return blocks_.emplace(segment_->columns);
}

Result<OrdinalRange> find_clustered(const TableSegment& segment, const TableKeys& keys, ByteView key,
                                    uint64_t hash, Counters& counters, SegmentReaders::Reader* reader) {
  const Segment& file = *segment.segment;
  if (file.rows() == 0 || key < file.first_key() || file.last_key() < key) return OrdinalRange{};
  if (!keys.hidden_row_id()) {
    const KeyFilter& filter = file.key_filter();
    HAILSTONE_ASSIGN(const bool may_contain,
                     filter.admits(hash, reader == nullptr ? nullptr : &reader->filter()));
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
