// Queries that begin while memory has what each needs at the least.
#include "base/query_gate.h"

#include <gtest/gtest.h>

#include <future>
#include <random>
#include <thread>
#include <vector>

#include "base/test_seed.h"

namespace hailstone {
namespace {

constexpr size_t mib = size_t{1} << 20;

TEST(PartOfABudgetTest, HasItsFloorWhateverOthersTake) {
  MemoryBudget whole(12 * mib);
  {
    MemoryBudget part(whole, 2 * mib);
    EXPECT_EQ(whole.used(), 2 * mib);
    EXPECT_EQ(part.limit(), 12 * mib);
    whole.reserve(10 * mib);
    EXPECT_TRUE(part.try_reserve(mib));
    EXPECT_TRUE(part.try_reserve(mib));
    EXPECT_FALSE(part.try_reserve(1));
    EXPECT_EQ(whole.used(), 12 * mib);
    whole.release(6 * mib);
    EXPECT_TRUE(part.try_reserve(3 * mib));
    EXPECT_EQ(part.used(), 5 * mib);
    EXPECT_EQ(whole.used(), 9 * mib);
    // A quarter is left to those that cannot go by way of files.
    EXPECT_FALSE(part.try_reserve(1));
    part.reserve(2 * mib);  // what cannot be done without
    EXPECT_EQ(whole.used(), 11 * mib);
    part.release(6 * mib);
    EXPECT_EQ(whole.used(), 6 * mib);
    part.release(mib);
    EXPECT_EQ(whole.used(), 6 * mib);
    whole.release(4 * mib);
  }
  EXPECT_EQ(whole.used(), 0u);
}

TEST(PartOfABudgetTest, PartsOfAPartTakeNothingOfEachOther) {
  MemoryBudget whole(12 * mib);
  {
    MemoryBudget query(whole, 4 * mib);
    MemoryBudget first(query, mib), second(query, 2 * mib);
    EXPECT_EQ(whole.used(), 4 * mib);
    EXPECT_EQ(query.used(), 3 * mib);
    EXPECT_EQ(&first.whole(), &whole);
    whole.reserve(4 * mib);
    EXPECT_TRUE(first.try_reserve(2 * mib));  // its own, and what the whole gives
    EXPECT_EQ(query.used(), 3 * mib);
    EXPECT_EQ(whole.used(), 9 * mib);
    EXPECT_FALSE(first.try_reserve(1));
    EXPECT_EQ(MemoryBudget::try_part(query, 1), nullptr);
    second.reserve(2 * mib);
    EXPECT_EQ(whole.used(), 9 * mib);
    second.release(2 * mib);
    first.release(2 * mib);
    EXPECT_EQ(whole.used(), 8 * mib);
    {
      const auto given = MemoryBudget::try_part(query, mib);
      ASSERT_NE(given, nullptr);
      EXPECT_EQ(query.used(), 3 * mib);
      EXPECT_EQ(whole.used(), 9 * mib);
      Reservation own(std::make_unique<MemoryBudget>(query, mib));
      EXPECT_TRUE(own.try_grow(mib));
      EXPECT_FALSE(own.try_grow(1));
      EXPECT_EQ(query.used(), 4 * mib);
      const Reservation moved(std::move(own));
      EXPECT_EQ(moved.bytes(), mib);
    }
    EXPECT_EQ(query.used(), 3 * mib);
    whole.release(4 * mib);
    EXPECT_EQ(whole.used(), 4 * mib);
  }
  EXPECT_EQ(whole.used(), 0u);
}

TEST(PartOfABudgetTest, CountsExactlyWithManyThreads) {
  const uint64_t seed = test_seed(1);
  MemoryBudget whole(64 * mib);
  {
    MemoryBudget part(whole, mib);
    std::vector<std::thread> threads;
    for (uint64_t i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        std::mt19937_64 random(seed + i);
        std::vector<size_t> held;
        for (int step = 0; step < 20'000; ++step) {
          if (held.size() < 8 && random() % 2 == 0) {
            const size_t bytes = random() % (mib / 4);
            if (random() % 8 == 0) {
              part.reserve(bytes);
            } else if (!part.try_reserve(bytes)) {
              continue;
            }
            held.push_back(bytes);
          } else if (!held.empty()) {
            part.release(held.back());
            held.pop_back();
          }
        }
        for (const size_t bytes : held) part.release(bytes);
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(part.used(), 0u);
    EXPECT_EQ(whole.used(), mib);
  }
  EXPECT_EQ(whole.used(), 0u);
}

class QueryGateTest : public testing::Test {
 protected:
  std::future<Result<std::shared_ptr<MemoryBudget>>> start_waiting(size_t floor,
                                                                   std::atomic<bool>* stop = nullptr) {
    const uint64_t before = counters_.query_waits.load();
    auto result = std::async(std::launch::async, [this, floor, stop] {
      return gate_.enter(floor, [stop] { return stop != nullptr && stop->load(); });
    });
    while (counters_.query_waits.load() == before) std::this_thread::yield();
    return result;
  }
  static bool waits(const std::future<Result<std::shared_ptr<MemoryBudget>>>& result) {
    return result.wait_for(std::chrono::milliseconds(100)) == std::future_status::timeout;
  }
  static bool never() { return false; }

  Counters counters_;
  MemoryBudget budget_{16 * mib};
  QueryGate gate_{budget_, counters_};
};

TEST_F(QueryGateTest, FloorsHaveHalfOfTheBudget) {
  auto first = gate_.enter(4 * mib, never), second = gate_.enter(4 * mib, never);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(budget_.used(), 8 * mib);
  auto third = start_waiting(4 * mib);
  auto fourth = start_waiting(mib);  // which would fit sooner
  EXPECT_TRUE(waits(third));
  EXPECT_EQ(counters_.queries_waiting.load(), 2u);
  first->reset();
  const auto let_in = third.get();
  ASSERT_TRUE(let_in);
  EXPECT_TRUE(waits(fourth));
  second->reset();
  EXPECT_TRUE(fourth.get());
  EXPECT_EQ(counters_.queries_waiting.load(), 0u);
}

TEST_F(QueryGateTest, OneThatNeedsMoreThanThereIsGoesAlone) {
  auto large = gate_.enter(40 * mib, never);
  ASSERT_TRUE(large);
  auto other = start_waiting(mib);
  EXPECT_TRUE(waits(other));
  large->reset();
  EXPECT_TRUE(other.get());
}

TEST_F(QueryGateTest, WhoGivesUpLetsOthersThrough) {
  auto first = gate_.enter(8 * mib, never);
  ASSERT_TRUE(first);
  std::atomic<bool> stop{false};
  auto second = start_waiting(8 * mib, &stop);
  auto third = start_waiting(mib);
  stop.store(true);
  const auto ended = second.get();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code(), ErrorCode::Interrupted);
  EXPECT_TRUE(waits(third));
  first->reset();
  EXPECT_TRUE(third.get());
  EXPECT_EQ(budget_.used(), 0u);
}

TEST_F(QueryGateTest, NobodyWaitsForEver) {
  QueryGate gate(budget_, counters_, std::chrono::milliseconds(20));
  auto first = gate.enter(8 * mib, never);
  ASSERT_TRUE(first);
  EXPECT_TRUE(gate.enter(8 * mib, never));
}

TEST_F(QueryGateTest, AQueryWithinAQueryDoesNotWaitForIt) {
  auto outer = gate_.enter(8 * mib, never);
  ASSERT_TRUE(outer);
  const auto inner = gate_.enter_at_once(8 * mib);
  EXPECT_EQ(budget_.used(), 16 * mib);
}

}  // namespace
}  // namespace hailstone
