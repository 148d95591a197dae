#include "base/wide_integer.h"

#include <gtest/gtest.h>

#include <random>

#include "base/test_seed.h"

namespace hailstone {
namespace {

constexpr HugeInteger zero;
constexpr HugeInteger one = HugeInteger::of(1);

/// Numbers of up to `bits` bits with either sign, of which many have words of zeros or ones.
class HugeNumbers {
 public:
  HugeInteger next(unsigned bits) {
    HugeInteger number;
    const unsigned used = 1 + static_cast<unsigned>(random_() % bits);
    for (unsigned bit = 0; bit < used; bit += 64) {
      uint64_t word = random_();
      if (random_() % 4 == 0) word = random_() % 2 == 0 ? 0 : ~uint64_t{0};
      if (used - bit < 64) word &= (uint64_t{1} << (used - bit)) - 1;
      number.words[bit / 64] = word;
    }
    return random_() % 2 == 0 ? number : -number;
  }

 private:
  std::mt19937_64 random_{test_seed(1)};
};

HugeInteger magnitude(const HugeInteger& number) { return number.is_negative() ? -number : number; }

TEST(WideIntegerTest, KnowsHowManyBitsANumberHas) {
  EXPECT_TRUE(HugeInteger::of(INT64_MIN).has_64_bits());
  EXPECT_FALSE((HugeInteger::of(INT64_MAX) + one).has_64_bits());
  EXPECT_EQ(HugeInteger::of(-5).narrow(), -5);
  const WideInteger least = static_cast<WideInteger>(1) << 127;
  EXPECT_TRUE(HugeInteger::of(least).has_128_bits());
  EXPECT_TRUE(HugeInteger::of(least).wide() == least);
  EXPECT_FALSE((HugeInteger::of(least) - one).has_128_bits());
}

TEST(WideIntegerTest, CalculatesAsNumbersOf128BitsDo) {
  HugeNumbers numbers;
  for (int i = 0; i < 20'000; ++i) {
    const WideInteger a = numbers.next(62).wide(), b = numbers.next(62).wide();
    const HugeInteger x = HugeInteger::of(a), y = HugeInteger::of(b);
    ASSERT_TRUE((x + y).wide() == a + b);
    ASSERT_TRUE((x - y).wide() == a - b);
    ASSERT_TRUE((x * y).wide() == a * b);
    ASSERT_EQ(x < y, a < b);
    if (b == 0) continue;
    ASSERT_TRUE(divide(x, y).quotient.wide() == a / b);
    ASSERT_TRUE(divide(x, y).remainder.wide() == a % b);
  }
}

TEST(WideIntegerTest, DividesWhatItHasMultiplied) {
  HugeNumbers numbers;
  for (unsigned i = 0; i < 50'000; ++i) {
    const HugeInteger dividend = numbers.next(255), divisor = numbers.next(1 + i % 255);
    if (divisor == zero) continue;
    const HugeQuotient result = divide(dividend, divisor);
    ASSERT_EQ(result.quotient * divisor + result.remainder, dividend) << "number " << i;
    ASSERT_LT(magnitude(result.remainder), magnitude(divisor)) << "number " << i;
    if (result.remainder != zero) {
      ASSERT_EQ(result.remainder.is_negative(), dividend.is_negative());
    }
  }
}

TEST(WideIntegerTest, RoundsHalfAwayFromZero) {
  const auto rounded = [](int64_t number, int64_t by) {
    return divide_rounded(HugeInteger::of(number), HugeInteger::of(by)).narrow();
  };
  EXPECT_EQ(rounded(149, 100), 1);
  EXPECT_EQ(rounded(150, 100), 2);
  EXPECT_EQ(rounded(-149, 100), -1);
  EXPECT_EQ(rounded(-150, 100), -2);
  EXPECT_EQ(rounded(1, 3), 0);
  EXPECT_EQ(rounded(2, 3), 1);
}

TEST(WideIntegerTest, HasPowersOfTen) {
  HugeInteger power = one;
  for (unsigned exponent = 0; exponent <= 76; ++exponent, power = power * HugeInteger::of(10))
    ASSERT_EQ(power_of_ten(exponent), power);
  EXPECT_FALSE(power_of_ten(76).is_negative());
}

}  // namespace
}  // namespace hailstone
