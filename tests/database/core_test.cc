#include "database/core.h"

#include <gtest/gtest.h>

#include "file/temporary_directory.h"

namespace hailstone {
namespace {

constexpr size_t mebibyte = size_t{1} << 20;

struct Buffers {
  size_t memory = 0;  // mebibytes, as all here
  size_t segment = 0, delta = 0;
};

/// Of a database that has so much memory.
Buffers buffers_of(size_t memory, size_t delta_limit = 0) {
  const TemporaryDirectory directory;
  DatabaseOptions options;
  options.memory_budget = memory * mebibyte;
  options.delta_limit = delta_limit * mebibyte;
  DatabaseCore core(posix_filesystem(), directory.path(), options);
  return {memory, core.segment_buffer_bytes() / mebibyte, core.delta_limit_bytes() / mebibyte};
}

TEST(CoreTest, BuffersGrowWithMemoryBetweenTheirLimits) {
  // A segment takes a quarter, at least 8 MiB, at most 256 MiB or a 32nd; a delta an eighth, at most 64 MiB
  // or a 64th.
  const Buffers expected[] = {
      {.memory = 8, .segment = 8, .delta = 1},
      {.memory = 16, .segment = 8, .delta = 2},
      {.memory = 32, .segment = 8, .delta = 4},
      {.memory = 36, .segment = 9, .delta = 4},
      {.memory = 512, .segment = 128, .delta = 64},
      {.memory = 1024, .segment = 256, .delta = 64},
      {.memory = 1028, .segment = 256, .delta = 64},
      {.memory = 4096, .segment = 256, .delta = 64},
      {.memory = 4096 + 64, .segment = 256, .delta = 65},
      {.memory = 8192, .segment = 256, .delta = 128},
      {.memory = 8192 + 64, .segment = 258, .delta = 129},
      {.memory = size_t{1} << 20, .segment = 32'768, .delta = 16'384},
  };
  for (const Buffers& each : expected) {
    SCOPED_TRACE(each.memory);
    const Buffers found = buffers_of(each.memory);
    EXPECT_EQ(found.segment, each.segment);
    EXPECT_EQ(found.delta, each.delta);
  }
}

TEST(CoreTest, ADeltaThatIsAskedForTakesHalfOfTheMemoryAtMost) {
  EXPECT_EQ(buffers_of(512, 100).delta, 100U);
  EXPECT_EQ(buffers_of(512, 256).delta, 256U);
  EXPECT_EQ(buffers_of(512, 300).delta, 256U);
  EXPECT_EQ(buffers_of(8192, 1).delta, 1U);
}

}  // namespace
}  // namespace hailstone
