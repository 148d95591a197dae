// Threads that move amounts between rows while others add all of them up, in every way there is to read, and
// one flushes and merges: no sum is ever wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "base/test_seed.h"
#include "table/bulk_load.h"
#include "table/cursor.h"
#include "table/row_reads.h"
#include "table/scan.h"
#include "table/test_host.h"
#include "table/test_rows.h"

namespace hailstone {
namespace {

constexpr int accounts = 50;
constexpr int amount = 1000;
constexpr int transfers = 300;

class TableConcurrentTest : public testing::Test {
 protected:
  TableConcurrentTest() {
    host_.delta_bytes = size_t{16} << 10;
    TableDefinition definition = test_definition(true);
    // Amounts are not unique.
    definition.indexes[1].unique = false;
    table_ = host_.create(std::move(definition));
    const auto transaction = host_.transactions().begin(Isolation::RepeatableRead);
    for (int32_t id = 0; id < accounts; ++id) {
      Duplicate duplicate;
      EXPECT_TRUE(table_->insert(*transaction, encode(*table_, {.id = id, .number = amount}), duplicate));
    }
    EXPECT_TRUE(host_.transactions().commit(*transaction));
  }

  /// One row, locked, in its newest state.
  Result<TestRow> lock(Transaction& transaction, int32_t id) {
    RowReads reads(*table_, all_columns());
    std::vector<Value> values(4);
    HAILSTONE_ASSIGN(const bool found,
                     table_->find(transaction, key_of(*table_, id), ReadLock::Exclusive, reads, values));
    if (!found) return fail(ErrorCode::NotFound, "an account is gone");
    return decode(values);
  }

  Status transfer(Transaction& transaction, int32_t from, int32_t to, int32_t moved) {
    KeyReads reads(*table_);
    for (const auto& [id, change] : {std::pair{from, -moved}, std::pair{to, moved}}) {
      HAILSTONE_ASSIGN(TestRow row, lock(transaction, id));
      row.number = *row.number + change;
      Duplicate duplicate;
      HAILSTONE_TRY(
          table_->update(transaction, key_of(*table_, id), encode(*table_, row), duplicate, &reads));
    }
    return {};
  }

  void move_amounts(uint64_t seed) {
    std::mt19937_64 random(seed);
    for (int done = 0; done < transfers && !failed_.load();) {
      const auto transaction = host_.transactions().begin(Isolation::RepeatableRead);
      const auto from = static_cast<int32_t>(random() % accounts);
      const auto to =
          static_cast<int32_t>((static_cast<uint64_t>(from) + 1 + random() % (accounts - 1)) % accounts);
      const Status moved = transfer(*transaction, from, to, static_cast<int32_t>(random() % 100));
      if (moved && random() % 8 != 0) {
        check(host_.transactions().commit(*transaction));
      } else {
        if (!moved) {
          const ErrorCode code = moved.error().code();
          if (code != ErrorCode::Deadlock && code != ErrorCode::LockWaitTimeout) check(moved);
        }
        host_.transactions().rollback(*transaction);
      }
      ++done;
    }
  }

  void add_up(uint64_t seed) {
    std::mt19937_64 random(seed);
    while (!stop_.load() && !failed_.load()) {
      const auto transaction = host_.transactions().begin(Isolation::RepeatableRead);
      for (int reads = 0; reads < 3; ++reads) {
        const auto sum =
            random() % 2 == 0 ? sum_by_scan(*transaction) : sum_by_cursor(*transaction, random() % 3);
        if (!sum) {
          check(std::unexpected(sum.error()));
        } else if (*sum != accounts * amount) {
          ADD_FAILURE() << "the sum is " << *sum;
          failed_.store(true);
        }
      }
      host_.transactions().rollback(*transaction);
    }
  }

  Result<int64_t> sum_by_scan(Transaction& transaction) {
    Scan scan(table_, transaction, ReadLock::None, nullptr, {number_column});
    int64_t sum = 0;
    for (;;) {
      HAILSTONE_ASSIGN(const Batch* const batch, scan.next());
      if (batch == nullptr) return sum;
      for (uint32_t i = 0; i < batch->rows; ++i) {
        sum += native_signed(batch->columns[0].value(i).integer, 4);
      }
    }
  }

  Result<int64_t> sum_by_cursor(Transaction& transaction, size_t index) {
    Cursor cursor(table_, transaction, index, ReadLock::None, {number_column});
    int64_t sum = 0;
    HAILSTONE_ASSIGN(bool on_row, cursor.seek_at_or_after({}));
    while (on_row) {
      HAILSTONE_TRY(cursor.load_values());
      sum += native_signed(cursor.values()[0].integer, 4);
      HAILSTONE_ASSIGN(on_row, cursor.next());
    }
    return sum;
  }

  void maintain() {
    while (!stop_.load() && !failed_.load()) {
      const auto flushed = table_->flush(true);
      if (!flushed) check(std::unexpected(flushed.error()));
      const auto merged = table_->merge();
      if (!merged) check(std::unexpected(merged.error()));
      std::this_thread::yield();
    }
  }

  void check(const Status& status) {
    if (status) return;
    ADD_FAILURE() << status.error().message();
    failed_.store(true);
  }

