// A pace is a bound: what is slower may be the machine.
#include "backup/pace.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace hailstone {
namespace {

using Clock = std::chrono::steady_clock;

TEST(PaceTest, TheFirstBytesWaitForNothing) {
  Pace pace(1);
  pace.take(1'000'000);
}

TEST(PaceTest, WithoutARateNothingWaits) {
  Pace pace(0);
  for (int i = 0; i < 1000; ++i) pace.take(uint64_t{1} << 40);
}

TEST(PaceTest, ThreadsShareIt) {
  Pace pace(1'000'000);
  const auto begin = Clock::now();
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        for (int j = 0; j < 5; ++j) pace.take(10'000);
      });
  }
  EXPECT_GE(Clock::now() - begin, std::chrono::milliseconds(190));
}

TEST(PaceTest, TimeWithoutWorkIsNotMadeUpFor) {
  Pace pace(1'000'000);
  pace.take(10'000);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const auto begin = Clock::now();
  for (int i = 0; i < 6; ++i) pace.take(10'000);
  EXPECT_GE(Clock::now() - begin, std::chrono::milliseconds(50));
}

}  // namespace
}  // namespace hailstone
