// Estimates how many distinct values it was shown, by HyperLogLog (Flajolet et al., 2007) with 4,096
// registers: standard error 1.6 percent. Small counts are counted linearly.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace hailstone {

class DistinctSketch {
 public:
  void add(uint64_t hash) {
    auto& highest = registers_[hash >> 52];
    highest = std::max(highest, static_cast<uint8_t>(std::countl_zero(hash << 12 | 1U << 11) + 1));
  }
  uint64_t estimate() const {
    double sum = 0;
    size_t zeros = 0;
    for (const uint8_t highest : registers_) {
      sum += std::ldexp(1.0, -highest);
      zeros += highest == 0 ? 1 : 0;
    }
    const auto size = static_cast<double>(registers_.size());
    const double raw = 0.7213 / (1 + 1.079 / size) * size * size / sum;
    if (raw <= 2.5 * size && zeros > 0)
      return static_cast<uint64_t>(std::llround(size * std::log(size / static_cast<double>(zeros))));
    return static_cast<uint64_t>(std::llround(raw));
  }
  /// A well mixed hash of a number.
  static uint64_t mix(uint64_t number) {
    number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9;
    number = (number ^ number >> 27) * 0x94d049bb133111eb;
    return number ^ number >> 31;
  }

 private:
  std::array<uint8_t, 4096> registers_{};
};

}  // namespace hailstone
