// Hashes and checksums, all XXH3.
#pragma once

#include <xxhash.h>

#include <cstdint>

#include "base/bytes.h"

namespace hailstone {

/// For hash tables and Bloom filters; stored in files, so never to be changed.
inline uint64_t hash_bytes(ByteView bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

/// Of stored bytes.
inline uint64_t checksum(ByteView bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

}  // namespace hailstone
