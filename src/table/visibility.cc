#include "table/visibility.h"

#include <algorithm>

#include "table/key_search.h"

namespace hailstone {

namespace {

/// Versions that are on their way from memory while one is looked at.
constexpr size_t prefetched = 8;

void mask_own_and_new(const TableSegment& segment, uint32_t block, const Visibility& visibility,
                      BlockBitmap& bitmap) {
  if (segment.writes == nullptr || segment.writes->greatest() < visibility.own_writes) return;
  if (segment.writes->least() >= visibility.own_writes) return bitmap.clear();
  UnclearedVector<uint16_t> scratch;
  for (const uint16_t row : bitmap.rows(scratch)) {
    if (segment.is_written_since(block * block_rows + row, visibility.own_writes)) {
      bitmap.bits[row / 64] &= ~(uint64_t{1} << (row % 64));
    }
  }
}

/// Clears the bits of rows of which only own versions count.
Status mask_superseded(const TableSegment& segment, const TableKeys& keys, uint32_t block,
                       const Visibility& visibility, BlockBitmap& bitmap) {
  if (segment.shared_begin() == visibility.snapshot.own) return {};
  SegmentKeys rows(segment, keys, SegmentKeys::clustered);
  const uint32_t first = block * block_rows;
  const uint32_t last = std::min(first + block_rows, segment.rows()) - 1;
  std::string found, last_key;
  HAILSTONE_TRY(rows.key(last, last_key));
  HAILSTONE_TRY(rows.key(first, found));
  const auto& superseded = visibility.superseded->keys();
  for (auto each = superseded.lower_bound(found); each != superseded.end() && each->first <= last_key;
       ++each) {
    if (each->second >= visibility.own_writes) continue;
    HAILSTONE_ASSIGN(uint32_t ordinal, rows.lower_bound(each->first));
    for (ordinal = std::max(ordinal, first); ordinal <= last; ++ordinal) {
      HAILSTONE_TRY(rows.key(ordinal, found));
      if (found != each->first) break;
      const uint32_t row = ordinal - first;
      bitmap.bits[row / 64] &= ~(uint64_t{1} << (row % 64));
    }
  }
  return {};
}

}  // namespace

Status mask_rows(const TableSegment& segment, const TableKeys& keys, BlockReader& reader, uint32_t block,
                 const Visibility& visibility, BlockBitmap& bitmap) {
  HAILSTONE_TRY(mask_versions(segment, reader, block, visibility, bitmap));
  if (visibility.superseded == nullptr || bitmap.none()) return {};
  return mask_superseded(segment, keys, block, visibility, bitmap);
}

Status mask_versions(const TableSegment& segment, BlockReader& reader, uint32_t block,
                     const Visibility& visibility, BlockBitmap& bitmap) {
  if (!visibility.candidates) {
    if (segment.columns.begin() < 0) {
      if (!visibility.snapshot.includes(segment.shared_begin())) {
        bitmap.clear();
        return {};
      }
    } else {
      const auto column = static_cast<size_t>(segment.columns.begin());
      if (segment.segment->summary(column, block).high > visibility.snapshot.read) {
        HAILSTONE_ASSIGN(const BlockReader::Pinned begins, reader.block(column, block));
        BlockBitmap begun;
        const IntegerRange range{0, visibility.snapshot.read};
        begins.block->select_ranges({&range, 1}, begun);
        bitmap.intersect(begun);
      }
    }
  }
  if (segment.shared_begin() == visibility.snapshot.own) mask_own_and_new(segment, block, visibility, bitmap);
  const SharedLock guard(segment.latch());
  if (!segment.ends->empty()) segment.ends->mask(block, visibility.snapshot, bitmap);
  return {};
}

DeltaReader::DeltaReader(std::shared_ptr<TableDelta> delta, size_t secondary, const Visibility& visibility)
    : delta_(std::move(delta)), secondary_(secondary), visibility_(visibility) {}

const Version* DeltaReader::taken(const Version* newest) const {
  for (const Version* version = newest; version != nullptr; version = version->older()) {
    if (visibility_.takes(*version)) return version;
  }
  return nullptr;
}

void DeltaReader::forward(ByteView bound, bool after, size_t count, std::vector<Entry>& to) const {
  to.clear();
  const SharedLock guard(delta_->latch());
  if (secondary_ == clustered) {
    const auto& tree = delta_->rows.clustered();
    auto entry = after ? tree.upper_bound(bound) : tree.lower_bound(bound);
    auto soon = entry;
    for (size_t i = 0; i < prefetched && soon != tree.end(); ++i, ++soon) __builtin_prefetch(soon.version());
    for (; entry != tree.end(); ++entry) {
      if (to.size() == count) return;
      if (soon != tree.end()) {
        __builtin_prefetch(soon.version());
        ++soon;
      }
      if (const Version* const version = taken(entry.version())) to.push_back({version->key(), version});
    }
    return;
  }
  const auto& tree = delta_->rows.secondary(secondary_);
  for (auto entry = after ? tree.upper_bound(bound) : tree.lower_bound(bound); entry != tree.end(); ++entry) {
    if (to.size() == count) return;
    // A locking cursor sees several versions behind one entry key as one.
    const ByteView key = entry.key();
    if (!to.empty() && to.back().key == key) continue;
    if (visibility_.takes(*entry.version())) to.push_back({key, entry.version()});
  }
}

void DeltaReader::backward(ByteView bound, bool unbounded, size_t count, std::vector<Entry>& to) const {
  to.clear();
  const SharedLock guard(delta_->latch());
  if (secondary_ == clustered) {
    const auto& tree = delta_->rows.clustered();
    for (auto entry = unbounded ? tree.end() : tree.lower_bound(bound); entry != tree.begin();) {
      --entry;
      if (to.size() == count) return;
      if (const Version* const version = taken(entry.version())) to.push_back({version->key(), version});
    }
    return;
  }
  const auto& tree = delta_->rows.secondary(secondary_);
  for (auto entry = unbounded ? tree.end() : tree.lower_bound(bound); entry != tree.begin();) {
    --entry;
    if (to.size() == count) return;
    const ByteView key = entry.key();
    if (!to.empty() && to.back().key == key) continue;
    if (visibility_.takes(*entry.version())) to.push_back({key, entry.version()});
  }
}

}  // namespace hailstone
