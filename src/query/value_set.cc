#include "query/value_set.h"

#include <algorithm>

#include "base/hash.h"

namespace hailstone {

namespace {

constexpr size_t first_value_slots = 64;

/// Slots tell hashes by their upper halves; the lower bits are the place.
uint64_t slot_of_value(uint64_t hash, uint32_t number) { return (hash >> 32 << 32) | (number + 1); }

}  // namespace

ValueSet::ValueSet(const Collation& collation, std::atomic<bool>* variants)
    : collation_(&collation),
      equality_(collation.equality()),
      variants_(variants),
      slots_(first_value_slots) {}

uint64_t ValueSet::hash(ByteView value, std::string& weights) const {
  if (equality_ == Collation::Equality::Bytes) return hash_bytes(value);
  if (equality_ == Collation::Equality::BytesBeforeSpaces) return hash_bytes(without_trailing_spaces(value));
  weights.clear();
  collation_->append_weights(value, weights);
  return hash_bytes(weights);
}

std::optional<uint32_t> ValueSet::find(ByteView value, uint64_t value_hash) const {
  const size_t mask = slots_.size() - 1;
  for (size_t slot = value_hash & mask; slots_[slot] != 0; slot = (slot + 1) & mask) {
    if ((slots_[slot] ^ value_hash) >> 32 != 0) continue;
    const uint32_t number = static_cast<uint32_t>(slots_[slot]) - 1;
    if (is_same(values_[number], value)) return number;
  }
  return std::nullopt;
}

uint32_t ValueSet::number_of(ByteView value, uint64_t value_hash) {
  const size_t mask = slots_.size() - 1;
  size_t slot = value_hash & mask;
  for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
    if ((slots_[slot] ^ value_hash) >> 32 != 0) continue;
    const uint32_t number = static_cast<uint32_t>(slots_[slot]) - 1;
    if (is_same(values_[number], value)) return number;
  }
  const uint32_t number = size();
  values_.push_back(bytes_->copy(value));
  hashes_.push_back(value_hash);
  slots_[slot] = slot_of_value(value_hash, number);
  if (size_t{size() - first_} * 2 > slots_.size()) grow();
  return number;
}

void ValueSet::numbers_of(std::span<const ByteView> values, std::span<const uint64_t> hashes,
                          std::span<uint32_t> numbers) {
  // Step by step, each for all of them, so that the memory of many slots, then of many values, is waited for
  // at once.
  const size_t mask = slots_.size() - 1;
  for (const uint64_t hash : hashes) __builtin_prefetch(&slots_[hash & mask]);
  for (size_t i = 0; i < values.size(); ++i) {
    size_t slot = hashes[i] & mask;
    while (slots_[slot] != 0 && (slots_[slot] ^ hashes[i]) >> 32 != 0) slot = (slot + 1) & mask;
    numbers[i] = static_cast<uint32_t>(slots_[slot]);
    if (numbers[i] != 0) __builtin_prefetch(&values_[numbers[i] - 1]);
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (numbers[i] != 0) __builtin_prefetch(values_[numbers[i] - 1].data());
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const bool found = numbers[i] != 0 && is_same(values_[numbers[i] - 1], values[i]);
    numbers[i] = found ? numbers[i] - 1 : number_of(values[i], hashes[i]);
  }
}

void ValueSet::find_all(const ValueSet& others, uint32_t first, std::span<uint32_t> numbers) const {
  // Step by step, as above.
  const size_t mask = slots_.size() - 1;
  const uint64_t* const hashes = others.hashes_.data() + first;
  for (size_t i = 0; i < numbers.size(); ++i) __builtin_prefetch(&slots_[hashes[i] & mask]);
  for (size_t i = 0; i < numbers.size(); ++i) {
    size_t slot = hashes[i] & mask;
    while (slots_[slot] != 0 && (slots_[slot] ^ hashes[i]) >> 32 != 0) slot = (slot + 1) & mask;
    numbers[i] = static_cast<uint32_t>(slots_[slot]);
    if (numbers[i] != 0) __builtin_prefetch(&values_[numbers[i] - 1]);
  }
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] == 0) continue;
    __builtin_prefetch(values_[numbers[i] - 1].data());
    __builtin_prefetch(others.values_[first + i].data());
  }
  for (size_t i = 0; i < numbers.size(); ++i) {
    const ByteView value = others.values_[first + i];
    if (numbers[i] == 0 || is_same(values_[numbers[i] - 1], value)) continue;
    const std::optional<uint32_t> found = find(value, hashes[i]);
    numbers[i] = found ? *found + 1 : 0;
  }
}

void ValueSet::grow() {
  PageVector<uint64_t> slots(slots_.size() * 2);
  const size_t mask = slots.size() - 1;
  for (uint32_t number = first_; number < size(); ++number) {
    size_t slot = hashes_[number] & mask;
    while (slots[slot] != 0) slot = (slot + 1) & mask;
    slots[slot] = slot_of_value(hashes_[number], number);
  }
  slots_ = std::move(slots);
}

void ValueSet::clear() {
  values_.clear();
  hashes_.clear();
  bytes_->clear();
  forget();
}

void ValueSet::reserve(size_t values) {
  values_.reserve(values);
  hashes_.reserve(values);
}

void ValueSet::forget() {
  first_ = size();
  std::ranges::fill(slots_, 0);
}

void ValueSet::finish() {
  slots_ = {};
  hashes_ = {};
}

size_t ValueSet::memory() const {
  return bytes_->bytes() + values_.capacity() * sizeof(ByteView) + hashes_.capacity() * sizeof(uint64_t) +
         slots_.capacity() * sizeof(uint64_t);
}

}  // namespace hailstone
