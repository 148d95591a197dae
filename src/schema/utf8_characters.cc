#include "schema/utf8_characters.h"

#include <algorithm>
#include <array>

#include "base/utf8.h"

namespace hailstone {

namespace {

/// Capital letters, each `step` behind the last one; the small letter of each is `to_lower` behind it.
struct Capitals {
  uint16_t first, last;
  int16_t to_lower;
  uint16_t step;

  bool has(uint32_t code, int moved) const {
    const auto capital = static_cast<int64_t>(code) - moved;
    return capital >= first && capital <= last && (capital - first) % step == 0;
  }
};
/// Of Unicode's simple case mappings.
constexpr auto capitals = std::to_array<Capitals>({
    {0x41, 0x5a, 32, 1},   {0xc0, 0xd6, 32, 1},   {0xd8, 0xde, 32, 1},   {0x100, 0x12e, 1, 2},
    {0x132, 0x136, 1, 2},  {0x139, 0x147, 1, 2},  {0x14a, 0x176, 1, 2},  {0x178, 0x178, -121, 1},
    {0x179, 0x17d, 1, 2},  {0x1cd, 0x1db, 1, 2},  {0x1de, 0x1ee, 1, 2},  {0x1f8, 0x21e, 1, 2},
    {0x222, 0x232, 1, 2},  {0x386, 0x386, 38, 1}, {0x388, 0x38a, 37, 1}, {0x38c, 0x38c, 64, 1},
    {0x38e, 0x38f, 63, 1}, {0x391, 0x3a1, 32, 1}, {0x3a3, 0x3ab, 32, 1}, {0x3d8, 0x3ee, 1, 2},
    {0x400, 0x40f, 80, 1}, {0x410, 0x42f, 32, 1}, {0x460, 0x480, 1, 2},  {0x48a, 0x4be, 1, 2},
    {0x4c1, 0x4cd, 1, 2},  {0x4d0, 0x50e, 1, 2},  {0x531, 0x556, 48, 1},
});

}  // namespace

size_t character_bytes(ByteView text) { return std::max<size_t>(utf8_character_size(text), 1); }

void append_code(uint32_t code, std::string& to) {
  if (code < 0x80) {
    to.push_back(static_cast<char>(code));
  } else {
    to.push_back(static_cast<char>(0xc0 | code >> 6));
    to.push_back(static_cast<char>(0x80 | (code & 0x3f)));
  }
}

uint32_t upper_case(uint32_t code) {
  constexpr uint32_t final_sigma = 0x3c2, sigma = 0x3a3;
  if (code == final_sigma) return sigma;
  for (const Capitals& each : capitals) {
    if (each.has(code, each.to_lower))
      return static_cast<uint32_t>(static_cast<int64_t>(code) - each.to_lower);
  }
  return code;
}

uint32_t lower_case(uint32_t code) {
  for (const Capitals& each : capitals) {
    if (each.has(code, 0)) return static_cast<uint32_t>(static_cast<int64_t>(code) + each.to_lower);
  }
  return code;
}

}  // namespace hailstone
