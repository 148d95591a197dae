// Turns at the processors: who gets the next one, and that none is lost with a thread that sleeps.
#include "base/processor_turns.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/test_seed.h"

namespace hailstone {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// A turn is given at each check, and none is ever taken away.
constexpr ProcessorTurns::Times at_once{
    .slice = nanoseconds(0), .lost_after = std::chrono::hours(1), .free = nanoseconds(0)};

class ProcessorTurnsTest : public testing::Test {
 protected:
  /// Until so many threads have waited.
  void until_waits(uint64_t waits) const {
    while (counters_.turn_waits.load() < waits) std::this_thread::yield();
  }

  Counters counters_;
};

TEST_F(ProcessorTurnsTest, ThreadsThatWaitHaveTurnsInTheirOrder) {
  ProcessorTurns turns(1, counters_, at_once);
  std::string order;  // by the turn
  std::vector<std::thread> threads;
  {
    const ProcessorTurns::Work work(turns);
    ProcessorTurns::check();
    for (char name = 'a'; name < 'd'; ++name) {
      threads.emplace_back([&, name] {
        const ProcessorTurns::Work other(turns);
        for (int step = 0; step < 3; ++step) {
          ProcessorTurns::check();
          order.push_back(name);
        }
      });
      until_waits(static_cast<uint64_t>(name - 'a') + 1);
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(order, "abcabcabc");
  EXPECT_TRUE(turns.has_free());
}

TEST_F(ProcessorTurnsTest, AsManyWorkAsThereAreProcessors) {
  ProcessorTurns turns(2, counters_, at_once);
  std::atomic<int> working{0}, most{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 5; ++i) {
    threads.emplace_back([&] {
      const ProcessorTurns::Work work(turns);
      for (int step = 0; step < 200; ++step) {
        ProcessorTurns::check();
        const int now = working.fetch_add(1) + 1;
        int before = most.load();
        while (before < now && !most.compare_exchange_weak(before, now)) {
        }
        std::this_thread::yield();
        working.fetch_sub(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most.load(), 2);
}

TEST_F(ProcessorTurnsTest, WhoSleepsLosesItsTurn) {
  ProcessorTurns::Times times = at_once;
  times.slice = std::chrono::hours(1);
  times.lost_after = milliseconds(1);
  ProcessorTurns turns(1, counters_, times);
  const ProcessorTurns::Work work(turns);
  ProcessorTurns::check();
  // It waits for what another does, who has no turn yet.
  std::async(std::launch::async, [&] {
    const ProcessorTurns::Work other(turns);
    ProcessorTurns::check();
  }).get();
  EXPECT_TRUE(turns.has_free());
  ProcessorTurns::check();
  EXPECT_FALSE(turns.has_free());
}

TEST_F(ProcessorTurnsTest, WhoHasHadNoSliceHasEveryOtherTurn) {
  ProcessorTurns::Times times = at_once;
  times.slice = std::chrono::hours(1);
  ProcessorTurns turns(1, counters_, times);
  std::string order;
  std::vector<std::thread> threads;
  std::promise<void> paused;
  std::promise<void> goes_on;
  threads.emplace_back([&] {
    // A helper has had what its query may have.
    const ProcessorTurns::Work work(turns, ProcessorTurns::Begin::IfFree);
    EXPECT_TRUE(work.begun());
    ProcessorTurns::pause();
    paused.set_value();
    goes_on.get_future().wait();
    ProcessorTurns::check();
    order.push_back('l');
  });
  paused.get_future().wait();
  {
    const ProcessorTurns::Work work(turns);
    ProcessorTurns::check();
    goes_on.set_value();
    until_waits(1);
    for (char name = 'a'; name < 'e'; ++name) {
      threads.emplace_back([&, name] {
        const ProcessorTurns::Work other(turns);
        ProcessorTurns::check();
        order.push_back(name);
      });
      until_waits(static_cast<uint64_t>(name - 'a') + 2);
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(order, "albcd");
}

TEST_F(ProcessorTurnsTest, HelpersTakeOnlyWhatNobodyWaitsFor) {
  ProcessorTurns turns(1, counters_, at_once);
  const auto begins = [&] {
    return std::async(std::launch::async,
                      [&] { return ProcessorTurns::Work(turns, ProcessorTurns::Begin::IfFree).begun(); })
        .get();
  };
  EXPECT_TRUE(begins());
  {
    const ProcessorTurns::Work work(turns);
    EXPECT_TRUE(begins());  // the work has asked for none yet
    ProcessorTurns::check();
    EXPECT_FALSE(begins());
    ProcessorTurns::pause();
    EXPECT_TRUE(begins());
    ProcessorTurns::check();
    {
      const ProcessorTurns::Work inner(turns, ProcessorTurns::Begin::IfFree);
      EXPECT_TRUE(inner.begun());  // the same work
    }
    EXPECT_FALSE(begins());
  }
  EXPECT_TRUE(begins());
}

TEST_F(ProcessorTurnsTest, ShortWorkNeedsNoTurn) {
  ProcessorTurns::Times times = at_once;
  times.free = std::chrono::hours(1);
  ProcessorTurns turns(1, counters_, times);
  const ProcessorTurns::Work work(turns);
  ProcessorTurns::check();
  EXPECT_TRUE(turns.has_free());
}

TEST_F(ProcessorTurnsTest, ManyThreadsThatWorkSleepAndPause) {
  const uint64_t seed = test_seed(1);
  constexpr ProcessorTurns::Times short_times{.slice = std::chrono::microseconds(20),
                                              .lost_after = std::chrono::microseconds(200),
                                              .free = std::chrono::microseconds(10)};
  ProcessorTurns turns(2, counters_, short_times);
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      std::mt19937_64 random(seed + i);
      for (int round = 0; round < 60; ++round) {
        const auto how = random() % 3 == 0 ? ProcessorTurns::Begin::IfFree : ProcessorTurns::Begin::Anyhow;
        const ProcessorTurns::Work work(turns, how);
        if (!work.begun()) continue;
        for (int step = 0; step < 50; ++step) {
          if (random() % 16 == 0) {
            ProcessorTurns::pause();
          } else if (random() % 128 == 0) {
            std::this_thread::sleep_for(milliseconds(1));
          } else {
            ProcessorTurns::check();
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(turns.has_free());
}

}  // namespace
}  // namespace hailstone
