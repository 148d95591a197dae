// A hash table from numbers to small values, in one array (open addressing, linear probing). Quick to search,
// and safe without memory: an insertion that throws std::bad_alloc leaves the map as it was, and erase()
// needs none. Abseil's tables, made for programs that end then, do not survive that. An insertion or erasure
// moves values, which must not throw. One that is filled in the order of another's for_each() needs reserve()
// first: keys that come in the order of their places make long runs in an array that is too small for all.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "base/mutex.h"
#include "base/page_allocator.h"

namespace hailstone {

template <typename Value>
class NumberMap {
  static_assert(std::is_nothrow_move_assignable_v<Value> && std::is_nothrow_default_constructible_v<Value>);

 public:
  NumberMap() = default;
  NumberMap(NumberMap&& other) noexcept { swap(other); }
  NumberMap& operator=(NumberMap&& other) noexcept {
    NumberMap taken(std::move(other));
    swap(taken);
    return *this;
  }
  void swap(NumberMap& other) noexcept {
    std::swap(slots_, other.slots_);
    std::swap(capacity_, other.capacity_);
    std::swap(size_, other.size_);
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  /// Of the array.
  size_t bytes() const { return capacity_ * sizeof(Slot); }

  /// Null when the key is not there. Valid until the next insertion or erasure.
  Value* find(uint64_t key) {
    Slot* const slot = find_slot(key);
    return slot == nullptr ? nullptr : &slot->value;
  }
  const Value* find(uint64_t key) const { return const_cast<NumberMap*>(this)->find(key); }
  bool contains(uint64_t key) const { return find(key) != nullptr; }

  /// The value of the key, and whether it was put there now; `value` is only moved from then.
  std::pair<Value*, bool> emplace(uint64_t key, Value&& value) {
    if (Slot* const slot = find_slot(key)) return {&slot->value, false};
    reserve(size_ + 1);
    Slot& slot = free_slot(key);
    slot.used = true;
    slot.key = key;
    slot.value = std::move(value);
    ++size_;
    return {&slot.value, true};
  }
  Value& operator[](uint64_t key) { return *emplace(key, Value()).first; }

  /// Whether it was there.
  bool erase(uint64_t key) noexcept {
    Slot* hole = find_slot(key);
    if (hole == nullptr) return false;
    --size_;
    // Whatever could not be at the hole's place, or before, moves up, so that no search ends too early.
    const size_t mask = capacity_ - 1;
    size_t at = static_cast<size_t>(hole - slots_.get());
    for (size_t next = (at + 1) & mask; slots_[next].used; next = (next + 1) & mask) {
      const size_t wanted = place_of(slots_[next].key);
      if (((next - wanted) & mask) < ((next - at) & mask)) continue;
      slots_[at].key = slots_[next].key;
      slots_[at].value = std::move(slots_[next].value);
      at = next;
    }
    slots_[at].used = false;
    slots_[at].value = Value();
    return true;
  }
  void clear() noexcept { NumberMap().swap(*this); }

  /// Room for so many keys: insertions up to there need no memory.
  void reserve(size_t keys) {
    // At most three quarters of the slots are used.
    if (keys <= capacity_ / 4 * 3) return;
    NumberMap bigger;
    bigger.capacity_ = std::bit_ceil(keys < 4 ? size_t{8} : keys + keys / 3 + 1);
    bigger.slots_ = Slots(make_slots(bigger.capacity_), SlotsDeleter{bigger.capacity_});
    for (size_t i = 0; i < capacity_; ++i) {
      if (!slots_[i].used) continue;
      Slot& to = bigger.free_slot(slots_[i].key);
      to.used = true;
      to.key = slots_[i].key;
      to.value = std::move(slots_[i].value);
    }
    bigger.size_ = size_;
    swap(bigger);
  }

  /// Calls visit(key, value), in no order. Not analysed: `visit` runs under what the caller holds.
  template <typename Visit>
  HAILSTONE_NO_THREAD_SAFETY_ANALYSIS void for_each(const Visit& visit) const {
    for (size_t i = 0; i < capacity_; ++i) {
      if (slots_[i].used) visit(slots_[i].key, slots_[i].value);
    }
  }

 private:
  struct Slot {
    uint64_t key = 0;
    Value value{};
    bool used = false;
  };

  size_t place_of(uint64_t key) const {
    // Numbers in a row, as identities are, are often wanted together: eight of them lie side by side. The
    // upper bits of the product depend on all bits above those three, and the eights that follow each other
    // lie evenly apart: the multiplier is 2^64 divided by the golden ratio.
    const uint64_t product = (key >> 3) * uint64_t{0x9E37'79B9'7F4A'7C15};
    return (static_cast<size_t>(product >> std::countl_zero(capacity_ - 1)) & ~size_t{7}) | (key & 7);
  }
  Slot* find_slot(uint64_t key) {
    if (capacity_ == 0) return nullptr;
    for (size_t at = place_of(key);; at = (at + 1) & (capacity_ - 1)) {
      if (!slots_[at].used) return nullptr;
      if (slots_[at].key == key) return &slots_[at];
    }
  }
  Slot& free_slot(uint64_t key) {
    size_t at = place_of(key);
    while (slots_[at].used) at = (at + 1) & (capacity_ - 1);
    return slots_[at];
  }

  static Slot* make_slots(size_t count) {
    static_assert(alignof(Slot) <= 64, "pages begin at multiples of that");
    auto* const slots = reinterpret_cast<Slot*>(make_page_bytes(count * sizeof(Slot)).release());
    std::uninitialized_value_construct_n(slots, count);
    return slots;
  }
  struct SlotsDeleter {
    size_t count = 0;
    void operator()(Slot* slots) const {
      std::destroy_n(slots, count);
      PageDeleter{count * sizeof(Slot)}(reinterpret_cast<char*>(slots));
    }
  };
  using Slots = std::unique_ptr<Slot[], SlotsDeleter>;

  Slots slots_;
  size_t capacity_ = 0;  // a power of two, or 0
  size_t size_ = 0;
};

}  // namespace hailstone
