// Character sets in whose texts the engine may look for ASCII byte by byte, and texts that are those of
// another character set as they are.
#pragma once

#include <algorithm>

#include "base/bytes.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// Whether what stands for a byte in ASCII does so here, and no other byte of a character looks like one.
inline bool is_plain_charset(const CHARSET_INFO& charset) {
  if (charset.mbmaxlen == 1) return (charset.state & MY_CS_NONASCII) == 0;
  return my_charset_same(&charset, &my_charset_utf8mb4_bin) ||
         my_charset_same(&charset, &my_charset_utf8mb3_bin);
}

/// Whether texts of one are texts of the other as they are.
inline bool are_same_bytes(const CHARSET_INFO& from, const CHARSET_INFO& to) {
  return my_charset_same(&from, &to) || &to == &my_charset_bin ||
         (my_charset_same(&from, &my_charset_utf8mb3_bin) && my_charset_same(&to, &my_charset_utf8mb4_bin));
}

inline bool is_ascii(ByteView text) {
  return std::ranges::all_of(text, [](char byte) { return static_cast<unsigned char>(byte) < 0x80; });
}

}  // namespace hailstone
