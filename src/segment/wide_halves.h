// Numbers of 128 bits as the two halves that a block stores, each an unsigned number of 64 bits; their order,
// high ones first, is that of the numbers. What lies within 64 bits signed has one high half.
#pragma once

#include <compare>
#include <cstdint>

#include "base/wide_integer.h"

namespace hailstone {

struct WideHalves {
  static constexpr uint64_t sign = uint64_t{1} << 63;
  uint64_t high = 0, low = 0;

  /// The number is greater than -2^127 and less than 2^127 - 2^63.
  static WideHalves of(WideInteger number) {
    number += static_cast<WideInteger>(sign);
    return {static_cast<uint64_t>(number >> 64) ^ sign, static_cast<uint64_t>(number)};
  }
  WideInteger number() const {
    __extension__ typedef unsigned __int128 Bits;
    const Bits bits = static_cast<Bits>(high ^ sign) << 64 | low;
    return static_cast<WideInteger>(bits - sign);
  }
  auto operator<=>(const WideHalves&) const = default;
};

}  // namespace hailstone
