// How the rows of a segment are divided.
#pragma once

#include <cstdint>

namespace hailstone {

constexpr uint32_t block_rows = 16 * 1024;   // rows of one block; the last may have fewer
constexpr uint32_t key_sample_stride = 128;  // one key in so many is kept in memory, clustered and secondary
constexpr uint32_t max_segment_rows = 16 * 1024 * 1024;

}  // namespace hailstone
