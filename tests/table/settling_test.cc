// Large commits: seen as a whole from the moment they are published, though their rows bear the transaction's
// marker until it has settled.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <thread>

#include "base/test_seed.h"
#include "table/cursor.h"
#include "table/row_reads.h"
#include "table/scan.h"
#include "table/test_host.h"
#include "table/test_rows.h"

namespace hailstone {
namespace {

using Rows = std::map<int32_t, std::string>;  // notes by id

class SettlingTest : public testing::Test {
 protected:
  SettlingTest() : table_(host_.create(test_definition(true))) {}

  TransactionManager& transactions() { return host_.transactions(); }
  std::unique_ptr<Transaction> begin(Isolation isolation = Isolation::RepeatableRead) {
    auto transaction = transactions().begin(isolation);
    transaction->set_lock_wait_timeout(std::chrono::milliseconds(0));
    return transaction;
  }
  Result<std::string> insert(Transaction& transaction, int32_t id, const std::string& note = {}) {
    Duplicate duplicate;
    return table_->insert(transaction, encode(*table_, {.id = id, .number = id, .note = note}), duplicate);
  }
  Result<std::string> update(Transaction& transaction, int32_t id, const std::string& note) {
    Duplicate duplicate;
    return table_->update(transaction, key_of(*table_, id),
                          encode(*table_, {.id = id, .number = id, .note = note}), duplicate);
  }
  /// Rows in a segment and in a delta.
  void make_rows() {
    for (const int32_t first : {0, 1000}) {
      const auto transaction = begin();
      for (int32_t id = first; id < first + 1000; ++id) {
        ASSERT_TRUE(insert(*transaction, id));
        rows_[id] = "";
      }
      ASSERT_TRUE(transactions().commit(*transaction));
      if (first == 0) {
        ASSERT_TRUE(table_->flush(true));
      }
    }
  }
  /// Every fourth row goes, every fourth changes, and some are new.
  void change(Transaction& transaction) {
    changed_ = rows_;
    for (int32_t id = 0; id < 2000; id += 4) {
      ASSERT_TRUE(table_->erase(transaction, key_of(*table_, id)));
      ASSERT_TRUE(update(transaction, id + 1, "changed"));
      changed_.erase(id);
      changed_[id + 1] = "changed";
    }
    for (int32_t id = 3000; id < 3500; ++id) {
      ASSERT_TRUE(insert(transaction, id, "new"));
      changed_[id] = "new";
    }
  }
  /// By a scan, by each index, and by their keys.
  void expect_rows(Transaction& transaction, const Rows& rows) {
    Rows scanned;
    Scan scan(table_, transaction, ReadLock::None, nullptr, all_columns());
    for (auto batch = scan.next(); batch && *batch != nullptr; batch = scan.next()) {
      for (size_t row = 0; row < (*batch)->rows; ++row) {
        std::array<Value, 4> values;
        for (size_t column = 0; column < values.size(); ++column)
          values[column] = (*batch)->columns[column].value(row);
        const TestRow found = decode(values);
        scanned[found.id] = found.note;
      }
    }
    EXPECT_EQ(scanned, rows);
    for (size_t index = 0; index < 3; ++index) {
      Cursor cursor(table_, transaction, index, ReadLock::None, all_columns());
      Rows found;
      for (auto on_row = cursor.seek_at_or_after({}); on_row && *on_row; on_row = cursor.next()) {
        ASSERT_TRUE(cursor.load_values());
        const TestRow row = decode(cursor.values());
        EXPECT_TRUE(found.emplace(row.id, row.note).second) << row.id;
      }
      EXPECT_EQ(found, rows) << "index " << index;
    }
    RowReads reads(*table_, all_columns());
    std::array<Value, 4> values;
    for (const int32_t id : {0, 1, 2, 400, 401, 1000, 1001, 1998, 3000, 3499}) {
      const auto found = table_->find(transaction, key_of(*table_, id), ReadLock::None, reads, values);
      ASSERT_TRUE(found) << message(found);
      EXPECT_EQ(*found, rows.contains(id)) << id;
      if (*found && rows.contains(id)) {
        EXPECT_EQ(decode(values).note, rows.at(id)) << id;
      }
    }
  }

