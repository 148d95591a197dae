#include "base/check.h"

#include <gtest/gtest.h>

#include <cstdio>

namespace hailstone {
namespace {

TEST(CheckTest, AConditionThatHoldsCostsNothingElse) {
  int evaluated = 0;
  HAILSTONE_CHECK(++evaluated == 1);
  HAILSTONE_CHECK(++evaluated == 2, "{}", ++evaluated);
  EXPECT_EQ(evaluated, 2);
}

TEST(CheckDeathTest, ABrokenInvariantIsToldAndEndsTheProcess) {
  const int rows = 3;
  EXPECT_DEATH(HAILSTONE_CHECK(rows == 4, "{} rows in {}", rows, "t"),
               "check_test.cc:[0-9]+: .*rows == 4: 3 rows in t; the process ends");
  EXPECT_DEATH(HAILSTONE_CHECK(rows == 4), "rows == 4; the process ends");
  EXPECT_DEATH(HAILSTONE_CHECK(rows == 4, "{}", std::string(5000, 'x')), "rows == 4: xxx");
}

TEST(CheckDeathTest, HandlersAreToldUntilTheyAreRemoved) {
  const auto tell = [](void* context, const char* message) {
    std::fprintf(stderr, "%s was told: %s\n", static_cast<const char*>(context), message);
  };
  static char first[] = "first", second[] = "second";
  add_check_handler(tell, first);
  add_check_handler(tell, second);
  EXPECT_DEATH(HAILSTONE_CHECK(false), "first was told: .*false.*\n.*second was told: .*false");
  remove_check_handler(first);
  EXPECT_DEATH(HAILSTONE_CHECK(false), "^second was told: .*false");
  remove_check_handler(second);
}

}  // namespace
}  // namespace hailstone
