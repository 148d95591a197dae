// Decompresses ZSTD frames of a segment file. Thread-safe: each thread has a context of its own, made at its
// first frame.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "segment/segment_format.h"

namespace hailstone {

/// Writes the `size` bytes that the frame holds to `to`. ErrorCode::Corruption, of the place `offset`, when
/// it does not hold so many; OutOfMemory says nothing about the file, and the next try may have memory.
Status decompress_zstd(const SegmentFile& file, uint64_t offset, ByteView frame, char* to, size_t size);

}  // namespace hailstone
