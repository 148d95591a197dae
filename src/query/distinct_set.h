// Which values the groups of a table have met: pairs of a group and a value, each once. Belongs to one
// thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/hash.h"
#include "base/page_allocator.h"

namespace hailstone {

class DistinctSet {
 public:
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

  /// Before many pairs are added one after the other: their memory is waited for at once.
  void prefetch(uint32_t group, uint64_t value) const {
    __builtin_prefetch(&slots_[place_of(group, value, slots_.size() - 1)]);
  }

  /// Gives all pairs to `take`, until it says false; then it is false, too.
  template <typename Take>
  bool each(Take&& take) const {
    for (const Slot& slot : slots_) {
      if (slot.group != 0 && !take(slot.group, slot.value)) return false;
    }
    return true;
  }

  size_t pairs() const { return pairs_; }
  size_t memory() const { return slots_.capacity() * sizeof(Slot); }

 private:
  struct Slot {
    uint64_t value = 0;
    uint32_t group = 0;  // 0: free
  };
  static constexpr size_t first_slots = 64;

  static size_t place_of(uint32_t group, uint64_t value, size_t mask) {
    return mix_bits(value + group * uint64_t{0x9e3779b97f4a7c15}) & mask;
  }

  void grow() {
    PageVector<Slot> slots(slots_.size() * 2);
    const size_t mask = slots.size() - 1;
    each([&](uint32_t group, uint64_t value) {
      size_t slot = place_of(group, value, mask);
      while (slots[slot].group != 0) slot = (slot + 1) & mask;
      slots[slot] = {value, group};
      return true;
    });
    slots_ = std::move(slots);
  }

  PageVector<Slot> slots_;
  size_t pairs_ = 0;
};

}  // namespace hailstone
