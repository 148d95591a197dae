// Numbers of 0..64 bits packed in units of 1024, interleaved so that plain vector code unpacks and compares
// many at once and any single number is at most two loads away. A unit of width w uses words of T bits (T =
// 16, 32 or 64, the least that holds w) in L = 1024/T lanes: number i sits in lane i % L, as the (i / L)-th
// of that lane's stream of w-bit numbers; word k of lane l is word k*L + l of the unit. So L neighbouring
// numbers lie side by side in a vector. The layout follows the idea of the interleaved bit packing of
// FastLanes (Afroozeh and Boncz, VLDB 2023). A last, partial unit stores only the words that its numbers
// reach. All functions are pure and thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace hailstone {

constexpr uint32_t packing_unit = 1024;

constexpr unsigned packing_word_bits(unsigned width) { return width <= 16 ? 16 : width <= 32 ? 32 : 64; }

/// Bytes of a unit of `count` (at most 1024) numbers of `width` bits.
constexpr size_t packed_bytes(uint32_t count, unsigned width) {
  const unsigned word_bits = packing_word_bits(width);
  const unsigned lanes = packing_unit / word_bits;
  const size_t steps = (count + lanes - 1) / lanes;
  return (steps * width + word_bits - 1) / word_bits * (packing_unit / 8);
}

/// Writes packed_bytes(count, width) bytes. Numbers must fit in `width` bits (1..64).
void pack_unit(const uint64_t* numbers, uint32_t count, unsigned width, char* to);

namespace packing_detail {
template <typename Word>
uint64_t number_at(const char* unit, unsigned width, uint32_t index) {
  constexpr unsigned bits = sizeof(Word) * 8;
  constexpr unsigned lanes = packing_unit / bits;
  const unsigned bit = index / lanes * width;
  const unsigned shift = bit % bits;
  const char* from = unit + (size_t{bit / bits} * lanes + index % lanes) * sizeof(Word);
  uint64_t number = static_cast<uint64_t>(load<Word>(from)) >> shift;
  if (shift + width > bits)
    number |= static_cast<uint64_t>(load<Word>(from + lanes * sizeof(Word))) << (bits - shift);
  return width == 64 ? number : number & ((uint64_t{1} << width) - 1);
}
}  // namespace packing_detail

/// One number of a unit; width 1..64.
inline uint64_t packed_number(const char* unit, unsigned width, uint32_t index) {
  if (width <= 16) return packing_detail::number_at<uint16_t>(unit, width, index);
  if (width <= 32) return packing_detail::number_at<uint32_t>(unit, width, index);
  return packing_detail::number_at<uint64_t>(unit, width, index);
}

/// Unpacks the first `count` numbers, adding `base` (wrapping) to each. `to` has room for 1024 numbers in any
/// case. Reads packed_bytes(count, width) bytes.
void unpack_unit(const char* unit, unsigned width, uint32_t count, uint64_t base, uint64_t* to);
/// The same of numbers that have no more than 32 bits with their base.
void unpack_unit(const char* unit, unsigned width, uint32_t count, uint64_t base, uint32_t* to);

/// Sets, in 16 words of bits, the bit of each of the first `count` numbers in [low, high]; low and high fit
/// in `width` bits. Other bits stay as they are.
void select_packed(const char* unit, unsigned width, uint32_t count, uint64_t low, uint64_t high,
                   uint64_t* bits);

/// The same over plain numbers.
void select_numbers(const uint64_t* numbers, uint32_t count, uint64_t low, uint64_t high, uint64_t* bits);

/// Sets the bit of each number whose bit is set in `members`, which has a bit for every one of them.
void select_members(const uint64_t* numbers, uint32_t count, const uint64_t* members, uint64_t* bits);

/// Least and greatest of `count` >= 1 numbers.
void find_minimum_maximum(const uint64_t* numbers, uint32_t count, uint64_t& minimum, uint64_t& maximum);

/// How many of numbers[1..count) differ from the one before; how many of all equal `value`.
uint32_t count_changes(const uint64_t* numbers, uint32_t count);
uint32_t count_equal(const uint64_t* numbers, uint32_t count, uint64_t value);

/// How many bits of so many words are set.
uint32_t count_bits(const uint64_t* bits, uint32_t words);

/// What list_bits() and keep_chosen() may write behind their results, in places.
constexpr uint32_t vector_slack = 64;
/// Writes which of the bits [first, last) are set, and returns how many. `to` has room for all of these and
/// for the slack.
uint32_t list_bits(const uint64_t* bits, uint32_t first, uint32_t last, uint16_t* to);
/// Writes those of `count` numbers whose bit is set, and returns how many. `to` has room for all of these and
/// for the slack.
uint32_t keep_chosen(const uint64_t* numbers, uint32_t count, const uint64_t* bits, uint64_t* to);

/// Sums of the lower and of the upper halves of at most 2^32 numbers.
struct HalfSums {
  uint64_t low = 0, high = 0;
};
HalfSums sum_halves(const uint64_t* numbers, uint32_t count);

}  // namespace hailstone
