#include "query/whole_number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "base/test_seed.h"

namespace hailstone {
namespace {

TEST(WholeNumberTest, CountsAsWideIntegersDo) {
  std::mt19937_64 random(test_seed(5));
  const auto number = [&] { return static_cast<int64_t>(random()) >> random() % 64; };
  for (int round = 0; round < 20'000; ++round) {
    const WideInteger a = number(), b = number(), c = number();
    const unsigned bits = static_cast<unsigned>(random() % 60);
    const auto is = [](const WholeNumber& found, WideInteger right) {
      EXPECT_TRUE((found - WholeNumber(right)).is_zero());
      EXPECT_EQ(found.is_negative(), right < 0);
      EXPECT_EQ(found.rounded(0), static_cast<double>(right));
    };
    is(WholeNumber(a) + WholeNumber(b), a + b);
    is(WholeNumber(a) - WholeNumber(b), a - b);
    is(WholeNumber(a) * WholeNumber(b), a * b);
    is(WholeNumber(a).shifted(bits), a * (WideInteger{1} << bits));
    // The product of three of them is more than the sum of what it is made of.
    const WholeNumber all = WholeNumber(a) * WholeNumber(b) * WholeNumber(c);
    const WholeNumber parts = WholeNumber(a) * WholeNumber(b) * WholeNumber(c - 1) + WholeNumber(a * b);
    EXPECT_TRUE((all - parts).is_zero());
  }
}

TEST(WholeNumberTest, TakesHugeIntegers) {
  std::mt19937_64 random(test_seed(6));
  for (int round = 0; round < 1000; ++round) {
    HugeInteger huge;
    WholeNumber expected;
    for (size_t i = huge.words.size(); i-- > 0;) {
      huge.words[i] = random() % 3 == 0 ? 0 : random();
      const bool first = i + 1 == huge.words.size();
      expected = expected.shifted(64) + WholeNumber(first ? static_cast<int64_t>(huge.words[i])
                                                          : static_cast<WideInteger>(huge.words[i]));
    }
    EXPECT_TRUE((WholeNumber(huge) - expected).is_zero());
  }
}

TEST(WholeNumberTest, RoundsOnce) {
  const WholeNumber one(1);
  EXPECT_EQ((one.shifted(200) + one).rounded(-200), 1);
  EXPECT_EQ((one.shifted(200) + one.shifted(147)).rounded(-200), 1);  // half a unit: to the even one
  EXPECT_EQ((one.shifted(200) + one.shifted(147) + one).rounded(-200), std::nextafter(1.0, 2.0));
  EXPECT_EQ(one.shifted(3000).rounded(-3000), 1);
  EXPECT_EQ(one.shifted(3000).rounded(0), std::numeric_limits<double>::infinity());
  EXPECT_EQ(WholeNumber().rounded(5), 0);
}

}  // namespace
}  // namespace hailstone
