// The pieces of a Bloom filter that a reader keeps pinned, as CachePins does. Belongs to one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "segment/bloom_filter.h"
#include "segment/cache_pins.h"

namespace hailstone {

class FilterPiece;

class FilterPins {
 public:
  /// Whether the filter admits the key; nothing: the piece that tells is not pinned.
  std::optional<bool> admits(uint64_t hash) const {
    const char* const block = block_of(hash);
    return block == nullptr ? std::nullopt : std::optional(bloom_block_contains(block, hash));
  }
  /// admits(hash) is going to be asked.
  void prefetch(uint64_t hash) const { __builtin_prefetch(block_of(hash)); }
  /// The same of a filter of so many bytes, of which `load(number)` reads a piece through the cache. Nothing:
  /// it has given null.
  template <typename Load>
  Result<std::optional<bool>> admits(BlockCache& cache, uint64_t filter_bytes, uint64_t hash,
                                     const Load& load) {
    if (const auto known = admits(hash)) return known;
    filter_bytes_ = filter_bytes;
    const uint64_t offset = bloom_block_offset(hash, filter_bytes);
    const auto number = static_cast<uint32_t>(offset / bloom_piece_bytes);
    HAILSTONE_ASSIGN(const auto* const piece, pins_.get(cache, number, CacheUse::Keep, load));
    if (*piece == nullptr) return std::nullopt;
    const char* const bytes = (*piece)->bytes().data();
    const auto pieces = static_cast<size_t>((filter_bytes + bloom_piece_bytes - 1) / bloom_piece_bytes);
    // The only one stays the last.
    if (pins_.holds(number) || pieces == 1) {
      pieces_.resize(pieces);
      pieces_[number] = bytes;
    }
    return bloom_block_contains(bytes + offset % bloom_piece_bytes, hash);
  }

 private:
  const char* block_of(uint64_t hash) const {
    if (pieces_.empty()) return nullptr;
    const uint64_t offset = bloom_block_offset(hash, filter_bytes_);
    const char* const piece = pieces_[static_cast<size_t>(offset / bloom_piece_bytes)];
    return piece == nullptr ? nullptr : piece + offset % bloom_piece_bytes;
  }

  CachePins<FilterPiece, BlockCache::Held::Filters> pins_;
  uint64_t filter_bytes_ = 0;
  std::vector<const char*> pieces_;  // by number: those that are held
};

}  // namespace hailstone
