// Updating some columns of a row, wherever it lies.
#include "table/column_update.h"

#include <gtest/gtest.h>

#include "table/row_reads.h"
#include "table/test_host.h"
#include "table/test_rows.h"

namespace hailstone {
namespace {

class ColumnUpdateTest : public testing::Test {
 protected:
  ColumnUpdateTest() : table_(host_.create(test_definition(true))) {}

  std::unique_ptr<Transaction> begin() {
    auto transaction = host_.transactions().begin(Isolation::RepeatableRead);
    transaction->set_lock_wait_timeout(std::chrono::milliseconds(1));
    return transaction;
  }
  void fill(int32_t rows) {
    const auto transaction = begin();
    Duplicate duplicate;
    for (int32_t id = 0; id < rows; ++id) {
      const TestRow row{.id = id, .number = id, .name = "name", .note = "note"};
      ASSERT_TRUE(table_->insert(*transaction, encode(*table_, row), duplicate));
    }
    ASSERT_TRUE(host_.transactions().commit(*transaction));
  }
  TestRow read(Transaction& transaction, int32_t id) {
    RowReads reads(*table_, all_columns());
    std::vector<Value> values(4);
    const auto found = table_->find(transaction, key_of(*table_, id), ReadLock::None, reads, values);
    EXPECT_TRUE(found && *found);
    return decode(values);
  }

  TestHost host_;
  std::shared_ptr<Table> table_;
  ColumnUpdate update_;
  Duplicate duplicate_;
};

TEST_F(ColumnUpdateTest, OtherColumnsStay) {
  fill(2);
  for (const bool flushed : {false, true}) {
    if (flushed) {
      ASSERT_TRUE(table_->flush(true));
    }
    const auto transaction = begin();
    update_.clear();
    update_.set(number_column, {});
    update_.set(name_column, Value::of(ByteView("other")));
    const auto updated = update_.run(*table_, *transaction, key_of(*table_, 1), duplicate_);
    ASSERT_TRUE(updated) << message(updated);
    EXPECT_TRUE(updated->changed);
    EXPECT_EQ(updated->key, key_of(*table_, 1));
    EXPECT_EQ(read(*transaction, 1), (TestRow{.id = 1, .name = "other", .note = "note"}));
    host_.transactions().rollback(*transaction);
  }
}

TEST_F(ColumnUpdateTest, ARowMayMove) {
  fill(3);
  const auto transaction = begin();
  update_.set(id_column, Value::of(order_signed(7, 4)));
  const auto updated = update_.run(*table_, *transaction, key_of(*table_, 1), duplicate_);
  ASSERT_TRUE(updated) << message(updated);
  EXPECT_EQ(updated->key, key_of(*table_, 7));
  EXPECT_EQ(read(*transaction, 7), (TestRow{.id = 7, .number = 1, .name = "name", .note = "note"}));
  update_.clear();
  update_.set(number_column, Value::of(order_signed(2, 4)));
  const auto refused = update_.run(*table_, *transaction, updated->key, duplicate_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::DuplicateKey);
  EXPECT_EQ(duplicate_.index, 1U);
  const auto gone = update_.run(*table_, *transaction, key_of(*table_, 1), duplicate_);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code(), ErrorCode::NotFound);
}

TEST_F(ColumnUpdateTest, ARowThatStaysTheSameIsLockedButNotWritten) {
  fill(2);
  const auto transaction = begin();
  update_.set(name_column, Value::of(ByteView("name")));
  const auto updated = update_.run(*table_, *transaction, key_of(*table_, 1), duplicate_);
  ASSERT_TRUE(updated) << message(updated);
  EXPECT_FALSE(updated->changed);
  EXPECT_FALSE(transaction->has_writes());
  const auto other = begin();
  const Status erased = table_->erase(*other, key_of(*table_, 1));
  ASSERT_FALSE(erased);
  EXPECT_EQ(erased.error().code(), ErrorCode::LockWaitTimeout);
}

// Two transactions that each raise a number: the second sees what the first has committed.
TEST_F(ColumnUpdateTest, TheNewestVersionIsChangedWhateverTheSnapshot) {
  fill(2);
  const auto late = begin();
  EXPECT_EQ(read(*late, 1).name, "name");
  const auto first = begin();
  update_.set(name_column, Value::of(ByteView("first")));
  ASSERT_TRUE(update_.run(*table_, *first, key_of(*table_, 1), duplicate_));
  ASSERT_TRUE(host_.transactions().commit(*first));
  update_.clear();
  update_.set(number_column, Value::of(order_signed(99, 4)));
  ASSERT_TRUE(update_.run(*table_, *late, key_of(*table_, 1), duplicate_));
  EXPECT_EQ(read(*late, 1), (TestRow{.id = 1, .number = 99, .name = "first", .note = "note"}));
}

}  // namespace
}  // namespace hailstone
