// Commits, DDL, checkpoints, flushes and lookups of several threads at once.
#include <fmt/format.h>

#include <atomic>
#include <random>
#include <thread>

#include "database/database_fixture.h"

namespace hailstone {
namespace {

class DatabaseConcurrentTest : public DatabaseTest {};

TEST_F(DatabaseConcurrentTest, WritersDdlAndCheckpointsTogether) {
  constexpr int writers = 3;
  constexpr int transactions = 150;
  options_.checkpoint_log_bytes = size_t{64} << 10;
  options_.flush_log_at_commit = FlushLogAtCommit::Write;
  open();
  create("d/shared");
  std::atomic<int> running{writers};
  std::vector<std::thread> threads;
  for (int writer = 0; writer < writers; ++writer) {
    threads.emplace_back([&, writer] {
      for (int i = 0; i < transactions; ++i) {
        const auto transaction = begin();
        const auto shared = database_->table("d/shared");
        ASSERT_OK(shared);
        ASSERT_OK(put(**shared, *transaction, i * writers + writer,
                      std::string(300, static_cast<char>('a' + writer))));
        ASSERT_OK(put(**shared, *transaction, -1 - writer, std::to_string(i)));
        const std::string name = fmt::format("d/own{}-{}", writer, i % 3);
        if (i % 6 < 3) {
          ASSERT_OK(database_->create_table(*transaction, pair_definition(name)));
        } else {
          ASSERT_OK(database_->drop_table(*transaction, name));
        }
        ASSERT_OK(commit(*transaction));
      }
      --running;
    });
  }
  threads.emplace_back([&] {
    while (running > 0) ASSERT_OK(database_->checkpoint());
  });
  threads.emplace_back([&] {
    while (running > 0) {
      ASSERT_OK((*database_->table("d/shared"))->flush(true));
      ASSERT_OK(read_table(*database_, "d/shared"));
      static_cast<void>(database_->table_names("d/own"));
      static_cast<void>(database_->counters());
    }
  });
  for (std::thread& thread : threads) thread.join();
  Rows expected;
  for (int writer = 0; writer < writers; ++writer) {
    for (int i = 0; i < transactions; ++i) {
      expected[i * writers + writer] = std::string(300, static_cast<char>('a' + writer));
    }
    expected[-1 - writer] = std::to_string(transactions - 1);
  }
  expect_rows("d/shared", expected);
  reopen();
  expect_rows("d/shared", expected);
  EXPECT_EQ(database_->table_names(), std::vector<std::string>{"d/shared"});
  EXPECT_TRUE(messages_.empty());
}

TEST_F(DatabaseConcurrentTest, ShortMemoryAnIdleSnapshotAndOptimizeFailNoWriter) {
  constexpr int64_t keys = 1500;
  options_.memory_budget = size_t{16} << 20;
  options_.flush_log_at_commit = FlushLogAtCommit::Write;
  options_.checkpoint_log_bytes = size_t{8} << 20;
  open();
  create("d/updated");
  create("d/other");
  const auto text = [](int64_t number) { return std::to_string(number) + std::string(1000, 't'); };
  Rows first;
  for (int64_t id = 0; id < keys; ++id) first[id] = text(-1);
  put_rows("d/updated", first);
  auto idle = begin();
  ASSERT_OK(read_rows(*database_->table("d/updated"), *idle));

  std::mt19937_64 random(test_seed(61));
  Rows updated = first, other;
  std::atomic<bool> writing{true};
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    const auto table = database_->table("d/updated");
    for (int64_t batch = 0; batch < 60; ++batch) {
      const auto transaction = begin();
      for (int64_t row = 0; row < 500; ++row) {
        const auto id = static_cast<int64_t>(random() % (2 * keys));
        updated[id] = text(batch);
        ASSERT_OK(put(**table, *transaction, id, updated[id]));
      }
      ASSERT_OK(commit(*transaction));
    }
    writing = false;
  });
  threads.emplace_back([&] {
    const auto table = database_->table("d/other");
    for (int64_t id = 0; writing; ++id) {
      const auto transaction = begin();
      other[id] = text(id);
      ASSERT_OK(put(**table, *transaction, id, other[id]));
      ASSERT_OK(commit(*transaction));
    }
  });
  threads.emplace_back([&] {
    while (writing) ASSERT_OK((*database_->table("d/updated"))->optimize({}));
  });
  for (std::thread& thread : threads) thread.join();
  const auto kept = read_rows(*database_->table("d/updated"), *idle);
  ASSERT_OK(kept);
  EXPECT_EQ(*kept, first);
  database_->transactions().rollback(*idle);
  idle.reset();  // before the database is closed
  expect_rows("d/updated", updated);
  expect_rows("d/other", other);
  reopen();
  expect_rows("d/updated", updated);
  expect_rows("d/other", other);
  EXPECT_TRUE(messages_.empty()) << messages_.front();
}

TEST_F(DatabaseConcurrentTest, OldSnapshotsAreEndedWhenTheOptionSaysSo) {
  options_.snapshot_too_old = std::chrono::seconds(1);
  open();
  create("d/a");
  put_rows("d/a", {{1, "one"}});
  const auto old = begin();
  ASSERT_OK(read_rows(*database_->table("d/a"), *old));
  while (old->check_snapshot()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(code_of(read_rows(*database_->table("d/a"), *old)), ErrorCode::SnapshotTooOld);
  EXPECT_EQ(database_->counters().snapshots_expired, 1U);
  database_->set_snapshot_too_old(std::chrono::seconds(0));
  expect_rows("d/a", {{1, "one"}});
}

// A transaction that has looked for a key to change it, and has found or deleted nothing, inserts that key or
// is rolled back for a deadlock: no other can have inserted it meanwhile.
TEST_F(DatabaseConcurrentTest, AKeyThatATransactionFoundGoneIsNoDuplicate) {
  constexpr int64_t keys = 6;
  constexpr int transactions = 200;
  options_.flush_log_at_commit = FlushLogAtCommit::Write;
  open();
  create("d/t");
  const uint64_t seed = test_seed(17);
  std::atomic<int> committed{0}, deadlocks{0};
  std::vector<std::thread> threads;
  for (uint64_t number = 0; number < 4; ++number) {
    threads.emplace_back([&, number] {
      std::mt19937_64 random(seed + number);
      const auto table = database_->table("d/t");
      ASSERT_OK(table);
      const auto work = [&](Transaction& transaction) -> Status {
        for (int change = 0; change < 2; ++change) {
          const auto id = static_cast<int64_t>(random() % keys);
          const std::string key = pair_key(**table, id);
          std::string row;
          HAILSTONE_ASSIGN(const bool found, (*table)->find_row(transaction, key, ReadLock::Exclusive, row));
          if (found) HAILSTONE_TRY((*table)->erase(transaction, key));
          std::this_thread::yield();
          if (random() % 4 == 0) continue;
          Duplicate duplicate;
          row = pair_row(**table, id, std::to_string(number));
          HAILSTONE_TRY((*table)->insert(transaction, row, duplicate));
        }
        return commit(transaction);
      };
      for (int i = 0; i < transactions; ++i) {
        const auto transaction = begin();
        const Status worked = work(*transaction);
        if (worked) {
          ++committed;
          continue;
        }
        ASSERT_EQ(worked.error().code(), ErrorCode::Deadlock) << worked.error().message();
        ++deadlocks;
        database_->transactions().rollback(*transaction);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(committed + deadlocks, 4 * transactions);
  EXPECT_GT(committed, transactions);
}

}  // namespace
}  // namespace hailstone
