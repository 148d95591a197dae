#include "column/block_reader.h"

namespace hailstone {

BlockReader::Slot& BlockReader::slot_of(size_t position) {
  const size_t count = slots_.size();
  for (size_t i = 0; i < count; ++i) {
    const size_t at = next_ + i < count ? next_ + i : next_ + i - count;
    Slot& slot = slots_[at];
    if (slot.position != position) continue;
    next_ = at + 1 == count ? 0 : at + 1;
    return slot;
  }
  next_ = 0;
  slots_.push_back({position, {}, nullptr});
  return slots_.back();
}

Result<BlockReader::Pinned> BlockReader::block(size_t position, uint32_t number) {
  static const std::shared_ptr<const Dictionary> none;
  Slot& slot = slot_of(position);
  HAILSTONE_ASSIGN(const auto* const block, segment().block(position, number, slot.pins, use_));
  if (!(*block)->has_codes()) return Pinned{*block, none};
  if (slot.dictionary == nullptr) {
    HAILSTONE_ASSIGN(slot.dictionary, segment().dictionary(position));
  }
  return Pinned{*block, slot.dictionary};
}

}  // namespace hailstone
