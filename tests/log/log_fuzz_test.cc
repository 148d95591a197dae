// The fuzzer's entry on random bytes, so that it stays right between runs of a fuzzer.
#include "fuzz/log_fuzz.cc"

#include <gtest/gtest.h>

#include <random>

#include "base/test_seed.h"

namespace hailstone {
namespace {

TEST(LogFuzzTest, RandomBytesAreRecordsOrAnError) {
  std::mt19937_64 random(test_seed(6));
  for (int run = 0; run < 3000; ++run) {
    std::string bytes(1, static_cast<char>(random()));
    while (random() % 8 != 0) {
      switch (random() % 4) {
        case 0:
          append_number(bytes, static_cast<uint32_t>(random() % 40));
          break;
        case 1:
          bytes.append(random() % 60, static_cast<char>(random() % 8));
          break;
        case 2: {
          // A right batch where it would be in a file with a right header, with a durable position that may
          // lie.
          std::string records;
          append_number(records, static_cast<uint32_t>(3));
          records += "\1abc";
          std::string header(log_batch_header_size, '\0');
          encode(LogBatchHeader{.size = static_cast<uint32_t>(records.size()),
                                .begin = log_file_header_size + bytes.size() - 1,
                                .durable = random() % 300,
                                .records_checksum = checksum(records)},
                 header.data());
          bytes += header + records;
          break;
        }
        default:
          append_number(bytes, random());
      }
    }
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  }
}

}  // namespace
}  // namespace hailstone
