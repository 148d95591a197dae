// The pieces of a Bloom filter that a reader keeps pinned: keys in any order are so asked for without asking
// the cache for each of them. What all readers together hold is limited (BlockCache::hold). Belongs to one
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "segment/block_cache.h"
#include "segment/bloom_filter.h"

namespace hailstone {

class FilterPins {
 public:
  FilterPins() = default;
  FilterPins(const FilterPins&) = delete;
  FilterPins& operator=(const FilterPins&) = delete;
  ~FilterPins() {
    if (cache_ != nullptr) cache_->let_go(BlockCache::Held::Filters, held_bytes_);
  }

  /// Whether the filter admits the key; nothing: the piece that tells is not pinned.
  std::optional<bool> admits(uint64_t hash) const {
    const char* const block = block_of(hash);
    return block == nullptr ? std::nullopt : std::optional(bloom_block_contains(block, hash));
  }
  /// admits(hash) is going to be asked.
  void prefetch(uint64_t hash) const { __builtin_prefetch(block_of(hash)); }
  /// Pins a piece, its bytes and what they lie in, where there is room for that. `filter_bytes`: of the whole
  /// filter.
  void hold(BlockCache& cache, uint64_t filter_bytes, size_t number, const char* bytes,
            std::shared_ptr<const BlockCache::Entry> piece) {
    if (pieces_.empty()) {
      pieces_.resize(static_cast<size_t>((filter_bytes + bloom_piece_bytes - 1) / bloom_piece_bytes));
      filter_bytes_ = filter_bytes;
    }
    held_.reserve(pieces_.size());
    const size_t memory = piece->memory();
    if (!cache.hold(BlockCache::Held::Filters, memory)) return;
    cache_ = &cache;
    held_bytes_ += memory;
    held_.push_back(std::move(piece));
    pieces_[number] = bytes;
  }

 private:
  const char* block_of(uint64_t hash) const {
    if (pieces_.empty()) return nullptr;
    const uint64_t offset = bloom_block_offset(hash, filter_bytes_);
    const char* const piece = pieces_[static_cast<size_t>(offset / bloom_piece_bytes)];
    return piece == nullptr ? nullptr : piece + offset % bloom_piece_bytes;
  }

  uint64_t filter_bytes_ = 0;
  std::vector<const char*> pieces_;  // by number; null: it is not pinned
  std::vector<std::shared_ptr<const BlockCache::Entry>> held_;
  size_t held_bytes_ = 0;
  BlockCache* cache_ = nullptr;  // once some are held
};

}  // namespace hailstone
