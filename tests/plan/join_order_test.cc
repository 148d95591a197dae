#include "plan/join_order.h"

#include <fmt/format.h>

#include "plan/plan_statistics.h"
#include "plan/rules/rule_test.h"

namespace hailstone::plan {
namespace {

/// A large table of facts, and what these refer to.
const std::map<std::string, GivenStatistics::OfTable, std::less<>> star{
    {"facts",
     {.rows = 1e7,
      .distinct = {{"day", 2000}, {"shop", 500}, {"item", 1e5}},
      .share_within = 0.2,
      .ranges = {}}},
    {"days",
     {.rows = 73000,
      .distinct = {{"id", 73000}},
      .share = 0.005,
      .ranges = {{"id", {.low = 1, .high = 365}}}}},
    {"shops", {.rows = 500, .distinct = {{"id", 500}, {"town", 100}}, .share = 0.1, .ranges = {}}},
    {"towns", {.rows = 1000, .distinct = {{"id", 1000}}, .ranges = {}}},
    {"items", {.rows = 1e5, .distinct = {{"id", 1e5}, {"kind", 50}}, .share = 0.15, .ranges = {}}}};
const std::string facts = "scan facts (day#1 int4, shop#2 int4, item#3 int4, price#4 int8)";
const std::string days = "scan days (id#11 int4, year#12 int2)";
const std::string shops = "scan shops (id#21 int4, town#22 int4)";
const std::string items = "scan items (id#31 int4, kind#32 int4)";
const std::string towns = "scan towns (id#41 int4)";

/// A line for each node. "> " in front of it for each step further in.
std::string text_of(std::initializer_list<std::string> lines) {
  std::string text;
  for (std::string line : lines) {
    size_t depth = 0;
    while (line.starts_with("> ")) ++depth, line.erase(0, 2);
    text += std::string(2 * depth, ' ') + line + "\n";
  }
  return text;
}

Plan ordered(const Plan& plan, const std::string& made_of) {
  GivenStatistics statistics(star);
  const Plan made = order_joins(plan, statistics);
  const Status valid = validate(made);
  EXPECT_TRUE(valid) << valid.error().message() << made_of;
  EXPECT_EQ(made->columns, plan->columns);
  EXPECT_EQ(order_joins(made, statistics), made) << "it finds something again in\n" << to_text(made);
  return made;
}
void expect_order(std::initializer_list<std::string> before, std::initializer_list<std::string> after) {
  const Plan plan = parsed(text_of(before)), wanted = parsed(text_of(after));
  EXPECT_EQ(to_text(ordered(plan, text_of(before))), to_text(wanted));
}
void expect_same_order(std::initializer_list<std::string> text) {
  const Plan plan = parsed(text_of(text));
  const Plan made = ordered(plan, text_of(text));
  EXPECT_EQ(made, plan) << to_text(made);
}

TEST(JoinOrderTest, TheSmallSideIsBuilt) {
  expect_order({"inner join id#21 = shop#2", "> " + shops, "> " + facts},
               {"project id#21, town#22, day#1, shop#2, item#3, price#4", "> inner join id#21 = shop#2",
                "> > " + facts, "> > " + shops});
  expect_same_order({"inner join id#21 = shop#2", "> " + facts, "> " + shops});
}

/// Written the other way round: what leaves most out comes last, and two large sides are built.
TEST(JoinOrderTest, AStarIsJoinedByWhatLeavesLeast) {
  expect_order({"aggregate (kind#32) n#50 := count_rows()", "> inner join shop#2 = id#21",
                "> > filter town#22 = 7", "> > > " + shops, "> > inner join item#3 = id#31", "> > > " + items,
                "> > > inner join day#1 = id#11", "> > > > " + days, "> > > > " + facts},
               {"aggregate (kind#32) n#50 := count_rows()",
                "> project id#21, town#22, id#31, kind#32, id#11, year#12, day#1, shop#2, item#3, price#4",
                "> > inner join item#3 = id#31", "> > > inner join day#1 = id#11",
                "> > > > inner join shop#2 = id#21", "> > > > > " + facts, "> > > > > filter town#22 = 7",
                "> > > > > > " + shops, "> > > > " + days, "> > > " + items});
}

/// A snowflake: shops of few towns are found before the facts are looked at.
TEST(JoinOrderTest, FiltersBetweenJoinsGoWhereTheirColumnsAre) {
  expect_order(
      {"filter town#22 = 7, id#41 + id#21 > 3", "> inner join town#22 = id#41",
       "> > inner join shop#2 = id#21", "> > > " + shops, "> > > " + facts, "> > " + towns},
      {"project id#21, town#22, day#1, shop#2, item#3, price#4, id#41", "> inner join shop#2 = id#21",
       "> > " + facts, "> > inner join town#22 = id#41, id#41 + id#21 > 3", "> > > " + towns,
       "> > > filter town#22 = 7", "> > > > " + shops});
}

/// a = b AND b = c says that a = c.
TEST(JoinOrderTest, EqualitiesOfOthersAreKeys) {
  expect_order({"inner join id#21 = id#41", "> filter town#22 = 1", "> > " + shops,
                "> inner join id#41 = day#1", "> > " + towns, "> > " + facts},
               {"project id#21, town#22, id#41, day#1, shop#2, item#3, price#4", "> inner join day#1 = id#21",
                "> > " + facts, "> > inner join id#21 = id#41", "> > > " + towns, "> > > filter town#22 = 1",
                "> > > > " + shops});
}

/// A year of a calendar is 0.5 % of its days, and a fifth of the facts.
TEST(JoinOrderTest, RangesOfKeysTellMoreThanShares) {
  const std::initializer_list<std::string> by_item{
      "inner join day#1 = id#11", "> inner join item#3 = id#31", "> > " + facts, "> > filter kind#32 = 5",
      "> > > " + items,           "> filter year#12 = 1999",     "> > " + days};
  expect_same_order(by_item);
  const Plan plan = parsed(text_of(by_item));
  auto others = star;
  others.find("days")->second.ranges.clear();
  GivenStatistics statistics(others);
  EXPECT_NE(order_joins(plan, statistics), plan);
}

/// Two columns of a member that are equal to the same other one are equal to each other.
TEST(JoinOrderTest, EqualColumnsOfOneMemberAreCompared) {
  expect_order({"inner join id#21 = day#1, id#21 = shop#2", "> " + shops, "> " + facts},
               {"project id#21, town#22, day#1, shop#2, item#3, price#4", "> inner join id#21 = day#1",
                "> > filter day#1 = shop#2", "> > > " + facts, "> > " + shops});
}

/// An equality by `<=>` is a key by itself, and a comparison of several members is asked once all are there.
TEST(JoinOrderTest, OtherConditionsStandWhereAllColumnsAre) {
  expect_order({"inner join id#31 <=> item#3, shop#2 + id#11 < kind#32", "> " + items,
                "> inner join id#11 = day#1", "> > filter year#12 = 1999", "> > > " + days, "> > " + facts},
               {"project id#31, kind#32, id#11, year#12, day#1, shop#2, item#3, price#4",
                "> inner join id#11 = day#1, shop#2 + id#11 < kind#32", "> > inner join id#31 <=> item#3",
                "> > > " + facts, "> > > " + items, "> > filter year#12 = 1999", "> > > " + days});
}

TEST(JoinOrderTest, OtherJoinsStayButTheirInputsArePlanned) {
  expect_order({"left join town#22 = id#41", "> inner join id#21 = shop#2", "> > " + shops, "> > " + facts,
                "> " + towns},
               {"left join town#22 = id#41", "> project id#21, town#22, day#1, shop#2, item#3, price#4",
                "> > inner join id#21 = shop#2", "> > > " + facts, "> > > " + shops, "> " + towns});
  // An inner join above does not go below it.
  expect_order(
      {"inner join id#21 = shop#2", "> left join town#22 = id#41", "> > " + shops, "> > " + towns,
       "> " + facts},
      {"project id#21, town#22, id#41, day#1, shop#2, item#3, price#4", "> inner join id#21 = shop#2",
       "> > " + facts, "> > left join town#22 = id#41", "> > > " + shops, "> > > " + towns});
  expect_same_order({"semi join day#1 = id#11", "> " + facts, "> " + days});
  expect_same_order({"anti join id#11 = day#1", "> " + days, "> " + facts});
}

TEST(JoinOrderTest, WhatMayFailIsAskedOfNoOtherRows) {
  // Above all joins of the group.
  expect_order({"inner join id#21 = shop#2, 1 DIV price#4 = town#22", "> " + shops, "> " + facts},
               {"project id#21, town#22, day#1, shop#2, item#3, price#4", "> filter 1 DIV price#4 = town#22",
                "> > inner join id#21 = shop#2", "> > > " + facts, "> > > " + shops});
  // Between others it is a member: rows that days have none for are asked as well.
  expect_order({"inner join day#1 = id#11", "> filter year#12 = 1999", "> > " + days,
                "> filter 1 DIV price#4 = town#22", "> > inner join id#21 = shop#2", "> > > " + shops,
                "> > > " + facts},
               {"project id#11, year#12, id#21, town#22, day#1, shop#2, item#3, price#4",
                "> inner join day#1 = id#11", "> > project id#21, town#22, day#1, shop#2, item#3, price#4",
                "> > > filter 1 DIV price#4 = town#22", "> > > > inner join id#21 = shop#2",
                "> > > > > " + facts, "> > > > > " + shops, "> > filter year#12 = 1999", "> > > " + days});
}

TEST(JoinOrderTest, GroupsAndLimitsAreEstimated) {
  // Groups are as many as their keys have values; a limit says how many rows there are at most.
  expect_order({"inner join id#21 = shop#2", "> " + shops, "> aggregate (shop#2) n#50 := count_rows()",
                "> > " + facts},
               {"inner join id#21 = shop#2", "> " + shops, "> aggregate (shop#2) n#50 := count_rows()",
                "> > " + facts});
  expect_order({"inner join id#31 = item#3", "> limit 10", "> > sort kind#32, id#31", "> > > " + items,
                "> aggregate (item#3) n#50 := count_rows()", "> > " + facts},
               {"project id#31, kind#32, item#3, n#50", "> inner join id#31 = item#3",
                "> > aggregate (item#3) n#50 := count_rows()", "> > > " + facts, "> > limit 10",
                "> > > sort kind#32, id#31", "> > > > " + items});
}

TEST(JoinOrderTest, MoreMembersThanAllOrdersAreTriedOf) {
  // Each is joined to the facts; the first one that is written is the largest build side.
  std::string text = "scan facts (day#1 int4, shop#2 int4, item#3 int4, price#4 int8)\n";
  for (int i = 0; i < 14; ++i) {
    std::string below;
    for (size_t at = 0; at < text.size();) {
      const size_t end = text.find('\n', at) + 1;
      below += "  " + text.substr(at, end - at);
      at = end;
    }
    text = fmt::format("inner join day#1 = id#{}\n  scan days (id#{} int4)\n{}", 60 + i, 60 + i, below);
  }
  const Plan plan = parsed(text);
  const Plan made = ordered(plan, text);
  EXPECT_NE(made, plan);
}

}  // namespace
}  // namespace hailstone::plan