  TestHost host_{posix_filesystem(), 8};  // locks by keys and by places
  std::shared_ptr<Table> table_;
  std::atomic<bool> stop_{false}, failed_{false};
};

TEST_F(TableConcurrentTest, SumsStayWhileAmountsMove) {
  const uint64_t seed = test_seed(7);
  std::vector<std::thread> movers, others;
  for (uint64_t i = 0; i < 3; ++i) movers.emplace_back([&, i] { move_amounts(seed + i); });
  for (uint64_t i = 0; i < 2; ++i) others.emplace_back([&, i] { add_up(seed + 100 + i); });
  others.emplace_back([&] { maintain(); });
  for (std::thread& thread : movers) thread.join();
  stop_.store(true);
  for (std::thread& thread : others) thread.join();
  const auto reader = host_.transactions().begin(Isolation::RepeatableRead);
  const auto sum = sum_by_scan(*reader);
  ASSERT_TRUE(sum);
  EXPECT_EQ(*sum, accounts * amount);
  EXPECT_TRUE(table_->check(*reader, {}));
}

TEST_F(TableConcurrentTest, OneOfTwoLoadsOfTheSameKeysIsRefused) {
  host_.background = true;
  host_.buffer_bytes = size_t{256} << 10;
  std::atomic<int> loaded{0}, refused{0};
  const auto load = [&] {
    const auto transaction = host_.transactions().begin(Isolation::RepeatableRead);
    BulkLoad rows(table_, *transaction);
    for (int32_t id = 1000; id < 1400; ++id) {
      check(append(rows, {.id = id, .padding = 4000}));
    }
    Duplicate duplicate;
    const Status finished = rows.finish(duplicate);
    if (finished) {
      check(host_.transactions().commit(*transaction));
      ++loaded;
      return;
    }
    EXPECT_EQ(finished.error().code(), ErrorCode::DuplicateKey) << finished.error().message();
    host_.transactions().rollback(*transaction);
    ++refused;
  };
  std::thread first(load), second(load);
  first.join();
  second.join();
  EXPECT_EQ(loaded.load(), 1);
  EXPECT_EQ(refused.load(), 1);
  const auto reader = host_.transactions().begin(Isolation::RepeatableRead);
  Scan scan(table_, *reader, ReadLock::None, nullptr, {});
  const auto count = scan.count_rest();
  ASSERT_TRUE(count);
  EXPECT_EQ(*count, accounts + 400U);
}

TEST_F(TableConcurrentTest, ManyThreadsLookForTheKeysOfALoadAndTellTheSameDuplicate) {
  constexpr int32_t ids = 80'000, parts = 8, first_id = 1000;
  host_.background = true;
  host_.buffer_bytes = host_.delta_bytes = size_t{64} << 20;
  for (int32_t part = 0; part < parts; ++part) {
    const auto transaction = host_.transactions().begin(Isolation::RepeatableRead);
    Duplicate duplicate;
    for (int32_t id = first_id + 2 * part; id < first_id + ids; id += 2 * parts)
      ASSERT_TRUE(table_->insert(*transaction, encode(*table_, {.id = id}), duplicate));
    ASSERT_TRUE(host_.transactions().commit(*transaction));
    ASSERT_TRUE(table_->flush(true));
  }
  const std::array<int32_t, 3> twice{first_id + 30'000, first_id + 50'006, first_id + 70'010};
  const auto load = [&](Transaction& transaction, bool with_duplicates, Duplicate& duplicate) -> Status {
    BulkLoad rows(table_, transaction);
    for (int32_t id = first_id + 1; id < first_id + ids; id += 2) {
      if (with_duplicates && std::ranges::find(twice, id - 1) != twice.end())
        HAILSTONE_TRY(append(rows, {.id = id - 1, .padding = 40}));
      HAILSTONE_TRY(append(rows, {.id = id, .padding = 40}));
    }
    return rows.finish(duplicate);
  };
  std::string told;
  for (int round = 0; round < 5; ++round) {
    const auto transaction = host_.transactions().begin(Isolation::RepeatableRead);
    Duplicate duplicate;
    const Status refused = load(*transaction, true, duplicate);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::DuplicateKey) << refused.error().message();
    if (round == 0) told = duplicate.clustered_key;
    EXPECT_EQ(duplicate.clustered_key, told);
    host_.transactions().rollback(*transaction);
  }
  EXPECT_TRUE(std::ranges::any_of(twice, [&](int32_t id) { return told == key_of(*table_, id); }));

  // Rows that another one is ending: the load waits for its commit. An older snapshot then sees its own.
  const auto transaction = host_.transactions().begin(Isolation::RepeatableRead);
  Scan before(table_, *transaction, ReadLock::None, nullptr, {});
  EXPECT_EQ(before.count_rest().value(), uint64_t{accounts + ids / 2});
  const auto eraser = host_.transactions().begin(Isolation::RepeatableRead);
  for (const int32_t id : twice) ASSERT_TRUE(table_->erase(*eraser, key_of(*table_, id)));
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    check(host_.transactions().commit(*eraser));
  });
  Duplicate duplicate;
  const Status loaded = load(*transaction, true, duplicate);
  later.join();
  ASSERT_TRUE(loaded) << loaded.error().message();
  Scan own(table_, *transaction, ReadLock::None, nullptr, {});
  EXPECT_EQ(own.count_rest().value(), uint64_t{accounts + ids});
  ASSERT_TRUE(host_.transactions().commit(*transaction));
  const auto reader = host_.transactions().begin(Isolation::RepeatableRead);
  Scan all(table_, *reader, ReadLock::None, nullptr, {});
  EXPECT_EQ(all.count_rest().value(), uint64_t{accounts + ids});
  EXPECT_TRUE(table_->check(*reader, {}));
}

}  // namespace
}  // namespace hailstone
