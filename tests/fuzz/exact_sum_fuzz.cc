// A fuzzer's bytes as numbers, and bytes of sums, that are added to exact sums: no bytes may end the program,
// and none that are taken may make a sum inexact. Link with -fsanitize=fuzzer.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "query/exact_spread.h"
#include "query/exact_sum_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hailstone;
  const ByteView input(reinterpret_cast<const char*>(data), size);
  if (const char* const wrong = ExactSumCheck().run(input); wrong != nullptr) {
    std::fprintf(stderr, "exact sum fuzz: %s\n", wrong);
    std::abort();
  }
  // What is taken has a result, though bytes that are no spread's may have any.
  for (const bool real : {false, true}) {
    ExactSpreads spreads;
    spreads.push_back(real);
    ByteReader reader(input);
    while (spreads.add_from(reader, 0) && !reader.empty()) {
    }
    static_cast<void>(spreads.result(0, 1 + size));
  }
  return 0;
}
