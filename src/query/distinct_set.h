// Which values the groups of a table have met: pairs of a group and a value, each once. Belongs to one
// thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/hash.h"
#include "base/page_allocator.h"

namespace hailstone {

class DistinctSet {
 public:
  struct Pair {
    uint64_t value = 0;
    uint32_t group = 0;  // 0: none
  };

  DistinctSet() : slots_(first_slots) {}

  /// False: it is there. Groups have numbers from 1 on.
  bool add(uint32_t group, uint64_t value) {
    size_t slot = place_of(group, value, slots_.size() - 1);
    for (; slots_[slot].group != 0; slot = (slot + 1) & (slots_.size() - 1)) {
      if (slots_[slot].value == value && slots_[slot].group == group) return false;
    }
    slots_[slot] = {value, group};
    if (++pairs_ * 2 > slots_.size()) grow();
    return true;
  }

  bool has(uint32_t group, uint64_t value) const {
    size_t slot = place_of(group, value, slots_.size() - 1);
    for (; slots_[slot].group != 0; slot = (slot + 1) & (slots_.size() - 1)) {
      if (slots_[slot].value == value && slots_[slot].group == group) return true;
    }
    return false;
  }

  /// Before many pairs are added, or looked for, one after the other: their memory is waited for at once.
  void prefetch(uint32_t group, uint64_t value) const {
    __builtin_prefetch(&slots_[place_of(group, value, slots_.size() - 1)]);
  }

  /// All pairs, and places that have none.
  std::span<const Pair> slots() const { return pairs_ == 0 ? std::span<const Pair>() : slots_; }
  /// Empties it; it keeps its memory.
  void clear() {
    if (pairs_ != 0) std::ranges::fill(slots_, Pair{});
    pairs_ = 0;
  }

  size_t pairs() const { return pairs_; }
  size_t memory() const { return slots_.capacity() * sizeof(Pair); }

 private:
  static constexpr size_t first_slots = 64;

  static size_t place_of(uint32_t group, uint64_t value, size_t mask) {
    return mix_bits(value + group * uint64_t{0x9e3779b97f4a7c15}) & mask;
  }

  void grow() {
    PageVector<Pair> slots(slots_.size() * 2);
    const size_t mask = slots.size() - 1;
    for (const Pair& pair : slots_) {
      if (pair.group == 0) continue;
      size_t slot = place_of(pair.group, pair.value, mask);
      while (slots[slot].group != 0) slot = (slot + 1) & mask;
      slots[slot] = pair;
    }
    slots_ = std::move(slots);
  }

  PageVector<Pair> slots_;
  size_t pairs_ = 0;
};

}  // namespace hailstone
