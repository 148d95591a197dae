// Keys of the rows of one segment, decoded from its columns, and binary search among them. The samples in
// memory narrow a search to key_sample_stride rows; only those are decoded. Belongs to one thread; pins the
// blocks it used last.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "column/block_reader.h"
#include "column/row_window.h"
#include "table/places.h"
#include "table/table_keys.h"

namespace hailstone {

/// Values of some columns of single rows of a segment.
class RowReader {
 public:
  /// `columns`: table column numbers, or StoredColumn::row_id.
  RowReader(const TableSegment& segment, std::vector<uint16_t> columns)
      : reader_(segment.columns), columns_(std::move(columns)), values_(columns_.size()) {}
  /// Values of a row, one a column; bytes are valid until the next read().
  Status read(uint32_t ordinal) {
    if (scratch_.bytes() != 0) scratch_.clear();
    return Projection::read_values(reader_, columns_, ordinal, scratch_, values_);
  }
  std::span<const Value> values() const { return values_; }

 private:
  BlockReader reader_;
  const std::vector<uint16_t> columns_;
  std::vector<Value> values_;
  Arena scratch_;
};

/// Entry keys one behind the other.
class EntryKeys {
 public:
  uint32_t size() const { return static_cast<uint32_t>(ends_.size()); }
  ByteView operator[](uint32_t i) const {
    const uint32_t start = i == 0 ? 0 : ends_[i - 1];
    return ByteView(bytes_).substr(start, ends_[i] - start);
  }
  /// Of keys in ascending order: how many are < bound.
  uint32_t count_before(ByteView bound) const;
  /// Of the clustered key at the end of an entry key.
  uint32_t clustered_size(uint32_t i) const { return clustered_sizes_[i]; }
  void clear() {
    bytes_.clear();
    ends_.clear();
    clustered_sizes_.clear();
  }

 private:
  friend class SegmentKeys;
  std::string bytes_;
  std::vector<uint32_t> ends_, clustered_sizes_;
};

/// The entries of one order of a segment: its rows by clustered key, or a secondary index. Entries have
/// positions 0..entries()-1. When keys are asked for one after the other, the next ones are decoded together.
class SegmentKeys {
 public:
  static constexpr size_t clustered = ~size_t{0};
  /// `secondary`: number of the secondary index, or `clustered`.
  SegmentKeys(const TableSegment& segment, const TableKeys& keys, size_t secondary,
              CacheUse use = CacheUse::Keep);

  uint32_t entries() const { return entries_; }
  Result<uint32_t> ordinal(uint32_t position);
  /// Ordinals of `count` entries from `first` on.
  Status ordinals(uint32_t first, uint32_t count, uint32_t* to);
  /// Replaces `to` by the entry key.
  Status key(uint32_t position, std::string& to);
  /// Replaces `to` by the keys of `count` entries from `first` on, at most batch_rows.
  Status keys(uint32_t first, uint32_t count, EntryKeys& to);
  /// Of the secondary entry key decoded last: the size of the clustered key at its end.
  size_t clustered_size() const { return clustered_size_; }
  /// Replaces `to` by the clustered key of the row.
  Status clustered_key(uint32_t ordinal, std::string& to);
  /// First position whose entry key is >= bound; entries() when there is none.
  Result<uint32_t> lower_bound(ByteView bound);
  /// Behind the entries whose keys begin with `prefix`; `first` when none does. The entries from `first` on
  /// have keys >= prefix. Few entries take few steps.
  Result<uint32_t> end_of_prefix(uint32_t first, ByteView prefix);
  /// As far as what is in memory tells (keys that were read ahead, samples): the entries before this position
  /// have keys < bound.
  uint32_t known_before(ByteView bound) const;
  /// The same: the entries from this position on have keys > bound.
  uint32_t known_behind(ByteView bound) const;
  /// Order of the position's entry key and the bound: negative when the entry comes first, 0 when it is the
  /// bound.
  Result<int> compare(uint32_t position, ByteView bound);

 private:
  static constexpr size_t few_columns = 8;
  /// Where in [first, last) the keys begin that are >= bound.
  Result<uint32_t> search(uint32_t first, uint32_t last, ByteView bound);
  size_t sample_count() const;
  ByteView sample(size_t number) const;
  ByteView last_key() const;
  Status append_key(std::span<const Value> values, std::string& to);
  /// keys() of clustered keys that are one integer.
  Status integer_keys(uint32_t first, uint32_t count, EntryKeys& to);
  /// The keys that probably come next, when some were asked for one after the other.
  Result<bool> read_ahead(uint32_t position);

  const TableSegment& segment_;
  const TableKeys& keys_;
  const size_t secondary_;
  const uint32_t entries_;
  const std::optional<size_t> integer_column_;  // of clustered keys that are one integer
  BlockReader reader_;
  absl::InlinedVector<uint16_t, few_columns> columns_;  // of the entry's index key, then of the clustered key
  size_t clustered_columns_;  // how many of them, at the end, are the clustered key's
  absl::InlinedVector<Value, few_columns> values_;
  Arena scratch_;
  // Ordinals of the index entries read last.
  std::array<uint32_t, key_sample_stride> ordinals_;
  uint32_t ordinals_first_ = 0, ordinals_count_ = 0;
  std::string probe_, clustered_part_;
  size_t clustered_size_ = 0;

  // Reading ahead.
  std::unique_ptr<RowWindow> window_;
  std::vector<uint32_t> window_ordinals_;
  std::vector<uint64_t> integers_;
  EntryKeys ahead_;  // keys from ahead_first_ on
  uint32_t ahead_first_ = 0;
  uint32_t last_position_ = 0;              // that a key was asked for
  uint32_t steps_up_ = 0, steps_down_ = 0;  // moves by one position before it, in a row
};

}  // namespace hailstone
