// Row locks by places, while flushes and merges move the rows.
#include <gtest/gtest.h>

#include "base/test_seed.h"
#include "table/row_reads.h"
#include "table/scan.h"
#include "table/test_host.h"
#include "table/test_rows.h"

namespace hailstone {
namespace {

class LocksByPlaceTest : public testing::Test {
 protected:
  LocksByPlaceTest() : table_(host_.create(test_definition(true))) {}

  std::unique_ptr<Transaction> begin() {
    auto transaction = host_.transactions().begin(Isolation::RepeatableRead);
    transaction->set_lock_wait_timeout(std::chrono::milliseconds(0));
    return transaction;
  }
  void insert_committed(int32_t first, int32_t last) {
    const auto transaction = begin();
    for (int32_t id = first; id < last; ++id) {
      Duplicate duplicate;
      ASSERT_TRUE(table_->insert(*transaction, encode(*table_, {.id = id, .number = id}), duplicate));
    }
    ASSERT_TRUE(host_.transactions().commit(*transaction));
  }
  void erase_committed(int32_t id) {
    const auto transaction = begin();
    ASSERT_TRUE(table_->erase(*transaction, key_of(*table_, id)));
    ASSERT_TRUE(host_.transactions().commit(*transaction));
  }
  /// Locks all rows; how many.
  uint64_t lock_all(Transaction& transaction, ReadLock lock) {
    Scan scan(table_, transaction, lock, nullptr, all_columns());
    uint64_t rows = 0;
    for (auto batch = scan.next(); batch && *batch != nullptr; batch = scan.next()) rows += (*batch)->rows;
    return rows;
  }
  ErrorCode update(Transaction& transaction, int32_t id) {
    Duplicate duplicate;
    const auto updated =
        table_->update(transaction, key_of(*table_, id),
                       encode(*table_, {.id = id, .number = id, .note = "changed"}), duplicate);
    return updated ? ErrorCode() : updated.error().code();
  }
  /// Whether others may neither change nor delete any of the rows. `others`: how many rows nobody has locked.
  void expect_locked(int32_t first, int32_t last, uint64_t others = 0) {
    const auto other = begin();
    for (int32_t id = first; id < last; ++id) {
      ASSERT_EQ(update(*other, id), ErrorCode::LockWaitTimeout) << id;
      const Status erased = table_->erase(*other, key_of(*table_, id));
      ASSERT_FALSE(erased) << id;
      ASSERT_EQ(erased.error().code(), ErrorCode::LockWaitTimeout) << id;
    }
    EXPECT_EQ(lock_all(*other, ReadLock::ExclusiveSkippingLocked), others);
  }

