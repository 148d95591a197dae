#include "segment/distinct_sketch.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

namespace hailstone {

uint8_t DistinctSketch::rank_of(uint64_t hash) {
  // The bit set below the hash's own ones ends the count at most_rank.
  const uint64_t rest = hash << register_bits | uint64_t{1} << (register_bits - 1);
  return static_cast<uint8_t>(std::countl_zero(rest) + 1);
}

bool DistinctSketch::add_exact(uint64_t hash) {
  size_t slot = hash % slot_count;
  while (slots_[slot] != 0) {
    if (slots_[slot] == hash) return false;
    slot = (slot + 1) % slot_count;
  }
  slots_[slot] = hash;
  ++count_;
  return true;
}

uint64_t DistinctSketch::estimate() const {
  if (count_ <= most_hashes) return count_;
  double sum = 0;
  size_t zeros = 0;
  for (const uint8_t highest : registers_) {
    sum += std::ldexp(1.0, -highest);
    zeros += highest == 0 ? 1 : 0;
  }
  constexpr auto size = static_cast<double>(register_count);
  const double raw = 0.7213 / (1 + 1.079 / size) * size * size / sum;
  const double estimate =
      raw <= 2.5 * size && zeros > 0 ? size * std::log(size / static_cast<double>(zeros)) : raw;
  return std::max<uint64_t>(most_hashes + 1, static_cast<uint64_t>(std::llround(estimate)));
}

void DistinctSketch::merge(ByteView stored) {
  ByteReader reader(stored);
  uint64_t count = 0;
  if (!reader.take_varint(count)) return;
  if (count <= most_hashes) {
    for (uint64_t hash = 0; reader.take(hash);) add(hash);
    return;
  }
  count_ = most_hashes + 1;
  for (uint8_t& highest : registers_) {
    uint8_t other = 0;
    if (!reader.take(other)) return;
    highest = std::max(highest, other);
  }
}

void DistinctSketch::append_stored(std::string& to) const {
  append_varint(to, count_);
  if (count_ > most_hashes) {
    to.append(reinterpret_cast<const char*>(registers_.data()), registers_.size());
    return;
  }
  std::vector<uint64_t> hashes;
  std::copy_if(slots_.begin(), slots_.end(), std::back_inserter(hashes),
               [](uint64_t hash) { return hash != 0; });
  std::sort(hashes.begin(), hashes.end());
  for (const uint64_t hash : hashes) append_number(to, hash);
}

bool DistinctSketch::take_stored(ByteReader& reader, ByteView& stored) {
  const ByteReader begin = reader;
  const size_t before = reader.remaining();
  uint64_t count = 0;
  if (!reader.take_varint(count) || count > most_hashes + 1) return false;
  if (count <= most_hashes) {
    uint64_t previous = 0;
    for (uint64_t i = 0; i < count; ++i) {
      uint64_t hash = 0;
      if (!reader.take(hash) || hash <= previous) return false;
      previous = hash;
    }
  } else {
    ByteView registers;
    if (!reader.take_bytes(register_count, registers) ||
        std::any_of(registers.begin(), registers.end(),
                    [](char highest) { return static_cast<uint8_t>(highest) > most_rank; })) {
      return false;
    }
  }
  ByteReader again = begin;
  return again.take_bytes(before - reader.remaining(), stored);
}

}  // namespace hailstone
