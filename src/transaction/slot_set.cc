#include "transaction/slot_set.h"

#include <algorithm>

namespace hailstone::locking {
namespace {

constexpr uint64_t bit_of(uint16_t low) { return uint64_t{1} << (low % 64); }

}  // namespace

bool SlotSet::contains(uint64_t number) const {
  const Chunk* const chunk = chunks_.find(number >> chunk_width);
  if (chunk == nullptr) return false;
  const auto low = static_cast<uint16_t>(number & ((1U << chunk_width) - 1));
  if (chunk->many != nullptr) return (chunk->many[low / 64] & bit_of(low)) != 0;
  return std::ranges::binary_search(chunk->few, low);
}

void SlotSet::make_bits(Chunk& chunk) {
  auto bits = std::make_unique<uint64_t[]>(words);
  for (const uint16_t low : chunk.few) bits[low / 64] |= bit_of(low);
  chunk.many = std::move(bits);
  chunk.few = {};
}

bool SlotSet::insert(uint64_t number) {
  Chunk& chunk = chunks_[number >> chunk_width];
  const auto low = static_cast<uint16_t>(number & ((1U << chunk_width) - 1));
  if (chunk.many == nullptr) {
    const auto at = std::ranges::lower_bound(chunk.few, low);
    if (at != chunk.few.end() && *at == low) return false;
    const size_t before = chunk.few.capacity();
    if (chunk.few.size() < most_few) {
      chunk.few.insert(at, low);
      chunk_bytes_ += (chunk.few.capacity() - before) * sizeof(uint16_t);
      ++size_;
      return true;
    }
    make_bits(chunk);
    chunk_bytes_ += words * sizeof(uint64_t) - before * sizeof(uint16_t);
  }
  uint64_t& word = chunk.many[low / 64];
  if ((word & bit_of(low)) != 0) return false;
  word |= bit_of(low);
  ++size_;
  return true;
}

bool SlotSet::erase(uint64_t number) noexcept {
  Chunk* const chunk = chunks_.find(number >> chunk_width);
  if (chunk == nullptr) return false;
  const auto low = static_cast<uint16_t>(number & ((1U << chunk_width) - 1));
  if (chunk->many != nullptr) {
    uint64_t& word = chunk->many[low / 64];
    if ((word & bit_of(low)) == 0) return false;
    word &= ~bit_of(low);
  } else {
    const auto at = std::ranges::lower_bound(chunk->few, low);
    if (at == chunk->few.end() || *at != low) return false;
    chunk->few.erase(at);
  }
  --size_;
  return true;
}

}  // namespace hailstone::locking
