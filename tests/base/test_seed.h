// The seed of a random test: HAILSTONE_TEST_SEED when set, else `fallback`; printed, so that a failure can be
// repeated.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <iostream>

namespace hailstone {

inline uint64_t test_seed(uint64_t fallback) {
  const char* given = std::getenv("HAILSTONE_TEST_SEED");
  const uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 0) : fallback;
  std::cout << "HAILSTONE_TEST_SEED=" << seed << '\n';
  return seed;
}

}  // namespace hailstone
