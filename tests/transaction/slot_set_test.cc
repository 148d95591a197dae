#include "transaction/slot_set.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "base/test_seed.h"

namespace hailstone::locking {
namespace {

TEST(SlotSetTest, HoldsWhatASetHolds) {
  const uint64_t seed = test_seed(1);
  std::mt19937_64 random(seed);
  for (const uint64_t range : {uint64_t{3}, uint64_t{2000}, uint64_t{100'000}, uint64_t{1} << 40}) {
    SCOPED_TRACE(range);
    const uint64_t first = random() >> 4;
    SlotSet slots;
    std::set<uint64_t> expected;
    for (int i = 0; i < 20'000; ++i) {
      const uint64_t number = first + random() % range;
      switch (random() % 4) {
        case 0:
          ASSERT_EQ(slots.erase(number), expected.erase(number) > 0);
          break;
        case 1:
          ASSERT_EQ(slots.contains(number), expected.contains(number));
          break;
        default:
          ASSERT_EQ(slots.insert(number), expected.insert(number).second);
      }
      ASSERT_EQ(slots.size(), expected.size());
    }
    std::set<uint64_t> met;
    slots.for_each([&](uint64_t number) { EXPECT_TRUE(met.insert(number).second); });
    EXPECT_EQ(met, expected);
  }
}

TEST(SlotSetTest, TakesLittle) {
  constexpr uint64_t million = 1'000'000;
  SlotSet in_a_row, of_addresses, scattered;
  for (uint64_t i = 0; i < million; ++i) in_a_row.insert(i);
  for (uint64_t i = 0; i < million; ++i) of_addresses.insert(0x7f00'0000'0000 + i * 104);
  std::mt19937_64 random(1);
  while (scattered.size() < million) scattered.insert(random() % (100 * million));
  EXPECT_LT(in_a_row.bytes(), 200'000u);
  EXPECT_LT(of_addresses.bytes(), 8 * million);
  EXPECT_LT(scattered.bytes(), 4 * million);
}

}  // namespace
}  // namespace hailstone::locking
