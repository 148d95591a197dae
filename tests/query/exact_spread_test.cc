#include "query/exact_spread.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "base/test_seed.h"

namespace hailstone {
namespace {

template <typename Number>
double spread_of(const std::vector<Number>& numbers) {
  ExactSpreads spreads;
  spreads.push_back(std::is_same_v<Number, double>);
  for (const Number number : numbers) spreads.add(0, number);
  return spreads.result(0, numbers.size());
}

/// In three parts that are put together, in another order.
template <typename Number>
double spread_of_parts(const std::vector<Number>& numbers) {
  std::array<ExactSpreads, 3> parts;
  for (ExactSpreads& part : parts) part.push_back(std::is_same_v<Number, double>);
  for (size_t i = numbers.size(); i-- > 0;) parts[i * i % 3].add(0, numbers[i]);
  for (size_t i = 0; i < 2; ++i) {
    std::string bytes;
    parts[i].append_to(bytes, 0);
    ByteReader reader(bytes);
    EXPECT_TRUE(parts[2].add_from(reader, 0));
    EXPECT_TRUE(reader.empty());
  }
  return parts[2].result(0, numbers.size());
}

/// As the differences say it.
template <typename Number>
long double plain_spread(const std::vector<Number>& numbers) {
  long double sum = 0, spread = 0;
  for (const Number number : numbers) sum += static_cast<long double>(number);
  const long double mean = sum / static_cast<long double>(numbers.size());
  for (const Number number : numbers) {
    const long double difference = static_cast<long double>(number) - mean;
    spread += difference * difference;
  }
  return spread;
}

TEST(ExactSpreadsTest, IsExactWhereNumbersAreAlike) {
  EXPECT_EQ(spread_of<double>({0.1}), 0);
  EXPECT_EQ(spread_of(std::vector<double>(1000, 0.1)), 0);
  EXPECT_EQ(spread_of(std::vector<double>(777, -1.7e308)), 0);
  EXPECT_EQ(spread_of<double>({0.0, -0.0}), 0);
  EXPECT_EQ(spread_of<double>({1, 3}), 2);
  EXPECT_EQ(spread_of<double>({1e15 + 1, 1e15 + 3}), 2);
  EXPECT_EQ(spread_of<double>({1e200, std::nextafter(1e200, 2e200), 1e200}),
            std::numeric_limits<double>::infinity());
  EXPECT_EQ(spread_of<double>({1e-200, 2e-200}), 0);  // less than the least number
  EXPECT_EQ(spread_of<WideInteger>({WideInteger{1} << 90, (WideInteger{1} << 90) + 2}), 2);
  EXPECT_EQ(spread_of<WideInteger>({-(WideInteger{1} << 93), WideInteger{1} << 93}), std::ldexp(1.0, 187));
  EXPECT_TRUE(std::isnan(spread_of<double>({std::numeric_limits<double>::infinity(), 1})));
}

TEST(ExactSpreadsTest, IsTheSameInAnyOrder) {
  std::mt19937_64 random(test_seed(12));
  for (const int range : {0, 10, 40, 200, 480}) {
    for (int round = 0; round < 30; ++round) {
      std::uniform_int_distribution<int> exponent(-range, range);
      std::uniform_real_distribution<double> mantissa(-1, 1);
      std::vector<double> reals;
      std::vector<WideInteger> wholes;
      for (int i = 0; i < 100; ++i) {
        reals.push_back(std::ldexp(mantissa(random), exponent(random)));
        wholes.push_back(static_cast<WideInteger>(static_cast<int64_t>(random())) >> random() % 64);
      }
      EXPECT_EQ(spread_of_parts(reals), spread_of(reals));
      EXPECT_EQ(spread_of_parts(wholes), spread_of(wholes));
      EXPECT_NEAR(spread_of(reals) / static_cast<double>(plain_spread(reals)), 1, 1e-12);
      EXPECT_NEAR(spread_of(wholes) / static_cast<double>(plain_spread(wholes)), 1, 1e-12);
    }
  }
}

}  // namespace
}  // namespace hailstone
