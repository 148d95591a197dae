// Numbers as the 64 bits that they are made of: a result has them, too, and is below 0 where the first is 1.
#include <bit>
#include <cstdint>

#include "expression/kernels.h"

namespace hailstone {

namespace {

/// Of a number without a sign, too.
uint64_t bits_of_number(const Computed& from, uint32_t row) { return from.number(row).words[0]; }

template <typename Combine>
void combine_bits(const FunctionCall& call, Combine combine) {
  const Computed &left = call.input(0), &right = call.input(1);
  int64_t* const to = call.to.integers.data();
  for (uint32_t row = 0; row < call.rows; ++row)
    to[row] = static_cast<int64_t>(combine(bits_of_number(left, row), bits_of_number(right, row)));
}

/// By as many places as the lower 32 bits of the second number say; by 64 or more nothing is left.
template <typename Shift>
void shift_bits(const FunctionCall& call, Shift shift) {
  combine_bits(call, [shift](uint64_t bits, uint64_t number) {
    const auto places = static_cast<uint32_t>(number);
    return places < 64 ? shift(bits, places) : uint64_t{0};
  });
}

}  // namespace

void combine_by_and(const FunctionCall& call) {
  combine_bits(call, [](uint64_t a, uint64_t b) { return a & b; });
}

void combine_by_or(const FunctionCall& call) {
  combine_bits(call, [](uint64_t a, uint64_t b) { return a | b; });
}

void combine_by_xor(const FunctionCall& call) {
  combine_bits(call, [](uint64_t a, uint64_t b) { return a ^ b; });
}

void invert_bits(const FunctionCall& call) {
  for (uint32_t row = 0; row < call.rows; ++row)
    call.to.integers[row] = static_cast<int64_t>(~bits_of_number(call.input(0), row));
}

void shift_left(const FunctionCall& call) {
  shift_bits(call, [](uint64_t bits, uint32_t places) { return bits << places; });
}

void shift_right(const FunctionCall& call) {
  shift_bits(call, [](uint64_t bits, uint32_t places) { return bits >> places; });
}

void count_bits(const FunctionCall& call) {
  for (uint32_t row = 0; row < call.rows; ++row)
    call.to.integers[row] = std::popcount(bits_of_number(call.input(0), row));
}

}  // namespace hailstone
