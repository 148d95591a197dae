// A set of numbers that lie close together: the ordinals of a segment's rows, the addresses of a delta's
// versions. The numbers of a chunk are a sorted list while they are few, a bit each when they are many. A
// million ordinals in a row take 125 KiB, a million of a hundred million in any order some 3 MiB. One thread
// at a time.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/number_map.h"

namespace hailstone::locking {

class SlotSet {
 public:
  bool contains(uint64_t number) const;
  /// False: it was there. The set is as before when it throws std::bad_alloc.
  bool insert(uint64_t number);
  /// False: it was not there. Needs no memory.
  bool erase(uint64_t number) noexcept;
  size_t size() const { return size_; }
  /// That it takes.
  size_t bytes() const { return chunks_.bytes() + chunk_bytes_; }

  /// In no order.
  template <typename Each>
  void for_each(Each&& each) const {
    chunks_.for_each([&](uint64_t number, const Chunk& chunk) {
      const uint64_t first = number << chunk_width;
      for (const uint16_t low : chunk.few) each(first | low);
      if (chunk.many == nullptr) return;
      for (size_t word = 0; word < words; ++word) {
        for (uint64_t bits = chunk.many[word]; bits != 0; bits &= bits - 1)
          each(first | word * 64 | static_cast<uint64_t>(std::countr_zero(bits)));
      }
    });
  }

 private:
  static constexpr unsigned chunk_width = 14;
  static constexpr size_t words = (size_t{1} << chunk_width) / 64;
  static constexpr size_t most_few = 512;  // half of what the bits take

  struct Chunk {
    std::vector<uint16_t> few;         // ascending; empty when there are many
    std::unique_ptr<uint64_t[]> many;  // null: they are few
  };
  static void make_bits(Chunk& chunk);

  NumberMap<Chunk> chunks_;
  size_t size_ = 0;
  size_t chunk_bytes_ = 0;
};

}  // namespace hailstone::locking
