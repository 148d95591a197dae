#include "table/segment_readers.h"

#include <optional>

#include "base/hash.h"

namespace hailstone {

namespace {
/// So many are found quickly; of a table with more, rows lie too far from each other for a reader to be worth
/// keeping.
constexpr size_t most_readers = 32;
}  // namespace

SegmentReaders::Reader& SegmentReaders::of(const std::shared_ptr<TableSegment>& segment) {
  for (size_t i = 0; i < readers_.size(); ++i) {
    if (++last_ >= readers_.size()) last_ = 0;
    if (readers_[last_]->segment == segment) return *readers_[last_];
  }
  if (readers_.size() == most_readers) readers_.clear();
  readers_.push_back(std::make_unique<Reader>(segment, *keys_));
  last_ = readers_.size() - 1;
  return *readers_.back();
}

Result<OrdinalRange> find_clustered(const std::shared_ptr<TableSegment>& segment, const TableKeys& keys,
                                    ByteView key, Counters& counters, SegmentReaders* readers) {
  const Segment& file = *segment->segment;
  if (file.rows() == 0 || key < file.first_key() || file.last_key() < key) return OrdinalRange{};
  SegmentReaders::Reader* const reader = readers == nullptr ? nullptr : &readers->of(segment);
  if (!keys.hidden_row_id()) {
    FilterPart part;
    HAILSTONE_ASSIGN(const bool may_contain,
                     file.may_contain_key(hash_bytes(key), reader == nullptr ? part : reader->filter));
    if (!may_contain) {
      count(counters.bloom_filter_skips);
      return OrdinalRange{};
    }
  }
  std::optional<SegmentKeys> own;
  SegmentKeys& rows = reader == nullptr ? own.emplace(*segment, keys, SegmentKeys::clustered) : reader->keys;
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
