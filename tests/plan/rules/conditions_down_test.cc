#include "plan/rules/rule_test.h"

namespace hailstone::plan {
namespace {

constexpr auto rule = move_conditions_down;

std::string joined(const std::string& filter, const std::string& kind, const std::string& on,
                   const std::string& left, const std::string& right) {
  std::string text = filter.empty() ? "" : "filter " + filter + "\n";
  const auto add = [&](size_t depth, const std::string& line) {
    text += std::string(2 * depth, ' ') + line + "\n";
  };
  size_t depth = filter.empty() ? 0 : 1;
  add(depth, kind + " join" + (on.empty() ? "" : " " + on));
  ++depth;
  if (!left.empty()) add(depth, "filter " + left);
  add(depth + (left.empty() ? 0 : 1), "scan t (a#1 int8, w#5 varchar(9))");
  if (!right.empty()) add(depth, "filter " + right);
  add(depth + (right.empty() ? 0 : 1), "scan u (b#2 int8, c#3 int8)");
  return text;
}

TEST(ConditionsDownTest, IntoTheInputsOfAnInnerJoin) {
  expect_change(rule, joined("a#1 > 1 AND b#2 > 2, a#1 < c#3", "inner", "a#1 = b#2", "", ""),
                joined("", "inner", "a#1 = b#2, a#1 < c#3", "a#1 > 1", "b#2 > 2"));
  expect_change(rule, joined("", "inner", "a#1 = b#2, a#1 > 1, c#3 > 3", "", ""),
                joined("", "inner", "a#1 = b#2", "a#1 > 1", "c#3 > 3"));
}

TEST(ConditionsDownTest, OuterJoinsKeepTheirRows) {
  // WHERE: the left side's go, the right side's ask of NULL.
  expect_change(rule, joined("a#1 > 1, c#3 IS NULL", "left", "a#1 = b#2", "", ""),
                joined("c#3 IS NULL", "left", "a#1 = b#2", "a#1 > 1", ""));
  // ON: the other way round.
  expect_change(rule, joined("", "left", "a#1 = b#2, a#1 > 1, c#3 > 3", "", ""),
                joined("", "left", "a#1 = b#2, a#1 > 1", "", "c#3 > 3"));
}

TEST(ConditionsDownTest, SemiAndAntiJoins) {
  expect_change(rule, joined("a#1 > 1", "semi", "a#1 = b#2, a#1 > 7, c#3 > 3", "", ""),
                joined("", "semi", "a#1 = b#2", "a#1 > 7, a#1 > 1", "c#3 > 3"));
  expect_change(rule, joined("a#1 > 1", "anti", "a#1 = b#2, a#1 > 7, c#3 > 3", "", ""),
                joined("", "anti", "a#1 = b#2, a#1 > 7", "a#1 > 1", "c#3 > 3"));
  // NOT IN: whether a row of the right is left out matters to all.
  expect_same(rule, joined("", "null-anti", "a#1 = b#2, c#3 > 3", "", ""));
}

TEST(ConditionsDownTest, WhatMayFailStaysAbove) {
  expect_same(rule, joined("1 DIV a#1 > 1", "inner", "a#1 = b#2", "", ""));
  expect_same(rule, joined("", "inner", "a#1 = b#2, 1 DIV a#1 > 1", "", ""));
  // A Project has the same rows.
  expect_change(rule, R"(
filter 1 DIV x#9 > 1
  project x#9 := a#1 + 1
    scan t (a#1 int8)
)",
                R"(
project x#9 := a#1 + 1
  filter 1 DIV (a#1 + 1) > 1
    scan t (a#1 int8)
)");
}

TEST(ConditionsDownTest, BelowGroupsGoThoseOfKeys) {
  expect_change(rule, R"(
filter a#1 > 5, n#9 > 1
  aggregate (a#1, b#2) n#9 := count_rows()
    scan t (a#1 int8, b#2 int8)
)",
                R"(
filter n#9 > 1
  aggregate (a#1, b#2) n#9 := count_rows()
    filter a#1 > 5
      scan t (a#1 int8, b#2 int8)
)");
  // In the groups of a set without the key it is NULL.
  expect_same(rule, R"(
filter a#1 > 5
  aggregate (a#1) n#9 := count_rows() sets (a#1), ()
    scan t (a#1 int8)
)");
  // A group of no rows is there always.
  expect_same(rule, R"(
filter 1 = 2
  aggregate () n#9 := count_rows()
    scan t (a#1 int8)
)");
  // Of texts that are equal but for spaces a group shows one.
  expect_same(rule, R"(
filter LENGTH(w#1) > 5
  aggregate (w#1)
    scan t (w#1 varchar(9) collate 1)
)");
}

TEST(ConditionsDownTest, WindowsAndLimits) {
  expect_change(rule, R"(
filter a#1 > 5, n#9 = 1
  window (a#1) order (b#2) n#9 := row_number()
    scan t (a#1 int8, b#2 int8)
)",
                R"(
filter n#9 = 1
  window (a#1) order (b#2) n#9 := row_number()
    filter a#1 > 5
      scan t (a#1 int8, b#2 int8)
)");
  expect_same(rule, R"(
filter b#2 > 5
  window (a#1) order (b#2) n#9 := row_number()
    scan t (a#1 int8, b#2 int8)
)");
  expect_same(rule, R"(
filter a#1 > 5
  limit 3
    scan t (a#1 int8)
)");
  expect_change(rule, R"(
filter a#1 > 5
  sort a#1
    scan t (a#1 int8)
)",
                R"(
sort a#1
  filter a#1 > 5
    scan t (a#1 int8)
)");
}

TEST(ConditionsDownTest, IntoAllInputsOfSetOperations) {
  for (const std::string kind : {"union all", "union distinct", "intersect distinct", "except all"}) {
    expect_change(
        rule, "filter x#9 > 5\n  " + kind + " (x#9)\n    scan t (a#1 int8)\n    scan u (b#2 int8)\n",
        kind + " (x#9)\n  filter a#1 > 5\n    scan t (a#1 int8)\n  filter b#2 > 5\n    scan u (b#2 int8)\n");
  }
  // What others read, too, stays as it is.
  expect_same(rule, R"(
filter x#9 > 5
  materialize 1 (x#9)
    scan t (a#1 int8)
)");
}

}  // namespace
}  // namespace hailstone::plan
