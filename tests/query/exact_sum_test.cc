#include "query/exact_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "base/test_seed.h"
#include "query/exact_sum_check.h"

namespace hailstone {
namespace {

double sum_of(const std::vector<double>& numbers) {
  ExactSums sums;
  sums.push_back();
  for (const double number : numbers) sums.add(0, number);
  return sums.result(0);
}

/// In three parts that are put together.
double sum_of_parts(const std::vector<double>& numbers) {
  std::array<ExactSums, 3> parts;
  for (ExactSums& part : parts) part.push_back();
  for (size_t i = 0; i < numbers.size(); ++i) parts[i * i % 3].add(0, numbers[i]);
  for (size_t i = 0; i < 2; ++i) {
    std::string bytes;
    parts[i].append_to(bytes, 0);
    ByteReader reader(bytes);
    EXPECT_TRUE(parts[2].add_from(reader, 0));
    EXPECT_TRUE(reader.empty());
    for (size_t size = 0; size < bytes.size(); ++size) {
      ByteReader cut(ByteView(bytes).substr(0, size));
      ExactSums none;
      none.push_back();
      EXPECT_FALSE(none.add_from(cut, 0));
    }
  }
  return parts[2].result(0);
}

TEST(ExactSumsTest, RoundsOnce) {
  constexpr double most = std::numeric_limits<double>::max(),
                   least = std::numeric_limits<double>::denorm_min();
  EXPECT_EQ(sum_of({}), 0);
  EXPECT_EQ(sum_of({0.0, -0.0}), 0);
  EXPECT_EQ(sum_of({1e16, 1, -1e16, 1}), 2);
  EXPECT_EQ(sum_of({most, most, -most, -most, 1e-300}), 1e-300);
  EXPECT_EQ(sum_of({least, most, -most}), least);
  EXPECT_EQ(sum_of({most, most}), std::numeric_limits<double>::infinity());
  // Half a unit in the last place goes to the even number, anything more up.
  const double one = 1, half_unit = std::ldexp(1, -53);
  EXPECT_EQ(sum_of({one, half_unit}), one);
  EXPECT_EQ(sum_of({one, half_unit, 1e-300}), std::nextafter(one, 2));
  EXPECT_EQ(sum_of({-one, -half_unit, -1e-300}), -std::nextafter(one, 2));
  EXPECT_EQ(sum_of({one, half_unit, -1e-300}), one);
  EXPECT_TRUE(std::isnan(
      sum_of({std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()})));
}

TEST(ExactSumsTest, IsTheSameInAnyOrder) {
  std::mt19937_64 random(test_seed(11));
  for (const int range : {0, 10, 40, 200, 1000}) {
    for (int round = 0; round < 50; ++round) {
      std::vector<double> numbers;
      std::uniform_int_distribution<int> exponent(-range, range);
      std::uniform_real_distribution<double> mantissa(-1, 1);
      for (int i = 0; i < 200; ++i) numbers.push_back(std::ldexp(mantissa(random), exponent(random)));
      const double first = sum_of(numbers);
      // What is taken away again leaves the rest as it was.
      std::vector<double> more = numbers;
      for (int i = 0; i < 100; ++i) {
        const double number = std::ldexp(mantissa(random), exponent(random));
        more.push_back(number);
        more.push_back(-number);
      }
      std::ranges::shuffle(more, random);
      EXPECT_EQ(sum_of(more), first) << "range " << range;
      EXPECT_EQ(sum_of_parts(more), first) << "range " << range;
      if (range == 0) {
        long double plain = 0;
        for (const double number : numbers) plain += number;
        EXPECT_NEAR(first, static_cast<double>(plain), 1e-12);
      }
    }
  }
}

/// Operations with numbers that are often near each other, or near the ends of what there is.
std::string random_operations(std::mt19937_64& random) {
  std::string operations;
  const auto below = [&](uint64_t limit) { return random() % limit; };
  for (uint64_t i = 1 + below(60); i > 0; --i) {
    const auto operation = static_cast<char>(below(4) + 4 * below(64));
    operations.push_back(operation);
    operations.push_back(static_cast<char>(below(16)));
    std::string bytes;
    switch (below(6)) {
      case 0:
        append_number(bytes, random());
        append_number(bytes, random());
        break;
      case 1:
        append_number(bytes, std::ldexp(static_cast<double>(random()), static_cast<int>(below(2200)) - 1200));
        append_number(bytes, static_cast<int16_t>(random()));
        break;
      case 2: {
        const std::array<double, 5> ends{
            std::numeric_limits<double>::max(), -std::numeric_limits<double>::max(),
            std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::infinity(), -0.0};
        append_number(bytes, ends[below(below(4) == 0 ? 5 : 3)]);
        break;
      }
      case 3:  // a narrow sum
        bytes = "\1";
        append_number(bytes, below(2) == 0 ? std::numeric_limits<WideInteger>::min() : WideInteger(random()));
        append_number(bytes, static_cast<int32_t>(below(4400)) - 2200);
        break;
      case 4:  // a wide one
        bytes = "\2";
        for (int digit = 0; digit < 134; ++digit)
          append_number(bytes, static_cast<int64_t>(below(uint64_t{1} << 32)));
        append_number(bytes, 0.0);
        operations[operations.size() - 2] = static_cast<char>(3 + 4 * 63);
        break;
      default:
        for (uint64_t more = below(20); more > 0; --more) bytes.push_back(static_cast<char>(random()));
    }
    operations += bytes;
  }
  return operations;
}

TEST(ExactSumsTest, TakesAnyBytesAndStaysExact) {
  std::mt19937_64 random(test_seed(12));
  for (int round = 0; round < 500; ++round) {
    const std::string operations = random_operations(random);
    const char* const wrong = ExactSumCheck().run(operations);
    ASSERT_EQ(wrong, nullptr) << "round " << round;
  }
}

TEST(ExactSumsTest, RoundsLeastNumbersOnce) {
  // 2^-1074 and a half of it less a little: 53 bits of the sum are a whole half.
  const WholeNumber number = WholeNumber(WideInteger{3}).shifted(60) - WholeNumber(WideInteger{1});
  EXPECT_EQ(number.rounded(-1074 - 61), std::ldexp(1, -1074));
  EXPECT_EQ((number + WholeNumber(WideInteger{1})).rounded(-1074 - 61), std::ldexp(2, -1074));
  EXPECT_EQ(WholeNumber(WideInteger{1}).rounded(-1075), 0);
  EXPECT_EQ(WholeNumber(WideInteger{-3}).rounded(-1076), -std::ldexp(1, -1074));
  EXPECT_EQ(WholeNumber(WideInteger{1}).rounded(-1300), 0);
}

}  // namespace
}  // namespace hailstone
