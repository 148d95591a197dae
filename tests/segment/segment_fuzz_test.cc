// The fuzzer's entry on random bytes, so that it stays right between runs of a fuzzer.
#include "fuzz/segment_fuzz.cc"

#include "segment_test_support.h"

namespace hailstone {
namespace {

TEST(SegmentFuzzTest, RandomBytesDoNoHarm) {
  std::mt19937_64 random(test_seed());
  for (int round = 0; round < 3000; ++round) {
    std::vector<uint8_t> bytes(random() % 700);
    // Mostly small numbers: they get further.
    for (auto& byte : bytes) byte = static_cast<uint8_t>(random() % 3 == 0 ? random() : random() % 6);
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
}

}  // namespace
}  // namespace hailstone
