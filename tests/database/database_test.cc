#include "database/database.h"

#include <filesystem>

#include "database/database_fixture.h"

namespace hailstone {
namespace {

TEST_F(DatabaseTest, KeepsRowsOverReopening) {
  open();
  create("d/t");
  put_rows("d/t", {{1, "one"}, {2, "two"}});
  reopen();
  expect_rows("d/t", {{1, "one"}, {2, "two"}});
  {
    const auto transaction = begin();
    const auto table = *database_->table("d/t");
    ASSERT_OK(table->erase(*transaction, pair_key(*table, 1)));
    ASSERT_OK(put(*table, *transaction, 2, "zwei"));
    ASSERT_OK(put(*table, *transaction, -3, "three"));
    ASSERT_OK(commit(*transaction));
  }
  reopen();
  expect_rows("d/t", {{-3, "three"}, {2, "zwei"}});
  reopen();
  expect_rows("d/t", {{-3, "three"}, {2, "zwei"}});
  EXPECT_TRUE(messages_.empty());
}

TEST_F(DatabaseTest, KeepsRowsOfSegmentsAndDeltas) {
  open();
  create("d/t");
  create("d/keyless", false);
  Rows rows;
  for (int64_t id = 0; id < 3000; ++id) rows[id] = std::string(100, static_cast<char>('a' + id % 26));
  put_rows("d/t", rows);
  {
    const auto transaction = begin();
    const auto table = *database_->table("d/keyless");
    Duplicate duplicate;
    for (int64_t id = 0; id < 3000; ++id) {
      ASSERT_OK(table->insert(*transaction, pair_row(*table, id, "r" + std::to_string(id)), duplicate));
    }
    ASSERT_OK(commit(*transaction));
  }
  ASSERT_OK(database_->checkpoint());  // 300 KB are a segment
  {
    const auto transaction = begin();
    const auto table = *database_->table("d/t");
    for (int64_t id = 0; id < 3000; id += 3) {
      ASSERT_OK(table->erase(*transaction, pair_key(*table, id)));
      rows.erase(id);
    }
    for (int64_t id = 1; id < 3000; id += 30) {
      ASSERT_OK(put(*table, *transaction, id, "new"));
      rows[id] = "new";
    }
    ASSERT_OK(commit(*transaction));
  }
  reopen();
  EXPECT_GE((*database_->table("d/t"))->statistics().segments, 1U);
  expect_rows("d/t", rows);
  EXPECT_EQ(read_table(*database_, "d/keyless")->size(), 3000U);
  reopen();
  expect_rows("d/t", rows);
}

TEST_F(DatabaseTest, CarriesSmallTablesWithoutFiles) {
  open();
  for (int i = 0; i < 200; ++i) {
    create("d/t" + std::to_string(i));
    put_rows("d/t" + std::to_string(i), {{i, "row"}});
  }
  reopen();
  ASSERT_OK(database_->checkpoint());
  reopen();
  for (const auto& file : std::filesystem::directory_iterator(directory_.path())) {
    EXPECT_FALSE(file.path().filename().string().starts_with("segment-"));
  }
  for (int i = 0; i < 200; ++i) expect_rows("d/t" + std::to_string(i), {{i, "row"}});
  EXPECT_EQ(database_->table_names("d/t19").size(), 11U);
}

TEST_F(DatabaseTest, TablesThatWereNotUsedStayUnopened) {
  open();
  create("d/t");
  Rows rows;
  for (int64_t id = 0; id < 2000; ++id) rows[id] = std::string(100, 'x');
  put_rows("d/t", rows);
  reopen();
  EXPECT_EQ(database_->counters().segments.load(), 0U);
  expect_rows("d/t", rows);
  EXPECT_GT(database_->counters().segments.load(), 0U);
}

TEST_F(DatabaseTest, CounterSurvives) {
  open();
  create("d/t");
  {
    const auto transaction = begin();
    const auto table = *database_->table("d/t");
    ASSERT_OK(table->raise_auto_increment(*transaction, 42));
    ASSERT_OK(commit(*transaction));
  }
  reopen();
  EXPECT_EQ((*database_->table("d/t"))->next_auto_increment(), 42U);
  reopen();
  EXPECT_EQ((*database_->table("d/t"))->next_auto_increment(), 42U);
}

TEST_F(DatabaseTest, BulkLoadedRowsSurvive) {
  open();
  create("d/t");
  Rows rows;
  {
    const auto transaction = begin();
    const auto table = *database_->table("d/t");
    BulkLoad load(table, *transaction);
    for (int64_t id = 0; id < 30'000; ++id) {
      rows[id] = "bulk " + std::to_string(id * 7919 % 1000) + std::string(60, 'b');
      ASSERT_OK(load.append(pair_values(id, rows[id])));
    }
    Duplicate duplicate;
    ASSERT_OK(load.finish(duplicate));
    ASSERT_OK(commit(*transaction));
  }
  put_rows("d/t", {{5, "changed"}});
  rows[5] = "changed";
  expect_rows("d/t", rows);
  reopen();
  expect_rows("d/t", rows);
}

TEST_F(DatabaseTest, RowsThatALoadReplacedSurvive) {
  options_.memory_budget = size_t{16} << 20;
  open();
  create("d/t");
  Rows rows;
  for (int64_t id = 0; id < 500; ++id) rows[id * 50] = "old";
  put_rows("d/t", rows);
  {
    const auto transaction = begin();
    const auto table = *database_->table("d/t");
    BulkLoad load(table, *transaction, BulkLoad::Duplicates::AreToldByRow);
    // The second half repeats the first: some of its rows are in segments by then, some on their way.
    for (int64_t i = 0; i < 50'000; ++i) {
      const int64_t id = i % 25'000;
      rows[id] = std::to_string(i) + std::string(200, 'b');
      Duplicate duplicate;
      const Status appended = load.append(pair_values(id, rows[id]), duplicate);
      if (appended) continue;
      ASSERT_EQ(appended.error().code(), ErrorCode::DuplicateKey) << appended.error().message();
      ASSERT_OK(load.remove_duplicate());
      ASSERT_OK(load.append(pair_values(id, rows[id]), duplicate));
    }
    Duplicate duplicate;
    ASSERT_OK(load.finish(duplicate));
    ASSERT_OK(commit(*transaction));
  }
  expect_rows("d/t", rows);
  reopen();
  expect_rows("d/t", rows);
}

TEST_F(DatabaseTest, OnlyOneHolder) {
  open();
  auto second = Database::open(posix_filesystem(), directory_.path(), {});
  EXPECT_EQ(code_of(second), ErrorCode::Busy);
}

TEST_F(DatabaseTest, RefusesBadOptions) {
  options_.memory_budget = 1;
  EXPECT_EQ(code_of(Database::open(posix_filesystem(), directory_.path(), options())),
            ErrorCode::InvalidArgument);
  options_ = {};
  options_.background_threads = 0;
  EXPECT_EQ(code_of(Database::open(posix_filesystem(), directory_.path(), options())),
            ErrorCode::InvalidArgument);
  options_ = {};
  options_.checkpoint_log_bytes = 5;
  EXPECT_EQ(code_of(Database::open(posix_filesystem(), directory_.path(), options())),
            ErrorCode::InvalidArgument);
  EXPECT_EQ(code_of(Database::open(posix_filesystem(), "", {})), ErrorCode::InvalidArgument);
}

TEST_F(DatabaseTest, CheckpointsBecauseOfLogGrowth) {
  options_.checkpoint_log_bytes = size_t{1} << 20;
  open();
  create("d/t");
  Rows rows;
  // Ends when a checkpoint has been taken: the log keeps growing until then.
  for (int64_t id = 0; database_->counters().checkpoints.load() < 3; ++id) {
    rows[id % 500] = std::string(3000, static_cast<char>('a' + id % 26));
    put_rows("d/t", {{id % 500, rows[id % 500]}});
  }
  expect_rows("d/t", rows);
  reopen();
  expect_rows("d/t", rows);
}

}  // namespace
}  // namespace hailstone
