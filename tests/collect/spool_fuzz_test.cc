// The fuzzer's entry on random bytes, so that it stays right between runs of a fuzzer.
#include "fuzz/spool_fuzz.cc"

#include <gtest/gtest.h>

#include <random>

#include "base/test_seed.h"

namespace hailstone {
namespace {

TEST(SpoolFuzzTest, RandomBytesAreRecordsOrAnError) {
  std::mt19937_64 random(test_seed(8));
  for (int run = 0; run < 3000; ++run) {
    std::string bytes(1, static_cast<char>(random()));
    size_t at = encode(SpoolFileHeader{}).size();
    uint64_t sequence = 3;
    while (random() % 8 != 0) {
      if (random() % 2 == 0) {
        // A frame that is right but for what random numbers break.
        SpoolFrame frame;
        const auto records = random() % 4;
        for (uint64_t i = 0; i < records; ++i) frame.add(std::string(random() % 200, 'r'));
        if (random() % 3 == 0) frame.set_position("source", std::string(random() % 20, 'p'));
        std::string encoded(frame.encoded({.number = 7, .offset = at}, sequence, random() % (at + 1)));
        if (random() % 6 == 0) encoded[random() % encoded.size()] ^= 1;
        bytes += encoded;
        at += encoded.size();
        sequence += records;
      } else if (random() % 4 == 0) {
        const auto size = random() % 60;
        bytes.append(size, static_cast<char>(random() % 8));
        at += size;
      }
    }
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  }
}

}  // namespace
}  // namespace hailstone
