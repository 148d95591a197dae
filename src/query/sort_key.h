// Values in the keys of records that are sorted (sort_record.h): bytes whose order is that of the values.
//
// A value has a byte, 0 for NULL and 1 for a value, if it may be NULL, and then
//
// - of numbers as many bytes as they have, big-endian, of NULL zeros; both zeros of floating point are one;
// - of bytes the weights of the collation, cut where the order says so, and in a shorter form where they are
//   padded pairs (schema/padding.h); 0x00 is 0x00 0xFF, and 0x00 0x01 ends them;
//
// all of it with every bit flipped where the order is descending.
#pragma once

#include <string>

#include "query/value_order.h"

namespace hailstone::sort_key {

constexpr char null_mark = 0, value_mark = 1;

inline char flip(char byte) { return static_cast<char>(~static_cast<unsigned char>(byte)); }
/// Flips all from `begin` on.
void flip(std::string& to, size_t begin);

/// `most_weights`: bytes; values whose weights agree so far are equal.
void append_text(const Collation& collation, const Value& value, bool nullable, size_t most_weights,
                 std::string& to);
/// Big-endian.
void append_number(uint64_t number, unsigned width, std::string& to);

}  // namespace hailstone::sort_key
