// Plans as text: what is written is read as the same plan; what is wrong is told with its place; and no bytes
// do harm.
#include "plan/plan_text.h"

#include <gtest/gtest.h>

#include <random>

#include "base/test_seed.h"
#include "plan/plan_texts.h"
#include "plan/rules/rules.h"
#include "plan/validate.h"

namespace hailstone::plan {
namespace {

TEST(PlanTextTest, WhatIsWrittenIsRead) {
  for (const std::string& text : plan_texts) {
    const auto plan = parse_plan(text);
    ASSERT_TRUE(plan) << plan.error().message() << "\n" << text;
    EXPECT_EQ(to_text(*plan), text);
    EXPECT_TRUE(validate(*plan));
  }
}

TEST(PlanTextTest, ALineOfANode) {
  const auto plan = parse_plan(plan_texts[1]);
  ASSERT_TRUE(plan);
  EXPECT_EQ(node_text(**plan), "left join a#1 = b#3, a#1 + 1 < b#3");
}

TEST(PlanTextTest, RowsThatAreMadeOnceAreOneNode) {
  const auto plan = parse_plan(plan_texts[6]);
  ASSERT_TRUE(plan);
  EXPECT_EQ((*plan)->inputs[0]->inputs[0], (*plan)->inputs[1]->inputs[0]);
}

void expect_wrong(const std::string& text, const std::string& message) {
  const auto plan = parse_plan(text);
  ASSERT_FALSE(plan) << "not refused: " << message;
  EXPECT_EQ(plan.error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(plan.error().message(), message);
}

TEST(PlanTextTest, ErrorsSayWhere) {
  expect_wrong("", "line 1, column 1: a plan has a node");
  expect_wrong("scam t (a#1 int8)", "line 1, column 1: there is no node 'scam'");
  expect_wrong("scan t (a#1 int9)",
               "line 1, column 13: a type is wanted here, as int8, double or varchar(20)");
  expect_wrong("scan t (a#1 int8", "line 1, column 17: ')' is wanted here");
  expect_wrong("scan t (a int8)", "line 1, column 11: '#' is wanted here");
  expect_wrong("scan t (a#99999 int8)", "line 1, column 11: a number up to 65534 is wanted here");
  expect_wrong("scan t (a#1 int8) b", "line 1, column 19: this is more than the node takes");
  expect_wrong("scan `t (a#1 int8)", "line 1, column 6: the name has no end");
  expect_wrong(
      "scan t (w#1 varchar(9) collate 77)",
      "line 1, column 34: collation 77 is unknown: the application that made the table has to register its "
      "collations before it opens the database");
  expect_wrong("sort b#2\n  scan t (a#1 int8)", "line 1, column 6: no input has the column b#2");
  expect_wrong("sort b#1\n  scan t (a#1 int8)", "line 1, column 6: column #1 has the name a");
  expect_wrong("filter a#1 >\n  scan t (a#1 int8)", "line 1, column 13: a value is missing");
  expect_wrong("filter b#1 > 1\n  scan t (a#1 int8)", "line 1, column 8: column #1 has the name a");
  expect_wrong(
      "filter a#1 > 1\n   scan t (a#1 int8)",
      "line 2, column 1: 3 spaces, where a node is two further in than the one that it is an input of");
  expect_wrong("scan t (a#1 int8)\nscan u (b#2 int8)",
               "line 2, column 1: a plan has one node that is no input");
  expect_wrong("inner join\n  scan t (a#1 int8)", "line 1, column 1: a node join has 1 inputs here");
  expect_wrong("inner loop\n  scan t (a#1 int8)", "line 1, column 11: 'join' or 'apply' is wanted here");
  expect_wrong("materialize 1 (a#1)", "line 1, column 14: there is nothing made above with the number 1");
  expect_wrong("aggregate (a#1) n#2 := middle(a#1)\n  scan t (a#1 int8)",
               "line 1, column 35: there is no aggregate 'middle'");
  expect_wrong("values (a#1 int8) (1, 2)",
               "line 1, column 24: the row has more values than there are columns");
  // What can be read, and is no plan.
  expect_wrong("inner join\n  scan t (a#1 int8)\n  scan u (a#1 int8)",
               "the node inner join (a#1, a#1): both inputs have column 1");
}

/// Any bytes: an error, or a plan whose text is read as the same.
TEST(PlanTextTest, RandomBytesDoNoHarm) {
  std::mt19937_64 random(test_seed(5));
  const std::string signs = " ()#,:=`'\n\\0179azAZ<>+-*/.%\xff";
  size_t read = 0;
  for (size_t i = 0; i < 30'000; ++i) {
    std::string text = plan_texts[random() % plan_texts.size()];
    for (size_t changes = random() % 4; changes > 0; --changes) {
      const size_t place = random() % (text.size() + 1);
      switch (random() % 4) {
        case 0:
          text.insert(place, 1, signs[random() % signs.size()]);
          break;
        case 1:
          text.erase(place, 1 + random() % 5);
          break;
        case 2: {
          const std::string& other = plan_texts[random() % plan_texts.size()];
          text.insert(place, other.substr(random() % other.size(), random() % 30));
          break;
        }
        default:
          if (place < text.size()) text[place] = static_cast<char>(random());
          break;
      }
    }
    const auto plan = parse_plan(text);
    if (!plan) {
      EXPECT_EQ(plan.error().code(), ErrorCode::InvalidArgument) << text;
      continue;
    }
    ++read;
    EXPECT_TRUE(validate(optimized(*plan))) << text;
    const std::string written = to_text(*plan);
    const auto again = parse_plan(written);
    ASSERT_TRUE(again) << again.error().message() << "\n" << testing::PrintToString(written);
    ASSERT_EQ(to_text(*again), written);
  }
  EXPECT_GT(read, 1000);
}

}  // namespace
}  // namespace hailstone::plan
