// Sort keys of strings that compare as if the shorter one went on with pad characters for ever (SQL's PAD
// SPACE). Plain bytes or weights do not sort so: "a\t" comes before "a" there, as a tab is less than a space,
// though "a" is its prefix. Stateless, thread-safe.
//
// The value without trailing pads is cut into chunks of 8 bytes (9 for weights of 3 bytes), the last one
// filled up with pads, and each chunk is followed by a marker that says what comes after it, seen against
// endless pads: 1 = something that sorts below them, 2 = only pads, 3 = something that sorts above them. A
// chunk with marker 2 is the last one; there is always one. So no sort key is a proper prefix of another.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"

namespace hailstone {

/// Appends the sort key of a value whose characters weigh `weights`: big-endian numbers of `unit` bytes each
/// (1 to 4, of which the size of `weights` is a multiple); `pad` is the weight of the pad character. Equal
/// under padding means equal bytes, less means less by memcmp.
void append_padded_weights(ByteView weights, unsigned unit, uint32_t pad, std::string& to);

/// Makes what append_padded_weights() appended from `begin` on, of weights of two bytes each and perhaps cut
/// at any byte, shorter: the order of such bytes is that of theirs. A weight below 0x80, that of most letters
/// of Latin and of digits in many collations, takes one byte, others below 0x7F80 two, the rest three.
void shorten_padded_pairs(std::string& to, size_t begin);

/// What is left of a value without the spaces at its end.
inline ByteView without_trailing_spaces(ByteView value) {
  while (!value.empty() && value.back() == ' ') value.remove_suffix(1);
  return value;
}

/// <0, 0, >0: compares weights of one byte each under padding, without making sort keys.
int compare_padded_bytes(ByteView a, ByteView b, unsigned char pad);

}  // namespace hailstone
