#include "segment/block_pins.h"

namespace hailstone {

void BlockPins::hold(BlockCache& cache) {
  // A compressed block is asked for each time, so that one that is unpacked takes its place.
  if (last_->is_compressed()) return;
  const size_t bytes = last_->memory();
  if (!cache.hold(bytes)) return;
  held_in_ = &cache;
  held_bytes_ += bytes;
  if (held_.size() <= number_) held_.resize(number_ + 1);
  held_[number_] = last_;
}

void BlockPins::let_go() {
  if (held_in_ != nullptr) held_in_->let_go(held_bytes_);
}

}  // namespace hailstone
