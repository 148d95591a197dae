#include "segment/distinct_sketch.h"

#include <gtest/gtest.h>

#include <random>

#include "base/test_seed.h"

namespace hailstone {
namespace {

std::string stored(const DistinctSketch& sketch) {
  std::string bytes;
  sketch.append_stored(bytes);
  return bytes;
}

void add_numbers(DistinctSketch& sketch, uint64_t first, uint64_t last) {
  for (uint64_t number = first; number < last; ++number) sketch.add(DistinctSketch::mix(number));
}

TEST(DistinctSketchTest, FewValuesAreCountedExactly) {
  DistinctSketch sketch;
  EXPECT_EQ(sketch.estimate(), 0U);
  for (uint64_t count = 1; count <= DistinctSketch::most_hashes; ++count) {
    add_numbers(sketch, 0, count);
    ASSERT_EQ(sketch.estimate(), count);
  }
}

TEST(DistinctSketchTest, ManyValuesAreEstimated) {
  for (const uint64_t count : {129U, 200U, 1000U, 3000U, 10'000U, 1'000'000U}) {
    DistinctSketch sketch;
    add_numbers(sketch, 7, 7 + count);
    add_numbers(sketch, 7, 7 + count / 2);
    // Three standard errors.
    EXPECT_NEAR(static_cast<double>(sketch.estimate()), static_cast<double>(count),
                static_cast<double>(count) * 0.1);
  }
}

TEST(DistinctSketchTest, MergingIsAddingAllValuesToOne) {
  std::mt19937_64 random(test_seed(11));
  for (int round = 0; round < 200; ++round) {
    DistinctSketch all, merged;
    for (int part = 0; part < 4; ++part) {
      DistinctSketch each;
      const uint64_t first = random() % 100;
      const uint64_t last = first + (random() % 2 == 0 ? random() % 60 : random() % 5000);
      add_numbers(each, first, last);
      add_numbers(all, first, last);
      const std::string bytes = stored(each);
      EXPECT_LE(bytes.size(), 1028U);
      ByteReader reader(bytes);
      ByteView taken;
      ASSERT_TRUE(DistinctSketch::take_stored(reader, taken));
      EXPECT_TRUE(reader.empty());
      EXPECT_EQ(taken, bytes);
      merged.merge(taken);
    }
    EXPECT_EQ(merged.estimate(), all.estimate());
    EXPECT_TRUE(stored(merged) == stored(all));
  }
}

TEST(DistinctSketchTest, DamagedFormsAreRefused) {
  DistinctSketch few, many;
  add_numbers(few, 0, 10);
  add_numbers(many, 0, 1000);
  const auto refused = [](const std::string& bytes) {
    ByteReader reader(bytes);
    ByteView taken;
    return !DistinctSketch::take_stored(reader, taken);
  };
  for (const std::string& right : {stored(few), stored(many)}) {
    EXPECT_FALSE(refused(right));
    EXPECT_TRUE(refused(right.substr(0, right.size() - 1)));
  }
  std::string wrong = stored(many);
  wrong[2] = static_cast<char>(56);  // of the varint 129 there are two bytes
  EXPECT_TRUE(refused(wrong));
  wrong = stored(few);
  std::swap_ranges(wrong.begin() + 1, wrong.begin() + 9, wrong.begin() + 9);
  EXPECT_TRUE(refused(wrong)) << "the order of hashes";
  EXPECT_TRUE(refused(std::string("\x82\x01", 2) + std::string(2000, '\0'))) << "a count of 130";
}

}  // namespace
}  // namespace hailstone
