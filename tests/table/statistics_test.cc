#include "table/test_host.h"
#include "table/test_rows.h"

namespace hailstone {
namespace {

class StatisticsTest : public testing::Test {
 protected:
  std::unique_ptr<Transaction> begin() { return host_.transactions().begin(Isolation::RepeatableRead); }
  void insert(Transaction& transaction, const TestRow& row) {
    Duplicate duplicate;
    const auto inserted = table_->insert(transaction, encode(*table_, row), duplicate);
    ASSERT_TRUE(inserted) << message(inserted);
  }

  TestHost host_;
  std::shared_ptr<Table> table_ = host_.create(test_definition(true));
};

TEST_F(StatisticsTest, DistinctValuesAreThoseOfAllSegmentsTogether) {
  for (int32_t round = 0; round < 5; ++round) {
    const auto transaction = begin();
    for (int32_t i = 0; i < 400; ++i) {
      // Numbers are of one round only, names of all rounds; there are 40 of them, then 300.
      insert(*transaction, {.id = round * 400 + i,
                            .number = round * 400 + i,
                            .name = "name " + std::to_string(i % (round < 4 ? 40 : 300))});
    }
    ASSERT_TRUE(host_.transactions().commit(*transaction));
    ASSERT_TRUE(table_->flush(true));
    EXPECT_EQ(table_->statistics().segments, static_cast<uint64_t>(round) + 1);
    const auto expected = static_cast<double>(round + 1) * 400;
    EXPECT_NEAR(static_cast<double>(table_->column_statistics(number_column).storage.distinct), expected,
                expected * 0.1);
    const double names = round < 4 ? 40 : 300;
    EXPECT_NEAR(static_cast<double>(table_->column_statistics(name_column).storage.distinct), names,
                round < 4 ? 0 : 30);
    const auto distinct = table_->statistics().distinct;
    EXPECT_EQ(distinct[0][0], static_cast<uint64_t>(expected));
    EXPECT_NEAR(static_cast<double>(distinct[2][0]), names, round < 4 ? 0 : 30);
  }
}

TEST_F(StatisticsTest, CountsOfAnAnalysisGrowWithTheTableUntilItIsAnalyzedAgain) {
  const auto fill = [&](int32_t first, int32_t last) {
    const auto transaction = begin();
    for (int32_t id = first; id < last; ++id)
      insert(*transaction, {.id = id, .number = id, .name = "name " + std::to_string(id % 7)});
    ASSERT_TRUE(host_.transactions().commit(*transaction));
  };
  fill(0, 200);
  ASSERT_TRUE(table_->analyze());
  EXPECT_EQ(table_->statistics().distinct[1], std::vector<uint64_t>{200});
  // So few rows more make no difference.
  fill(200, 1100);
  EXPECT_EQ(table_->statistics().distinct[1], std::vector<uint64_t>{200});
  EXPECT_EQ(host_.analysis_requests.load(), 0U);
  fill(1100, 5000);
  for (int round = 0; round < 3; ++round) {
    const auto distinct = table_->statistics().distinct;
    EXPECT_EQ(distinct[0], std::vector<uint64_t>{5000});
    EXPECT_EQ(distinct[1], std::vector<uint64_t>{5000});
    EXPECT_LT(distinct[2][0], 20U);
    EXPECT_EQ(distinct[2][1], 5000U);
  }
  EXPECT_EQ(host_.analysis_requests.load(), 1U);
  // An analysis that is interrupted leaves what was known, and the next reader asks again.
  const Status stopped = table_->analyze([] { return true; });
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code(), ErrorCode::Interrupted);
  EXPECT_EQ(table_->statistics().distinct[1], std::vector<uint64_t>{5000});
  EXPECT_EQ(host_.analysis_requests.load(), 2U);
  ASSERT_TRUE(table_->analyze());
  EXPECT_EQ(table_->statistics().distinct[2], (std::vector<uint64_t>{7, 5000}));
  EXPECT_EQ(host_.analysis_requests.load(), 2U);
  // Rows go, too.
  const auto transaction = begin();
  for (int32_t id = 1000; id < 5000; ++id) ASSERT_TRUE(table_->erase(*transaction, key_of(*table_, id)));
  ASSERT_TRUE(host_.transactions().commit(*transaction));
  EXPECT_EQ(table_->statistics().distinct[1], std::vector<uint64_t>{1000});
  EXPECT_EQ(host_.analysis_requests.load(), 3U);
}

TEST_F(StatisticsTest, EndedRowsAreCountedThroughCommitRollbackFlushAndMerge) {
  const auto fill = [&](int32_t first, int32_t last) {
    const auto transaction = begin();
    for (int32_t id = first; id < last; ++id) insert(*transaction, {.id = id, .number = id});
    ASSERT_TRUE(host_.transactions().commit(*transaction));
  };
  const auto erase = [&](Transaction& transaction, int32_t first, int32_t last) {
    for (int32_t id = first; id < last; ++id) ASSERT_TRUE(table_->erase(transaction, key_of(*table_, id)));
  };
  const auto expect = [&](uint64_t rows, uint64_t deleted, uint64_t segments) {
    const TableStatistics found = table_->statistics();
    EXPECT_EQ(found.rows, rows);
    EXPECT_EQ(found.deleted_rows, deleted);
    EXPECT_EQ(found.segments, segments);
  };
  fill(0, 1000);
  ASSERT_TRUE(table_->flush(true));
  expect(1000, 0, 1);
  const auto taken_back = begin();
  erase(*taken_back, 0, 50);
  expect(950, 50, 1);
  host_.transactions().rollback(*taken_back);
  expect(1000, 0, 1);
  const auto kept = begin();
  erase(*kept, 100, 200);
  fill(1000, 1100);
  ASSERT_TRUE(table_->flush(true));
  expect(1000, 100, 2);
  // The ends move with their rows while they are open.
  ASSERT_TRUE(table_->optimize({}));
  expect(1000, 100, 1);
  ASSERT_TRUE(host_.transactions().commit(*kept));
  expect(1000, 100, 1);
  ASSERT_TRUE(table_->optimize({}));
  expect(1000, 0, 1);
}

TEST_F(StatisticsTest, RowsThatEndedInADeltaCountNoMore) {
  const auto erase = [&](Transaction& transaction, int32_t id) {
    const auto erased = table_->erase(transaction, key_of(*table_, id));
    ASSERT_TRUE(erased) << message(erased);
  };
  const auto expect = [&](uint64_t rows, uint64_t deleted) {
    EXPECT_EQ(table_->statistics().rows, rows);
    EXPECT_EQ(table_->statistics().deleted_rows, deleted);
    EXPECT_EQ(table_->estimate_range(0, {}, {}), rows);
    EXPECT_EQ(table_->estimate_range(1, {}, {}), rows);
  };
  auto transaction = begin();
  for (int32_t i = 0; i < 100; ++i) insert(*transaction, {.id = i, .number = i});
  ASSERT_TRUE(host_.transactions().commit(*transaction));
  expect(100, 0);

  transaction = begin();
  for (int32_t i = 0; i < 60; ++i) erase(*transaction, i);
  expect(40, 60);
  host_.transactions().rollback(*transaction);
  expect(100, 0);

  transaction = begin();
  for (int32_t i = 0; i < 60; ++i) erase(*transaction, i);
  // Again under the same keys: another version of each row.
  for (int32_t i = 0; i < 10; ++i) insert(*transaction, {.id = i, .number = i});
  expect(50, 60);
  ASSERT_TRUE(host_.transactions().commit(*transaction));
  expect(50, 60);

  transaction = begin();
  insert(*transaction, {.id = 20, .number = 20});
  erase(*transaction, 20);
  erase(*transaction, 70);
  host_.transactions().rollback(*transaction);
  expect(50, 60);

  ASSERT_TRUE(table_->flush(true));
  EXPECT_EQ(table_->statistics().rows, 50U);
}

TEST_F(StatisticsTest, ReplayedRowsThatEndedCountNoMore) {
  for (Timestamp timestamp = 2; timestamp < 12; ++timestamp) {
    const int32_t id = static_cast<int32_t>(timestamp);
    ASSERT_TRUE(table_->replay_put(timestamp, 0, encode(*table_, {.id = id, .number = id})));
  }
  for (Timestamp timestamp = 12; timestamp < 16; ++timestamp) {
    const int32_t id = static_cast<int32_t>(timestamp) - 10;
    ASSERT_TRUE(table_->replay_delete(timestamp, key_of(*table_, id)));
  }
  ASSERT_TRUE(table_->replay_put(16, 0, encode(*table_, {.id = 10, .number = 1})));
  EXPECT_EQ(table_->statistics().rows, 6U);
}

}  // namespace
}  // namespace hailstone
