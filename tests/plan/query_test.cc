// Plans at work: what is refused, what is read, and what is counted. That rows are right is what random plans
// test.
#include "plan/query.h"

#include <gtest/gtest.h>

#include "base/test_seed.h"
#include "plan/plan_tables.h"
#include "plan/plan_text.h"

namespace hailstone::plan {
namespace {

class QueryOfPlanTest : public testing::Test {
 protected:
  static Plan parsed(const std::string& text) {
    const auto plan = parse_plan(text);
    EXPECT_TRUE(plan) << plan.error().message() << "\n" << text;
    return plan ? *plan : nullptr;
  }
  void expect_refused(const std::string& text, ErrorCode code, const std::string& message) {
    const auto query = Query::make(parsed(text), tables_, 1);
    ASSERT_FALSE(query) << text;
    EXPECT_EQ(query.error().code(), code);
    EXPECT_EQ(query.error().message(), message);
  }
  std::string answer(const std::string& text) {
    const auto rows = tables_.answer(parsed(text), {});
    return rows ? to_string(*rows) : rows.error().message();
  }
  static std::string to_string(const Relation& relation) {
    std::string text;
    for (const DatumRow& row : relation.rows) {
      for (const Datum& value : row) text += plan::to_string(value) + " ";
    }
    return text;
  }

  PlanTables tables_{test_seed(3), /*few=*/false};
};

TEST_F(QueryOfPlanTest, NodesWithoutAnOperator) {
  const auto expect_missing = [&](const std::string& text, const std::string& what) {
    expect_refused(text, ErrorCode::Unsupported, "no operator does " + what + " yet");
  };
  const std::string few = "scan few (id#1 int4)\n", some = "scan some (a#2 int8)\n";
  expect_refused("host-scan t (a#1 int8)", ErrorCode::Unsupported, "nobody gives the rows of t");
  expect_missing("mark join m#3: id#1 = a#2\n  " + few + "  " + some, "a mark join");
  expect_missing("single join id#1 = a#2\n  " + few + "  " + some, "a single join with conditions");
  expect_missing("inner apply\n  " + few + "  " + some, "a join whose right input depends on the left");
  expect_missing("window (id#1) order () n#3 := row_number()\n  " + few, "windows");
  expect_missing("limit 1 with ties\n  sort id#1\n    " + few, "a limit with ties");
  expect_missing("except all (x#3)\n  " + some + "  scan some (a#4 int8)\n", "INTERSECT ALL and EXCEPT ALL");
  expect_missing("recurse 1 all (n#3)\n  " + some + "  round 1 (n#4 int8)\n", "recursion");
}

TEST_F(QueryOfPlanTest, TablesAreWhatTheScanSays) {
  expect_refused("scan none (a#1 int8)", ErrorCode::NotFound, "there is no table none");
  expect_refused("scan few (z#1 int8)", ErrorCode::InvalidArgument, "table few has no column z");
  expect_refused("scan few (a#1 int4)", ErrorCode::InvalidArgument,
                 "column a of table few is of another type");
}

TEST_F(QueryOfPlanTest, AValueHasOneRow) {
  const std::string left = "single join\n  values (x#1 int8) (7)\n";
  EXPECT_EQ(answer(left + "  values (y#2 int8) (8)\n"), "7 8 ");
  EXPECT_EQ(answer(left + "  values (y#2 int8)\n"), "7 NULL ");
  EXPECT_EQ(answer(left + "  values (y#2 int8) (8) (9)\n"),
            "a subquery that stands for a value has more than one row");
}

TEST_F(QueryOfPlanTest, NotInLooksAtNull) {
  const std::string left = "null-anti join x#1 = y#2\n  values (x#1 int8) (7) (8)\n";
  EXPECT_EQ(answer(left + "  values (y#2 int8) (8)\n"), "7 ");
  EXPECT_EQ(answer(left + "  values (y#2 int8) (8) (NULL)\n"), "");
  EXPECT_EQ(answer(left + "  values (y#2 int8)\n"), "7 8 ");
}

TEST_F(QueryOfPlanTest, ValuesHaveRoom) {
  EXPECT_EQ(answer("values (x#1 uint8, y#2 bytes(16) as decimal(38, 0, 0)) (18446744073709551615, -1)"),
            "18446744073709551615 -1 ");
  EXPECT_EQ(answer("values (x#1 int8) (18446744073709551615)"),
            "a number among values is beyond its column's range");
}

/// The scan looks at what is a predicate, and reads what is wanted.
TEST_F(QueryOfPlanTest, ConditionsGoIntoTheScan) {
  const Plan plan = parsed(R"(
project a#2
  filter id#1 < 10, a#2 + 1 > 0
    scan wide (id#1 int4, a#2 int8, w#3 varchar(20))
)");
  auto query = Query::make(plan, tables_, 1);
  ASSERT_TRUE(query) << query.error().message();
  EXPECT_EQ((*query)->rows_read(), 0) << "nothing is read before it is asked for";
  for (;;) {
    const auto batch = (*query)->next();
    ASSERT_TRUE(batch);
    if (*batch == nullptr) break;
    EXPECT_EQ((*batch)->columns.size(), 1);
  }
  EXPECT_EQ((*query)->rows_read(), 10);
  const Node &filter = *plan->inputs[0], &scan = *filter.inputs[0];
  ASSERT_NE((*query)->counts(scan), nullptr);
  EXPECT_EQ((*query)->counts(scan)->rows_out, 10);
  EXPECT_EQ((*query)->counts(filter)->rows_in, 10);
  EXPECT_EQ((*query)->counts(*parsed("scan few (a#1 int8)")), nullptr);
}

/// Aggregates that are the same are kept once, and shown as often as they are asked for.
TEST_F(QueryOfPlanTest, EqualAggregates) {
  EXPECT_EQ(answer(R"(
aggregate () s#3 := sum(x#1), n#4 := count(x#1), t#5 := sum(x#1), d#6 := sum(distinct x#1), m#7 := count(x#1)
  values (x#1 int8) (7) (7) (NULL)
)"),
            "14 2 14 7 2 ");
}

/// The words of an expression name a column that is not needed for its value.
TEST_F(QueryOfPlanTest, ColumnsOfWordsAreColumns) {
  EXPECT_EQ(
      answer("project z#3 := x#1 <=> GREATEST(NULL, y#2)\n  values (x#1 int8, y#2 int8) (1, 2) (NULL, 2)\n"),
      "0 1 ");
}

TEST_F(QueryOfPlanTest, ARowThatFailsEndsTheQuery) {
  EXPECT_EQ(answer("project y#2 := 1 DIV x#1\n  values (x#1 int8) (1) (0)\n"),
            "a value is not computed: a number has no room in its type or is divided by 0, or a day is in no "
            "calendar");
}

}  // namespace
}  // namespace hailstone::plan
