#include "schema/ordered_wide.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace hailstone {
namespace {

TEST(OrderedWideTest, BytesAreInTheOrderOfTheNumbers) {
  constexpr WideInteger word = WideInteger{1} << 64, sign = WideInteger{1} << 126;
  const std::vector<WideInteger> numbers{-sign - sign, -sign, -word - 1, -word, -word + 1,      -1, 0, 1,
                                         word - 1,     word,  word + 1,  sign,  sign - 1 + sign};
  std::string before;
  for (const WideInteger number : numbers) {
    std::string bytes(sizeof number, '\0');
    order_wide(number, bytes.data());
    EXPECT_LT(before, bytes);
    EXPECT_TRUE(native_wide(bytes) == number);
    before = bytes;
  }
}

TEST(OrderedWideTest, SoAreThoseOfHugeNumbers) {
  constexpr uint64_t all = ~uint64_t{0}, sign = uint64_t{1} << 63;
  const std::vector<std::array<uint64_t, 4>> numbers{
      {0, 0, 0, sign}, {all, all, all, all - 1}, {0, 0, 0, all}, {all, all, all, all},     {0, 0, 0, 0},
      {1, 0, 0, 0},    {all, 0, 0, 0},           {0, 1, 0, 0},   {all, all, all, sign - 1}};
  std::string before;
  for (const auto& words : numbers) {
    HugeInteger number;
    number.words = words;
    std::string bytes(sizeof number, '\0');
    order_huge(number, bytes.data());
    EXPECT_LT(before, bytes);
    EXPECT_EQ(native_huge(bytes).words, words);
    before = bytes;
  }
}

}  // namespace
}  // namespace hailstone
