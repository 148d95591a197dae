// What joins that have begun do once the rows of build sides are known: they go on where little is left, and
// begin anew where another order costs far less; whatever they know, all tables are joined once.
#include "query/join/join_again.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <numeric>
#include <random>

#include "base/test_seed.h"

namespace hailstone {
namespace {

JoinGraph::Equality equal(size_t one, size_t other, double distinct) {
  return {.columns = {{.member = one, .distinct = distinct}, {.member = other, .distinct = distinct}}};
}

/// The tables of each part: those of the members, then of what the steps make.
std::vector<uint64_t> tables_of(std::vector<uint64_t> parts, const std::vector<JoinStep>& steps) {
  for (const JoinStep& step : steps) parts.push_back(parts[step.probe] | parts[step.build]);
  return parts;
}

/// As they were begun.
JoinsSoFar begun(const std::vector<uint64_t>& members, const std::vector<JoinStep>& steps) {
  JoinsSoFar so_far;
  const auto parts = tables_of(members, steps);
  for (const JoinStep& step : steps)
    so_far.joins.push_back({.probe = parts[step.probe], .build = parts[step.build]});
  return so_far;
}

// 18 million lines, of which conditions seemed to leave few, and a table a tenth as large.
const JoinGraph lines_and_parts{.rows = {240'000, 44'000}, .equalities = {equal(0, 1, 2'400'000)}};
const std::vector<uint64_t> two{0b01, 0b10};

TEST(JoinAgainTest, ABuildSideThatGrowsIsProbedInstead) {
  JoinsSoFar so_far = begun(two, search_joins(lines_and_parts));
  ASSERT_EQ(so_far.joins[0].build, 0b10U);
  so_far.known = {{.tables = 0b10, .rows = 18e6}};
  const StepsAgain again = choose_steps_again(lines_and_parts, two, so_far);
  EXPECT_TRUE(again.are_better);
  EXPECT_EQ(again.steps[0].build, 0U);
}

TEST(JoinAgainTest, WhatIsBuiltIsNotThrownAway) {
  JoinsSoFar so_far = begun(two, search_joins(lines_and_parts));
  so_far.known = {{.tables = 0b10, .rows = 1e6, .are_all = true}};
  so_far.joins[0].is_built = true;
  const StepsAgain again = choose_steps_again(lines_and_parts, two, so_far);
  EXPECT_FALSE(again.are_better);
  EXPECT_EQ(again.steps[0].build, 1U);
}

TEST(JoinAgainTest, MoreRowsThanThoseSoFarMayCome) {
  JoinsSoFar so_far = begun(two, search_joins(lines_and_parts));
  so_far.known = {{.tables = 0b10, .rows = 10}};
  EXPECT_DOUBLE_EQ(choose_steps_again(lines_and_parts, two, so_far).steps[0].rows,
                   lines_and_parts.rows_of(0b11));
  so_far.known[0].are_all = true;
  EXPECT_LT(choose_steps_again(lines_and_parts, two, so_far).steps[0].rows, lines_and_parts.rows_of(0b11));
}

TEST(JoinAgainTest, RowsOfSeveralTablesAreKnownTogether) {
  JoinGraph graph{.rows = {1e6, 1e4, 1e4}, .equalities = {equal(0, 1, 1e4), equal(1, 2, 1e4)}};
  graph.set_rows_of(0b110, 500);
  EXPECT_DOUBLE_EQ(graph.rows_of(0b110), 500);
  EXPECT_DOUBLE_EQ(graph.rows_of(0b010), 1e4);
  EXPECT_DOUBLE_EQ(graph.rows_of(0b111), 1e6 * 500 / 1e4);
  graph.set_rows_of(0b010, 7);
  EXPECT_DOUBLE_EQ(graph.rows_of(0b010), 7);
}

TEST(JoinAgainTest, AllTablesAreJoinedOnceWhateverIsKnown) {
  std::mt19937_64 random(test_seed(31));
  size_t better = 0;
  for (int round = 0; round < 500; ++round) {
    const size_t members = 2 + random() % 7;
    JoinGraph graph;
    std::vector<uint64_t> tables;
    for (size_t i = 0; i < members; ++i) {
      graph.rows.push_back(1.0 + static_cast<double>(random() % 100'000));
      // Some have tables that are joined to them before.
      tables.push_back(uint64_t{random() % 3 == 0 ? 3U : 1U} << (2 * i));
      if (i > 0 && random() % 5 != 0) graph.equalities.push_back(equal(random() % i, i, 1'000));
    }
    const std::vector<JoinStep> steps = search_joins(graph);
    JoinsSoFar so_far = begun(tables, steps);
    // Of joins within members, and of all and more, it asks nothing.
    so_far.joins.insert(so_far.joins.begin(), {.probe = 1, .build = 2});
    so_far.joins.push_back(
        {.probe = (uint64_t{1} << (2 * members)) - 1, .build = uint64_t{1} << (2 * members)});
    for (auto& join : so_far.joins) {
      if (random() % 2 == 0) continue;
      join.is_built = random() % 2 == 0;
      so_far.known.push_back({join.build, static_cast<double>(random() % 1'000'000), join.is_built});
    }
    if (random() % 4 == 0) so_far.most_share = std::numeric_limits<double>::infinity();
    const StepsAgain again = choose_steps_again(graph, tables, so_far);
    ASSERT_EQ(again.steps.size(), members - 1) << "round " << round;
    const auto parts = tables_of(tables, again.steps);
    std::vector<int> used(parts.size());
    for (const JoinStep& step : again.steps) {
      ++used[step.probe];
      ++used[step.build];
    }
    for (size_t i = 0; i + 1 < used.size(); ++i) EXPECT_EQ(used[i], 1) << "round " << round << ", part " << i;
    better += again.are_better ? 1 : 0;
    if (again.are_better) continue;
    for (size_t i = 0; i < steps.size(); ++i) {
      EXPECT_EQ(again.steps[i].probe, steps[i].probe);
      EXPECT_EQ(again.steps[i].build, steps[i].build);
    }
  }
  EXPECT_GT(better, 50U);
  EXPECT_LT(better, 450U);
}

}  // namespace
}  // namespace hailstone
