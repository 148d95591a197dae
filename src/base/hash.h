// Hashes and checksums: of bytes, all XXH3; of numbers.
#pragma once

#include <xxhash.h>

#include <cstdint>

#include "base/bytes.h"

namespace hailstone {

/// For hash tables and Bloom filters; stored in files, so never to be changed.
inline uint64_t hash_bytes(ByteView bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

/// Of a number, for hash tables in memory: mixes all its bits (the finish of MurmurHash3).
constexpr uint64_t mix_bits(uint64_t number) {
  number = (number ^ number >> 33) * 0xff51afd7ed558ccd;
  number = (number ^ number >> 33) * 0xc4ceb9fe1a85ec53;
  return number ^ number >> 33;
}

/// Of stored bytes.
inline uint64_t checksum(ByteView bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

}  // namespace hailstone
