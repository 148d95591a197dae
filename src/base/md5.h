// MD5 (RFC 1321), which SQL has as a function. Nothing that has to be safe from forgers may rest on it.
// Stateless, thread-safe.
#pragma once

#include <array>
#include <cstdint>

#include "base/bytes.h"

namespace hailstone {

using Md5Digest = std::array<uint8_t, 16>;

Md5Digest md5(ByteView bytes);

}  // namespace hailstone
