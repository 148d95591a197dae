// A stream of pseudo-random numbers that is a pure function of its key, in integers only: the same on every
// machine, at any number of threads. The mixing step is splitmix64 (Steele, Lea and Flood, "Fast splittable
// pseudorandom number generators", 2014).
#pragma once

#include <cstdint>

namespace hailstone {

__extension__ typedef unsigned __int128 WideProduct;

/// Maps a random 64-bit number evenly to [0, bound).
inline uint64_t scale_random(uint64_t random, uint64_t bound) {
  return static_cast<uint64_t>((static_cast<WideProduct>(random) * bound) >> 64U);
}

class RandomStream {
 public:
  /// A stream for item `index` of what `domain` numbers.
  RandomStream(uint64_t domain, uint64_t index) : state_(mix(domain) ^ (index * 0x9e3779b97f4a7c15U)) {}

  uint64_t next() {
    state_ += 0x9e3779b97f4a7c15U;
    return mix(state_);
  }
  /// Uniform in [0, bound); bound > 0.
  uint64_t below(uint64_t bound) { return scale_random(next(), bound); }
  bool chance(uint64_t percent) { return below(100) < percent; }

  static uint64_t mix(uint64_t value) {
    value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31U);
  }

 private:
  uint64_t state_;
};

}  // namespace hailstone
