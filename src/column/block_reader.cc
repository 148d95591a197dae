#include "column/block_reader.h"

namespace hailstone {

namespace {
constexpr uint32_t no_block = ~uint32_t{0};
}  // namespace

Result<const BlockReader::Pinned*> BlockReader::block(size_t position, uint32_t number) {
  const size_t count = slots_.size();
  for (size_t i = 0; i < count; ++i) {
    const size_t at = next_ + i < count ? next_ + i : next_ + i - count;
    Slot& slot = slots_[at];
    if (slot.position != position) continue;
    next_ = at + 1 == count ? 0 : at + 1;
    if (slot.number != number) HAILSTONE_TRY(load(slot, number));
    return &slot.pinned;
  }
  slots_.push_back({position, no_block, {}, nullptr});
  next_ = 0;
  HAILSTONE_TRY(load(slots_.back(), number));
  return &slots_.back().pinned;
}

Status BlockReader::load(Slot& slot, uint32_t number) {
  // Let go of first, so that the memory of one block is enough.
  slot.number = no_block;
  slot.pinned = {};
  HAILSTONE_ASSIGN(slot.pinned.block, segment().block(slot.position, number, use_));
  if (slot.pinned.block->has_codes()) {
    if (slot.dictionary == nullptr) {
      HAILSTONE_ASSIGN(slot.dictionary, segment().dictionary(slot.position));
    }
    slot.pinned.dictionary = slot.dictionary;
  }
  slot.number = number;
  return {};
}

}  // namespace hailstone
