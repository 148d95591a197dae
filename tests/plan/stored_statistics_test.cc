#include "plan/stored_statistics.h"

#include <gtest/gtest.h>

#include "base/test_seed.h"
#include "plan/made_plans.h"
#include "plan/plan_tables.h"
#include "schema/row_codec.h"

namespace hailstone::plan {
namespace {

class StoredStatisticsTest : public ::testing::Test {
 protected:
  PlanTables tables{test_seed(45), /*few=*/false};
  StoredStatistics statistics{tables.statistics()};
  // id, a, b, u, r and w of the table `wide`, from 1 on.
  const Scan wide{.table = "wide", .columns = tables.columns("wide", 1)};
  Expression of(ColumnId id) const { return read(wide.columns[id - 1U]); }
};

TEST_F(StoredStatisticsTest, Rows) {
  EXPECT_EQ(statistics.rows("wide"), 3000);
  EXPECT_EQ(statistics.rows("few"), 5);
  EXPECT_EQ(statistics.rows({.scan = wide}), 3000);
}

TEST_F(StoredStatisticsTest, RowsThatMatchAreSampled) {
  const double rest =
      statistics.rows({.scan = wide, .conditions = {call(Function::Less, of(1), number(30))}});
  EXPECT_GE(rest, 1);
  EXPECT_LT(rest, 1000);
  const double none =
      statistics.rows({.scan = wide, .conditions = {call(Function::Less, of(1), number(-5))}});
  EXPECT_EQ(none, 1);
  // Of a condition that only a row can tell something is left.
  const Expression unknown = call(Function::Less, of(2), of(3));
  EXPECT_NEAR(statistics.rows({.scan = wide, .conditions = {unknown}}), 900, 1);
  const IntegerRange ids{.low = order_signed(0, 4), .high = order_signed(29, 4)};
  const double within = statistics.rows({.scan = wide, .within = {{.column = 1, .range = ids}}});
  EXPECT_EQ(within, rest);
}

TEST_F(StoredStatisticsTest, DistinctValues) {
  const std::string id = "id", number = "a", unknown = "none";
  const DistinctValues of_id = statistics.distinct("wide", {&id, 1});
  EXPECT_GT(of_id.values, 1500);
  EXPECT_LE(of_id.values, 3000);
  // -3 to 6.
  const DistinctValues of_number = statistics.distinct("wide", {&number, 1});
  EXPECT_GE(of_number.values, 5);
  EXPECT_LE(of_number.values, 15);
  const std::vector<std::string> both{"a", "b"};
  const DistinctValues of_both = statistics.distinct("wide", both);
  EXPECT_GT(of_both.values, of_number.values);
  EXPECT_FALSE(of_both.is_known);
  EXPECT_EQ(statistics.distinct("wide", {&unknown, 1}).values, 3000);
}

TEST_F(StoredStatisticsTest, FindsTheLeastAndTheGreatestValue) {
  const ColumnId id = 1;
  const auto found =
      statistics.find({.scan = wide, .conditions = {call(Function::Less, of(1), number(30))}}, {&id, 1});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->rows, 30);
  EXPECT_EQ(found->ranges.front(), (IntegerRange{.low = order_signed(0, 4), .high = order_signed(29, 4)}));
  EXPECT_FALSE(
      statistics.find({.scan = wide, .conditions = {call(Function::Less, of(1), number(-5))}}, {&id, 1}));
}

}  // namespace
}  // namespace hailstone::plan
