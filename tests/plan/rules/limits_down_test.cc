#include "plan/rules/rule_test.h"

namespace hailstone::plan {
namespace {

constexpr auto rule = move_limits_down;

TEST(LimitsDownTest, OfALeftJoin) {
  expect_change(rule, R"(
limit 3 offset 2
  left join a#1 = b#2
    scan t (a#1 int8)
    scan u (b#2 int8)
)",
                R"(
limit 3 offset 2
  left join a#1 = b#2
    limit 5
      scan t (a#1 int8)
    scan u (b#2 int8)
)");
  expect_change(rule, R"(
limit 3
  sort a#1 desc
    left join a#1 = b#2
      scan t (a#1 int8)
      scan u (b#2 int8)
)",
                R"(
limit 3
  sort a#1 desc
    left join a#1 = b#2
      limit 3
        sort a#1 desc
          scan t (a#1 int8)
      scan u (b#2 int8)
)");
}

TEST(LimitsDownTest, WhatStopsThem) {
  // Rows may come of any row of the left.
  for (const std::string kind : {"inner", "semi", "anti"})
    expect_same(rule,
                "limit 3\n  " + kind + " join a#1 = b#2\n    scan t (a#1 int8)\n    scan u (b#2 int8)\n");
  expect_same(
      rule,
      "limit 3\n  sort b#2\n    left join a#1 = b#2\n      scan t (a#1 int8)\n      scan u (b#2 int8)\n");
  expect_same(rule,
              "limit 3 with ties\n  sort a#1\n    left join a#1 = b#2\n      scan t (a#1 int8)\n      scan u "
              "(b#2 int8)\n");
  expect_same(rule, "limit offset 3\n  left join a#1 = b#2\n    scan t (a#1 int8)\n    scan u (b#2 int8)\n");
  // There are few already.
  expect_same(
      rule, "limit 3\n  left join a#1 = b#2\n    limit 2\n      scan t (a#1 int8)\n    scan u (b#2 int8)\n");
  // All rows would be sorted twice.
  expect_same(
      rule,
      "limit 5000\n  sort a#1\n    left join a#1 = b#2\n      scan t (a#1 int8)\n      scan u (b#2 int8)\n");
  expect_same(rule, "limit 3\n  union distinct (x#3)\n    scan t (a#1 int8)\n    scan u (b#2 int8)\n");
}

TEST(LimitsDownTest, OfAUnion) {
  expect_change(rule, R"(
limit 2
  sort x#3
    union all (x#3)
      scan t (a#1 int8)
      values (b#2 int8) (1) (2)
)",
                R"(
limit 2
  sort x#3
    union all (x#3)
      limit 2
        sort a#1
          scan t (a#1 int8)
      values (b#2 int8) (1) (2)
)");
}

TEST(LimitsDownTest, LimitsOfLimitsAndProjects) {
  expect_change(rule, R"(
limit 5 offset 2
  project x#2 := a#1 + 1
    limit 6 offset 1
      scan t (a#1 int8)
)",
                R"(
project x#2 := a#1 + 1
  limit 4 offset 3
    scan t (a#1 int8)
)");
}

}  // namespace
}  // namespace hailstone::plan
