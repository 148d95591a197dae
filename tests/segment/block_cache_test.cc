#include "segment/block_cache.h"

#include <thread>

#include "segment_test_support.h"

namespace hailstone {
namespace {

struct Number : BlockCache::Entry {
  Number(uint64_t given, size_t bytes) : value(given), size(bytes) {}
  size_t memory() const override { return size; }
  uint64_t value;
  size_t size;
};

Result<std::shared_ptr<const BlockCache::Entry>> make(uint64_t value, size_t size) {
  return std::make_shared<Number>(value, size);
}

uint64_t value_of(const BlockCache::Entry& entry) { return static_cast<const Number&>(entry).value; }

TEST(BlockCacheTest, StaysWithinTheBudgetAndKeepsWhatIsUsed) {
  MemoryBudget budget(size_t{1} << 20);
  Counters counters;
  {
    BlockCache cache(budget, counters);
    int hot_loads = 0;
    for (uint64_t i = 0; i < 5000; ++i) {
      const auto entry = cache.get({1, i}, [&] { return make(i, 4000); });
      ASSERT_TRUE(entry);
      ASSERT_EQ(value_of(**entry), i);
      ASSERT_LE(budget.used(), budget.limit());
      for (uint64_t hot = 0; hot < 20; ++hot) {
        ASSERT_TRUE(cache.get({2, hot}, [&] {
          ++hot_loads;
          return make(hot, 1000);
        }));
      }
    }
    EXPECT_LE(hot_loads, 1000) << "a scan must not push out what is used all the time";
    EXPECT_GT(budget.used(), budget.limit() / 2);
    cache.erase_file(1);
    cache.erase_file(2);
    EXPECT_EQ(budget.used(), 0U);
    EXPECT_EQ(counters.block_cache_bytes, 0U);
  }
}

TEST(BlockCacheTest, AFailedLoadIsNotKept) {
  MemoryBudget budget(size_t{1} << 20);
  Counters counters;
  BlockCache cache(budget, counters);
  const auto failed = cache.get(
      {1, 1}, []() -> Result<std::shared_ptr<const BlockCache::Entry>> { return fail(ErrorCode::Io, "no"); });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), ErrorCode::Io);
  EXPECT_EQ(value_of(**cache.get({1, 1}, [] { return make(3, 10); })), 3U);
}

TEST(BlockCacheTest, AnEntryIsReplacedWhereThereIsRoom) {
  MemoryBudget budget(size_t{1} << 20);
  Counters counters;
  BlockCache cache(budget, counters);
  const auto larger = std::make_shared<Number>(7, 50000);
  EXPECT_FALSE(cache.replace({1, 1}, larger)) << "it is not cached";
  EXPECT_EQ(budget.used(), 0U);
  const auto pinned = *cache.get({1, 1}, [] { return make(3, 1000); });
  EXPECT_FALSE(cache.replace({1, 1}, std::make_shared<Number>(8, size_t{1} << 20))) << "it is too large";
  EXPECT_EQ(value_of(**cache.get({1, 1}, [] { return make(0, 10); })), 3U);
  EXPECT_TRUE(cache.replace({1, 1}, larger));
  EXPECT_EQ(counters.block_cache_unpacked, 1U);
  EXPECT_EQ(value_of(*pinned), 3U);
  EXPECT_EQ(value_of(**cache.get({1, 1}, [] { return make(0, 10); })), 7U);
  EXPECT_GE(budget.used(), 51000U) << "the old entry counts while it is in use";
  EXPECT_LT(counters.block_cache_bytes, 51000U);
  EXPECT_GT(cache.evict(SIZE_MAX), 50000U);
  EXPECT_EQ(counters.block_cache_bytes, 0U);
}

TEST(BlockCacheConcurrentTest, ManyThreadsReadAndEvict) {
  const uint64_t seed = test_seed();
  MemoryBudget budget(size_t{200} << 10);
  Counters counters;
  BlockCache cache(budget, counters);
  std::vector<std::thread> threads;
  std::atomic<uint64_t> wrong{0};
  for (uint64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      std::mt19937_64 random(seed + thread);
      for (int i = 0; i < 20000; ++i) {
        const uint64_t number = random() % 500;
        const auto entry = cache.get({number % 3, number}, [&] { return make(number, 1000); });
        if (!entry || value_of(**entry) != number) ++wrong;
        if (i % 50 == 0) cache.replace({number % 3, number}, *make(number, 1500));
        if (i % 1000 == 0) cache.erase_file(number % 3);
        if (i % 700 == 0) cache.evict(50000);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0U);
  for (uint64_t file = 0; file < 3; ++file) cache.erase_file(file);
  EXPECT_EQ(budget.used(), 0U);
  EXPECT_EQ(counters.block_cache_bytes, 0U);
}

}  // namespace
}  // namespace hailstone
