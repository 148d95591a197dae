#include "column/predicate.h"

#include <gtest/gtest.h>

#include <limits>

namespace hailstone {
namespace {

constexpr uint64_t most = std::numeric_limits<uint64_t>::max();

TEST(PredicateTest, RangesAreSortedJoinedAndCleaned) {
  const auto leaf = Predicate::integer(3, {{20, 30}, {5, 4}, {1, 9}, {10, 12}, {25, 40}, {most, most}});
  ASSERT_EQ(leaf.kind(), Predicate::Kind::Integer);
  const std::vector<IntegerRange> expected = {{1, 12}, {20, 40}, {most, most}};
  EXPECT_EQ(std::vector(leaf.ranges().begin(), leaf.ranges().end()), expected);
  EXPECT_EQ(Predicate::integer(3, {{2, 1}}).kind(), Predicate::Kind::Never);
  const auto whole = Predicate::integer(3, {{0, most}, {7, 8}});
  EXPECT_EQ(whole.ranges().size(), 1U);
}

TEST(PredicateTest, AndOrAreSimplified) {
  EXPECT_EQ(Predicate::all_of({}).kind(), Predicate::Kind::Always);
  EXPECT_EQ(Predicate::any_of({}).kind(), Predicate::Kind::Never);
  EXPECT_EQ(Predicate::all_of({Predicate::is_null(1), Predicate::never()}).kind(), Predicate::Kind::Never);
  EXPECT_EQ(Predicate::any_of({Predicate::is_null(1), Predicate::always()}).kind(), Predicate::Kind::Always);
  EXPECT_EQ(Predicate::all_of({Predicate::is_null(1), Predicate::always()}).kind(), Predicate::Kind::IsNull);
  const auto nested = Predicate::any_of(
      {Predicate::any_of({Predicate::is_null(4), Predicate::is_null(2)}), Predicate::is_not_null(4)});
  EXPECT_EQ(nested.parts().size(), 3U);
  EXPECT_EQ(nested.columns(), (std::vector<uint16_t>{2, 4}));
}

TEST(PredicateTest, RangesOfOneColumnBecomeOneLeaf) {
  const auto both =
      Predicate::all_of({Predicate::integer(1, {{5, most}}), Predicate::integer(1, {{0, 10}, {12, 20}})});
  ASSERT_EQ(both.kind(), Predicate::Kind::Integer);
  const std::vector<IntegerRange> expected = {{5, 10}, {12, 20}};
  EXPECT_EQ(std::vector(both.ranges().begin(), both.ranges().end()), expected);
  const auto neither = Predicate::all_of({Predicate::integer(1, {{5, 6}}), Predicate::integer(1, {{7, 8}})});
  EXPECT_EQ(neither.kind(), Predicate::Kind::Never);
  const auto either = Predicate::any_of({Predicate::integer(1, {{5, 6}}), Predicate::integer(1, {{7, 8}})});
  ASSERT_EQ(either.kind(), Predicate::Kind::Integer);
  EXPECT_EQ(either.ranges().size(), 1U);
  const auto columns = Predicate::all_of({Predicate::integer(1, {{5, 6}}), Predicate::integer(2, {{7, 8}})});
  EXPECT_EQ(columns.parts().size(), 2U);
}

TEST(PredicateTest, NullIsNeverTrue) {
  const auto leaf = Predicate::integer(0, {{0, most}});
  EXPECT_FALSE(leaf.matches([](uint16_t) { return Value{}; }));
  EXPECT_TRUE(leaf.matches([](uint16_t) { return Value::of(uint64_t{9}); }));
  EXPECT_TRUE(Predicate::is_null(0).matches([](uint16_t) { return Value{}; }));
  EXPECT_FALSE(Predicate::is_not_null(0).matches([](uint16_t) { return Value{}; }));
}

}  // namespace
}  // namespace hailstone
