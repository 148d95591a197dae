// The checksum of every stored block, record and header: XXH3, 64 bits. Any thread.
#pragma once

#include <xxhash.h>

#include <cstdint>

#include "base/bytes.h"

namespace hailstone {

/// A `seed` tells apart equal bytes at different places (a position, a file's number), where that matters.
inline uint64_t checksum(ByteView bytes, uint64_t seed = 0) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace hailstone
