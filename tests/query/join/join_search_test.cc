// Orders of joins: what they cost is compared with that of all other trees, and what few rows come of comes
// early, however many members there are.
#include "query/join/join_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <random>
#include <set>

#include "base/test_seed.h"

namespace hailstone {
namespace {

using Equality = JoinGraph::Equality;

Equality equal(std::vector<std::pair<size_t, double>> columns) {
  Equality equality;
  for (const auto& [member, distinct] : columns)
    equality.columns.push_back({.member = member, .distinct = distinct, .is_known = true});
  return equality;
}

/// The members of each part: the single ones, then what the steps make.
std::vector<JoinMembers> parts_of(const JoinGraph& graph, const std::vector<JoinStep>& steps) {
  std::vector<JoinMembers> parts;
  for (size_t i = 0; i < graph.rows.size(); ++i) parts.push_back(JoinMembers{1} << i);
  for (const JoinStep& step : steps) parts.push_back(parts[step.probe] | parts[step.build]);
  return parts;
}

/// Each part is used once, and all end in one.
void expect_tree(const JoinGraph& graph, const std::vector<JoinStep>& steps) {
  const size_t members = graph.rows.size();
  ASSERT_EQ(steps.size(), members - 1);
  std::set<size_t> used;
  for (size_t i = 0; i < steps.size(); ++i) {
    for (const size_t part : {steps[i].probe, steps[i].build}) {
      EXPECT_LT(part, members + i);
      EXPECT_TRUE(used.insert(part).second) << "part " << part << " is joined twice";
    }
  }
  const auto parts = parts_of(graph, steps);
  EXPECT_EQ(std::popcount(parts.back()), static_cast<int>(members));
  for (size_t i = 0; i < steps.size(); ++i)
    EXPECT_DOUBLE_EQ(steps[i].rows, graph.rows_of(parts[members + i]));
}

/// Rows that come out of all steps.
double rows_made(const std::vector<JoinStep>& steps) {
  return std::accumulate(steps.begin(), steps.end(), 0.0,
                         [](double sum, const JoinStep& step) { return sum + step.rows; });
}

TEST(JoinSearchTest, RowsOfTwoTablesAreThoseOfTheOneThatRefersToTheOther) {
  const JoinGraph graph{.rows = {600'000, 20'000}, .equalities = {equal({{0, 20'000}, {1, 20'000}})}};
  EXPECT_DOUBLE_EQ(graph.rows_of(0b01), 600'000);
  EXPECT_DOUBLE_EQ(graph.rows_of(0b11), 600'000);
}

/// Sales of five years, the days of two hundred, of which a condition leaves one year's.
JoinGraph sales_of_a_year() {
  JoinGraph graph{.rows = {1'400'000, 365}, .equalities = {equal({{0, 1'826}, {1, 73'000}})}};
  graph.equalities[0].limits.push_back({.by = 0b10, .columns = {{0.2, 365}, {1, 365}}});
  return graph;
}

TEST(JoinSearchTest, LimitsSayWhichOfTheRowsAreLeft) {
  JoinGraph graph = sales_of_a_year();
  EXPECT_DOUBLE_EQ(graph.rows_of(0b01), 1'400'000) << "without the days";
  EXPECT_DOUBLE_EQ(graph.rows_of(0b10), 365);
  EXPECT_DOUBLE_EQ(graph.rows_of(0b11), 280'000);
  graph.equalities[0].limits.push_back({.by = 0b10, .columns = {{0.1, 200}, {1, 365}}});
  EXPECT_DOUBLE_EQ(graph.rows_of(0b11), 140'000) << "by the limit that leaves least";
}

TEST(JoinSearchTest, LimitsOfSeveralMembersBeginOnceAllAreJoined) {
  // Days by their weeks to other days, and these to stocks.
  JoinGraph graph{.rows = {365, 73'000, 10'000'000},
                  .equalities = {equal({{0, 10'400}, {1, 10'400}}), equal({{1, 73'000}, {2, 1'826}})}};
  graph.equalities[0].limits.push_back({.by = 0b001, .columns = {{1, 52}, {0.005, 52}}});
  graph.equalities[1].limits.push_back({.by = 0b011, .columns = {{1, 365}, {0.2, 365}}});
  EXPECT_DOUBLE_EQ(graph.rows_of(0b110), 10'000'000);
  EXPECT_DOUBLE_EQ(graph.rows_of(0b011), 365 * 365.0 / 52);
  EXPECT_DOUBLE_EQ(graph.rows_of(0b111), 365 * 365.0 / 52 * 2'000'000 / 365);
}

TEST(JoinSearchTest, UnknownValuesAreReferencesToKnownOnes) {
  JoinGraph graph{.rows = {600'000, 20'000}, .equalities = {equal({{0, 600'000}, {1, 20'000}})}};
  graph.equalities[0].columns[0].is_known = false;
  EXPECT_DOUBLE_EQ(graph.rows_of(0b11), 600'000);
  graph.equalities[0].columns[0].distinct = 100;  // there are no more
  EXPECT_DOUBLE_EQ(graph.rows_of(0b11), 600'000);
}

TEST(JoinSearchTest, ColumnsThatAreAllEqualCountOnceEach) {
  // customer, supplier and nation of the same nation
  const JoinGraph graph{.rows = {15'000, 1'000, 25}, .equalities = {equal({{0, 25}, {1, 25}, {2, 25}})}};
  EXPECT_DOUBLE_EQ(graph.rows_of(0b101), 15'000);
  EXPECT_DOUBLE_EQ(graph.rows_of(0b011), 15'000.0 * 1'000 / 25);
  EXPECT_DOUBLE_EQ(graph.rows_of(0b111), 15'000.0 * 1'000 / 25);
}

TEST(JoinSearchTest, FactorsCountWhereAllTheirMembersAre) {
  const JoinGraph graph{.rows = {100, 100, 100},
                        .equalities = {equal({{0, 100}, {1, 100}, {2, 100}})},
                        .factors = {{.members = 0b011, .factor = 0.5}}};
  EXPECT_DOUBLE_EQ(graph.rows_of(0b011), 50);
  EXPECT_DOUBLE_EQ(graph.rows_of(0b110), 100);
  EXPECT_DOUBLE_EQ(graph.rows_of(0b111), 50);
}

TEST(JoinSearchTest, NothingIsEstimatedBelowARow) {
  const JoinGraph graph{.rows = {1, 2}, .equalities = {equal({{0, 1'000'000}, {1, 1'000'000}})}};
  EXPECT_DOUBLE_EQ(graph.rows_of(0b11), 1);
}

TEST(JoinSearchTest, OneMemberNeedsNoStep) { EXPECT_TRUE(search_joins({.rows = {5}}).empty()); }

TEST(JoinSearchTest, TheSmallSideIsBuilt) {
  for (const bool small_first : {false, true}) {
    JoinGraph graph{.rows = {1'000'000, 100}, .equalities = {equal({{0, 100}, {1, 100}})}};
    if (small_first) std::ranges::reverse(graph.rows);
    const auto steps = search_joins(graph);
    expect_tree(graph, steps);
    EXPECT_EQ(steps[0].build, small_first ? 0U : 1U);
  }
}

TEST(JoinSearchTest, AStarBuildsItsSmallTables) {
  // The facts are looked up in each of the others; the most selective one comes first.
  JoinGraph graph{.rows = {6'000'000, 2'500, 30'000, 80}, .equalities = {}};
  graph.equalities = {equal({{0, 2'500}, {1, 2'500}}), equal({{0, 30'000}, {2, 30'000}}),
                      equal({{0, 2'000}, {3, 2'000}})};
  const auto steps = search_joins(graph);
  expect_tree(graph, steps);
  EXPECT_EQ(steps[0].probe, 0U);
  EXPECT_EQ(steps[0].build, 3U);
  EXPECT_EQ(steps[1].probe, 4U);
  EXPECT_EQ(steps[2].probe, 5U);
}

TEST(JoinSearchTest, ManyRowsDoNotMeetEachOtherWhereKeysJoinThem) {
  // Nothing compares members 0 and 2, and nothing member 3.
  JoinGraph graph{.rows = {1'000, 5'000, 1'000, 7}, .equalities = {}};
  graph.equalities = {equal({{0, 1'000}, {1, 1'000}}), equal({{1, 1'000}, {2, 1'000}})};
  const auto steps = search_joins(graph);
  expect_tree(graph, steps);
  const auto parts = parts_of(graph, steps);
  for (const JoinMembers part : parts) EXPECT_NE(part & 0b0111, 0b0101U);
}

TEST(JoinSearchTest, FewRowsMeetEachOtherBeforeVeryManyAreProbed) {
  // What the facts are looked up in once has both of their keys.
  JoinGraph graph{.rows = {1'000'000, 3, 2}, .equalities = {}};
  graph.equalities = {equal({{0, 25}, {1, 25}}), equal({{0, 25}, {2, 25}})};
  const auto steps = search_joins(graph);
  expect_tree(graph, steps);
  EXPECT_EQ(parts_of(graph, steps)[3], 0b110U);
  EXPECT_EQ(steps[1].probe, 0U);
}

TEST(JoinSearchTest, RowsThatAScanLeavesOutForAJoinAboveCostNothingBelow) {
  // Filters of customers, suppliers and parts leave few of the facts, so that pairs of customers and
  // suppliers, which spare the facts a lookup, do not pay.
  JoinGraph star{.rows = {1'800'000, 2'556, 300, 30, 24'000}, .equalities = {}};
  star.equalities = {equal({{0, 2'406}, {1, 2'556}}), equal({{0, 9'000}, {2, 9'000}}),
                     equal({{0, 600}, {3, 600}}), equal({{0, 60'000}, {4, 60'000}})};
  const auto steps = search_joins(star);
  expect_tree(star, steps);
  for (const JoinMembers part : parts_of(star, steps))
    EXPECT_TRUE(std::has_single_bit(part) || (part & 1) != 0) << part;

  // Where all facts come, they are looked up once in the few pairs.
  JoinGraph all{.rows = {1'000'000, 10, 20}, .equalities = {}};
  all.equalities = {equal({{0, 10}, {1, 10}}), equal({{0, 20}, {2, 20}})};
  const auto pairs = search_joins(all);
  expect_tree(all, pairs);
  EXPECT_EQ(parts_of(all, pairs)[3], 0b110U);
}

TEST(JoinSearchTest, NoOtherTreeHasFewerRowsByFarUpToTheBound) {
  std::mt19937_64 random(test_seed(14));
  for (int round = 0; round < 200; ++round) {
    const size_t members = 2 + random() % 6;
    JoinGraph graph{.rows = {}, .equalities = {}};
    for (size_t i = 0; i < members; ++i) graph.rows.push_back(1.0 + static_cast<double>(random() % 100'000));
    for (size_t i = 1; i < members; ++i) {
      const size_t other = random() % i;
      graph.equalities.push_back(equal({{i, static_cast<double>(1 + random() % 1000)},
                                        {other, static_cast<double>(1 + random() % 1000)}}));
    }
    const auto steps = search_joins(graph);
    expect_tree(graph, steps);
    // Joined one after the other from some member on, in random orders.
    double least = std::numeric_limits<double>::infinity();
    for (int order = 0; order < 50; ++order) {
      JoinMembers joined = JoinMembers{1} << random() % members;
      double rows = 0;
      while (std::popcount(joined) < static_cast<int>(members)) {
        std::vector<size_t> next;
        for (const Equality& equality : graph.equalities) {
          const size_t one = equality.columns[0].member, other = equality.columns[1].member;
          if ((joined >> one & 1) != (joined >> other & 1))
            next.push_back((joined >> one & 1) != 0 ? other : one);
        }
        joined |= JoinMembers{1} << next[random() % next.size()];
        rows += graph.rows_of(joined);
      }
      least = std::min(least, rows);
    }
    // A row costs 1 where it comes out, and where it is probed or built at most 3.
    const double all = std::accumulate(graph.rows.begin(), graph.rows.end(), 0.0);
    EXPECT_LE(rows_made(steps), 4 * (least + all)) << "round " << round;
  }
}

TEST(JoinSearchTest, MoreMembersThanAllOrdersAreTriedForAreJoinedByFewestRows) {
  std::mt19937_64 random(test_seed(15));
  for (const size_t members : {most_in_all_orders, most_in_all_orders + 1, size_t{30}, most_join_members}) {
    JoinGraph chain{.rows = {}, .equalities = {}}, star{.rows = {}, .equalities = {}};
    for (size_t i = 0; i < members; ++i) {
      chain.rows.push_back(1 + static_cast<double>(random() % 1'000));
      star.rows.push_back(i == 0 ? 1'000'000 : chain.rows.back());
      if (i == 0) continue;
      chain.equalities.push_back(equal({{i - 1, 1'000}, {i, 1'000}}));
      star.equalities.push_back(equal({{0, 1'000}, {i, 1'000}}));
    }
    for (const JoinGraph* graph : {&chain, &star}) {
      const auto steps = search_joins(*graph);
      expect_tree(*graph, steps);
      if (members <= most_in_all_orders) continue;
      const auto parts = parts_of(*graph, steps);
      // Nothing is a product.
      for (const JoinStep& step : steps) {
        EXPECT_TRUE(std::ranges::any_of(graph->equalities, [&](const Equality& equality) {
          const auto has = [&](size_t part, size_t column) {
            return (parts[part] >> equality.columns[column].member & 1) != 0;
          };
          return (has(step.probe, 0) && has(step.build, 1)) || (has(step.probe, 1) && has(step.build, 0));
        }));
      }
    }
  }
}

TEST(JoinSearchTest, PairsThatNoKeyFindsCostEvenIfFewAreLeftOfThem) {
  const JoinGraph graph{.rows = {100'000, 100'000, 10},
                        .equalities = {equal({{0, 10}, {2, 10}}), equal({{1, 10}, {2, 10}})},
                        .factors = {{.members = 0b011, .factor = 1e-9}}};
  ASSERT_DOUBLE_EQ(graph.rows_of(0b011), 10);
  const auto steps = search_joins(graph);
  expect_tree(graph, steps);
  EXPECT_NE(parts_of(graph, steps)[3], 0b011U);
}

TEST(JoinSearchTest, OrdersAreKept) {
  std::mt19937_64 random(test_seed(16));
  for (int round = 0; round < 300; ++round) {
    const size_t members = 2 + random() % (round % 10 == 0 ? 20 : 8);
    JoinGraph graph;
    for (size_t i = 0; i < members; ++i) graph.rows.push_back(1.0 + static_cast<double>(random() % 100'000));
    for (size_t i = 1; i < members; ++i) {
      if (random() % 4 != 0) graph.equalities.push_back(equal({{random() % i, 1'000}, {i, 1'000}}));
    }
    for (size_t orders = 1 + random() % 3; orders > 0; --orders) {
      const size_t first = random() % (members - 1), middle = first + 1 + random() % (members - first - 1);
      const size_t behind = middle + 1 + random() % (members - middle);
      const auto below = [](size_t member) { return (JoinMembers{1} << member) - 1; };
      graph.orders.push_back(
          {.before = below(middle) & ~below(first), .after = below(behind) & ~below(middle)});
    }
    const auto steps = search_joins(graph);
    expect_tree(graph, steps);
    const auto parts = parts_of(graph, steps);
    for (const JoinGraph::Order& order : graph.orders) {
      for (const JoinStep& step : steps) {
        const JoinMembers probe = parts[step.probe], build = parts[step.build], both = probe | build;
        EXPECT_FALSE((probe & order.after) != 0 && (build & order.before) != 0) << "round " << round;
        if ((both & order.after) != 0 && (both & ~order.after) != 0) {
          EXPECT_EQ(order.before & ~both, 0U) << "round " << round;
        }
      }
    }
  }
}

TEST(JoinSearchTest, MembersThatAreAllInOrderAreJoinedOneAfterTheOther) {
  for (const size_t members : {size_t{5}, most_in_all_orders + 3}) {
    JoinGraph graph;
    for (size_t i = 0; i < members; ++i) {
      graph.rows.push_back(10.0 * static_cast<double>(members - i));
      if (i > 0) graph.orders.push_back({.before = (JoinMembers{1} << i) - 1, .after = JoinMembers{1} << i});
    }
    const auto steps = search_joins(graph);
    expect_tree(graph, steps);
    for (size_t i = 0; i < steps.size(); ++i) {
      EXPECT_EQ(steps[i].probe, i == 0 ? 0 : members + i - 1);
      EXPECT_EQ(steps[i].build, i + 1);
    }
  }
}

/// A table of facts, joined to each of the others by a key of these.
JoinGraph star_of(size_t members) {
  JoinGraph graph{.rows = {1e7}};
  for (size_t i = 1; i < members; ++i) {
    graph.rows.push_back(1000);
    graph.equalities.push_back(equal({{0, 1000}, {i, 1000}}));
  }
  return graph;
}

TEST(JoinSearchTest, StepsThatAreNoBetterAreNotGiven) {
  for (const size_t members : {size_t{2}, size_t{5}, most_in_all_orders, most_in_all_orders + 3}) {
    const JoinGraph graph = star_of(members);
    EXPECT_TRUE(search_better_joins(graph, search_joins(graph), 0.9).empty()) << members;
    // The facts are built, and go from one table of the join to the next.
    std::vector<JoinStep> worse{{.probe = 1, .build = 0}};
    for (size_t next = 2; next < members; ++next)
      worse.push_back({.probe = next, .build = members + next - 2});
    const std::vector<JoinStep> better = search_better_joins(graph, worse, 0.9);
    expect_tree(graph, better);
    EXPECT_TRUE(search_better_joins(graph, better, 0.9).empty()) << members;
    // Little is gained where it has to be next to all.
    EXPECT_TRUE(search_better_joins(graph, worse, 0.001).empty()) << members;
  }
  EXPECT_TRUE(search_better_joins({.rows = {5}}, {}, 1).empty());
}

}  // namespace
}  // namespace hailstone
