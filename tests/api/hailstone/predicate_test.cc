// Predicates of hailstone.h as they are built: who owns what, and how deep they may be.
#include <gtest/gtest.h>

#include "api/hailstone/fixture.h"

namespace hailstone {
namespace {

class HailstonePredicateTest : public HailstoneTest {
 protected:
  static constexpr int64_t rows = 10;

  void SetUp() override {
    HailstoneTest::SetUp();
    table_ = create_pairs("t/pairs");
    transaction_ = begin();
    for (int64_t id = 0; id < rows; ++id) ASSERT_HS_OK(insert(transaction_, table_, id, "x"), transaction_);
  }
  void TearDown() override {
    hs_transaction_close(transaction_);
    hs_table_close(table_);
    HailstoneTest::TearDown();
  }

  static hs_predicate* is(int64_t id) { return hs_compare("id", HS_EQUAL, hs_int(id)); }
  static hs_predicate* either(hs_predicate* a, hs_predicate* b) {
    hs_predicate* const parts[] = {a, b};
    return hs_or(parts, 2);
  }
  static hs_predicate* both(hs_predicate* a, hs_predicate* b) {
    hs_predicate* const parts[] = {a, b};
    return hs_and(parts, 2);
  }
  /// The number of rows that it admits; the predicate is freed.
  uint64_t count(hs_predicate* predicate) {
    EXPECT_NE(predicate, nullptr);
    hs_scan* scan = nullptr;
    uint64_t found = ~uint64_t{0};
    EXPECT_HS_OK(hs_scan_open(transaction_, table_, &scan), transaction_);
    EXPECT_HS_OK(hs_scan_filter(scan, predicate), scan);
    EXPECT_HS_OK(hs_scan_count(scan, &found), scan);
    hs_scan_close(scan);
    hs_predicate_free(predicate);
    return found;
  }

  hs_table* table_ = nullptr;
  hs_transaction* transaction_ = nullptr;
};

TEST_F(HailstonePredicateTest, APartBelongsToOneWholeOnly) {
  hs_predicate* part = is(1);
  EXPECT_EQ(both(part, part), nullptr);

  part = is(1);
  hs_predicate* whole = hs_and(&part, 1);
  ASSERT_NE(whole, nullptr);
  hs_predicate_free(part);
  EXPECT_EQ(hs_or(&part, 1), nullptr);
  EXPECT_EQ(either(part, is(2)), nullptr);
  EXPECT_EQ(hs_not(part), nullptr);
  EXPECT_EQ(count(whole), 1u);

  // Also one whose own parts went to a whole of the same kind.
  part = either(is(1), is(2));
  whole = either(part, is(3));
  hs_predicate_free(part);
  EXPECT_EQ(hs_not(part), nullptr);
  EXPECT_EQ(count(whole), 3u);
}

TEST_F(HailstonePredicateTest, WhatIsMissingFreesTheRest) {
  hs_predicate* const parts[] = {is(1), nullptr, is(2)};
  EXPECT_EQ(hs_or(parts, 3), nullptr);
  EXPECT_EQ(hs_or(nullptr, 2), nullptr);
  EXPECT_EQ(count(hs_or(nullptr, 0)), 0u);
  EXPECT_EQ(count(hs_and(nullptr, 0)), static_cast<uint64_t>(rows));
}

TEST_F(HailstonePredicateTest, AlternativesAreAddedOneByOne) {
  constexpr int64_t many = 20'000, few = 2000;
  hs_predicate* left = is(0);
  hs_predicate* right = is(0);
  hs_predicate* all = hs_and(nullptr, 0);
  for (int64_t i = 1; i < many; ++i) {
    left = either(left, is(i));
    right = either(is(i), right);
    if (i < few) all = both(all, hs_not(is(i)));
  }
  EXPECT_EQ(count(left), static_cast<uint64_t>(rows));
  EXPECT_EQ(count(right), static_cast<uint64_t>(rows));
  EXPECT_EQ(count(all), 1u);
}

TEST_F(HailstonePredicateTest, NestingHasALimit) {
  constexpr int most = 1000;
  hs_predicate* nested = is(1);
  for (int i = 1; i < most; ++i) {
    nested = i % 2 == 0 ? either(nested, hs_is_null("id")) : both(nested, hs_is_null("text"));
    ASSERT_NE(nested, nullptr) << i;
  }
  EXPECT_EQ(count(nested), 0u);
  nested = is(1);
  for (int i = 1; i < most; ++i) nested = hs_not(nested);
  ASSERT_NE(nested, nullptr);
  EXPECT_EQ(hs_not(nested), nullptr) << "one too deep";
  nested = is(1);
  for (int i = 0; i < 100 * most; ++i) nested = hs_not(nested);
  EXPECT_EQ(nested, nullptr);
}

TEST_F(HailstonePredicateTest, AFreedPartIsRefused) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "a freed handle is recognised by what is left of it, which is not read under a sanitizer";
#endif
  hs_predicate* const part = is(1);
  hs_predicate_free(part);
  EXPECT_EQ(hs_not(part), nullptr);
}

}  // namespace
}  // namespace hailstone
