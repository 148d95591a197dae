// Transactions that write more than memory holds: what they write goes to files that are theirs alone, and is
// in every other way as if it were in memory.
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "table/bulk_load.h"
#include "table/cursor.h"
#include "table/scan.h"
#include "table/test_host.h"
#include "table/test_rows.h"
#include "table/write_numbers.h"

namespace hailstone {
namespace {

class LargeTransactionTest : public testing::Test {
 protected:
  LargeTransactionTest() {
    host_.delta_bytes = size_t{16} << 10;
    table_ = host_.create(test_definition(true));
  }

  std::unique_ptr<Transaction> begin(Isolation isolation = Isolation::RepeatableRead) {
    auto transaction = host_.transactions().begin(isolation);
    transaction->set_lock_wait_timeout(std::chrono::milliseconds(1));
    return transaction;
  }
  Status insert(Transaction& transaction, int32_t first, int32_t last, uint32_t padding = 100) {
    for (int32_t id = first; id < last; ++id) {
      Duplicate duplicate;
      HAILSTONE_TRY(table_->insert(transaction, encode(*table_, {.id = id, .number = id, .padding = padding}),
                                   duplicate));
    }
    return {};
  }
  Status commit(Transaction& transaction) { return host_.transactions().commit(transaction); }
  Result<uint64_t> count(Transaction& transaction) {
    Scan scan(table_, transaction, ReadLock::None, nullptr, {});
    return scan.count_rest();
  }
  /// The rows by each index must be these.
  void expect_ids(Transaction& transaction, const std::vector<int32_t>& ids) {
    EXPECT_EQ(count(transaction), ids.size());
    for (size_t index = 0; index < 3; ++index) {
      Cursor cursor(table_, transaction, index, ReadLock::None, all_columns());
      std::vector<int32_t> found;
      auto on_row = cursor.seek_at_or_after({});
      for (; on_row && *on_row; on_row = cursor.next()) {
        ASSERT_TRUE(cursor.load_values());
        found.push_back(decode(cursor.values()).id);
      }
      ASSERT_TRUE(on_row) << message(on_row);
      EXPECT_EQ(found, ids) << "index " << index;
    }
  }
  static std::vector<int32_t> numbers(int32_t first, int32_t last) {
    std::vector<int32_t> result;
    for (int32_t id = first; id < last; ++id) result.push_back(id);
    return result;
  }
  void check() {
    const auto reader = begin();
    const Status checked = table_->check(*reader, {});
    EXPECT_TRUE(checked) << message(checked);
  }
  void reopen() {
    ASSERT_TRUE(table_->flush(true));
    ASSERT_TRUE(host_.record(*table_));
    auto opened = Table::open(host_, host_.recorded(1));
    ASSERT_TRUE(opened) << message(opened);
    table_ = *opened;
  }
  uint64_t spills() { return host_.counters().spills; }
  size_t segment_files() {
    size_t files = 0;
    for (uint64_t file = 1; file < 10'000; ++file)
      files += std::filesystem::exists(host_.segment_path(file)) ? 1U : 0U;
    return files;
  }

  TestHost host_;
  std::shared_ptr<Table> table_;
};

TEST_F(LargeTransactionTest, TheDiskBoundsATransactionNotMemory) {
  host_.delta_bytes = size_t{1} << 20;
  host_.budget().set_limit(host_.budget().used() + (size_t{8} << 20));
  const auto transaction = begin();
  size_t most = 0;
  for (int32_t id = 0; id < 6000; ++id) {
    const Status inserted = insert(*transaction, id, id + 1, 9000);
    ASSERT_TRUE(inserted) << message(inserted);
    most = std::max(most, host_.budget().used());
  }
  EXPECT_GT(spills(), 40U);
  EXPECT_LT(most, host_.budget().limit());
  EXPECT_EQ(host_.room_requests.load(), 0U);
  EXPECT_EQ(count(*begin()), 0U);
  ASSERT_TRUE(commit(*transaction));
  EXPECT_EQ(count(*begin()), 6000U);
  check();
}

TEST_F(LargeTransactionTest, OthersWaitForItsRowsAndDoNotSeeThem) {
  const auto transaction = begin();
  ASSERT_TRUE(insert(*transaction, 0, 500));
  ASSERT_GT(spills(), 2U);
  const auto other = begin();
  expect_ids(*other, {});
  EXPECT_EQ(insert(*other, 7, 8).error().code(), ErrorCode::LockWaitTimeout);
  EXPECT_EQ(table_->erase(*other, key_of(*table_, 7)).error().code(), ErrorCode::LockWaitTimeout);
  const auto dirty = begin(Isolation::ReadUncommitted);
  expect_ids(*dirty, numbers(0, 500));
  expect_ids(*transaction, numbers(0, 500));
  EXPECT_EQ(insert(*transaction, 7, 8).error().code(), ErrorCode::DuplicateKey);
  ASSERT_TRUE(commit(*transaction));
  expect_ids(*other, {});
  expect_ids(*begin(), numbers(0, 500));
  EXPECT_EQ(insert(*other, 7, 8).error().code(), ErrorCode::DuplicateKey);
  reopen();
  expect_ids(*begin(), numbers(0, 500));
  check();
}

TEST_F(LargeTransactionTest, RollbackLeavesNothing) {
  {
    const auto transaction = begin();
    ASSERT_TRUE(insert(*transaction, 0, 500));
    ASSERT_GT(segment_files(), 2U);
    host_.transactions().rollback(*transaction);
  }
  expect_ids(*begin(), {});
  EXPECT_EQ(segment_files(), 0U);
  EXPECT_EQ(host_.counters().segments.load(), 0U);
  check();
}

TEST_F(LargeTransactionTest, SavepointsCutWhatIsInFiles) {
  const auto transaction = begin();
  ASSERT_TRUE(insert(*transaction, 0, 333));
  const Savepoint savepoint = transaction->savepoint();
  for (int round = 0; round < 3; ++round) {
    for (int32_t id = 0; id < 300; ++id) {
      Duplicate duplicate;
      const std::string row = encode(*table_, {.id = id, .number = id, .name = "changed", .padding = 100});
      ASSERT_TRUE(table_->update(*transaction, key_of(*table_, id), row, duplicate));
    }
    for (int32_t id = 300; id < 333; ++id) ASSERT_TRUE(table_->erase(*transaction, key_of(*table_, id)));
    ASSERT_TRUE(insert(*transaction, 333, 777));
    ASSERT_TRUE(insert(*transaction, 310, 320));
    EXPECT_EQ(count(*transaction), 754U);
    transaction->roll_back_to(savepoint);
    expect_ids(*transaction, numbers(0, 333));
  }
  ASSERT_TRUE(insert(*transaction, 333, 400));
  ASSERT_TRUE(commit(*transaction));
  for (int round = 0; round < 2; ++round) {
    expect_ids(*begin(), numbers(0, 400));
    check();
    ASSERT_TRUE(table_->optimize({}));
    reopen();
  }
}

TEST_F(LargeTransactionTest, AStatementDoesNotMeetWhatItWrites) {
  {
    const auto transaction = begin();
    ASSERT_TRUE(insert(*transaction, 0, 200));
    ASSERT_TRUE(commit(*transaction));
  }
  for (const ReadLock lock : {ReadLock::None, ReadLock::Exclusive}) {
    for (const size_t index : {size_t{0}, size_t{1}}) {
      const auto transaction = begin();
      for (int32_t round = 1; round <= 3; ++round) {
        const uint64_t spills_before = spills();
        Cursor cursor(table_, *transaction, index, lock, all_columns());
        auto on_row = cursor.seek_at_or_after({});
        int moved = 0;
        for (; on_row && *on_row && moved < 1000; on_row = cursor.next(), ++moved) {
          ASSERT_TRUE(cursor.load_values());
          TestRow row = decode(cursor.values());
          row.id += 1000;  // ahead of the cursor
          row.number = row.id;
          Duplicate duplicate;
          const auto updated = table_->update(*transaction, std::string(cursor.clustered_key().value()),
                                              encode(*table_, row), duplicate);
          ASSERT_TRUE(updated) << message(updated);
        }
        ASSERT_TRUE(on_row) << message(on_row);
        EXPECT_EQ(moved, 200) << "round " << round;
        EXPECT_GT(spills(), spills_before);
        expect_ids(*transaction, numbers(1000 * round, 1000 * round + 200));
      }
      Scan scan(table_, *transaction, ReadLock::Exclusive, nullptr, all_columns());
      uint32_t rows = 0;
      for (auto batch = scan.next(); batch && *batch != nullptr; batch = scan.next()) {
        for (uint32_t i = 0; i < (*batch)->rows; ++i, ++rows) {
          const auto key = scan.clustered_key(i);
          ASSERT_TRUE(key);
          Duplicate duplicate;
          const auto id = static_cast<int32_t>(5000 + rows);
          const std::string row = encode(*table_, {.id = id, .number = id, .padding = 100});
          ASSERT_TRUE(table_->update(*transaction, std::string(*key), row, duplicate));
        }
      }
      EXPECT_EQ(rows, 200U);
      expect_ids(*transaction, numbers(5000, 5200));
    }
  }
  expect_ids(*begin(), numbers(0, 200));
  check();
}

TEST_F(LargeTransactionTest, AFileThatCannotBeWrittenFailsTheStatementOnly) {
  const auto transaction = begin();
  ASSERT_TRUE(insert(*transaction, 0, 300));
  const uint64_t spills_before = spills();
  host_.filesystem().add_rule({.call = FaultFilesystem::Call::Append, .path_part = "segment"});
  const Savepoint savepoint = transaction->savepoint();
  const Status inserted = insert(*transaction, 300, 900);
  ASSERT_FALSE(inserted);
  EXPECT_EQ(inserted.error().code(), ErrorCode::Io);
  transaction->roll_back_to(savepoint);
  EXPECT_EQ(spills(), spills_before);
  host_.filesystem().clear_rules();
  expect_ids(*transaction, numbers(0, 300));
  ASSERT_TRUE(insert(*transaction, 300, 600));
  EXPECT_GT(spills(), spills_before);
  ASSERT_TRUE(commit(*transaction));
  expect_ids(*begin(), numbers(0, 600));
  check();
}

TEST_F(LargeTransactionTest, TwoAtOnceDoNotHinderEachOther) {
  host_.budget().set_limit(host_.budget().used() + (size_t{4} << 20));
  const auto one = begin(), other = begin();
  for (int32_t id = 0; id < 20'000; id += 2) {
    ASSERT_TRUE(insert(*one, id, id + 1));
    ASSERT_TRUE(insert(*other, id + 1, id + 2));
  }
  EXPECT_EQ(host_.room_requests.load(), 0U);
  ASSERT_TRUE(commit(*one));
  host_.transactions().rollback(*other);
  EXPECT_EQ(count(*begin()), 10'000U);
  check();
}

/// A load that meets an undecided row waits, wherever that row is when it is decided.
TEST_F(LargeTransactionTest, ALoadThatWaitsForItGoesOn) {
  for (const bool commits : {false, true}) {
    const auto writer = begin();
    ASSERT_TRUE(insert(*writer, 0, 100));
    const auto loader = host_.transactions().begin(Isolation::RepeatableRead);
    const uint64_t waited = host_.counters().lock_waits;
    std::thread loading([&] {
      BulkLoad load(table_, *loader);
      for (int32_t id = 80; id < 400; ++id)
        EXPECT_TRUE(append(load, {.id = id, .number = id, .padding = 9000}));
      Duplicate duplicate;
      const Status finished = load.finish(duplicate);
      EXPECT_EQ(finished.has_value(), !commits) << message(finished);
    });
    while (host_.counters().lock_waits == waited) std::this_thread::yield();
    // Out of the places that the load has looked at.
    const uint64_t spills_before = spills();
    ASSERT_TRUE(insert(*writer, 1000, 1300));
    ASSERT_GT(spills(), spills_before);
    if (commits) {
      ASSERT_TRUE(commit(*writer));
    } else {
      host_.transactions().rollback(*writer);
    }
    loading.join();
    host_.transactions().rollback(*loader);
  }
  EXPECT_EQ(count(*begin()), 400U);
  check();
}

TEST(WriteNumbersTest, EachRowHasItsNumber) {
  MemoryBudget budget(size_t{1} << 30);
  std::vector<uint32_t> regular, falling, random{7};
  for (uint32_t i = 0; i < 100'000; ++i) {
    regular.push_back(5 + 2 * i + (i < 50'000 ? 0 : 1000));
    falling.push_back(1'000'000 - i);
    random.push_back(i * 2'654'435'761U >> 4);
  }
  for (const auto& numbers : {regular, falling, random}) {
    const size_t before = budget.used();
    const WriteNumbers written(numbers, budget);
    for (uint32_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(written.of(i), numbers[i]);
    EXPECT_EQ(written.least(), std::ranges::min(numbers));
    EXPECT_EQ(written.greatest(), std::ranges::max(numbers));
    if (numbers != random) {
      EXPECT_LT(budget.used() - before, 100U);
    }
    EXPECT_LE(budget.used() - before, numbers.size() * sizeof(uint32_t));
  }
}

}  // namespace
}  // namespace hailstone