  TestHost host_{posix_filesystem(), 0};
  std::shared_ptr<Table> table_;
};

TEST_F(LocksByPlaceTest, TheyFollowTheirRows) {
  insert_committed(0, 500);
  ASSERT_TRUE(table_->flush(true));
  insert_committed(500, 1000);
  const auto holder = begin();
  EXPECT_EQ(lock_all(*holder, ReadLock::Exclusive), 1000u);
  EXPECT_EQ(host_.counters().row_locks.load(), 1000u);
  expect_locked(490, 510);
  ASSERT_TRUE(table_->flush(true));
  expect_locked(490, 510);
  ASSERT_TRUE(table_->optimize({}));
  expect_locked(0, 1000);
  // Beside them a row may be made, and changed.
  const auto other = begin();
  Duplicate duplicate;
  EXPECT_TRUE(table_->insert(*other, encode(*table_, {.id = 2000, .number = 2000}), duplicate));
  ASSERT_TRUE(host_.transactions().commit(*other));
  // Whoever holds the rows changes them.
  for (int32_t id = 0; id < 1000; id += 7) ASSERT_EQ(update(*holder, id), ErrorCode()) << id;
  expect_locked(0, 20, 1);
  ASSERT_TRUE(host_.transactions().commit(*holder));
  EXPECT_EQ(host_.counters().row_locks.load(), 0u);
  const auto after = begin();
  for (int32_t id = 0; id < 1000; ++id) ASSERT_EQ(update(*after, id), ErrorCode()) << id;
}

TEST_F(LocksByPlaceTest, SharedOnesAreTakenTogether) {
  insert_committed(0, 300);
  ASSERT_TRUE(table_->flush(true));
  const auto one = begin(), two = begin();
  EXPECT_EQ(lock_all(*one, ReadLock::Shared), 300u);
  EXPECT_EQ(lock_all(*two, ReadLock::Shared), 300u);
  ASSERT_TRUE(table_->optimize({}));
  EXPECT_EQ(update(*one, 5), ErrorCode::LockWaitTimeout);
  host_.transactions().rollback(*two);
  EXPECT_EQ(update(*one, 5), ErrorCode());
  expect_locked(0, 300);
}

TEST_F(LocksByPlaceTest, TheyOutliveAStatementThatIsTakenBack) {
  insert_committed(0, 100);
  ASSERT_TRUE(table_->flush(true));
  const auto holder = begin();
  ASSERT_EQ(lock_all(*holder, ReadLock::Exclusive), 100u);
  const Savepoint savepoint = holder->savepoint();
  for (int32_t id = 0; id < 100; ++id) ASSERT_EQ(update(*holder, id), ErrorCode());
  ASSERT_TRUE(table_->flush(true));
  holder->roll_back_to(savepoint);
  expect_locked(0, 100);
  ASSERT_TRUE(table_->optimize({}));
  expect_locked(0, 100);
  host_.transactions().rollback(*holder);
  const auto after = begin();
  EXPECT_EQ(lock_all(*after, ReadLock::ExclusiveSkippingLocked), 100u);
}

TEST_F(LocksByPlaceTest, RowsThatDidNotMatchAreFreed) {
  insert_committed(0, 100);
  erase_committed(50);
  ASSERT_TRUE(table_->flush(true));
  const auto holder = begin();
  ASSERT_EQ(lock_all(*holder, ReadLock::Exclusive), 99u);
  for (int32_t id = 0; id < 100; id += 2) table_->unlock_row(*holder, key_of(*table_, id));
  const auto other = begin();
  EXPECT_EQ(lock_all(*other, ReadLock::ExclusiveSkippingLocked), 49u);
  EXPECT_EQ(update(*other, 1), ErrorCode::LockWaitTimeout);
  EXPECT_EQ(update(*other, 2), ErrorCode());
}

TEST_F(LocksByPlaceTest, AWriterWaitsForTheEndOfTheHolder) {
  insert_committed(0, 100);
  ASSERT_TRUE(table_->flush(true));
  auto holder = begin();
  ASSERT_EQ(lock_all(*holder, ReadLock::Shared), 100u);
  const auto other = host_.transactions().begin(Isolation::RepeatableRead);
  other->set_lock_wait_timeout(std::chrono::seconds(60));
  const uint64_t before = host_.counters().lock_waits.load();
  std::thread writer([&] { EXPECT_EQ(update(*other, 50), ErrorCode()); });
  while (host_.counters().lock_waits.load() == before) std::this_thread::yield();
  ASSERT_TRUE(table_->optimize({}));
  ASSERT_TRUE(host_.transactions().commit(*holder));
  writer.join();
  ASSERT_TRUE(host_.transactions().commit(*other));
}

TEST_F(LocksByPlaceTest, RowsOfNeighboursThatALargeTableMergesStayLockedAndSeen) {
  constexpr int32_t rows_of_one = 6, most_of_one_size = 1024, segments = most_of_one_size + 20;
  int32_t made = 0;
  const auto grow_to = [&](int32_t wanted) {
    for (; made < wanted; ++made) {
      insert_committed(made * rows_of_one, (made + 1) * rows_of_one);
      ASSERT_TRUE(table_->flush(true));
    }
  };
  // A buffer of which a segment is less than half, but more than a small part.
  grow_to(40);
  for (host_.buffer_bytes = 64; !table_->merge_due(); host_.buffer_bytes *= 2) {
  }
  const size_t buffer = host_.buffer_bytes / 2;
  host_.buffer_bytes = size_t{1} << 20;
  const auto reader = begin();
  grow_to(most_of_one_size);
  static_cast<void>(reader->snapshot());
  erase_committed(7);
  erase_committed(50);
  const auto locker = begin();
  const uint64_t locked = lock_all(*locker, ReadLock::Exclusive);
  EXPECT_EQ(locked, static_cast<uint64_t>(made * rows_of_one - 2));
  grow_to(segments);
  host_.buffer_bytes = buffer;
  ASSERT_TRUE(table_->merge_due());
  while (table_->merge_due()) ASSERT_TRUE(table_->merge());
  const uint64_t left = table_->statistics().segments;
  EXPECT_LE(left, static_cast<uint64_t>(most_of_one_size));
  // No more were merged than had to be.
  EXPECT_GT(left, static_cast<uint64_t>(most_of_one_size - 64));
  for (const int32_t id : {0, 6, 49, 51, 100, 190, 300}) expect_locked(id, id + 1, 20 * rows_of_one);
  RowReads reads(*table_, all_columns());
  for (int32_t id = 0; id < 60; ++id) {
    std::vector<Value> values(all_columns().size());
    const auto found = table_->find(*reader, key_of(*table_, id), ReadLock::None, reads, values);
    ASSERT_TRUE(found) << message(found);
    EXPECT_TRUE(*found) << id;
  }
  host_.transactions().rollback(*locker);
  const auto checker = begin();
  const Status checked = table_->check(*checker, {});
  EXPECT_TRUE(checked) << message(checked);
  EXPECT_EQ(lock_all(*checker, ReadLock::Shared), static_cast<uint64_t>(segments * rows_of_one - 2));
}

}  // namespace
}  // namespace hailstone
