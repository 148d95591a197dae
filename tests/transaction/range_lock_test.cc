#include <gtest/gtest.h>

#include <random>
#include <set>

#include "base/test_seed.h"
#include "transaction/transaction_fixture.h"

namespace hailstone {
namespace {

constexpr TableId table = 7;
constexpr uint32_t clustered = LockManager::clustered_order;

class RangeLockTest : public TransactionFixture {};

TEST_F(RangeLockTest, RangesHoldFromTheLowKeyToBelowTheHighOne) {
  const auto a = begin();
  const auto b = begin();
  EXPECT_EQ(locks_.range_locked_by_other(*b, table, clustered, "c"), 0U);
  ASSERT_TRUE(locks_.lock_range(*a, table, clustered, "b", "d"));
  EXPECT_EQ(locks_.range_locked_by_other(*b, table, clustered, "a"), 0U);
  EXPECT_EQ(locks_.range_locked_by_other(*b, table, clustered, "b"), a->id());
  EXPECT_EQ(locks_.range_locked_by_other(*b, table, clustered, "cz"), a->id());
  EXPECT_EQ(locks_.range_locked_by_other(*b, table, clustered, "d"), 0U);
  EXPECT_EQ(locks_.range_locked_by_other(*a, table, clustered, "c"), 0U);
  EXPECT_EQ(locks_.range_locked_by_other(*b, table, 0, "c"), 0U);
  EXPECT_EQ(locks_.range_locked_by_other(*b, table + 1024, clustered, "c"), 0U);
  EXPECT_EQ(locks_.any_range_locked_by_other(*b, table), a->id());
  EXPECT_EQ(locks_.any_range_locked_by_other(*a, table), 0U);
  ASSERT_TRUE(locks_.lock_range(*a, table, 0, "x", {}));
  EXPECT_EQ(locks_.range_locked_by_other(*b, table, 0, "zzz"), a->id());
  manager_->rollback(*a);
  EXPECT_EQ(locks_.range_locked_by_other(*b, table, clustered, "c"), 0U);
  EXPECT_EQ(locks_.any_range_locked_by_other(*b, table), 0U);
}

TEST_F(RangeLockTest, AnyUnionOfRangesIsHeld) {
  std::mt19937_64 random(test_seed(4711));
  for (int round = 0; round < 50; ++round) {
    const auto a = begin();
    const auto b = begin();
    std::set<int> held;
    for (int step = 0; step < 12; ++step) {
      const int low = static_cast<int>(random() % 100);
      const int high = random() % 8 == 0 ? 100 : low + static_cast<int>(random() % 20);
      const auto key = [](int number) { return std::string(1, static_cast<char>('0' + number)); };
      ASSERT_TRUE(locks_.lock_range(*a, table, clustered, key(low), high >= 100 ? std::string() : key(high)));
      for (int i = low; i < std::min(high, 100); ++i) held.insert(i);
      for (int i = 0; i < 100; ++i) {
        const bool locked = locks_.range_locked_by_other(*b, table, clustered, key(i)) != 0;
        ASSERT_EQ(locked, held.contains(i)) << i << " after [" << low << ", " << high << ")";
      }
    }
  }
}

}  // namespace
}  // namespace hailstone
