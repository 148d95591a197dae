#include "query/value_set.h"

#include "base/hash.h"

namespace hailstone {

namespace {

constexpr size_t first_value_slots = 64;

}  // namespace

ValueSet::ValueSet(const Collation& collation)
    : collation_(&collation), by_bytes_(collation.bytes_decide_equality()), slots_(first_value_slots) {}

uint64_t ValueSet::hash(ByteView value) {
  if (by_bytes_) return hash_bytes(value);
  weights_.clear();
  collation_->append_weights(value, weights_);
  return hash_bytes(weights_);
}

uint32_t ValueSet::number_of(ByteView value, uint64_t value_hash) {
  const size_t mask = slots_.size() - 1;
  size_t slot = value_hash & mask;
  for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
    const uint32_t number = slots_[slot] - 1;
    if (hashes_[number] != value_hash) continue;
    const ByteView there = values_[number];
    if (by_bytes_ ? there == value : collation_->compare(there, value) == 0) return number;
  }
  const uint32_t number = size();
  values_.push_back(bytes_->copy(value));
  hashes_.push_back(value_hash);
  slots_[slot] = number + 1;
  if (values_.size() * 2 > slots_.size()) grow();
  return number;
}

void ValueSet::grow() {
  PageVector<uint32_t> slots(slots_.size() * 2);
  const size_t mask = slots.size() - 1;
  for (uint32_t number = 0; number < size(); ++number) {
    size_t slot = hashes_[number] & mask;
    while (slots[slot] != 0) slot = (slot + 1) & mask;
    slots[slot] = number + 1;
  }
  slots_ = std::move(slots);
}

size_t ValueSet::memory() const {
  return bytes_->bytes() + values_.capacity() * sizeof(ByteView) + hashes_.capacity() * sizeof(uint64_t) +
         slots_.capacity() * sizeof(uint32_t);
}

}  // namespace hailstone
