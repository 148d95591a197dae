#include "base/mutex.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

namespace hailstone {
namespace {

template <typename AnyMutex>
bool is_free(AnyMutex& mutex) {
  bool free = false;
  std::thread([&] {
    free = mutex.try_lock();
    if (free) mutex.unlock();
  }).join();
  return free;
}

TEST(MutexTest, IsHeldByScopes) {
  Mutex mutex;
  {
    const MutexLock lock(mutex);
    EXPECT_FALSE(is_free(mutex));
    {
      const MutexUnlock unlocked(mutex);
      EXPECT_TRUE(is_free(mutex));
    }
    EXPECT_FALSE(is_free(mutex));
  }
  EXPECT_TRUE(is_free(mutex));
}

TEST(MutexTest, IsHeldAgainWhenAnExceptionLeavesTheScopeThatGaveItUp) {
  Mutex mutex;
  const MutexLock lock(mutex);
  try {
    const MutexUnlock unlocked(mutex);
    throw std::runtime_error("");
  } catch (const std::runtime_error&) {
    EXPECT_FALSE(is_free(mutex));
  }
}

TEST(MutexTest, IsTakenOverFromTryLock) {
  Mutex mutex;
  {
    ASSERT_TRUE(mutex.try_lock());
    const MutexLock lock(mutex, std::adopt_lock);
    EXPECT_FALSE(is_free(mutex));
  }
  EXPECT_TRUE(is_free(mutex));
}

TEST(SharedMutexTest, IsSharedByReadersOnly) {
  SharedMutex mutex;
  {
    const SharedLock reader(mutex);
    std::thread([&] { const SharedLock other(mutex); }).join();
    EXPECT_FALSE(is_free(mutex));
  }
  EXPECT_TRUE(is_free(mutex));
  const ExclusiveLock writer(mutex);
  EXPECT_FALSE(is_free(mutex));
}

TEST(ConditionConcurrentTest, WaitsUntilToldAndHoldsTheMutexBehindIt) {
  Mutex mutex;
  Condition changed;
  int turns = 0;
  std::thread other([&] {
    for (int i = 0; i < 100; ++i) {
      const MutexLock lock(mutex);
      while (turns % 2 == 0) changed.wait(mutex);
      ++turns;
      changed.notify_all();
    }
  });
  {
    const MutexLock lock(mutex);
    for (int i = 0; i < 100; ++i) {
      while (turns % 2 != 0) changed.wait(mutex);
      ++turns;
      changed.notify_all();
    }
    while (turns != 200) changed.wait(mutex);
    EXPECT_FALSE(is_free(mutex));
  }
  other.join();
  EXPECT_TRUE(is_free(mutex));
}

TEST(ConditionTest, TellsThatTheTimeHasPassed) {
  Mutex mutex;
  Condition changed;
  const MutexLock lock(mutex);
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
  while (changed.wait_until(mutex, end)) {
  }
  EXPECT_GE(std::chrono::steady_clock::now(), end);
  EXPECT_FALSE(is_free(mutex));
}

}  // namespace
}  // namespace hailstone
