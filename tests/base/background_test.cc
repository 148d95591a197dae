#include "base/background.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>

namespace hailstone {
namespace {

TEST(BackgroundConcurrentTest, RunsEveryJobAndDrains) {
  auto background = Background::start(3, nullptr);
  ASSERT_TRUE(background);
  std::atomic<int> sum = 0;
  std::vector<std::thread> submitters;
  for (int t = 0; t < 4; ++t) {
    submitters.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        EXPECT_TRUE((*background)->submit([&]() -> Status {
          ++sum;
          return {};
        }));
      }
    });
  }
  for (auto& thread : submitters) thread.join();
  (*background)->drain();
  EXPECT_EQ(sum, 2000);
  EXPECT_EQ((*background)->unfinished(), 0U);
}

TEST(BackgroundTest, OneThreadKeepsTheOrder) {
  auto background = Background::start(1, nullptr);
  ASSERT_TRUE(background);
  std::vector<int> order;
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE((*background)->submit([&order, i]() -> Status {
      order.push_back(i);
      return {};
    }));
  }
  (*background)->drain();
  ASSERT_EQ(order.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
}

TEST(BackgroundTest, ErrorsGoToTheHandlerAndTheThreadLivesOn) {
  std::atomic<int> errors = 0;
  auto background = Background::start(1, [&](const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::DiskFull);
    ++errors;
  });
  ASSERT_TRUE(background);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE((*background)->submit([]() -> Status { return fail(ErrorCode::DiskFull, "full"); }));
  }
  (*background)->drain();
  EXPECT_EQ(errors, 3);
}

TEST(BackgroundConcurrentTest, StopDropsWhatIsQueuedAndWaitsForWhatRuns) {
  auto background = Background::start(1, nullptr);
  ASSERT_TRUE(background);
  std::latch running(1);
  std::latch finish(1);
  std::atomic<bool> first_ended = false;
  std::atomic<bool> second_ran = false;
  EXPECT_TRUE((*background)->submit([&]() -> Status {
    running.count_down();
    finish.wait();
    first_ended = true;
    return {};
  }));
  EXPECT_TRUE((*background)->submit([&]() -> Status {
    second_ran = true;
    return {};
  }));
  running.wait();
  std::thread stopper([&] { (*background)->stop(); });
  // stop() has taken effect once submissions are refused.
  while ((*background)->submit([]() -> Status { return {}; })) std::this_thread::yield();
  finish.count_down();
  stopper.join();
  EXPECT_TRUE(first_ended);
  EXPECT_FALSE(second_ran);
  EXPECT_EQ((*background)->unfinished(), 0U);
  (*background)->stop();
}

TEST(BackgroundTest, AJobMaySubmitAnotherAndDrainWaitsForBoth) {
  auto background = Background::start(2, nullptr);
  ASSERT_TRUE(background);
  std::atomic<int> depth = 0;
  std::function<Status()> job = [&]() -> Status {
    if (++depth < 50) {
      EXPECT_TRUE((*background)->submit(job));
    }
    return {};
  };
  EXPECT_TRUE((*background)->submit(job));
  (*background)->drain();
  EXPECT_EQ(depth, 50);
}

}  // namespace
}  // namespace hailstone
