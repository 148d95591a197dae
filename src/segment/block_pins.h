// The blocks of one column, or of one secondary index, of a segment that a reader keeps pinned: the one that
// it asked for last; and, once it has gone back and forth, the others that it comes to. Rows that lie
// anywhere are so read without asking the cache for each of them. What all readers together hold is limited
// (BlockCache::hold). Belongs to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/status.h"
#include "segment/block.h"
#include "segment/block_cache.h"

namespace hailstone {

/// Whether a block that is read stays in the cache: one that is read once on the way through a whole segment
/// should not push out what others use.
enum class CacheUse : uint8_t { Keep, PassBy };

class BlockPins {
 public:
  BlockPins() = default;
  BlockPins(BlockPins&& other) noexcept
      : last_(std::move(other.last_)),
        number_(other.number_),
        rises_(other.rises_),
        turns_(other.turns_),
        held_(std::move(other.held_)),
        held_in_(std::exchange(other.held_in_, nullptr)),
        held_bytes_(std::exchange(other.held_bytes_, 0)) {}
  BlockPins(const BlockPins&) = delete;
  BlockPins& operator=(const BlockPins&) = delete;
  BlockPins& operator=(BlockPins&&) = delete;
  ~BlockPins() {
    if (held_in_ != nullptr) held_in_->let_go(BlockCache::Held::Blocks, held_bytes_);
  }

  /// Block `number`, which `load(number)` reads through the cache if it is not pinned. Valid until the next
  /// call.
  template <typename Load>
  Result<const std::shared_ptr<const Block>*> get(BlockCache& cache, uint32_t number, CacheUse use,
                                                  const Load& load) {
    if (number < held_.size() && held_[number] != nullptr) return &held_[number];
    if (number != number_) {
      note_move(number);
      // Let go of first, so that the memory of one block is enough.
      number_ = no_block;
      last_.reset();
      HAILSTONE_ASSIGN(last_, load(number));
      number_ = number;
      if (turns_ >= turns_before_holding && use == CacheUse::Keep) hold(cache);
    }
    return &last_;
  }

 private:
  static constexpr uint32_t no_block = ~uint32_t{0};
  /// A reader that goes through a segment, in one direction or in both, holds nothing.
  static constexpr uint32_t turns_before_holding = 2;

  void note_move(uint32_t number) {
    if (number_ == no_block || (number > number_) == rises_) return;
    rises_ = !rises_;
    ++turns_;
  }
  void hold(BlockCache& cache) {
    // A compressed block is asked for each time, so that one that is unpacked takes its place.
    if (last_->is_compressed()) return;
    const size_t bytes = last_->memory();
    if (!cache.hold(BlockCache::Held::Blocks, bytes)) return;
    held_in_ = &cache;
    held_bytes_ += bytes;
    if (held_.size() <= number_) held_.resize(number_ + 1);
    held_[number_] = last_;
  }

  std::shared_ptr<const Block> last_;
  uint32_t number_ = no_block;  // of last_
  bool rises_ = true;           // the last move led to a later one
  uint32_t turns_ = 0;
  std::vector<std::shared_ptr<const Block>> held_;  // by number
  BlockCache* held_in_ = nullptr;
  size_t held_bytes_ = 0;
};

}  // namespace hailstone