  TestHost host_{posix_filesystem(), 0};
  std::shared_ptr<Table> table_;
  Rows rows_, changed_;
};

TEST_F(SettlingTest, SnapshotsSeeItWhollyFromItsPublicationOn) {
  for (const char* const meanwhile : {"", "flush", "merge"}) {
    SCOPED_TRACE(meanwhile);
    table_ = host_.create(test_definition(true), table_->id() + 1);
    rows_.clear();
    make_rows();
    const auto before = begin(), large = begin();
    before->snapshot();
    change(*large);
    expect_rows(*large, changed_);
    expect_rows(*before, rows_);
    ASSERT_TRUE(transactions().commit_in_order(*large));
    ASSERT_EQ(large->state(), Transaction::State::Settling);
    const auto between = begin();
    between->snapshot();
    expect_rows(*between, changed_);
    expect_rows(*before, rows_);
    const std::string_view todo = meanwhile;
    if (todo != "") {
      ASSERT_TRUE(table_->flush(true));
    }
    if (todo == "merge") {
      ASSERT_TRUE(table_->optimize({}));
    }
    expect_rows(*between, changed_);
    expect_rows(*before, rows_);
    transactions().settle(*large);
    EXPECT_EQ(large->state(), Transaction::State::Committed);
    const auto after = begin();
    for (int pass = 0; pass < 2; ++pass) {
      expect_rows(*before, rows_);
      expect_rows(*between, changed_);
      expect_rows(*after, changed_);
      ASSERT_TRUE(table_->flush(true));
      ASSERT_TRUE(table_->optimize({}));
    }
    ASSERT_TRUE(transactions().commit(*before));
    const auto check = begin();
    EXPECT_TRUE(table_->check(*check, {}));
  }
}

TEST_F(SettlingTest, WritersAndLockingReadersWaitForIt) {
  make_rows();
  const auto large = begin();
  change(*large);
  ASSERT_TRUE(transactions().commit_in_order(*large));
  const auto other = begin();
  for (const int32_t id : {0, 1, 1000, 1001, 3000}) {
    const auto updated = update(*other, id, "by another");
    ASSERT_FALSE(updated) << id;
    EXPECT_EQ(updated.error().code(), ErrorCode::LockWaitTimeout) << id;
  }
  EXPECT_TRUE(update(*other, 2, "by another"));
  const auto count = [&](Transaction& transaction) {
    Scan scan(table_, transaction, ReadLock::ExclusiveSkippingLocked, nullptr, all_columns());
    uint64_t rows = 0;
    for (auto batch = scan.next(); batch && *batch != nullptr; batch = scan.next()) rows += (*batch)->rows;
    return rows;
  };
  const auto skipping = begin();
  EXPECT_EQ(count(*skipping), 999u);  // half of the rows there were, but for the one that `other` changed
  transactions().rollback(*skipping);
  transactions().rollback(*other);
  const auto waiting = begin();
  waiting->set_lock_wait_timeout(std::chrono::seconds(50));
  std::thread waiter([&] { EXPECT_TRUE(update(*waiting, 1, "at last")); });
  while (host_.counters().lock_waiting.load() == 0) std::this_thread::yield();
  transactions().settle(*large);
  waiter.join();
  ASSERT_TRUE(transactions().commit(*waiting));
  changed_[1] = "at last";
  const auto after = begin();
  expect_rows(*after, changed_);
  EXPECT_EQ(count(*after), changed_.size());
}

TEST_F(SettlingTest, WhoStopsCommitsWaitsForIt) {
  make_rows();
  const auto large = begin();
  change(*large);
  ASSERT_TRUE(transactions().commit_in_order(*large));
  std::atomic<bool> stopped{false};
  Timestamp until = 0;
  std::thread stopper([&] {
    EXPECT_TRUE(transactions().with_commits_stopped([&](Timestamp committed) -> Status {
      until = committed;
      stopped.store(true);
      return {};
    }));
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(stopped.load());
  // Others go on meanwhile: large ones are stamped before they are published, so that the wait has an end.
  const auto second = begin();
  for (int32_t id = 5000; id < 6000; ++id) ASSERT_TRUE(insert(*second, id));
  ASSERT_TRUE(transactions().commit_in_order(*second));
  EXPECT_EQ(second->state(), Transaction::State::Committed);
  EXPECT_FALSE(stopped.load());
  transactions().settle(*large);
  stopper.join();
  EXPECT_EQ(until, second->commit_timestamp());
}

TEST_F(SettlingTest, OneThatIsGivenUpSettles) {
  make_rows();
  auto large = begin();
  change(*large);
  ASSERT_TRUE(transactions().commit_in_order(*large));
  large.reset();
  const auto after = begin();
  expect_rows(*after, changed_);
  EXPECT_TRUE(update(*after, 1, "by another"));
}

TEST_F(SettlingTest, RowsInFilesOfTheTransactionAreSeenWithTheOthers) {
  host_.delta_bytes = size_t{16} << 10;
  table_ = host_.create(test_definition(true), 7);
  make_rows();
  const auto before = begin(), large = begin();
  before->snapshot();
  change(*large);
  ASSERT_GT(host_.counters().spills.load(), 0u);
  ASSERT_TRUE(transactions().commit_in_order(*large));
  const auto between = begin();
  between->snapshot();
  expect_rows(*before, rows_);
  expect_rows(*between, changed_);
  transactions().settle(*large);
  expect_rows(*before, rows_);
  expect_rows(*between, changed_);
  const auto after = begin();
  expect_rows(*after, changed_);
}

/// Transactions of many rows, each of which keeps the sum of all numbers, beside readers who look at it.
TEST_F(SettlingTest, SumsHoldAtEveryMoment) {
  const uint64_t seed = test_seed(1);
  make_rows();
  std::atomic<bool> ended{false};
  const auto write = [&](int32_t offset) {
    std::mt19937_64 random(seed + static_cast<uint64_t>(offset));
    for (int turn = 0; turn < 30; ++turn) {
      const auto large = begin();
      // One row goes for each that comes; those of other writers are left alone.
      for (int32_t id = offset; id < 2000; id += 2) {
        const int32_t now = turn % 2 == 0 ? id : id + 10'000, next = turn % 2 == 0 ? id + 10'000 : id;
        ASSERT_TRUE(table_->erase(*large, key_of(*table_, now)));
        ASSERT_TRUE(insert(*large, next));
      }
      ASSERT_TRUE(transactions().commit_in_order(*large));
      if (random() % 2 == 0) std::this_thread::yield();
      transactions().settle(*large);
      if (random() % 4 == 0) {
        ASSERT_TRUE(table_->flush(true));
      }
    }
  };
  std::thread one([&] { write(0); }), two([&] { write(1); });
  std::thread merger([&] {
    while (!ended.load()) EXPECT_TRUE(table_->optimize({}));
  });
  std::atomic<uint64_t> looks{0};
  std::thread reader([&] {
    while (!ended.load()) {
      const auto reads = begin();
      Scan scan(table_, *reads, ReadLock::None, nullptr, {});
      const auto rows = scan.count_rest();
      ASSERT_TRUE(rows) << message(rows);
      ASSERT_EQ(*rows, 2000u);
      looks.fetch_add(1);
    }
  });
  one.join();
  two.join();
  ended.store(true);
  merger.join();
  reader.join();
  EXPECT_GT(looks.load(), 0u);
}

}  // namespace
}  // namespace hailstone
