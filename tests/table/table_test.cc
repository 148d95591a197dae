// What a table promises, one promise a test.
#include "table/table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <unordered_map>

#include "base/test_seed.h"
#include "table/bulk_load.h"
#include "table/cursor.h"
#include "table/row_reads.h"
#include "table/scans.h"
#include "table/test_host.h"
#include "table/test_rows.h"

namespace hailstone {
namespace {

class TableTest : public testing::Test {
 protected:
  TableTest() : table_(host_.create(test_definition(true))) {}

  std::unique_ptr<Transaction> begin() {
    auto transaction = host_.transactions().begin(Isolation::RepeatableRead);
    transaction->set_lock_wait_timeout(std::chrono::milliseconds(1));
    return transaction;
  }
  Result<std::string> insert(Transaction& transaction, const TestRow& row) {
    Duplicate duplicate;
    return table_->insert(transaction, encode(*table_, row), duplicate);
  }
  void insert_committed(int32_t first, int32_t last) {
    const auto transaction = begin();
    for (int32_t id = first; id < last; ++id) {
      const auto inserted = insert(*transaction, {.id = id, .number = id, .name = "n"});
      ASSERT_TRUE(inserted) << message(inserted);
    }
    ASSERT_TRUE(host_.transactions().commit(*transaction));
  }
  Status load(Transaction& transaction, int32_t first, int32_t last, Duplicate& duplicate) {
    BulkLoad rows(table_, transaction);
    for (int32_t id = first; id < last; ++id) {
      HAILSTONE_TRY(append(rows, {.id = id, .number = id, .padding = 9000}));
    }
    return rows.finish(duplicate);
  }
  Result<bool> find(Transaction& transaction, int32_t id, ReadLock lock) {
    RowReads reads(*table_, all_columns());
    std::vector<Value> values(all_columns().size());
    return table_->find(transaction, key_of(*table_, id), lock, reads, values);
  }
  uint64_t count(Transaction& transaction) {
    Scan scan(table_, transaction, ReadLock::None, nullptr, {});
    const auto rows = scan.count_rest();
    EXPECT_TRUE(rows) << message(rows);
    return rows.value_or(0);
  }
  uint64_t count() { return count(*begin()); }
  void reopen() {
    ASSERT_TRUE(host_.record(*table_));
    auto opened = Table::open(host_, host_.recorded(1));
    ASSERT_TRUE(opened) << message(opened);
    table_ = *opened;
  }

