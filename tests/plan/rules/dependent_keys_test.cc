#include "plan/rules/rule_test.h"

namespace hailstone::plan {
namespace {

constexpr auto rule = drop_dependent_keys;

std::string grouped(const std::string& condition, const std::string& sets = "") {
  return "aggregate (a#1, b#2)" + sets + "\n  filter " + condition + "\n    scan t (a#1 int8, b#2 int4)\n";
}

TEST(DependentKeysTest, EqualKeysAndConstants) {
  for (const std::string condition : {"a#1 = b#2", "b#2 = 5"}) {
    expect_change(rule, grouped(condition),
                  "project a#1, b#2 := b#3\n  aggregate (a#1) b#3 := min(b#2)\n    filter " + condition +
                      "\n      scan t (a#1 int8, b#2 int4)\n");
  }
}

TEST(DependentKeysTest, OfAJoin) {
  expect_change(rule, R"(
aggregate (a#1, b#2) n#4 := count_rows()
  inner join a#1 = b#2
    scan t (a#1 int8)
    scan u (b#2 int8)
)",
                R"(
project a#1, b#2 := b#5, n#4
  aggregate (a#1) n#4 := count_rows(), b#5 := min(b#2)
    inner join a#1 = b#2
      scan t (a#1 int8)
      scan u (b#2 int8)
)");
  // A row without a partner has NULL there.
  expect_same(rule, R"(
aggregate (a#1, b#2)
  left join a#1 = b#2
    scan t (a#1 int8)
    scan u (b#2 int8)
)");
}

TEST(DependentKeysTest, WhatDoesNotFollow) {
  expect_same(rule, grouped("a#1 > b#2"));
  expect_same(rule, grouped("a#1 <=> b#2"));
  expect_same(rule, grouped("a#1 = b#2 OR b#2 = 7"));
  expect_same(rule, grouped("a#1 = b#2", " sets (a#1, b#2), (a#1), ()"));
  // Without a key there would be a group of no rows.
  expect_same(rule, R"(
aggregate (a#1)
  filter a#1 = 5
    scan t (a#1 int8)
)");
  // Equal texts may have other bytes.
  expect_same(rule, R"(
aggregate (a#1, w#2)
  filter w#2 = 'x'
    scan t (a#1 int8, w#2 varchar(9))
)");
}

}  // namespace
}  // namespace hailstone::plan
