// Makes operator new fail on purpose, in programs that are linked with failing_allocations.cc.
#pragma once

#include <cstdint>
#include <random>
#include <utility>

#include "base/test_seed.h"

namespace hailstone {

class FailingAllocations {
 public:
  /// Whether this build can do so: sanitizers have an operator new of their own.
  static bool possible();

  /// From the `nth` allocation on (0: the next one) `in_a_row` of them fail: those of threads that are inside
  /// call().
  static void arm(uint64_t nth, uint64_t in_a_row);
  /// The same for malloc() as the C libraries call it that the library uses, and not for operator new.
  static void arm_malloc(uint64_t nth, uint64_t in_a_row);
  /// The same as arm() for one in `one_in` allocations of all other threads but the calling one, at random.
  static void arm_others(uint32_t one_in, uint64_t seed);
  /// How many have failed since arm().
  static uint64_t disarm();
  /// How many of those that arm() is for there were since, if no more than that `nth`.
  static uint64_t met();

  /// Runs `work`, whose allocations may fail.
  template <typename Work>
  static auto call(Work&& work) {
    const Inside inside;
    return std::forward<Work>(work)();
  }

 private:
  struct Inside {
    Inside();
    ~Inside();
  };
};

/// Which allocations of a call to let fail, one after the other: each of the first 64, and some of those
/// behind, others in each run.
class SampledAllocations {
 public:
  uint64_t after(uint64_t n) { return n + 1 + (n < 64 ? 0 : random_() % (n / 16)); }

 private:
  std::mt19937_64 random_{test_seed(std::random_device()())};
};

}  // namespace hailstone
