// The Bloom filter of one key of an open segment. Its pieces come through the block cache. Where memory is
// short, they must not push each other out of it: some stay, and of the others a look at a single key reads
// just the block that tells of it from the file. A piece is read as a whole, and its checksum tested, before
// any block of it is read so. Thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "segment/bloom_filter.h"
#include "segment/filter_pins.h"
#include "segment/segment_format.h"

namespace hailstone {

class FilterPiece;

class KeyFilter {
 public:
  /// `file_number`: the file's in the cache. The cache and `entry` outlive this.
  KeyFilter(BlockCache& cache, std::shared_ptr<const SegmentFile> file, uint64_t file_number,
            const FilterEntry& entry);

  /// False: the segment has no key of this hash (hash_bytes of it). `pins`: of this filter alone; null where
  /// no other key is asked for.
  Result<bool> admits(uint64_t hash, FilterPins* pins = nullptr) const;
  /// The same of many keys, in the order of their hashes: the numbers of those that it may have are appended.
  Status admits(std::span<const BloomKey> keys, std::vector<uint32_t>& to) const;
  /// Tests all checksums.
  Status check() const;
  size_t memory() const { return uses_.capacity() * sizeof(PieceUse); }

 private:
  struct PieceUse {
    std::atomic<uint8_t> misses{0};    // when it was not cached, and memory was short
    std::atomic<bool> checked{false};  // its checksum has been tested
  };

  bool may_keep(size_t number) const;
  Result<std::shared_ptr<const FilterPiece>> piece(size_t number, bool keep) const;
  Result<std::shared_ptr<const FilterPiece>> piece_of_one(size_t number) const;
  Result<bool> block_admits(uint64_t hash) const;

  BlockCache& cache_;
  const std::shared_ptr<const SegmentFile> file_;
  const uint64_t file_number_;
  const FilterEntry& entry_;
  mutable std::vector<PieceUse> uses_;  // by piece
};

}  // namespace hailstone
