#include "base/utf8.h"

#include <cstdint>
#include <cstring>

namespace hailstone {

namespace {

/// Bytes of the character that begins at `at`; 0 when it is none. The ranges are those of table 3-7 of the
/// Unicode standard.
size_t character_size(const unsigned char* at, size_t left) {
  const unsigned char first = at[0];
  if (first < 0x80) return 1;
  const size_t size = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  if (size == 0 || size > left) return 0;
  const unsigned char least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned char most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (at[1] < least || at[1] > most) return 0;
  for (size_t i = 2; i < size; ++i) {
    if ((at[i] & 0xc0) != 0x80) return 0;
  }
  return size;
}

}  // namespace

size_t utf8_character_size(std::string_view bytes) {
  return character_size(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

bool is_well_formed_utf8(std::string_view bytes) {
  const auto* at = reinterpret_cast<const unsigned char*>(bytes.data());
  for (size_t left = bytes.size(); left > 0;) {
    uint64_t eight;
    if (left >= sizeof eight) {
      std::memcpy(&eight, at, sizeof eight);
      if ((eight & 0x8080'8080'8080'8080U) == 0) {
        at += sizeof eight;
        left -= sizeof eight;
        continue;
      }
    }
    const size_t size = character_size(at, left);
    if (size == 0) return false;
    at += size;
    left -= size;
  }
  return true;
}

}  // namespace hailstone
