#include "plan/estimates.h"

#include <gtest/gtest.h>

#include "plan/plan_statistics.h"
#include "plan/rules/rule_test.h"

namespace hailstone::plan {
namespace {

class EstimatesTest : public ::testing::Test {
 protected:
  static double rows(const std::string& text) {
    GivenStatistics statistics(
        {{"t", {.rows = 1000, .distinct = {{"a", 100}, {"b", 5}}, .share = 0.1, .ranges = {}}},
         {"u", {.rows = 50, .distinct = {{"c", 50}}, .share = 0.5, .ranges = {}}}});
    const Plan plan = parsed(text);
    return plan == nullptr ? 0 : Estimates(statistics).rows(plan);
  }
  const std::string t = "  scan t (a#1 int8, b#2 int8, x#5 int8)\n", u = "  scan u (c#3 int8)\n";
};

TEST_F(EstimatesTest, ScansAndWhatKeepsTheirRows) {
  EXPECT_EQ(rows("scan t (a#1 int8)"), 1000);
  EXPECT_EQ(rows("filter a#1 > 5\n" + t), 100);
  EXPECT_EQ(rows("sort a#1\n" + t), 1000);
  EXPECT_EQ(rows("project y#9 := a#1 + b#2\n" + t), 1000);
  EXPECT_EQ(rows("values (a#1 int8) (1) (2) (3)"), 3);
  EXPECT_EQ(rows("values (a#1 int8)"), 1);
}

TEST_F(EstimatesTest, ConditionsAboveOtherNodes) {
  // One of the values of a column; of a column that is made here nothing is known.
  EXPECT_DOUBLE_EQ(rows("filter a#1 = 5\n  sort a#1\n  " + t), 10);
  EXPECT_DOUBLE_EQ(rows("filter y#9 = 5\n  project y#9 := a#1 + b#2\n  " + t), 50);
  EXPECT_DOUBLE_EQ(rows("filter a#1 > 5\n  sort a#1\n  " + t), 300);
}

TEST_F(EstimatesTest, Joins) {
  EXPECT_DOUBLE_EQ(rows("inner join a#1 = c#3\n" + t + u), 500);
  EXPECT_DOUBLE_EQ(rows("inner join\n" + t + u), 50'000);
  EXPECT_DOUBLE_EQ(rows("left join a#1 = c#3\n" + t + u), 1000);
  EXPECT_DOUBLE_EQ(rows("semi join a#1 = c#3\n" + t + u), 500);
  EXPECT_DOUBLE_EQ(rows("anti join a#1 = c#3\n" + t + u), 500);
  EXPECT_DOUBLE_EQ(rows("anti join b#2 < c#3\n" + t + u), 100);
  EXPECT_DOUBLE_EQ(rows("mark join m#9: a#1 = c#3\n" + t + u), 1000);
}

TEST_F(EstimatesTest, GroupsLimitsAndUnions) {
  EXPECT_EQ(rows("aggregate () n#9 := count_rows()\n" + t), 1);
  EXPECT_EQ(rows("aggregate (b#2)\n" + t), 5);
  EXPECT_EQ(rows("aggregate (a#1, b#2)\n" + t), 500);
  EXPECT_EQ(rows("aggregate (a#1)\n  filter b#2 > 1\n  " + t), 100);
  EXPECT_EQ(rows("aggregate (a#1, b#2) n#9 := count_rows() sets (a#1), (b#2), ()\n" + t), 106);
  EXPECT_EQ(rows("limit 10\n" + t), 10);
  EXPECT_EQ(rows("limit 10 offset 995\n" + t), 5);
  EXPECT_EQ(rows("limit 10 offset 2000\n" + t), 1);
  EXPECT_EQ(rows("union all (y#9)\n  scan t (a#1 int8)\n" + u), 1050);
  EXPECT_EQ(rows("except distinct (y#9)\n  scan t (a#1 int8)\n" + u), 1000);
}

}  // namespace
}  // namespace hailstone::plan
