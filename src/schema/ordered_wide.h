// Whole numbers of 128 and more bits as bytes whose memcmp order is theirs: the most significant byte first,
// with its sign bit turned. So computed rows have what is too long for an ordered number.
#pragma once

#include "base/bytes.h"
#include "base/wide_integer.h"
#include "schema/row_codec.h"

namespace hailstone {

constexpr uint64_t sign_of_word = sign_of_width(sizeof(uint64_t));

/// Writes sizeof(WideInteger) bytes.
inline void order_wide(WideInteger number, char* to) {
  store_big_endian(to, static_cast<uint64_t>(number >> 64) ^ sign_of_word, sizeof(uint64_t));
  store_big_endian(to + sizeof(uint64_t), static_cast<uint64_t>(number), sizeof(uint64_t));
}

inline WideInteger native_wide(ByteView ordered) {
  const auto high = static_cast<int64_t>(load_big_endian(ordered.data(), sizeof(uint64_t)) ^ sign_of_word);
  const uint64_t low = load_big_endian(ordered.data() + sizeof(uint64_t), sizeof(uint64_t));
  return (static_cast<WideInteger>(high) << 64) + static_cast<WideInteger>(low);
}

/// Writes sizeof(HugeInteger) bytes.
inline void order_huge(HugeInteger number, char* to) {
  number.words.back() ^= sign_of_word;
  for (size_t i = number.words.size(); i-- > 0; to += sizeof(uint64_t))
    store_big_endian(to, number.words[i], sizeof(uint64_t));
}

inline HugeInteger native_huge(ByteView ordered) {
  HugeInteger number;
  const char* from = ordered.data();
  for (size_t i = number.words.size(); i-- > 0; from += sizeof(uint64_t))
    number.words[i] = load_big_endian(from, sizeof(uint64_t));
  number.words.back() ^= sign_of_word;
  return number;
}

/// Of either size.
inline HugeInteger native_number(ByteView ordered) {
  return ordered.size() == sizeof(WideInteger) ? HugeInteger::of(native_wide(ordered)) : native_huge(ordered);
}

}  // namespace hailstone
