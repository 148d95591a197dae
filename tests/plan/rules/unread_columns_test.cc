#include "plan/rules/rule_test.h"

namespace hailstone::plan {
namespace {

constexpr auto rule = drop_unread_columns;

TEST(UnreadColumnsTest, GoFromProjectsGroupsAndScans) {
  expect_change(rule, R"(
project x#9
  project x#9 := a#1 + 1, y#8 := b#2 + 1
    filter c#3 > 5
      scan t (a#1 int8, b#2 int8, c#3 int8, d#4 int8)
)",
                R"(
project x#9 := a#1 + 1
  filter c#3 > 5
    scan t (a#1 int8, c#3 int8)
)");
  expect_change(rule, R"(
project a#1
  aggregate (a#1) n#8 := count_rows(), m#9 := max(b#2)
    scan t (a#1 int8, b#2 int8)
)",
                R"(
aggregate (a#1)
  scan t (a#1 int8)
)");
  expect_change(rule, R"(
project a#1
  window (a#1) order (b#2) n#9 := row_number()
    scan t (a#1 int8, b#2 int8)
)",
                R"(
scan t (a#1 int8)
)");
  expect_change(rule, R"(
project a#1
  mark join m#4: a#1 = b#2
    scan t (a#1 int8)
    scan u (b#2 int8)
)",
                R"(
scan t (a#1 int8)
)");
}

TEST(UnreadColumnsTest, OfUnions) {
  expect_change(rule, R"(
project y#9
  union all (x#8, y#9)
    scan t (a#1 int8, b#2 int8)
    filter c#3 > 1
      scan u (c#3 int8, d#4 int8)
)",
                R"(
union all (y#9)
  scan t (b#2 int8)
  project d#4
    filter c#3 > 1
      scan u (c#3 int8, d#4 int8)
)");
  // Which rows are equal is up to all columns.
  expect_same(rule, R"(
project y#9
  union distinct (x#8, y#9)
    scan t (a#1 int8, b#2 int8)
    scan u (c#3 int8, d#4 int8)
)");
}

TEST(UnreadColumnsTest, OfWhatIsMadeOnce) {
  expect_change(rule, R"(
inner join x#3 = y#4
  materialize 1 (x#3)
    project a#1
      project a#1, b#2 := a#1 + 1
        scan t (a#1 int8)
  materialize 1 (y#4)
)",
                R"(
inner join x#3 = y#4
  materialize 1 (x#3)
    scan t (a#1 int8)
  materialize 1 (y#4)
)");
}

TEST(UnreadColumnsTest, WhatIsReadStays) {
  // A row has a column, a group without keys an aggregate.
  expect_change(rule, R"(
aggregate () n#9 := count_rows()
  scan t (a#1 int8, b#2 int8)
)",
                R"(
aggregate () n#9 := count_rows()
  scan t (a#1 int8)
)");
  expect_same(rule, R"(
sort b#2
  scan t (a#1 int8, b#2 int8)
)");
  // The right input of an Apply reads the left one.
  expect_same(rule, R"(
project a#1
  semi apply
    scan t (a#1 int8, b#2 int8)
    filter b#2 = c#3
      scan u (c#3 int8)
)");
  // Several read what is made once.
  expect_same(rule, R"(
project a#5
  materialize 1 (a#5, b#6)
    scan t (a#1 int8, b#2 int8)
)");
}

}  // namespace
}  // namespace hailstone::plan
