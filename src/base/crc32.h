// CRC-32 as zlib, gzip and SQL have it: ISO 3309, the reflected polynomial 0xEDB88320. Stateless,
// thread-safe.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace hailstone {

uint32_t crc32(ByteView bytes);

}  // namespace hailstone
