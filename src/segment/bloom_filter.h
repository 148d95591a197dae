// A split-block Bloom filter (Putze, Sanders and Singler, 2007) over 64 bit hashes: each key sets one bit in
// each of the eight words of one 32 byte block, so that a lookup reads 32 bytes. Of absent keys about one in
// 180 is let through at 12 bits a key, in 750 at 16, in 2,400 at 20. Stored in pieces, so that a lookup
// loads one of them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"

namespace hailstone {

constexpr size_t bloom_block_bytes = 32;
constexpr size_t bloom_piece_bytes = size_t{64} << 10;

/// Bits of a filter for each of so many keys. A key is looked for in every segment, however small, and what
/// a filter lets through in vain costs as much in each: so those of small ones, which have few of all keys,
/// let less through (Dayan, Athanassoulis and Idreos, Monkey, 2017).
constexpr uint64_t bloom_bits_of_key(uint64_t keys) {
  if (keys > uint64_t{4} << 20) return 12;
  return keys > uint64_t{512} << 10 ? 16 : 20;
}

/// Bytes of the filter for so many keys; a multiple of bloom_block_bytes.
constexpr uint64_t bloom_filter_bytes(uint64_t keys) {
  return (keys * bloom_bits_of_key(keys) + 255) / 256 * bloom_block_bytes;
}

/// Where in the filter the key's block begins.
inline uint64_t bloom_block_offset(uint64_t hash, uint64_t filter_bytes) {
  return ((hash >> 32) * (filter_bytes / bloom_block_bytes) >> 32) * bloom_block_bytes;
}

namespace bloom_detail {
constexpr std::array<uint32_t, 8> salts = {0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
                                           0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31};
inline uint32_t bit(uint64_t hash, size_t word) {
  return uint32_t{1} << (static_cast<uint32_t>(hash) * salts[word] >> 27);
}
}  // namespace bloom_detail

inline bool bloom_block_contains(const char* block, uint64_t hash) {
  uint32_t missing = 0;
  for (size_t word = 0; word < 8; ++word)
    missing |= bloom_detail::bit(hash, word) & ~load<uint32_t>(block + word * 4);
  return missing == 0;
}

/// A key of many that are looked up together, in the order of their hashes.
struct BloomKey {
  uint64_t hash;
  uint32_t number;  // the caller's own
};

/// Appends the numbers of those keys that the filter admits, until the first whose block is behind this
/// piece. How many keys it has asked for.
inline size_t bloom_piece_admitted(ByteView piece, uint64_t piece_offset, uint64_t filter_bytes,
                                   std::span<const BloomKey> keys, std::vector<uint32_t>& to) {
  size_t asked = 0;
  for (; asked < keys.size(); ++asked) {
    const uint64_t offset = bloom_block_offset(keys[asked].hash, filter_bytes) - piece_offset;
    if (offset >= piece.size()) break;
    if (bloom_block_contains(piece.data() + offset, keys[asked].hash)) to.push_back(keys[asked].number);
  }
  return asked;
}

inline std::vector<char> build_bloom_filter(std::span<const uint64_t> hashes) {
  std::vector<char> filter(bloom_filter_bytes(hashes.size()));
  for (const uint64_t hash : hashes) {
    char* block = filter.data() + bloom_block_offset(hash, filter.size());
    for (size_t word = 0; word < 8; ++word) {
      store(block + word * 4, load<uint32_t>(block + word * 4) | bloom_detail::bit(hash, word));
    }
  }
  return filter;
}

}  // namespace hailstone
