#include "base/crc32.h"

#include <array>
#include <cstring>
#include <utility>

namespace hailstone {

namespace {

constexpr size_t step = 8;  // bytes that are taken at once

/// [i][b]: what a byte b becomes when i more bytes of zeros follow it.
constexpr auto crc_tables = [] {
  std::array<std::array<uint32_t, 256>, step> tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t remainder = byte;
    for (int bit = 0; bit < 8; ++bit)
      remainder = (remainder >> 1) ^ ((remainder & 1) != 0 ? 0xEDB8'8320U : 0U);
    tables[0][byte] = remainder;
  }
  for (size_t i = 1; i < step; ++i) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = tables[i - 1][byte];
      tables[i][byte] = (before >> 8) ^ tables[0][before & 0xFF];
    }
  }
  return tables;
}();

}  // namespace

uint32_t crc32(ByteView bytes) {
  uint32_t crc = ~0U;
  for (; bytes.size() >= step; bytes.remove_prefix(step)) {
    uint64_t next = 0;
    std::memcpy(&next, bytes.data(), step);
    next ^= crc;
    crc = [next]<size_t... i>(std::index_sequence<i...>) {
      return (crc_tables[step - 1 - i][next >> 8 * i & 0xFF] ^ ...);
    }
    (std::make_index_sequence<step>());
  }
  for (const char byte : bytes) crc = (crc >> 8) ^ crc_tables[0][(crc ^ static_cast<uint8_t>(byte)) & 0xFF];
  return ~crc;
}

}  // namespace hailstone
