// Characters of UTF-8, and the case of those of up to two bytes. Stateless.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"

namespace hailstone {

/// Bytes of the first character of a text that is not empty. A byte with which none begins is one by itself.
size_t character_bytes(ByteView text);
/// Of a character of two bytes.
inline uint32_t two_byte_code(ByteView text) {
  return (static_cast<unsigned char>(text[0]) & 0x1fU) << 6 | (static_cast<unsigned char>(text[1]) & 0x3fU);
}
/// A code below 0x800.
void append_code(uint32_t code, std::string& to);

/// Of a code below 0x800: the code of the same letter in the other case, where that is one letter, of at most
/// two bytes, too. Other codes stay.
uint32_t upper_case(uint32_t code);
uint32_t lower_case(uint32_t code);

}  // namespace hailstone
