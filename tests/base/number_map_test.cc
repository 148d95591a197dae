#include "base/number_map.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <unordered_map>

#include "base/failing_allocations.h"
#include "base/test_seed.h"

namespace hailstone {
namespace {

/// Few numbers, so that erasures and insertions meet; some that share their lower or their upper bits.
uint64_t random_key(std::mt19937_64& random) {
  const uint64_t number = random() % 600;
  switch (random() % 3) {
    case 0:
      return number;
    case 1:
      return number << 40;
    default:
      return ~number;
  }
}

void expect_same(const NumberMap<std::shared_ptr<int>>& map, const std::unordered_map<uint64_t, int>& model) {
  ASSERT_EQ(map.size(), model.size());
  size_t visited = 0;
  map.for_each([&](uint64_t key, const std::shared_ptr<int>& value) {
    ++visited;
    const auto expected = model.find(key);
    ASSERT_NE(expected, model.end());
    ASSERT_EQ(*value, expected->second);
  });
  ASSERT_EQ(visited, model.size());
  for (const auto& [key, value] : model) {
    const auto* const found = map.find(key);
    ASSERT_NE(found, nullptr) << key;
    ASSERT_EQ(**found, value);
  }
}

TEST(NumberMapTest, DoesWhatAMapDoes) {
  std::mt19937_64 random(test_seed(5));
  NumberMap<std::shared_ptr<int>> map;
  std::unordered_map<uint64_t, int> model;
  EXPECT_EQ(map.find(1), nullptr);
  EXPECT_FALSE(map.erase(1));
  for (int step = 0; step < 200'000; ++step) {
    const uint64_t key = random_key(random);
    // Now it grows, now it shrinks.
    if (random() % 100 < (step / 20'000 % 2 == 0 ? 70U : 30U)) {
      const auto [value, added] = map.emplace(key, std::make_shared<int>(step));
      ASSERT_EQ(added, model.emplace(key, step).second);
      ASSERT_EQ(**value, model.at(key));
    } else {
      ASSERT_EQ(map.erase(key), model.erase(key) == 1);
    }
    if (step % 5000 == 0) {
      ASSERT_NO_FATAL_FAILURE(expect_same(map, model));
    }
  }
  expect_same(map, model);
}

TEST(NumberMapTest, HoldsVeryMany) {
  NumberMap<uint32_t> map;
  constexpr uint32_t keys = 300'000;  // in pages of the map's own
  for (uint32_t i = 0; i < keys; ++i) map[uint64_t{i} * 8] = i;
  for (uint32_t i = 0; i < keys; i += 3) ASSERT_TRUE(map.erase(uint64_t{i} * 8));
  for (uint32_t i = 0; i < keys; ++i) {
    const uint32_t* const found = map.find(uint64_t{i} * 8);
    ASSERT_EQ(found != nullptr, i % 3 != 0) << i;
    if (found != nullptr) {
      ASSERT_EQ(*found, i);
    }
  }
}

TEST(NumberMapTest, ErasureLetsTheValueGo) {
  NumberMap<std::shared_ptr<int>> map;
  const auto value = std::make_shared<int>(1);
  map[7] = value;
  EXPECT_EQ(value.use_count(), 2);
  map.erase(7);
  EXPECT_EQ(value.use_count(), 1);
  map[8] = value;
  map.clear();
  EXPECT_EQ(value.use_count(), 1);
  EXPECT_TRUE(map.empty());
}

TEST(NumberMapTest, AnInsertionWithoutMemoryChangesNothing) {
  if (!FailingAllocations::possible()) GTEST_SKIP() << "this build has an operator new of its own";
  std::mt19937_64 random(test_seed(6));
  NumberMap<std::shared_ptr<int>> map;
  std::unordered_map<uint64_t, int> model;
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    const uint64_t key = random();
    auto value = std::make_shared<int>(i);
    FailingAllocations::arm(0, 1);
    const bool inserted = FailingAllocations::call([&] {
      try {
        map.emplace(key, std::move(value));
        return true;
      } catch (const std::bad_alloc&) {
        return false;
      }
    });
    FailingAllocations::disarm();
    if (inserted) {
      model.emplace(key, i);
      continue;
    }
    ++refused;
    ASSERT_NE(value, nullptr) << "the value was taken";
    ASSERT_NO_FATAL_FAILURE(expect_same(map, model));
    map.emplace(key, std::move(value));
    model.emplace(key, i);
  }
  EXPECT_GT(refused, 5);
  expect_same(map, model);
}

TEST(NumberMapTest, ReservedInsertionsAndErasuresNeedNoMemory) {
  NumberMap<int> map;
  map.reserve(1000);
  FailingAllocations::arm(0, 1'000'000);
  FailingAllocations::call([&] {
    for (uint64_t key = 0; key < 1000; ++key) map.emplace(key * key, 1);
    for (uint64_t key = 0; key < 1000; key += 2) map.erase(key * key);
  });
  EXPECT_EQ(FailingAllocations::disarm(), 0U);
  EXPECT_EQ(map.size(), 500U);
}

}  // namespace
}  // namespace hailstone