  TestHost host_;
  std::shared_ptr<Table> table_;
};

TEST_F(TableTest, AStatementDoesNotMeetTheRowsThatItWrites) {
  insert_committed(0, 100);
  for (const ReadLock lock : {ReadLock::None, ReadLock::Exclusive}) {
    const auto transaction = begin();
    Cursor cursor(table_, *transaction, 0, lock, all_columns());
    auto on_row = cursor.seek_at_or_after({});
    int moved = 0;
    for (; on_row && *on_row && moved < 1000; on_row = cursor.next(), ++moved) {
      ASSERT_TRUE(cursor.load_values());
      TestRow row = decode(cursor.values());
      row.id += 1000;  // ahead of the cursor
      Duplicate duplicate;
      const auto updated = table_->update(*transaction, std::string(cursor.clustered_key().value()),
                                          encode(*table_, row), duplicate);
      ASSERT_TRUE(updated) << message(updated);
      if (moved == 50) {
        ASSERT_TRUE(table_->flush(true));
      }
    }
    EXPECT_TRUE(on_row) << message(on_row);
    EXPECT_EQ(moved, 100);
    host_.transactions().rollback(*transaction);
  }
  const auto transaction = begin();
  Scan scan(table_, *transaction, ReadLock::Exclusive, nullptr, all_columns());
  uint32_t rows = 0;
  for (auto batch = scan.next(); batch && *batch != nullptr; batch = scan.next()) {
    for (uint32_t i = 0; i < (*batch)->rows; ++i, ++rows) {
      std::vector<Value> values;
      for (const auto& column : (*batch)->columns) values.push_back(column.value(i));
      TestRow row = decode(values);
      row.id += 1000;
      Duplicate duplicate;
      const auto key = scan.clustered_key(i);
      ASSERT_TRUE(key);
      ASSERT_TRUE(table_->update(*transaction, std::string(*key), encode(*table_, row), duplicate));
    }
  }
  EXPECT_EQ(rows, 100U);
}

// A job queue: each worker takes rows that no other one has.
TEST_F(TableTest, ReadsThatSkipLockedRowsDoNotWait) {
  insert_committed(0, 4);
  const auto worker = begin();
  ASSERT_TRUE(find(*worker, 0, ReadLock::Exclusive));
  ASSERT_TRUE(find(*worker, 1, ReadLock::Shared));
  ASSERT_TRUE(table_->erase(*worker, key_of(*table_, 2)));
  ASSERT_TRUE(insert(*worker, {.id = 4}));
  const auto ids = [&](ReadLock lock) {
    std::vector<int32_t> scanned, walked, found;
    const auto transaction = begin();
    Scan scan(table_, *transaction, lock, nullptr, all_columns());
    for (auto batch = scan.next(); batch && *batch != nullptr; batch = scan.next()) {
      for (uint32_t i = 0; i < (*batch)->rows; ++i) {
        std::vector<Value> values;
        for (const auto& column : (*batch)->columns) values.push_back(column.value(i));
        scanned.push_back(decode(values).id);
      }
    }
    Cursor cursor(table_, *transaction, 0, lock, all_columns());
    for (auto on_row = cursor.seek_at_or_after({}); on_row && *on_row; on_row = cursor.next()) {
      EXPECT_TRUE(cursor.load_values());
      walked.push_back(decode(cursor.values()).id);
    }
    for (int32_t id = 0; id < 6; ++id) {
      const auto is_there = find(*transaction, id, lock);
      EXPECT_TRUE(is_there) << message(is_there);
      if (is_there && *is_there) found.push_back(id);
    }
    EXPECT_EQ(scanned, walked);
    EXPECT_EQ(scanned, found);
    return found;
  };
  EXPECT_EQ(ids(ReadLock::ExclusiveSkippingLocked), (std::vector<int32_t>{3}));
  EXPECT_EQ(ids(ReadLock::SharedSkippingLocked), (std::vector<int32_t>{1, 3}));
  ASSERT_TRUE(table_->flush(true));
  EXPECT_EQ(ids(ReadLock::ExclusiveSkippingLocked), (std::vector<int32_t>{3}));
  host_.transactions().rollback(*worker);
  EXPECT_EQ(ids(ReadLock::ExclusiveSkippingLocked), (std::vector<int32_t>{0, 1, 2, 3}));
}

TEST_F(TableTest, AScanThatSkipsLockedRowsLocksOnlyWhatItReturns) {
  insert_committed(0, 8);
  const auto first = begin();
  const auto second = begin();
  const auto rows_of = [&](Transaction& transaction) {
    Scan scan(table_, transaction, ReadLock::ExclusiveSkippingLocked, nullptr, all_columns());
    uint32_t rows = 0;
    for (int i = 0; i < 4; ++i) {
      const auto batch = scan.next();
      EXPECT_TRUE(batch) << message(batch);
      if (batch && *batch != nullptr) rows += (*batch)->rows;
    }
    return rows;
  };
  EXPECT_EQ(rows_of(*first), 4U);
  EXPECT_EQ(rows_of(*second), 4U);
}

TEST_F(TableTest, AKeyThatOthersOnlyReadIsADuplicateAtOnce) {
  insert_committed(0, 2);
  const auto reader = begin();
  ASSERT_TRUE(find(*reader, 0, ReadLock::Shared));
  ASSERT_TRUE(find(*reader, 1, ReadLock::Exclusive));
  const auto writer = begin();
  EXPECT_EQ(insert(*writer, {.id = 0}).error().code(), ErrorCode::DuplicateKey);
  // Its holder may delete it.
  EXPECT_EQ(insert(*writer, {.id = 1}).error().code(), ErrorCode::LockWaitTimeout);
}

TEST_F(TableTest, OwnVersionHidesTheOneOfAnOlderSnapshot) {
  insert_committed(1, 3);
  const auto old = begin();
  EXPECT_EQ(count(*old), 2U);
  const auto other = begin();
  ASSERT_TRUE(table_->erase(*other, key_of(*table_, 1)));
  Duplicate duplicate;
  ASSERT_TRUE(
      table_->update(*other, key_of(*table_, 2), encode(*table_, {.id = 2, .number = 20}), duplicate));
  ASSERT_TRUE(host_.transactions().commit(*other));
  EXPECT_EQ(count(*old), 2U);
  const Savepoint before = old->savepoint();
  ASSERT_TRUE(insert(*old, {.id = 1, .number = 11}));
  ASSERT_TRUE(table_->update(*old, key_of(*table_, 2), encode(*table_, {.id = 2, .number = 22}), duplicate));
  EXPECT_EQ(count(*old), 2U);
  ASSERT_TRUE(table_->erase(*old, key_of(*table_, 2)));
  EXPECT_EQ(count(*old), 1U);
  old->roll_back_to(before);
  EXPECT_EQ(count(*old), 2U);
}

TEST_F(TableTest, OthersWaitForKeysThatALoadByRowHasTaken) {
  const auto loader = begin();
  BulkLoad load(table_, *loader, BulkLoad::Duplicates::AreToldByRow);
  const auto append_row = [&](int32_t id) {
    std::string note;
    Duplicate duplicate;
    return load.append(values_of({.id = id, .number = id + 10'000, .padding = 9000}, note), duplicate);
  };
  for (int32_t id = 0; id < 300; ++id) ASSERT_TRUE(append_row(id));
  EXPECT_EQ(append_row(299).error().code(), ErrorCode::DuplicateKey);
  const auto refused_for = [&](const TestRow& row) -> std::optional<ErrorCode> {
    const auto other = begin();
    const auto inserted = insert(*other, row);
    return inserted ? std::nullopt : std::optional(inserted.error().code());
  };
  // One that is in the table already, and one that is not.
  for (const int32_t id : {3, 299}) {
    EXPECT_EQ(refused_for({.id = id}), ErrorCode::LockWaitTimeout);
    EXPECT_EQ(refused_for({.id = 5000, .number = id + 10'000}), ErrorCode::LockWaitTimeout);
  }
  EXPECT_EQ(refused_for({.id = 5000, .number = 5}), std::nullopt);
  // Other loads: one that is told by row, and one that is not.
  {
    const auto other = begin();
    BulkLoad second(table_, *other, BulkLoad::Duplicates::AreToldByRow);
    std::string note;
    Duplicate duplicate;
    for (int32_t id = 1000; id < 1200; ++id)
      ASSERT_TRUE(second.append(values_of({.id = id, .padding = 9000}, note), duplicate));
    const Status appended = second.append(values_of({.id = 299, .padding = 9000}, note), duplicate);
    ASSERT_FALSE(appended);
    EXPECT_EQ(appended.error().code(), ErrorCode::LockWaitTimeout);
  }
  for (const bool overlaps : {true, false}) {
    const auto other = begin();
    Duplicate duplicate;
    const int32_t id = overlaps ? 150 : 2000;
    const Status loaded = this->load(*other, id, id + 200, duplicate);
    EXPECT_EQ(loaded.has_value(), !overlaps) << message(loaded);
    EXPECT_TRUE(loaded || loaded.error().code() == ErrorCode::LockWaitTimeout) << message(loaded);
  }
  Duplicate duplicate;
  ASSERT_TRUE(load.finish(duplicate));
  EXPECT_EQ(refused_for({.id = 299}), ErrorCode::LockWaitTimeout);
  ASSERT_TRUE(host_.transactions().commit(*loader));
  EXPECT_EQ(refused_for({.id = 299}), ErrorCode::DuplicateKey);
  EXPECT_EQ(count(), 300U);
}

TEST_F(TableTest, ALoadByRowMeetsWhatOthersHaveNotDecided) {
  insert_committed(0, 10);
  const auto other = begin();
  ASSERT_TRUE(insert(*other, {.id = 500, .number = 700}));
  ASSERT_TRUE(table_->erase(*other, key_of(*table_, 3)));
  const auto loader = begin();
  BulkLoad load(table_, *loader, BulkLoad::Duplicates::AreToldByRow);
  std::string note;
  Duplicate duplicate;
  for (int32_t id = 1000; id < 1200; ++id)
    ASSERT_TRUE(load.append(values_of({.id = id, .padding = 9000}, note), duplicate));
  for (const TestRow& row : {TestRow{.id = 500}, TestRow{.id = 501, .number = 700}, TestRow{.id = 3}}) {
    const Status appended = load.append(values_of(row, note), duplicate);
    ASSERT_FALSE(appended);
    EXPECT_EQ(appended.error().code(), ErrorCode::LockWaitTimeout);
    EXPECT_FALSE(load.has_duplicate());
  }
  ASSERT_TRUE(host_.transactions().commit(*other));
  ASSERT_TRUE(load.append(values_of({.id = 3, .number = 3}, note), duplicate));
  // A row that another only reads is a duplicate at once.
  const auto reader = begin();
  std::string row;
  ASSERT_TRUE(table_->find_row(*reader, key_of(*table_, 7), ReadLock::Shared, row));
  EXPECT_EQ(load.append(values_of({.id = 7}, note), duplicate).error().code(), ErrorCode::DuplicateKey);
  ASSERT_TRUE(table_->find_row(*reader, key_of(*table_, 8), ReadLock::Exclusive, row));
  EXPECT_EQ(load.append(values_of({.id = 8}, note), duplicate).error().code(), ErrorCode::LockWaitTimeout);
  EXPECT_FALSE(load.append(values_of({.id = 501, .number = 700}, note), duplicate));
  EXPECT_EQ(duplicate.index, 1U);
  EXPECT_EQ(duplicate.clustered_key, key_of(*table_, 500));
  ASSERT_TRUE(load.finish(duplicate));
  ASSERT_TRUE(host_.transactions().commit(*loader));
  EXPECT_EQ(count(), 211U);
}

TEST_F(TableTest, ManyOwnVersionsHideThoseOfAnOlderSnapshot) {
  constexpr int32_t rows = 3000, own = 2000;
  insert_committed(0, rows);
  ASSERT_TRUE(table_->flush(true));
  const auto old = begin();
  EXPECT_EQ(count(*old), static_cast<uint64_t>(rows));
  Duplicate duplicate;
  const auto update_all = [&](Transaction& transaction, int32_t last, int32_t by) {
    for (int32_t id = 0; id < last; ++id) {
      const auto updated = table_->update(transaction, key_of(*table_, id),
                                          encode(*table_, {.id = id, .number = id + by}), duplicate);
      ASSERT_TRUE(updated) << message(updated);
    }
  };
  const auto other = begin();
  update_all(*other, rows, 10'000);
  ASSERT_TRUE(host_.transactions().commit(*other));
  ASSERT_TRUE(table_->flush(true));
  update_all(*old, own, 20'000);
  // The snapshot's version where nothing was written on top of it, else the own one; by every way of reading.
  const auto expected = [&](int32_t id) { return id + (id < own ? 20'000 : 0); };
  EXPECT_EQ(count(*old), static_cast<uint64_t>(rows));
  Cursor cursor(table_, *old, 0, ReadLock::None, all_columns());
  auto on_row = cursor.seek_at_or_after({});
  for (int32_t id = 0; id < rows; ++id, on_row = cursor.next()) {
    ASSERT_TRUE(on_row && *on_row) << id;
    ASSERT_TRUE(cursor.load_values());
    ASSERT_EQ(decode(cursor.values()).number, expected(id));
  }
  EXPECT_FALSE(*on_row);
  Scan scan(table_, *old, ReadLock::None, nullptr, all_columns());
  uint64_t met = 0;
  for (auto batch = scan.next(); batch && *batch != nullptr; batch = scan.next()) {
    for (uint32_t row = 0; row < (*batch)->rows; ++row, ++met) {
      const auto id = static_cast<int32_t>(native_signed((*batch)->columns[0].value(row).integer, 4));
      ASSERT_EQ(native_signed((*batch)->columns[1].value(row).integer, 4), expected(id));
    }
  }
  EXPECT_EQ(met, static_cast<uint64_t>(rows));
  RowReads reads(*table_, {number_column});
  for (const int32_t id : {0, own - 1, own, rows - 1}) {
    Value value;
    const auto found = table_->find(*old, key_of(*table_, id), ReadLock::None, reads, {&value, 1});
    ASSERT_TRUE(found && *found);
    EXPECT_EQ(native_signed(value.integer, 4), expected(id));
  }
}

TEST_F(TableTest, KeysAreLookedForInVeryManySegmentsByWhatIsKeptOfThem) {
  // Of more segments than rows are read of at once, each of keys from one end to the other; the odd numbers
  // are free.
  constexpr int32_t segments = 150, rows = 20, keys = segments * rows;
  for (int32_t segment = 0; segment < segments; ++segment) {
    const auto transaction = begin();
    for (int32_t row = 0; row < rows; ++row) {
      const int32_t id = 2 * (row * segments + segment);
      ASSERT_TRUE(insert(*transaction, {.id = id, .number = id}));
    }
    ASSERT_TRUE(host_.transactions().commit(*transaction));
    ASSERT_TRUE(table_->flush(true));
  }
  const auto writer = begin();
  KeyReads reads(*table_);
  const auto try_to_insert = [&](int32_t id, int32_t number) {
    Duplicate duplicate;
    const auto inserted =
        table_->insert(*writer, encode(*table_, {.id = id, .number = number}), duplicate, &reads);
    EXPECT_TRUE(inserted || inserted.error().code() == ErrorCode::DuplicateKey) << message(inserted);
    return inserted.has_value();
  };
  for (int32_t key = 0; key < 2 * keys; ++key) {
    ASSERT_EQ(try_to_insert(key, 2 * keys + key), key % 2 == 1) << key;
    ASSERT_FALSE(try_to_insert(4 * keys + key, key / 2 * 2)) << key;
    // Other segments from here on.
    if (key == keys) {
      ASSERT_TRUE(table_->merge());
    } else if (key == keys + 100) {
      ASSERT_TRUE(table_->flush(true));
    }
  }
  ASSERT_TRUE(host_.transactions().commit(*writer));
  EXPECT_EQ(count(), static_cast<uint64_t>(2 * keys));
}

TEST_F(TableTest, LoadedRowsAreSeenByOthersFromTheCommitOn) {
  const auto loader = begin();
  Duplicate duplicate;
  const Status loaded = load(*loader, 0, 300, duplicate);
  ASSERT_TRUE(loaded) << message(loaded);
  EXPECT_EQ(count(*loader), 300U);
  EXPECT_EQ(count(), 0U);
  // Another's row of the same key waits for the load.
  const auto other = begin();
  const auto refused = insert(*other, {.id = 7});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::LockWaitTimeout);
  ASSERT_TRUE(host_.transactions().commit(*loader));
  EXPECT_EQ(count(), 300U);
  EXPECT_EQ(table_->record().segments.size(), table_->statistics().segments);
}

TEST_F(TableTest, ALoadRolledBackLeavesNothing) {
  insert_committed(1000, 1001);
  const auto loader = begin();
  Duplicate duplicate;
  ASSERT_TRUE(load(*loader, 0, 300, duplicate));
  host_.transactions().rollback(*loader);
  EXPECT_EQ(count(), 1U);
  EXPECT_EQ(table_->statistics().segments, 0U);
  const auto again = begin();
  ASSERT_FALSE(load(*again, 900, 1100, duplicate));
  EXPECT_EQ(duplicate.index, 0U);
  EXPECT_EQ(duplicate.clustered_key, key_of(*table_, 1000));
  EXPECT_EQ(count(*again), 1U);
  EXPECT_EQ(table_->statistics().segments, 0U);
}

TEST_F(TableTest, RowsOfAnyLengthAreFlushed) {
  constexpr int32_t rows = 10'000;
  // The first ones are the longest, the shortest, and all alike.
  const std::function<std::string(int32_t)> texts[] = {
      [](int32_t id) { return std::string(id < 5000 ? 900 : 1, 'a'); },
      [](int32_t id) { return std::string(id < 5000 ? 0 : 900, 'b'); },
      [](int32_t id) { return std::to_string(id); }};
  int32_t first = 0;
  for (const auto& text : texts) {
    const auto transaction = begin();
    for (int32_t id = 0; id < rows; ++id) {
      ASSERT_TRUE(insert(*transaction, {.id = first + id, .note = text(id)}));
    }
    ASSERT_TRUE(host_.transactions().commit(*transaction));
    ASSERT_TRUE(table_->flush(true));
    const auto reader = begin();
    Cursor cursor(table_, *reader, 0, ReadLock::None, all_columns());
    auto on_row = cursor.seek_at_or_after(key_of(*table_, first));
    for (int32_t id = 0; id < rows; ++id, on_row = cursor.next()) {
      ASSERT_TRUE(on_row && *on_row);
      ASSERT_TRUE(cursor.load_values());
      ASSERT_EQ(decode(cursor.values()).note, text(id)) << id;
    }
    first += rows;
  }
}

TEST_F(TableTest, AFailedFlushLosesNothing) {
  insert_committed(0, 100);
  host_.filesystem().add_rule({.call = FaultFilesystem::Call::Append, .path_part = "segment-"});
  const auto flushed = table_->flush(true);
  ASSERT_FALSE(flushed);
  EXPECT_EQ(count(), 100U);
  host_.filesystem().clear_rules();
  ASSERT_TRUE(table_->flush(true));
  EXPECT_FALSE(table_->has_delta_rows());
  EXPECT_EQ(count(), 100U);
  reopen();
  EXPECT_EQ(count(), 100U);
}

TEST_F(TableTest, AFailedMergeLosesNothing) {
  constexpr int32_t parts = 12;
  for (int32_t part = 0; part < parts; ++part) {
    insert_committed(part, part + 1);
    insert_committed(1000 - part, 1001 - part);
    ASSERT_TRUE(table_->flush(true));
  }
  host_.filesystem().add_rule({.call = FaultFilesystem::Call::Sync, .path_part = "segment-"});
  EXPECT_FALSE(table_->merge());
  EXPECT_EQ(count(), 2U * parts);
  host_.filesystem().clear_rules();
  ASSERT_TRUE(table_->merge());
  EXPECT_EQ(table_->statistics().segments, 1U);
  EXPECT_EQ(count(), 2U * parts);
  reopen();
  EXPECT_EQ(count(), 2U * parts);
}

TEST_F(TableTest, ADamagedSegmentMarksTheTableOnly) {
  insert_committed(0, 100);
  ASSERT_TRUE(table_->flush(true));
  ASSERT_TRUE(host_.record(*table_));
  const TableRecord record = host_.recorded(1);
  ASSERT_EQ(record.segments.size(), 1U);
  ASSERT_TRUE(host_.filesystem().truncate(host_.segment_path(record.segments[0].file), 20));
  const auto opened = Table::open(host_, record);
  ASSERT_TRUE(opened);
  EXPECT_FALSE((*opened)->usable());
  const auto reader = begin();
  Scan scan(*opened, *reader, ReadLock::None, nullptr, {});
  const auto rows = scan.count_rest();
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().code(), ErrorCode::Corruption);
  EXPECT_NE(rows.error().message().find("segment-"), std::string::npos) << rows.error().message();
  EXPECT_EQ((*opened)->record().segments, record.segments);
}

TEST_F(TableTest, ReplayTwiceGivesTheSame) {
  const auto row = [&](int32_t id, const char* name) {
    return encode(*table_, {.id = id, .number = id, .name = name});
  };
  const auto replay = [&] {
    ASSERT_TRUE(table_->replay_put(1, 0, row(1, "one")));
    ASSERT_TRUE(table_->replay_put(1, 0, row(2, "two")));
    ASSERT_TRUE(table_->replay_put(2, 0, row(1, "changed")));
    ASSERT_TRUE(table_->replay_delete(3, key_of(*table_, 2)));
    ASSERT_TRUE(table_->replay_put(4, 0, row(3, "three")));
    ASSERT_TRUE(table_->replay_delete(4, key_of(*table_, 3)));
    ASSERT_TRUE(table_->replay_put(4, 0, row(3, "again")));
    host_.transactions().resume_after(4, 10);
  };
  const auto check = [&] {
    const auto reader = begin();
    EXPECT_EQ(count(*reader), 2U);
    RowReads reads(*table_, all_columns());
    std::vector<Value> values(4);
    const auto found = table_->find(*reader, key_of(*table_, 1), ReadLock::None, reads, values);
    ASSERT_TRUE(found && *found);
    EXPECT_EQ(decode(values).name, "changed");
  };
  replay();
  check();
  replay();
  check();
  ASSERT_TRUE(table_->flush(true));
  check();
  replay();
  check();
  reopen();
  replay();
  check();
}

TEST_F(TableTest, SmallDeltasAreCarriedAsTheyAre) {
  insert_committed(0, 10);
  const auto eraser = begin();
  ASSERT_TRUE(table_->erase(*eraser, key_of(*table_, 3)));
  ASSERT_TRUE(host_.transactions().commit(*eraser));
  const auto open = begin();
  ASSERT_TRUE(insert(*open, {.id = 50}));
  ASSERT_TRUE(table_->erase(*open, key_of(*table_, 4)));
  int carried = 0;
  ASSERT_TRUE(table_->carry([&](ByteView, Timestamp begin) -> Status {
    EXPECT_EQ(begin, 1U);
    ++carried;
    return {};
  }));
  EXPECT_EQ(carried, 9);
  EXPECT_FALSE(table_->is_settled());
  host_.transactions().rollback(*open);
  EXPECT_TRUE(table_->is_settled());
  TableRecord record = table_->record();
  table_->append_delta_rows(0, record.rows);
  EXPECT_TRUE(record.rows.empty());
  table_->append_delta_rows(1, record.rows);
  const auto copy = Table::open(host_, record);
  ASSERT_TRUE(copy && (*copy)->usable());
  EXPECT_EQ((*copy)->statistics().rows, 9U);
}

TEST_F(TableTest, AutoIncrementOnlyRises) {
  const auto transaction = begin();
  EXPECT_EQ(table_->next_auto_increment(), 1U);
  EXPECT_EQ(table_->take_auto_increment(3), 1U);
  ASSERT_TRUE(table_->raise_auto_increment(*transaction, 100));
  ASSERT_TRUE(table_->raise_auto_increment(*transaction, 50));
  EXPECT_EQ(table_->next_auto_increment(), 100U);
  ASSERT_TRUE(host_.transactions().commit(*transaction));
  reopen();
  EXPECT_EQ(table_->next_auto_increment(), 100U);
}

TEST_F(TableTest, EstimatesAreNear) {
  insert_committed(0, 1000);
  ASSERT_TRUE(table_->flush(true));
  insert_committed(1000, 1100);
  EXPECT_EQ(table_->estimate_range(0, key_of(*table_, 100), key_of(*table_, 200)), 100U);
  EXPECT_EQ(table_->estimate_range(0, key_of(*table_, 900), key_of(*table_, 1050)), 150U);
  ASSERT_TRUE(table_->analyze());
  const TableStatistics statistics = table_->statistics();
  EXPECT_EQ(statistics.rows, 1100U);
  ASSERT_EQ(statistics.distinct.size(), 3U);
  EXPECT_EQ(statistics.distinct[0], std::vector<uint64_t>{1100});
  EXPECT_EQ(statistics.distinct[1], std::vector<uint64_t>{1100});
  EXPECT_EQ(statistics.distinct[2], (std::vector<uint64_t>{1, 1100}));
}

TEST_F(TableTest, ADeltaOfManyRowsGoesToSeveralSegments) {
  host_.segment_rows = 100;
  insert_committed(0, 350);
  const auto deleting = begin();
  const auto keeping = begin();
  for (const int32_t id : {0, 99, 100, 250, 349}) ASSERT_TRUE(table_->erase(*deleting, key_of(*table_, id)));
  for (const int32_t id : {1, 199, 300}) ASSERT_TRUE(table_->erase(*keeping, key_of(*table_, id)));
  const auto flushed = table_->flush(true);
  ASSERT_TRUE(flushed) << message(flushed);
  EXPECT_EQ(table_->statistics().segments, 4U);
  EXPECT_FALSE(table_->has_delta_rows());
  EXPECT_EQ(count(), 350U);
  // What was decided after the flush is decided where the rows are now.
  ASSERT_TRUE(host_.transactions().commit(*deleting));
  host_.transactions().rollback(*keeping);
  EXPECT_EQ(count(), 345U);
  const auto reader = begin();
  RowReads reads(*table_, all_columns());
  for (int32_t id = 0; id < 350; ++id) {
    std::vector<Value> values(all_columns().size());
    const auto found = table_->find(*reader, key_of(*table_, id), ReadLock::None, reads, values);
    ASSERT_TRUE(found) << message(found);
    EXPECT_EQ(*found, id != 0 && id != 99 && id != 100 && id != 250 && id != 349) << id;
  }
  host_.transactions().rollback(*reader);
  ASSERT_TRUE(table_->optimize({}));
  EXPECT_EQ(table_->statistics().segments, 4U);
  EXPECT_EQ(count(), 345U);
  reopen();
  EXPECT_EQ(count(), 345U);
}

TEST_F(TableTest, FlushesAndMergesGoOnBesideOptimize) {
  constexpr int32_t parts = 12;
  const auto add_segments = [&](int32_t first) {
    for (int32_t part = 0; part < parts; ++part) {
      insert_committed(first + part, first + part + 1);
      insert_committed(first + 1000 - part, first + 1001 - part);
      ASSERT_TRUE(table_->flush(true));
    }
  };
  add_segments(0);
  int asked = 0;
  const Status optimized = table_->optimize([&] {
    if (asked++ != 0) return false;
    // Within OPTIMIZE, which has claimed all segments that it found.
    EXPECT_FALSE(table_->merge().value());
    add_segments(10'000);
    const uint64_t segments = table_->statistics().segments;
    EXPECT_TRUE(table_->merge());
    EXPECT_LT(table_->statistics().segments, segments);
    return false;
  });
  ASSERT_TRUE(optimized) << optimized.error().message();
  EXPECT_GT(asked, 0);
  EXPECT_EQ(count(), 4U * parts);
  ASSERT_TRUE(table_->optimize({}));
  EXPECT_EQ(table_->statistics().segments, 1U);
  EXPECT_EQ(count(), 4U * parts);
  reopen();
  EXPECT_EQ(count(), 4U * parts);
}

TEST_F(TableTest, AStoppedOptimizeGivesItsClaimsBack) {
  insert_committed(0, 10);
  ASSERT_TRUE(table_->flush(true));
  insert_committed(10, 20);
  const Status stopped = table_->optimize([] { return true; });
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code(), ErrorCode::Interrupted);
  EXPECT_EQ(count(), 20U);
  ASSERT_TRUE(table_->optimize({}));
  EXPECT_EQ(table_->statistics().segments, 1U);
}

TEST_F(TableTest, BytesOfRowsAreCountedHoweverTheyComeIn) {
  const auto bytes = [&] { return host_.counters().row_bytes_written.load(); };
  insert_committed(0, 10);
  const size_t short_row = encode(*table_, {.id = 0, .number = 0, .name = "n"}).size();
  ASSERT_EQ(bytes(), 10 * short_row);
  const auto transaction = begin();
  Duplicate duplicate;
  ASSERT_TRUE(table_->update(*transaction, key_of(*table_, 3),
                             encode(*table_, {.id = 3, .number = 50, .name = "nn"}), duplicate));
  ASSERT_EQ(bytes(), 11 * short_row + 1);
  // A few rows go to the delta, many to segments.
  const size_t long_row = encode(*table_, {.id = 0, .number = 0, .padding = 9000}).size();
  for (const auto& [first, last] : {std::pair(100, 110), std::pair(1'000, 11'000)}) {
    const uint64_t before = bytes();
    ASSERT_TRUE(load(*transaction, first, last, duplicate));
    EXPECT_EQ(bytes() - before, static_cast<uint64_t>(last - first) * long_row);
  }
  EXPECT_EQ(host_.counters().rows_bulk_loaded.load(), 10'000U);
}

TEST_F(TableTest, ALoadTakesWhatMemoryIsFreeAndEndsWithoutAny) {
  host_.buffer_bytes = size_t{16} << 20;
  constexpr int32_t rows = 40'000;
  constexpr uint32_t padding = 200;
  const auto most_used = [&](int32_t first, size_t free) {
    Reservation others(host_.budget());
    others.grow(host_.budget().limit() - free);
    const auto transaction = begin();
    BulkLoad load(table_, *transaction);
    size_t most = 0;
    for (int32_t id = first; id < first + rows; ++id) {
      EXPECT_TRUE(append(load, {.id = id, .number = id, .padding = padding}));
      most = std::max(most, host_.budget().used() - others.bytes());
    }
    Duplicate duplicate;
    EXPECT_TRUE(load.finish(duplicate));
    EXPECT_TRUE(host_.transactions().commit(*transaction));
    return most;
  };
  const auto segments = [&] { return table_->statistics().segments; };
  EXPECT_GT(most_used(0, host_.budget().limit()), size_t{16} << 20);
  EXPECT_EQ(segments(), 1U);
  const size_t with_some = most_used(rows, size_t{8} << 20);
  EXPECT_LE(with_some, size_t{8} << 20);
  EXPECT_GT(with_some, size_t{4} << 20);
  // A set of rows that is as short as any, however little there is.
  const size_t before = segments();
  EXPECT_LT(most_used(2 * rows, 0), size_t{2} << 20);
  EXPECT_GT(segments(), before + 10);
  const auto reader = begin();
  EXPECT_EQ(count(*reader), 3U * rows);
}

TEST_F(TableTest, AScanNumbersItsRowsAmongAllThatItComesBy) {
  std::mt19937_64 random(test_seed(17));
  host_.segment_rows = 20'000;
  const auto loader = begin();
  Duplicate duplicate;
  BulkLoad load(table_, *loader);
  for (int32_t id = 0; id < 50'000; ++id) ASSERT_TRUE(append(load, {.id = id, .number = id}));
  ASSERT_TRUE(load.finish(duplicate));
  ASSERT_TRUE(host_.transactions().commit(*loader));
  const auto old = begin();
  ASSERT_EQ(count(*old), 50'000U);  // its snapshot is taken
  const auto remove_some = [&] {
    const auto transaction = begin();
    for (int i = 0; i < 200; ++i) {
      const auto id = static_cast<int32_t>(random() % 50'000);
      const Status erased = table_->erase(*transaction, key_of(*table_, id));
      ASSERT_TRUE(erased || erased.error().code() == ErrorCode::NotFound) << message(erased);
    }
    ASSERT_TRUE(host_.transactions().commit(*transaction));
  };
  remove_some();
  insert_committed(100'000, 100'500);
  ASSERT_TRUE(table_->flush(true));
  remove_some();
  insert_committed(100'500, 101'300);
  const auto now = begin();
  for (const auto& [transaction, lock] : {std::pair(old.get(), ReadLock::None),
                                          {now.get(), ReadLock::None},
                                          {now.get(), ReadLock::Exclusive}}) {
    std::unordered_map<int32_t, uint64_t> places;
    Scan all(table_, *transaction, ReadLock::None, nullptr, all_columns());
    for (;;) {
      const auto batch = all.next();
      ASSERT_TRUE(batch) << message(batch);
      if (*batch == nullptr) break;
      for (uint32_t row = 0; row < (*batch)->rows; ++row) {
        const uint64_t id = (*batch)->columns[0].value(row).integer;
        places.emplace(static_cast<int32_t>(native_signed(id, 4)), places.size() + 1);
      }
    }
    // Some leave out whole segments, some blocks, some rows.
    for (const auto& [low, high] :
         {std::pair(45'000, 100'900), {30'000, 30'002}, {17'000, 17'500}, {100'700, 100'800}, {0, 200'000}}) {
      const auto predicate = std::make_shared<const Predicate>(
          Predicate::integer(number_column, {{order_signed(low, 4), order_signed(high, 4)}}));
      Scan scan(table_, *transaction, lock, predicate, all_columns());
      scan.number_rows();
      uint64_t rows = 0;
      for (;;) {
        const auto batch = scan.next();
        ASSERT_TRUE(batch) << message(batch);
        if (*batch == nullptr) break;
        for (uint32_t row = 0; row < (*batch)->rows; ++row, ++rows) {
          const auto id = static_cast<int32_t>(native_signed((*batch)->columns[0].value(row).integer, 4));
          ASSERT_EQ(scan.number(row), places.at(id)) << id;
        }
      }
      ASSERT_EQ(scan.rows_met(), places.size());
      ASSERT_EQ(rows, std::ranges::count_if(places, [&](const auto& place) {
                  return place.first >= low && place.first <= high;
                }));
    }
  }
}

TEST_F(TableTest, AnIdleSnapshotKeepsTheVersionsThatItSeesAndNoOthers) {
  constexpr int32_t rows = 200;
  insert_committed(0, rows);
  const auto idle = begin();
  EXPECT_EQ(count(*idle), uint64_t{rows});
  for (int32_t round = 0; round < 12; ++round) {
    const auto writer = begin();
    for (int32_t id = 0; id < rows; ++id) {
      Duplicate duplicate;
      const TestRow row{.id = id, .number = id, .name = std::to_string(round)};
      ASSERT_TRUE(table_->update(*writer, key_of(*table_, id), encode(*table_, row), duplicate));
    }
    ASSERT_TRUE(host_.transactions().commit(*writer));
    if (round % 3 == 2) {
      ASSERT_TRUE(table_->flush(true));
    }
  }
  // Each flush found three versions of each row; one was live, and in the first one was the snapshot's.
  const TableStatistics flushed = table_->statistics();
  EXPECT_EQ(flushed.rows, uint64_t{rows});
  EXPECT_EQ(flushed.deleted_rows, 4 * uint64_t{rows});
  ASSERT_TRUE(table_->optimize({}));
  EXPECT_EQ(table_->statistics().deleted_rows, uint64_t{rows});
  {
    Cursor cursor(table_, *idle, 0, ReadLock::None, all_columns());
    auto on_row = cursor.seek_at_or_after({});
    for (int32_t id = 0; id < rows; ++id, on_row = cursor.next()) {
      ASSERT_TRUE(on_row && *on_row);
      ASSERT_TRUE(cursor.load_values());
      ASSERT_EQ(decode(cursor.values()), (TestRow{.id = id, .number = id, .name = "n"}));
    }
    EXPECT_FALSE(on_row.value());
  }
  EXPECT_EQ(count(), uint64_t{rows});
  host_.transactions().rollback(*idle);
  ASSERT_TRUE(table_->optimize({}));
  EXPECT_EQ(table_->statistics().deleted_rows, 0U);
  EXPECT_EQ(count(), uint64_t{rows});
}

TEST_F(TableTest, ReadsBySnapshotsThatWereEndedFail) {
  insert_committed(0, 100);
  ASSERT_TRUE(table_->flush(true));
  insert_committed(100, 200);
  const auto old = begin();
  Scan scan(table_, *old, ReadLock::None, nullptr, all_columns());
  ASSERT_TRUE(scan.next());
  Cursor cursor(table_, *old, 0, ReadLock::None, all_columns());
  ASSERT_TRUE(cursor.seek_at_or_after({}));
  EXPECT_EQ(host_.transactions().expire_snapshots(std::chrono::steady_clock::now()), 1U);
  const auto too_old = [](const auto& result) {
    return !result && result.error().code() == ErrorCode::SnapshotTooOld;
  };
  EXPECT_TRUE(too_old(scan.next()));
  EXPECT_TRUE(too_old(cursor.next()));
  Scan counting(table_, *old, ReadLock::None, nullptr, {});
  EXPECT_TRUE(too_old(counting.count_rest()));
  Scans summing(std::make_unique<Scan>(table_, *old, ReadLock::None, nullptr, std::vector<uint16_t>()));
  const Aggregate rows{.kind = Aggregate::Kind::Rows};
  EXPECT_TRUE(too_old(summing.aggregate({&rows, 1}, 1)));
  std::string row;
  EXPECT_TRUE(too_old(table_->find_row(*old, key_of(*table_, 5), ReadLock::None, row)));
  RowReads reads(*table_, {});
  EXPECT_TRUE(too_old(table_->find(*old, key_of(*table_, 5), ReadLock::None, reads, {})));
  // The newest state needs no snapshot.
  EXPECT_TRUE(table_->find_row(*old, key_of(*table_, 5), ReadLock::Exclusive, row).value());
  Scan locking(table_, *old, ReadLock::Shared, nullptr, {});
  EXPECT_EQ(locking.count_rest().value(), 200U);
}

TEST_F(TableTest, AWriterWaitsForMemoryThatOthersGiveBack) {
  host_.delta_bytes = size_t{64} << 20;  // so that no transaction is large
  host_.budget().set_limit(host_.budget().used() + (size_t{8} << 20));
  const auto other_table = host_.create(test_definition(true), 2);
  const auto other = begin();
  const auto writer = begin();
  constexpr int32_t few = 100;  // beyond what is always granted
  for (int32_t id = 0; id < few; ++id) {
    ASSERT_TRUE(insert(*writer, {.id = id, .padding = 9000}));
  }
  for (int32_t id = 0; host_.budget().used() + 20'000 < host_.budget().limit(); ++id) {
    Duplicate duplicate;
    ASSERT_TRUE(other_table->insert(*other, encode(*other_table, {.id = id, .padding = 9000}), duplicate));
  }
  std::thread helper([&] {
    while (host_.room_requests.load() == 0) std::this_thread::yield();
    EXPECT_TRUE(host_.transactions().commit(*other));
    EXPECT_TRUE(other_table->flush(true));
  });
  for (int32_t id = few; host_.room_requests.load() == 0; ++id) {
    const auto inserted = insert(*writer, {.id = id, .padding = 9000});
    EXPECT_TRUE(inserted) << message(inserted);
    if (!inserted) break;
  }
  helper.join();
}

}  // namespace
}  // namespace hailstone
