// Table objects that nobody uses go and come back; tables of few rows have no files.
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "database/database_fixture.h"

namespace hailstone {
namespace {

class OpenTablesTest : public DatabaseTest {
 protected:
  uint64_t open_now() { return database_->counters().tables_open.load(); }
  uint64_t evicted() { return database_->counters().table_evictions.load(); }
  /// Whether so few tables are open soon.
  bool comes_down_to(uint64_t tables) {
    for (int i = 0; i < 1000; ++i) {
      if (open_now() <= tables) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  static std::string name(int number) { return fmt::format("d/t{:05}", number); }
  size_t files() {
    size_t result = 0;
    const auto names = posix_filesystem().list(directory_.path());
    EXPECT_OK(names);
    for (const std::string& file : *names) {
      if (file.starts_with("segment-")) ++result;
    }
    return result;
  }
};

TEST_F(OpenTablesTest, ClosedTablesComeBackAsTheyWere) {
  constexpr int tables = 40;
  options_.open_tables = 3;
  open();
  for (int i = 0; i < tables; ++i) {
    create(name(i), i % 3 != 0);
    if (i % 2 == 0) put_rows(name(i), {{1, "one"}, {2, "two"}, {3, "three"}});
    if (i % 4 == 0) {
      const auto transaction = begin();
      const auto table = database_->table(name(i));
      ASSERT_OK(table);
      ASSERT_OK((*table)->raise_auto_increment(*transaction, 100 + static_cast<uint64_t>(i)));
      ASSERT_OK(commit(*transaction));
      ASSERT_OK((*table)->analyze());
    }
    if (i % 8 == 0) {
      const auto table = database_->table(name(i));
      ASSERT_OK(table);
      ASSERT_OK((*table)->flush(true));
      put_rows(name(i), {{4, "four"}});
    }
  }
  ASSERT_OK(database_->checkpoint());
  ASSERT_TRUE(comes_down_to(3)) << open_now();
  EXPECT_GE(evicted(), static_cast<uint64_t>(tables - 3));
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < tables; ++i) {
      Rows expected;
      if (i % 2 == 0) expected = {{1, "one"}, {2, "two"}, {3, "three"}};
      if (i % 8 == 0) expected[4] = "four";
      expect_rows(name(i), expected);
      const auto table = database_->table(name(i));
      ASSERT_OK(table);
      if (i % 4 == 0) {
        EXPECT_EQ((*table)->next_auto_increment(), 100 + static_cast<uint64_t>(i));
        EXPECT_FALSE(round == 0 && (*table)->analyzed_counts().empty() && i % 3 != 0) << i;
      }
      EXPECT_EQ((*table)->statistics().rows, expected.size());
    }
    ASSERT_TRUE(comes_down_to(3)) << open_now();
    if (round == 0) reopen();
  }
  // Rows of a table that was closed can be changed like others.
  put_rows(name(2), {{2, "two again"}, {9, "nine"}});
  reopen();
  expect_rows(name(2), {{1, "one"}, {2, "two again"}, {3, "three"}, {9, "nine"}});
}

TEST_F(OpenTablesTest, WhatIsInUseOrUnrecordedStaysOpen) {
  options_.open_tables = 1;
  open();
  for (int i = 0; i < 10; ++i) create(name(i));
  const auto held = database_->table(name(0));
  ASSERT_OK(held);
  put_rows(name(1), {{1, "old"}});
  put_rows(name(2), {{1, "not recorded"}});
  ASSERT_OK(database_->checkpoint());
  const auto reader = begin();
  reader->snapshot();
  put_rows(name(1), {{1, "new"}});
  const auto writer = begin();
  {
    const auto table = database_->table(name(3));
    ASSERT_OK(table);
    ASSERT_OK(put(**table, *writer, 7, "uncommitted"));
  }
  put_rows(name(2), {{2, "after the checkpoint"}});
  ASSERT_OK(database_->checkpoint());
  ASSERT_TRUE(comes_down_to(3)) << open_now();  // held, seen by the reader, changed by the writer
  {
    const auto table = database_->table(name(1));
    ASSERT_OK(table);
    EXPECT_EQ(read_rows(*table, *reader), (Rows{{1, "old"}}));
  }
  EXPECT_EQ(*held, *database_->table(name(0)));
  ASSERT_OK(commit(*writer));
  expect_rows(name(2), {{1, "not recorded"}, {2, "after the checkpoint"}});
  expect_rows(name(3), {{7, "uncommitted"}});
  expect_rows(name(1), {{1, "new"}});
}

TEST_F(OpenTablesTest, TablesOfFewRowsHaveNoFilesAndCostACheckpointNothing) {
  constexpr int tables = 300;
  open();
  for (int i = 0; i < tables; ++i) {
    const auto transaction = begin();
    const auto table = database_->create_table(*transaction, pair_definition(name(i)));
    ASSERT_OK(table);
    ASSERT_OK(put(**table, *transaction, i, "row " + std::to_string(i)));
    ASSERT_OK(commit(*transaction));
  }
  ASSERT_OK(database_->checkpoint());
  EXPECT_EQ(files(), 0U);
  const uint64_t written = database_->counters().manifest_writes.load();
  put_rows(name(5), {{1000, "another"}});
  ASSERT_OK(database_->checkpoint());
  EXPECT_LE(database_->counters().manifest_writes.load() - written, 2U);  // the table and the mark
  reopen();
  for (int i = 0; i < tables; ++i) {
    Rows expected{{i, "row " + std::to_string(i)}};
    if (i == 5) expected[1000] = "another";
    expect_rows(name(i), expected);
  }
  EXPECT_EQ(files(), 0U);
  // Many rows go to a file, and those that the manifest had go along.
  Rows many{{7, "row 7"}};
  for (int i = 100; i < 2000; ++i) many[i] = std::string(100, 'x');
  put_rows(name(7), many);
  ASSERT_OK(database_->checkpoint());
  EXPECT_EQ(files(), 1U);
  reopen();
  expect_rows(name(7), many);
}

TEST_F(OpenTablesTest, RowsOfTheManifestSurviveAFlushBetweenCheckpoints) {
  open();
  create(name(1));
  put_rows(name(1), {{1, "one"}});
  ASSERT_OK(database_->checkpoint());
  {
    // The frozen delta waits for the writer, and the checkpoint records the row before in the manifest.
    const auto table = database_->table(name(1));
    ASSERT_OK(table);
    const auto writer = begin();
    ASSERT_OK(put(**table, *writer, 2, "two"));
    ASSERT_OK((*table)->flush(true));
    put_rows(name(1), {{3, "three"}});
    ASSERT_OK(database_->checkpoint());
    ASSERT_OK(commit(*writer));
    ASSERT_OK((*table)->flush(false));
    database_->wait_for_background_work();
  }
  expect_rows(name(1), {{1, "one"}, {2, "two"}, {3, "three"}});
  // As after a crash: what the manifest and the log hold now.
  const TemporaryDirectory copy;
  ASSERT_OK(database_->backup(copy.path() + "/copy"));
  auto other = Database::open(posix_filesystem(), copy.path() + "/copy", options());
  ASSERT_OK(other);
  EXPECT_EQ(read_table(**other, name(1)), (Rows{{1, "one"}, {2, "two"}, {3, "three"}}));
}

class OpenTablesConcurrentTest : public OpenTablesTest {};

TEST_F(OpenTablesConcurrentTest, TablesAreOpenedWhileOthersAreClosed) {
  constexpr int tables = 24;
  constexpr int threads_count = 3;
  constexpr int steps = 250;
  options_.open_tables = 1;
  options_.flush_log_at_commit = FlushLogAtCommit::Write;
  open();
  for (int i = 0; i < tables; ++i) create(name(i));
  std::atomic<int> running{threads_count};
  std::vector<std::vector<Rows>> expected(threads_count, std::vector<Rows>(tables));
  std::vector<std::thread> threads;
  const uint64_t seed = test_seed(1);
  // Who closes tables may have to wait for the processor.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  for (int number = 0; number < threads_count; ++number) {
    threads.emplace_back([&, number] {
      std::mt19937_64 random(seed + static_cast<uint64_t>(number));
      for (int step = 0; step < steps || (evicted() == 0 && std::chrono::steady_clock::now() < deadline);
           ++step) {
        const int which = static_cast<int>(random() % tables);
        const int64_t id = static_cast<int64_t>(random() % 8) * threads_count + number;
        const std::string text = fmt::format("{} {}", number, step);
        const auto transaction = begin();
        const auto table = database_->table(name(which));
        ASSERT_OK(table);
        ASSERT_OK(put(**table, *transaction, id, text));
        if (random() % 4 == 0) {
          database_->transactions().rollback(*transaction);
        } else {
          ASSERT_OK(commit(*transaction));
          expected[static_cast<size_t>(number)][static_cast<size_t>(which)][id] = text;
        }
        if (step % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(60));
      }
      --running;
    });
  }
  threads.emplace_back([&] {
    while (running > 0) {
      ASSERT_OK(database_->checkpoint());
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(evicted(), 0U);
  const auto check = [&] {
    for (int i = 0; i < tables; ++i) {
      Rows all;
      for (const auto& of_thread : expected) {
        all.insert(of_thread[static_cast<size_t>(i)].begin(), of_thread[static_cast<size_t>(i)].end());
      }
      expect_rows(name(i), all);
    }
  };
  check();
  ASSERT_OK(database_->checkpoint());
  ASSERT_TRUE(comes_down_to(1)) << open_now();
  check();
  reopen();
  check();
}

}  // namespace
}  // namespace hailstone
