// One column's block (up to block_rows values) as it is stored: encoded. Values can be read one by one, by
// selection, or in runs, and filtered without decoding. A Block is immutable and thread-safe; it is kept
// alive by the shared pointer that Segment::block gave. Row numbers here count from the block's first row.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/page_allocator.h"
#include "base/uncleared_vector.h"
#include "schema/collation.h"
#include "schema/decimal_format.h"
#include "segment/block_cache.h"
#include "segment/geometry.h"

namespace hailstone {

/// A closed range of ordered values.
struct IntegerRange {
  uint64_t low = 0, high = 0;
  bool operator==(const IntegerRange&) const = default;
};

/// `ranges`: sorted, disjoint.
inline bool in_ranges(std::span<const IntegerRange> ranges, uint64_t number) {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), number,
                                      [](uint64_t n, const IntegerRange& range) { return n < range.low; });
  return after != ranges.begin() && number <= std::prev(after)->high;
}

/// A closed range of byte strings, by memcmp order.
struct BytesRange {
  std::string low, high;
};

/// One bit a row of a block.
struct BlockBitmap {
  static constexpr size_t words = block_rows / 64;
  alignas(64) uint64_t bits[words];

  void clear() {
    for (auto& word : bits) word = 0;
  }
  /// The first `rows` bits set, the others clear.
  void set_first(uint32_t rows);
  void intersect(const BlockBitmap& other) {
    for (size_t i = 0; i < words; ++i) bits[i] &= other.bits[i];
  }
  void unite(const BlockBitmap& other) {
    for (size_t i = 0; i < words; ++i) bits[i] |= other.bits[i];
  }
  bool none() const;
  uint32_t count() const;
  bool test(uint32_t row) const { return (bits[row / 64] >> (row % 64) & 1) != 0; }
  /// Appends the numbers of set bits in [first, last) to `rows`.
  void append_rows(uint32_t first, uint32_t last, UnclearedVector<uint16_t>& rows) const;
  /// The numbers of all set bits. They lie in `scratch`, unless the bits are a block's first: all blocks
  /// share an array of those.
  std::span<const uint16_t> rows(UnclearedVector<uint16_t>& scratch) const;
  /// Appends to `counts`, for each of `rows` (ascending), how many bits are set before it.
  void append_counts(std::span<const uint16_t> rows, std::vector<uint32_t>& counts) const;
};

/// The distinct values of a dictionary-encoded bytes column of a segment; codes are 0..size-1 in byte order
/// (memcmp, shorter first).
class Dictionary : public BlockCache::Entry {
 public:
  /// Of values in that order, each once, in memory alone.
  static std::shared_ptr<const Dictionary> of(std::span<const ByteView> values);

  uint32_t size() const { return static_cast<uint32_t>(ends_.size()); }
  ByteView value(uint32_t code) const;
  /// Whether codes have the order of the values in this collation, too. A look at all values, once.
  bool has_order_of(const Collation& collation) const;
  size_t memory() const override;

 private:
  friend class SegmentCodec;
  /// Of the collation that was asked for last: its number, and whether its order is that of the codes.
  mutable std::atomic<uint64_t> known_order_{0};
  PageVector<uint32_t> ends_;
  PageVector<char> text_;
};

class Block : public BlockCache::Entry {
 public:
  uint32_t rows() const;
  bool has_nulls() const;
  bool null(uint32_t row) const;
  /// Sets the bits of NULL rows; clears all others.
  void nulls(BlockBitmap& bitmap) const;

  // Integer columns. A NULL row's value is unspecified. Of a column of decimals they are packed.
  uint64_t integer(uint32_t row) const;
  /// Where the values of [first, last) rise, none NULL: the first row with at least `number`; `last` when
  /// none has.
  uint32_t lower_bound(uint32_t first, uint32_t last, uint64_t number) const;
  void integers(uint32_t first, uint32_t count, uint64_t* to) const;
  void gather_integers(std::span<const uint16_t> rows, uint64_t* to) const;
  /// Sets bitmap to the rows whose value is not NULL and lies in one of the ranges (sorted, disjoint). SIMD
  /// on the encoded form.
  void select_ranges(std::span<const IntegerRange> ranges, BlockBitmap& bitmap) const;

  // Bytes columns. A NULL row's value is unspecified (but safe to read).
  /// True when values are codes of the segment's dictionary of this column.
  bool has_codes() const;
  uint32_t code(uint32_t row) const;
  void gather_codes(std::span<const uint16_t> rows, uint32_t* to) const;
  /// Rows that are not NULL and whose code lies in one of the ranges (sorted, disjoint).
  void select_code_ranges(std::span<const IntegerRange> ranges, BlockBitmap& bitmap) const;
  /// Rows that are not NULL and whose code's bit is set in `codes` (bit per dictionary entry, 64 a word).
  void select_codes(std::span<const uint64_t> codes, BlockBitmap& bitmap) const;
  /// Values of the rows (ascending). Bytes lie in the block, the dictionary or `scratch`; valid while all
  /// three live. `dictionary` is the column's, null when !has_codes(). ErrorCode::Corruption when a
  /// compressed part cannot be decompressed.
  Status gather_bytes(std::span<const uint16_t> rows, const Dictionary* dictionary, Arena& scratch,
                      ByteView* to) const;

  // Columns of decimals in blocks that hold them as scaled numbers. A NULL row's number is unspecified.
  /// None: the block's values are not held so.
  DecimalDigits decimal() const;
  /// Of short decimals: ordered signed numbers of 8 bytes.
  void gather_numbers(std::span<const uint16_t> rows, uint64_t* to) const;
  void gather_wide_numbers(std::span<const uint16_t> rows, WideInteger* to) const;
  /// Rows that are not NULL and whose packed value lies in one of the ranges (sorted, disjoint).
  void select_packed(std::span<const BytesRange> ranges, BlockBitmap& bitmap) const;

  /// True, once, when single values or the whole have been read so often that a block with its frames
  /// decompressed (SegmentCodec::unpack_block) would have paid; then counts anew.
  bool pays_to_unpack() const;
  /// True: values lie in frames that are decompressed to read them.
  bool is_compressed() const;
  /// Memory of the block with its frames decompressed.
  size_t unpacked_memory() const;

  size_t memory() const override;

 private:
  friend class SegmentCodec;
  struct State;
  std::unique_ptr<State> state_;

 public:
  ~Block() override;
};

}  // namespace hailstone
