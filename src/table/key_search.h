// Keys of the rows of one segment, decoded from its columns, and binary search among them. The samples in
// memory narrow a search to key_sample_stride rows; only those are decoded. Belongs to one thread; keeps the
// blocks it used last.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "table/places.h"
#include "table/table_keys.h"

namespace hailstone {

/// Values of some columns of single rows of a segment.
class RowReader {
 public:
  /// `columns`: table column numbers, or StoredColumn::row_id.
  RowReader(const TableSegment& segment, const std::vector<uint16_t>& columns);
  /// Values of a row, one a column; bytes are valid until the next read().
  Status read(uint32_t ordinal);
  std::span<const Value> values() const { return values_; }

 private:
  struct Source {
    uint16_t column = 0;
    SegmentColumns::Location location;
    bool integer = false;
    std::shared_ptr<const Block> block;
    std::shared_ptr<const Dictionary> dictionary;
  };
  Status load(uint32_t block);
  Status load_bytes(size_t position, uint32_t block, Source& source) const;

  const TableSegment& segment_;
  std::vector<Source> sources_;
  Source group_;
  bool grouped_ = false;
  std::vector<Value> values_;
  Arena scratch_;
  static constexpr uint32_t no_block = ~uint32_t{0};
  uint32_t block_ = no_block;
};

/// The entries of one order of a segment: its rows by clustered key, or a secondary index. Entries have
/// positions 0..entries()-1.
class SegmentKeys {
 public:
  static constexpr size_t clustered = ~size_t{0};
  /// `secondary`: number of the secondary index, or `clustered`.
  SegmentKeys(const TableSegment& segment, const TableKeys& keys, size_t secondary);

  uint32_t entries() const { return entries_; }
  Result<uint32_t> ordinal(uint32_t position);
  /// Replaces `to` by the entry key.
  Status key(uint32_t position, std::string& to);
  /// Of the secondary entry key decoded last: the size of the clustered key at its end.
  size_t clustered_size() const { return clustered_size_; }
  /// Replaces `to` by the clustered key of the row.
  Status clustered_key(uint32_t ordinal, std::string& to);
  /// First position whose entry key is >= bound; entries() when there is none.
  Result<uint32_t> lower_bound(ByteView bound);
  /// Order of the position's entry key and the bound: negative when the entry comes first, 0 when it is the
  /// bound.
  Result<int> compare(uint32_t position, ByteView bound);

 private:
  size_t sample_count() const;
  ByteView sample(size_t number) const;
  ByteView last_key() const;

  const TableSegment& segment_;
  const TableKeys& keys_;
  const size_t secondary_;
  const uint32_t entries_;
  const unsigned integer_width_;  // of entry keys that are one integer; else 0
  RowReader clustered_reader_;
  RowReader secondary_reader_;
  // Ordinals of the index entries read last.
  std::array<uint32_t, key_sample_stride> ordinals_;
  uint32_t ordinals_first_ = 0, ordinals_count_ = 0;
  std::string probe_, clustered_part_;
  size_t clustered_size_ = 0;
};

/// Rows [first, last) of the segment that have exactly this clustered key; empty when it has none.
struct OrdinalRange {
  uint32_t first = 0, last = 0;
  bool empty() const { return first == last; }
};
Result<OrdinalRange> find_clustered(const TableSegment& segment, const TableKeys& keys, ByteView key,
                                    Counters& counters);

}  // namespace hailstone
