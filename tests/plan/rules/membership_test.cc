#include "plan/rules/rule_test.h"

namespace hailstone::plan {
namespace {

constexpr auto rule = look_up_members;

TEST(MembershipTest, ThreeAntiJoinsAnswerNotIn) {
  expect_change(rule, R"(
null-anti join a#1 + 1 = b#2
  scan t (a#1 int4)
  scan u (b#2 int8, c#3 int8)
)",
                R"(
anti join a#1 + 1 IS NULL
  anti join
    anti join a#1 + 1 = b#4
      scan t (a#1 int4)
      materialize 1 (b#4)
        project b#2
          scan u (b#2 int8, c#3 int8)
    limit 1
      filter b#5 IS NULL
        materialize 1 (b#5)
  limit 1
    materialize 1 (b#6)
)");
}

TEST(MembershipTest, InAsAValue) {
  expect_change(rule, R"(
mark join m#3: a#1 = b#2
  scan t (a#1 int8)
  scan u (b#2 int8)
)",
                R"(
project a#1, m#3 int8 as integer(1, 0, 0) := IF(hit#6 IS NULL, IF(rows#7 > 0 AND (a#1 IS NULL OR rows#7 > values#8), NULL, FALSE), TRUE)
  single join
    left join a#1 = b#4
      scan t (a#1 int8)
      project b#4, hit#6 := TRUE
        aggregate (b#4)
          materialize 1 (b#4)
            project b#2
              scan u (b#2 int8)
    aggregate () rows#7 := count_rows(), values#8 := count(b#5)
      materialize 1 (b#5)
)");
  // Distinct by one collation, and equal by another.
  expect_same(rule, R"(
mark join m#3: v#1 = w#2
  scan t (v#1 varchar(9))
  scan u (w#2 varchar(9) collate 1)
)");
}

TEST(MembershipTest, WhatStopsIt) {
  const auto expect_stopped = [](const std::string& condition) {
    expect_same(rule,
                "null-anti join " + condition + "\n  scan t (a#1 int8)\n  scan u (b#2 int8, c#3 int8)\n");
  };
  // Which rows of the right side count is up to the left.
  expect_stopped("a#1 = b#2, c#3 > a#1");
  expect_stopped("a#1 > b#2");
  expect_stopped("a#1 <=> b#2");
  expect_stopped("a#1 = b#2 + 1");
  expect_stopped("a#1 + b#2 = c#3");
  expect_stopped("1 DIV a#1 = b#2");
  expect_same(rule, "anti join a#1 = b#2\n  scan t (a#1 int8)\n  scan u (b#2 int8)\n");
  // The right side is another one for each row around, or for each round.
  expect_same(rule, R"(
semi apply
  scan v (d#4 int8)
  null-anti join a#1 = b#2
    scan t (a#1 int8)
    filter b#2 > d#4
      scan u (b#2 int8)
)");
  expect_same(rule, R"(
recurse 1 distinct (n#5)
  scan v (d#4 int8)
  null-anti join a#1 = b#2
    scan t (a#1 int8)
    round 1 (b#2 int8)
)");
}

}  // namespace
}  // namespace hailstone::plan
