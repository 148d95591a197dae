#include "plan/rules/rule_test.h"

namespace hailstone::plan {
namespace {

TEST(ConstantsTest, WhatReadsNoColumnIsComputed) {
  expect_change(fold_constants, R"(
project x#2 := a#1 + (2 + 3)
  scan t (a#1 int8)
)",
                R"(
project x#2 := a#1 + 5
  scan t (a#1 int8)
)");
}

TEST(ConstantsTest, ConditionsThatAlwaysHoldGo) {
  expect_change(fold_constants, R"(
filter 1 = 1, a#1 > 5
  scan t (a#1 int8)
)",
                R"(
filter a#1 > 5
  scan t (a#1 int8)
)");
  expect_change(fold_constants, R"(
filter 2 > 1 OR a#1 > 5
  scan t (a#1 int8)
)",
                R"(
scan t (a#1 int8)
)");
}

TEST(ConstantsTest, WhatNeverHoldsHasNoRows) {
  expect_change(fold_constants, R"(
sort a#1
  filter a#1 > 5 AND 1 = 2
    scan t (a#1 int8)
)",
                R"(
values (a#1 int8)
)");
  expect_change(fold_constants, R"(
filter NULL > 1
  scan t (a#1 int8)
)",
                R"(
values (a#1 int8)
)");
  expect_change(fold_constants, R"(
limit 0
  scan t (a#1 int8)
)",
                R"(
values (a#1 int8)
)");
}

TEST(ConstantsTest, JoinsOfNoRows) {
  const std::string none = "  values (b#2 int8)\n";
  expect_change(fold_constants, "inner join a#1 = b#2\n  scan t (a#1 int8)\n" + none,
                "values (a#1 int8, b#2 int8)\n");
  expect_change(fold_constants, "anti join a#1 = b#2\n  scan t (a#1 int8)\n" + none, "scan t (a#1 int8)\n");
  expect_change(fold_constants, "left join a#1 = b#2\n  scan t (a#1 int8)\n" + none, R"(
project a#1, b#2 int8 := NULL
  scan t (a#1 int8)
)");
}

TEST(ConstantsTest, AGroupOfNoRowsStays) {
  expect_same(fold_constants, R"(
aggregate () n#3 := count_rows()
  values (b#2 int8)
)");
  expect_change(fold_constants, R"(
aggregate (b#2) n#3 := count_rows()
  values (b#2 int8)
)",
                R"(
values (b#2 int8, n#3 uint8 as integer unsigned(20, 0, 0) not null)
)");
}

TEST(ConstantsTest, NotInWantsToKnowOfNull) {
  expect_same(fold_constants, R"(
null-anti join a#1 = b#2, NULL
  scan t (a#1 int8)
  scan u (b#2 int8)
)");
}

TEST(ConstantsTest, WhatFailsIsLeftToItsRows) {
  expect_same(fold_constants, R"(
project x#2 := IF(a#1 > 1, 1 DIV 0, 7)
  scan t (a#1 int8)
)");
}

}  // namespace
}  // namespace hailstone::plan
