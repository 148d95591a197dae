// Makes operator new fail on purpose, in programs that are linked with failing_allocations.cc.
#pragma once

#include <cstdint>
#include <utility>

namespace hailstone {

class FailingAllocations {
 public:
  /// Whether this build can do so: sanitizers have an operator new of their own.
  static bool possible();

  /// From the `nth` allocation on (0: the next one) `in_a_row` of them fail: those of threads that are inside
  /// call().
  static void arm(uint64_t nth, uint64_t in_a_row);
  /// The same for one in `one_in` allocations of all other threads but the calling one, at random.
  static void arm_others(uint32_t one_in, uint64_t seed);
  /// How many have failed since arm().
  static uint64_t disarm();

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

}  // namespace hailstone
