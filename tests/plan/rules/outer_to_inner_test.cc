#include "plan/rules/rule_test.h"

namespace hailstone::plan {
namespace {

std::string filtered(const std::string& condition, const std::string& kind) {
  return "filter " + condition + "\n  " + kind +
         " join a#1 = b#2\n    scan t (a#1 int8)\n    scan u (b#2 int8, c#3 int8)\n";
}
void expect_inner(const std::string& condition) {
  expect_change(make_outer_inner, filtered(condition, "left"), filtered(condition, "inner"));
}
void expect_left(const std::string& condition) { expect_same(make_outer_inner, filtered(condition, "left")); }

TEST(OuterToInnerTest, ConditionsThatNullDoesNotPass) {
  expect_inner("c#3 > 5");
  expect_inner("a#1 + c#3 = 5");
  expect_inner("c#3 IS NOT NULL");
  expect_inner("c#3 > 5 OR c#3 + b#2 < 7");
  expect_inner("a#1 > 5 AND (a#1 > 7 AND b#2 = 1)");
  expect_inner("COALESCE(b#2, c#3) = 1");
}

TEST(OuterToInnerTest, ConditionsThatNullPasses) {
  expect_left("a#1 > 5");
  expect_left("c#3 IS NULL");
  expect_left("c#3 > 5 OR a#1 > 5");
  expect_left("COALESCE(c#3, 1) = 1");
  expect_left("c#3 <=> a#1");
  expect_left("IF(c#3 > 1, 0, 1)");
  expect_left("NOT (c#3 IS NOT NULL)");
}

TEST(OuterToInnerTest, ConditionsOfAJoinAbove) {
  const auto joined = [](const std::string& above, const std::string& kind) {
    return above + " join c#3 = d#4\n  " + kind +
           " join a#1 = b#2\n    scan t (a#1 int8)\n    scan u (b#2 int8, c#3 int8)\n  scan v (d#4 int8)\n";
  };
  expect_change(make_outer_inner, joined("inner", "left"), joined("inner", "inner"));
  expect_change(make_outer_inner, joined("semi", "left"), joined("semi", "inner"));
  // Rows of the left input that have no partner come out of these.
  expect_same(make_outer_inner, joined("left", "left"));
  expect_same(make_outer_inner, joined("anti", "left"));
}

TEST(OuterToInnerTest, LimitsAndGroupsAreNotPassed) {
  expect_same(make_outer_inner, R"(
filter c#3 > 5
  limit 3
    left join a#1 = b#2
      scan t (a#1 int8)
      scan u (b#2 int8, c#3 int8)
)");
}

}  // namespace
}  // namespace hailstone::plan
