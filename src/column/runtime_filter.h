// What a join that has read its build side tells the scan of its probe side: which values of a column may
// have a partner. The scan leaves rows without one out by the summaries of blocks, and on encoded data before
// it reads other columns. A filter may let any row through, and never holds one back that has a partner.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/hash.h"
#include "base/page_allocator.h"
#include "column/predicate.h"

namespace hailstone {

/// Ordered numbers: a bit for each number of their range where they are close together, else a Bloom filter
/// with four bits in one word for each (Lang, Neumann, Kemper and Boncz, "Performance-Optimal Filtering",
/// VLDB 2019). Few numbers are listed beside. Thread-safe; but for what it notes of its use it does not
/// change.
class NumberFilter {
 public:
  /// So few that looking for them in a block's range takes no time beside reading the block.
  static constexpr uint64_t most_listed = 4096;

  /// `each_number(take)` calls `take` for each number; it does so up to three times.
  template <typename EachNumber>
  explicit NumberFilter(const EachNumber& each_number) {
    uint64_t count = 0;
    each_number([&](uint64_t number) {
      range_.low = std::min(range_.low, number);
      range_.high = std::max(range_.high, number);
      ++count;
    });
    if (count == 0) return;
    if (count <= most_listed) {
      each_number([this](uint64_t number) { listed_.push_back(number); });
      sort_list();
    }
    make_room(count);
    if (is_exact_) {
      each_number([this](uint64_t number) { set_bit(number - range_.low); });
      forget_full_range();
    } else {
      each_number([this](uint64_t number) { add_hash(mix_bits(number)); });
    }
  }

  /// Without numbers; those that add() takes become a Bloom filter of at most so many bytes, of 16 at least.
  explicit NumberFilter(size_t bytes);
  /// Not any more once others share the filter.
  void add(uint64_t number) {
    range_.low = std::min(range_.low, number);
    range_.high = std::max(range_.high, number);
    add_hash(mix_bits(number));
  }
  /// All have been added: keeps no more memory than they need. Of too many for it their range is left.
  void end_adding();

  bool is_empty() const { return range_.low > range_.high; }
  /// The least and the greatest number.
  IntegerRange range() const { return range_; }
  /// Whether each number of the range is there.
  bool has_whole_range() const { return words_.empty(); }
  /// Estimated: the share of the numbers of the range that it lets through.
  double density() const { return density_; }
  bool may_have(uint64_t number) const {
    if (number < range_.low || number > range_.high) return false;
    if (words_.empty()) return true;
    return is_exact_ ? has_bit(number - range_.low) : has_hash(mix_bits(number));
  }
  /// Whether a number from `low` to `high` may be there.
  bool may_have_between(uint64_t low, uint64_t high) const {
    return low <= range_.high && range_.low <= high && (!is_listed() || !listed_between(low, high).empty());
  }
  bool is_listed() const { return !listed_.empty(); }
  /// Those from `low` to `high` that are there, ascending, each once. Only of a filter that is_listed().
  std::span<const uint64_t> listed_between(uint64_t low, uint64_t high) const;
  /// Clears the bits of numbers that are not there. `count`: at most a packing unit; the numbers are
  /// overwritten.
  void select(uint64_t* numbers, uint32_t count, uint64_t* bits) const;
  size_t memory() const { return (words_.capacity() + listed_.capacity()) * sizeof(uint64_t); }

  /// Whether rows of this block are worth a look: once the filter has let most of many rows through, it is
  /// tried on some blocks only, until it lets fewer through.
  bool pays_for(uint32_t block) const;
  /// Of the rows that were looked at, how many it has let through.
  void note(uint64_t looked_at, uint64_t let_through) const;

 private:
  void sort_list();
  void make_room(uint64_t count);
  void make_words(uint64_t words);
  uint64_t bits_set() const;
  void forget_full_range();
  void set_bit(uint64_t place) { words_[place / 64] |= uint64_t{1} << (place % 64); }
  bool has_bit(uint64_t place) const { return (words_[place / 64] >> (place % 64) & 1) != 0; }
  /// The upper bits of a hash choose the word, the lower ones four bits of it.
  static uint64_t bits_of(uint64_t hash) {
    return uint64_t{1} << (hash & 63) | uint64_t{1} << (hash >> 6 & 63) | uint64_t{1} << (hash >> 12 & 63) |
           uint64_t{1} << (hash >> 18 & 63);
  }
  void add_hash(uint64_t hash) { words_[hash >> shift_] |= bits_of(hash); }
  bool has_hash(uint64_t hash) const { return (bits_of(hash) & ~words_[hash >> shift_]) == 0; }

  IntegerRange range_{.low = ~uint64_t{0}, .high = 0};
  bool is_exact_ = true;
  unsigned shift_ = 0;          // of hashes
  PageVector<uint64_t> words_;  // empty: all numbers of the range are there
  double density_ = 1;
  std::vector<uint64_t> listed_;  // ascending; empty: they are too many
  mutable std::atomic<uint64_t> looked_at_{0}, let_through_{0};
};

/// Of one column: numbers, or texts; or empty, with neither.
struct RuntimeFilter {
  std::shared_ptr<const NumberFilter> numbers = {};
  std::shared_ptr<const BytesTest> texts = {};

  bool is_empty() const { return numbers == nullptr && texts == nullptr; }
  /// For a column of a table.
  Predicate predicate(uint16_t column) const;
};

}  // namespace hailstone
