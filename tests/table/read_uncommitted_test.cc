// READ UNCOMMITTED beside writers: a row that is there all the time is met exactly once, however it is
// changed meanwhile.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <random>
#include <thread>

#include "base/test_seed.h"
#include "table/bulk_load.h"
#include "table/cursor.h"
#include "table/scan.h"
#include "table/test_host.h"
#include "table/test_rows.h"

namespace hailstone {
namespace {

constexpr int32_t rows = 1500;

class ReadUncommittedTest : public testing::Test {
 protected:
  ReadUncommittedTest() {
    TableDefinition definition = test_definition(true);
    definition.indexes[1].unique = false;
    table_ = host_.create(std::move(definition));
    // Some in segments, some in a delta that is frozen, some in the active one.
    insert(0, 700);
    EXPECT_TRUE(table_->flush(true));
    insert(700, 1100);
    insert(1100, rows);
  }

  std::unique_ptr<Transaction> begin(Isolation isolation = Isolation::RepeatableRead) {
    return host_.transactions().begin(isolation);
  }
  void insert(int32_t first, int32_t last) {
    const auto transaction = begin();
    for (int32_t id = first; id < last; ++id) put(*transaction, id, id, true);
    ASSERT_TRUE(host_.transactions().commit(*transaction));
  }
  void put(Transaction& transaction, int32_t id, int32_t number, bool is_new) {
    Duplicate duplicate;
    const std::string row = encode(*table_, {.id = id, .number = number, .name = "n"});
    const auto written = is_new ? table_->insert(transaction, row, duplicate)
                                : table_->update(transaction, key_of(*table_, id), row, duplicate);
    ASSERT_TRUE(written) << message(written);
  }
  /// Changes of rows that stay, and rows that come; committed now and then.
  void change(std::mt19937_64& random) {
    if (writer_ == nullptr) writer_ = begin();
    for (int i = 0; i < 20; ++i) {
      put(*writer_, static_cast<int32_t>(random() % rows), static_cast<int32_t>(random() % 10'000), false);
    }
    put(*writer_, next_id_++, 1, true);
    if (random() % 3 == 0) end_writer();
    if (random() % 10 == 0) {
      ASSERT_TRUE(table_->flush(true));
    }
  }
  void end_writer() {
    if (writer_ != nullptr) {
      ASSERT_TRUE(host_.transactions().commit(*writer_));
    }
    writer_.reset();
  }
  static void expect_all_once(const std::map<int32_t, int>& met) {
    for (int32_t id = 0; id < rows; ++id) {
      const auto found = met.find(id);
      ASSERT_NE(found, met.end()) << "row " << id << " was not met";
      ASSERT_EQ(found->second, 1) << "row " << id;
    }
  }
  std::map<int32_t, int> scan(const std::function<void()>& between) {
    const auto reader = begin(Isolation::ReadUncommitted);
    Scan scan(table_, *reader, ReadLock::None, nullptr, all_columns());
    std::map<int32_t, int> met;
    for (auto batch = scan.next(); batch && *batch != nullptr; batch = scan.next()) {
      for (uint32_t i = 0; i < (*batch)->rows; ++i) {
        std::vector<Value> values;
        for (const auto& column : (*batch)->columns) values.push_back(column.value(i));
        ++met[decode(values).id];
      }
      between();
    }
    return met;
  }
  std::map<int32_t, int> walk(size_t index, bool forward, const std::function<void()>& between) {
    const auto reader = begin(Isolation::ReadUncommitted);
    Cursor cursor(table_, *reader, index, ReadLock::None, all_columns());
    std::map<int32_t, int> met;
    auto on_row = forward ? cursor.seek_at_or_after({}) : cursor.seek_before({});
    for (int moves = 0; on_row && *on_row; ++moves) {
      EXPECT_TRUE(cursor.load_values());
      ++met[decode(cursor.values()).id];
      if (moves % 50 == 0) between();
      on_row = forward ? cursor.next() : cursor.previous();
    }
    EXPECT_TRUE(on_row) << message(on_row);
    return met;
  }

  TestHost host_;
  std::shared_ptr<Table> table_;
  std::unique_ptr<Transaction> writer_;
  int32_t next_id_ = rows;
};

TEST_F(ReadUncommittedTest, RowsThatStayAreMetOnce) {
  std::mt19937_64 random(test_seed(80));
  const auto between = [&] { change(random); };
  for (int round = 0; round < 2; ++round) {
    expect_all_once(scan(between));
    for (size_t index = 0; index < 3; ++index) {
      SCOPED_TRACE(index);
      expect_all_once(walk(index, true, between));
      expect_all_once(walk(index, false, between));
    }
    if (HasFailure()) break;
    end_writer();
    ASSERT_TRUE(table_->merge());
  }
  end_writer();
}

TEST_F(ReadUncommittedTest, LatestVersionsAreSeen) {
  const auto writer = begin();
  put(*writer, 7, 70'000, false);
  ASSERT_TRUE(table_->erase(*writer, key_of(*table_, 8)));
  put(*writer, 1200, 70'001, false);
  put(*writer, rows, 70'002, true);
  const auto met = scan([] {});
  EXPECT_EQ(met.size(), static_cast<size_t>(rows));
  EXPECT_FALSE(met.contains(8));
  EXPECT_TRUE(met.contains(rows));
  // A condition is about the latest version, too.
  const auto reader = begin(Isolation::ReadUncommitted);
  const auto condition = std::make_shared<const Predicate>(
      Predicate::integer(number_column, {{order_signed(70'000, 4), order_signed(70'002, 4)}}));
  Scan filtered(table_, *reader, ReadLock::None, condition, all_columns());
  const auto counted = filtered.count_rest();
  ASSERT_TRUE(counted);
  EXPECT_EQ(*counted, 3U);
  host_.transactions().rollback(*writer);
}

class ReadUncommittedConcurrentTest : public ReadUncommittedTest {};

TEST_F(ReadUncommittedConcurrentTest, RowsThatStayAreMetOnce) {
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    std::mt19937_64 random(test_seed(81));
    while (!stop) change(random);
    end_writer();
  });
  for (int round = 0; round < 5; ++round) {
    expect_all_once(scan([] {}));
    expect_all_once(walk(0, true, [] {}));
    expect_all_once(walk(1, true, [] {}));
  }
  stop = true;
  writer.join();
}

}  // namespace
}  // namespace hailstone
