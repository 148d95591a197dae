#include "transaction/lock_manager.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "base/test_seed.h"
#include "transaction/commit_order.h"
#include "transaction/transaction_fixture.h"

namespace hailstone {
namespace {

constexpr TableId table = 7;
constexpr auto shared = RowLockMode::Shared;
constexpr auto exclusive = RowLockMode::Exclusive;

class LockManagerTest : public TransactionFixture {};
class LockManagerConcurrentTest : public TransactionFixture {};

TEST_F(LockManagerTest, SharedLocksGoTogetherAndExclusiveOnesAlone) {
  const auto a = begin();
  const auto b = begin();
  EXPECT_TRUE(locks_.try_lock_row(*a, table, "x", shared));
  EXPECT_TRUE(locks_.try_lock_row(*b, table, "x", shared));
  EXPECT_FALSE(locks_.try_lock_row(*b, table, "x", exclusive));
  EXPECT_TRUE(locks_.try_lock_row(*b, table, "y", exclusive));
  EXPECT_TRUE(locks_.try_lock_row(*b, table, "y", shared));
  EXPECT_FALSE(locks_.try_lock_row(*a, table, "y", shared));
  EXPECT_TRUE(locks_.try_lock_row(*a, table + 1, "y", exclusive));
  EXPECT_TRUE(locks_.row_locked_by_other(*a, table, "y"));
  EXPECT_TRUE(locks_.row_locked_by_other(*a, table, "y", shared));
  EXPECT_FALSE(locks_.row_locked_by_other(*b, table, "y"));
  EXPECT_TRUE(locks_.row_locked_by_other(*a, table, "x"));
  EXPECT_FALSE(locks_.row_locked_by_other(*a, table, "x", shared));
  manager_->rollback(*a);
  EXPECT_TRUE(locks_.try_lock_row(*b, table, "x", exclusive));  // an upgrade
  manager_->rollback(*b);
  EXPECT_FALSE(locks_.row_locked_by_other(*a, table, "y"));
}

TEST_F(LockManagerTest, EveryGrantIsGivenBackOnItsOwn) {
  const auto a = begin();
  const auto b = begin();
  ASSERT_TRUE(locks_.try_lock_row(*a, table, "x", exclusive));
  ASSERT_TRUE(locks_.try_lock_row(*a, table, "y", exclusive));
  ASSERT_TRUE(locks_.try_lock_row(*a, table, "x", shared));
  locks_.unlock_row(*a, table, "x");
  EXPECT_FALSE(locks_.try_lock_row(*b, table, "x", shared));
  locks_.unlock_row(*a, table, "x");
  EXPECT_TRUE(locks_.try_lock_row(*b, table, "x", exclusive));
  locks_.unlock_row(*a, table, "x");  // not its own any more
  EXPECT_TRUE(locks_.row_locked_by_other(*a, table, "x"));
  EXPECT_TRUE(locks_.row_locked_by_other(*b, table, "y"));
}

TEST_F(LockManagerTest, RowLocksAreChargedToTheBudget) {
  const auto a = begin();
  const auto b = begin();
  const size_t before = budget_.used();
  for (int i = 0; i < 1000; ++i)
    ASSERT_TRUE(locks_.try_lock_row(*a, table, "a key of some length " + std::to_string(i), shared));
  const size_t taken = budget_.used() - before;
  EXPECT_GT(taken, 100'000U);
  for (int i = 0; i < 1000; i += 2) {
    const std::string key = "a key of some length " + std::to_string(i);
    ASSERT_TRUE(locks_.try_lock_row(*b, table, key, shared));
    locks_.unlock_row(*a, table, key);
  }
  EXPECT_EQ(budget_.used() - before, taken);
  manager_->rollback(*a);
  manager_->rollback(*b);
  EXPECT_EQ(budget_.used(), before);
}

TEST_F(LockManagerConcurrentTest, ALockOfAWrittenRowGoesUnlessOthersWaitForIt) {
  const auto writer = begin();
  const auto other = begin();
  ASSERT_TRUE(locks_.try_lock_row(*writer, table, "x", exclusive));
  ASSERT_TRUE(locks_.try_lock_row(*writer, table, "x", exclusive));
  EXPECT_EQ(counters_.row_locks.load(), 1U);
  locks_.unlock_written_row(*writer, table, "x");
  EXPECT_EQ(counters_.row_locks.load(), 0U);
  // One of an earlier statement stays.
  ASSERT_TRUE(locks_.try_lock_row(*writer, table, "y", exclusive));
  writer->next_statement();
  ASSERT_TRUE(locks_.try_lock_row(*writer, table, "y", exclusive));
  locks_.unlock_written_row(*writer, table, "y");
  EXPECT_TRUE(locks_.row_locked_by_other(*other, table, "y"));
  EXPECT_FALSE(locks_.row_locked_by_other(*other, table, "x"));
  ASSERT_TRUE(locks_.try_lock_row(*writer, table, "x", exclusive));
  std::thread waiter([&] { EXPECT_TRUE(locks_.lock_row(*other, table, "x", exclusive)); });
  while (counters_.lock_waiting.load() == 0) std::this_thread::yield();
  locks_.unlock_written_row(*writer, table, "x");
  EXPECT_TRUE(locks_.row_locked_by_other(*other, table, "x"));
  manager_->rollback(*writer);
  waiter.join();
  EXPECT_FALSE(locks_.row_locked_by_other(*other, table, "x"));
}

TEST_F(LockManagerTest, TableLocksFollowTheMatrix) {
  using enum TableLockMode;
  const TableLockMode modes[] = {IntentionShared, IntentionExclusive, Shared, Exclusive};
  const bool together[4][4] = {{true, true, true, false},
                               {true, true, false, false},
                               {true, false, true, false},
                               {false, false, false, false}};
  for (size_t held = 0; held < 4; ++held) {
    for (size_t wanted = 0; wanted < 4; ++wanted) {
      const auto a = begin();
      const auto b = begin();
      b->set_lock_wait_timeout(std::chrono::milliseconds(0));
      ASSERT_TRUE(locks_.lock_table(*a, table, modes[held]));
      const Status locked = locks_.lock_table(*b, table, modes[wanted]);
      EXPECT_EQ(locked.has_value(), together[held][wanted]) << held << " " << wanted;
      if (!locked) {
        EXPECT_EQ(locked.error().code(), ErrorCode::LockWaitTimeout);
      }
    }
  }
  // What is held twice is the union: Shared and IntentionExclusive let IntentionShared through only.
  const auto a = begin();
  ASSERT_TRUE(locks_.lock_table(*a, table, Shared));
  ASSERT_TRUE(locks_.lock_table(*a, table, IntentionExclusive));
  for (const TableLockMode mode : modes) {
    const auto b = begin();
    b->set_lock_wait_timeout(std::chrono::milliseconds(0));
    EXPECT_EQ(locks_.lock_table(*b, table, mode).has_value(), mode == IntentionShared);
  }
}

TEST_F(LockManagerTest, TimeoutNamesTheHolderAndLeavesTheTransactionAlive) {
  const auto a = begin();
  const auto b = begin();
  ASSERT_TRUE(locks_.try_lock_row(*a, table, "x", exclusive));
  b->set_lock_wait_timeout(std::chrono::milliseconds(10));
  const Status locked = locks_.lock_row(*b, table, "x", shared);
  ASSERT_FALSE(locked);
  EXPECT_EQ(locked.error().code(), ErrorCode::LockWaitTimeout);
  EXPECT_NE(locked.error().message().find("transaction " + std::to_string(a->id()) + " has locked"),
            std::string::npos)
      << locked.error().message();
  EXPECT_EQ(counters_.lock_wait_timeouts.load(), 1u);
  EXPECT_TRUE(locks_.try_lock_row(*b, table, "y", shared));
  manager_->rollback(*a);
  EXPECT_TRUE(locks_.try_lock_row(*b, table, "x", shared));
}

TEST_F(LockManagerTest, WaitForEndOfSomebodyWhoHasEndedReturnsAtOnce) {
  const auto a = begin();
  const auto b = begin();
  manager_->rollback(*b);
  EXPECT_TRUE(locks_.wait_for_end(*a, b->id()));
  EXPECT_TRUE(locks_.wait_for_end(*a, 12345));
  EXPECT_EQ(counters_.lock_waits.load(), 0u);
}

TEST_F(LockManagerConcurrentTest, EndOfATransactionWakesAllWhoWaitForIt) {
  const auto a = begin();
  const auto b = begin();
  const auto c = begin();
  ASSERT_TRUE(locks_.try_lock_row(*a, table, "x", exclusive));
  auto row = start_waiting([&] { return locks_.lock_row(*b, table, "x", shared); });
  auto end = start_waiting([&] { return locks_.wait_for_end(*c, a->id()); });
  EXPECT_TRUE(waits(row) && waits(end));
  manager_->rollback(*a);
  EXPECT_TRUE(row.get());
  EXPECT_TRUE(end.get());
  EXPECT_TRUE(locks_.row_locked_by_other(*c, table, "x"));
}

TEST_F(LockManagerConcurrentTest, StreamOfReadersDoesNotStarveAWriter) {
  const auto reader = begin();
  const auto writer = begin();
  ASSERT_TRUE(locks_.try_lock_row(*reader, table, "x", shared));
  auto written = start_waiting([&] { return locks_.lock_row(*writer, table, "x", exclusive); });
  const auto late = begin();
  EXPECT_FALSE(locks_.try_lock_row(*late, table, "x", shared));
  EXPECT_TRUE(locks_.try_lock_row(*reader, table, "x", shared));  // has it already
  auto late_read = start_waiting([&] { return locks_.lock_row(*late, table, "x", shared); });
  manager_->rollback(*reader);
  EXPECT_TRUE(written.get());
  EXPECT_TRUE(waits(late_read));
  manager_->rollback(*writer);
  EXPECT_TRUE(late_read.get());
}

TEST_F(LockManagerConcurrentTest, WaiterThatGivesUpLetsOthersThrough) {
  const auto reader = begin();
  const auto writer = begin();
  const auto late = begin();
  ASSERT_TRUE(locks_.try_lock_row(*reader, table, "x", shared));
  std::atomic<bool> stop = false;
  writer->set_interruption_check([&] { return stop.load(); });
  auto written = start_waiting([&] { return locks_.lock_row(*writer, table, "x", exclusive); });
  auto read = start_waiting([&] { return locks_.lock_row(*late, table, "x", shared); });
  EXPECT_TRUE(waits(read));
  stop = true;
  const Status interrupted = written.get();
  ASSERT_FALSE(interrupted);
  EXPECT_EQ(interrupted.error().code(), ErrorCode::Interrupted);
  EXPECT_TRUE(read.get());
}

TEST_F(LockManagerConcurrentTest, WakeMakesAWaiterLookAtItsCheck) {
  const auto a = begin();
  const auto b = begin();
  ASSERT_TRUE(locks_.try_lock_row(*a, table, "x", exclusive));
  std::atomic<bool> stop = false;
  b->set_interruption_check([&] {
    // Calling in from the check is allowed.
    locks_.wake(a->id());
    return stop.load();
  });
  auto waiting = start_waiting([&] { return locks_.lock_row(*b, table, "x", shared); });
  locks_.wake(b->id());
  EXPECT_TRUE(waits(waiting));
  stop = true;
  locks_.wake(b->id());
  EXPECT_EQ(waiting.get().error().code(), ErrorCode::Interrupted);
  locks_.wake(9999);
}

TEST_F(LockManagerConcurrentTest, UpgradeWaitsForOtherReadersAndOvertakesTheQueue) {
  const auto a = begin();
  const auto b = begin();
  const auto c = begin();
  ASSERT_TRUE(locks_.try_lock_row(*a, table, "x", shared));
  ASSERT_TRUE(locks_.try_lock_row(*b, table, "x", shared));
  auto writer = start_waiting([&] { return locks_.lock_row(*c, table, "x", exclusive); });
  auto upgrade = start_waiting([&] { return locks_.lock_row(*a, table, "x", exclusive); });
  EXPECT_TRUE(waits(upgrade));
  manager_->rollback(*b);
  EXPECT_TRUE(upgrade.get());
  EXPECT_TRUE(waits(writer));
  manager_->rollback(*a);
  EXPECT_TRUE(writer.get());
}

TEST_F(LockManagerConcurrentTest, TwoUpgradesAreADeadlock) {
  const auto a = begin();
  const auto b = begin();
  ASSERT_TRUE(locks_.try_lock_row(*a, table, "x", shared));
  ASSERT_TRUE(locks_.try_lock_row(*b, table, "x", shared));
  auto upgrade = start_waiting([&] { return locks_.lock_row(*a, table, "x", exclusive); });
  const Status victim = locks_.lock_row(*b, table, "x", exclusive);
  ASSERT_FALSE(victim);
  EXPECT_EQ(victim.error().code(), ErrorCode::Deadlock);
  EXPECT_EQ(counters_.deadlocks.load(), 1u);
  EXPECT_TRUE(waits(upgrade));
  manager_->rollback(*b);
  EXPECT_TRUE(upgrade.get());
}

TEST_F(LockManagerConcurrentTest, DeadlockOverRowsTablesAndImplicitLocksIsFound) {
  const auto a = begin();
  const auto b = begin();
  const auto c = begin();
  ASSERT_TRUE(locks_.try_lock_row(*a, table, "x", shared));
  ASSERT_TRUE(locks_.lock_table(*b, table, TableLockMode::IntentionExclusive));
  auto a_waits = start_waiting([&] { return locks_.lock_table(*a, table, TableLockMode::Shared); });
  auto b_waits = start_waiting([&] { return locks_.wait_for_end(*b, c->id()); });
  const Status victim = locks_.lock_row(*c, table, "x", exclusive);
  ASSERT_FALSE(victim);
  EXPECT_EQ(victim.error().code(), ErrorCode::Deadlock);
  manager_->rollback(*c);
  EXPECT_TRUE(b_waits.get());
  manager_->rollback(*b);
  EXPECT_TRUE(a_waits.get());
}

TEST_F(LockManagerConcurrentTest, WaitingBehindAWaiterIsAnEdgeToo) {
  const auto reader = begin();
  const auto writer = begin();
  const auto late = begin();
  ASSERT_TRUE(locks_.try_lock_row(*reader, table, "x", shared));
  ASSERT_TRUE(locks_.try_lock_row(*late, table, "y", exclusive));
  auto writer_waits = start_waiting([&] { return locks_.lock_row(*writer, table, "x", exclusive); });
  auto late_waits =
      start_waiting([&] { return locks_.lock_row(*late, table, "x", shared); });  // behind the writer
  auto reader_waits = start_waiting([&] { return locks_.lock_row(*reader, table, "y", shared); });
  // It has no lock yet, the others have one each. Without it the readers share the row.
  EXPECT_EQ(writer_waits.get().error().code(), ErrorCode::Deadlock);
  EXPECT_TRUE(late_waits.get());
  manager_->rollback(*late);
  EXPECT_TRUE(reader_waits.get());
}

TEST_F(LockManagerConcurrentTest, WhoHasDoneLeastOfADeadlockGivesWay) {
  for (const bool least_closes : {false, true}) {
    const auto much = begin();
    const auto little = begin();
    for (const ByteView row : {"a", "b", "c"}) ASSERT_TRUE(locks_.try_lock_row(*much, table, row, exclusive));
    ASSERT_TRUE(locks_.try_lock_row(*little, table, "x", exclusive));
    const auto much_wants = [&] { return locks_.lock_row(*much, table, "x", exclusive); };
    const auto little_wants = [&] { return locks_.lock_row(*little, table, "c", exclusive); };
    auto much_waits = least_closes ? start_waiting(much_wants) : std::future<Status>();
    auto little_waits =
        least_closes ? std::async(std::launch::async, little_wants) : start_waiting(little_wants);
    if (!least_closes) much_waits = start_waiting(much_wants);
    EXPECT_EQ(little_waits.get().error().code(), ErrorCode::Deadlock);
    EXPECT_TRUE(waits(much_waits));
    manager_->rollback(*little);
    EXPECT_TRUE(much_waits.get());
    manager_->rollback(*much);
  }
}

TEST_F(LockManagerConcurrentTest, LongQueueIsNoDeadlock) {
  std::vector<std::unique_ptr<Transaction>> transactions;
  for (int i = 0; i < 12; ++i) transactions.push_back(begin());
  ASSERT_TRUE(locks_.try_lock_row(*transactions[0], table, "x", exclusive));
  std::vector<std::future<Status>> waiting;
  for (size_t i = 1; i < transactions.size(); ++i) {
    waiting.push_back(start_waiting(
        [&, i] { return locks_.lock_row(*transactions[i], table, "x", i % 4 == 0 ? shared : exclusive); }));
  }
  EXPECT_EQ(counters_.deadlocks.load(), 0u);
  for (size_t i = 0; i < transactions.size(); ++i) {
    if (i > 0) {
      EXPECT_TRUE(waiting[i - 1].get());
    }
    manager_->rollback(*transactions[i]);
  }
}

/// Who holds what, as the threads of the test know it: checks that the lock manager never lets two in who
/// exclude each other.
class Shadow {
 public:
  void granted(TransactionId id, const std::string& row, RowLockMode mode) {
    const std::lock_guard guard(mutex_);
    auto& holders = rows_[row];
    for (const auto& [other, held] : holders) {
      if (other != id) {
        EXPECT_TRUE(mode == shared && held == shared) << "row " << row;
      }
    }
    RowLockMode& own = holders.emplace(id, mode).first->second;
    if (mode == exclusive) own = exclusive;
  }
  void given_back(TransactionId id) {
    const std::lock_guard guard(mutex_);
    for (auto& [row, holders] : rows_) holders.erase(id);
  }
  void given_back(TransactionId id, const std::string& row) {
    const std::lock_guard guard(mutex_);
    rows_[row].erase(id);
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::map<TransactionId, RowLockMode>> rows_;
};

struct ByNumber final : CommitOrder {
  explicit ByNumber(TransactionId its_number) : number(its_number) {}
  void waits_for(const CommitOrder*) noexcept override {}
  bool settles(const CommitOrder&) const noexcept override { return false; }
  bool precedes(const CommitOrder& other) const noexcept override {
    return number < static_cast<const ByNumber&>(other).number;
  }
  const TransactionId number;
};

// Threads lock, upgrade, unlock and wait for each other at random. Every wait has to end by a grant or a
// deadlock: a timeout would be a lost wakeup or a deadlock not found. Some have to be committed in the order
// of their beginning.
TEST_F(LockManagerConcurrentTest, RandomSchedulesExcludeAndNeverHang) {
  const uint64_t seed = test_seed(40);
  constexpr int threads = 6;
  constexpr int rounds = 400;
  Shadow shadow;
  std::atomic<TransactionId> newest = 0;
  std::atomic<int> deadlocks = 0;
  const auto work = [&](uint64_t own_seed) {
    std::mt19937_64 random(own_seed);
    for (int round = 0; round < rounds; ++round) {
      const auto transaction = begin();
      ByNumber order(transaction->id());
      if (random() % 2 == 0) locks_.set_commit_order(*transaction, &order);
      newest.store(transaction->id());
      const uint64_t steps = 1 + random() % 6;
      std::map<std::string, int> grants;
      for (uint64_t step = 0; step < steps; ++step) {
        const std::string row = std::to_string(random() % 5);
        const RowLockMode mode = random() % 3 == 0 ? exclusive : shared;
        Status done;
        switch (random() % 8) {
          case 0:
            if (locks_.try_lock_row(*transaction, table, row, mode)) {
              shadow.granted(transaction->id(), row, mode);
              ++grants[row];
            }
            break;
          case 1:
            if (grants[row] > 0) {
              if (--grants[row] == 0) shadow.given_back(transaction->id(), row);
              locks_.unlock_row(*transaction, table, row);
            }
            break;
          case 2: {
            const TransactionId other = newest.load();
            if (other != transaction->id()) done = locks_.wait_for_end(*transaction, other);
            break;
          }
          case 3: {
            const auto table_mode = static_cast<TableLockMode>(random() % 4);
            done = locks_.lock_table(*transaction, table, table_mode);
            if (done) {  // table locks are rows of their own to the shadow; intentions exclude less and are
                         // left out
              if (table_mode == TableLockMode::Shared) shadow.granted(transaction->id(), "table", shared);
              if (table_mode == TableLockMode::Exclusive)
                shadow.granted(transaction->id(), "table", exclusive);
            }
            break;
          }
          default:
            done = locks_.lock_row(*transaction, table, row, mode);
            if (done) {
              shadow.granted(transaction->id(), row, mode);
              ++grants[row];
            }
        }
        if (!done) {
          EXPECT_EQ(done.error().code(), ErrorCode::Deadlock) << done.error().message();
          ++deadlocks;
          break;
        }
        if (random() % 4 == 0) std::this_thread::yield();
      }
      shadow.given_back(transaction->id());
      manager_->rollback(*transaction);
    }
  };
  std::vector<std::thread> running;
  for (uint64_t i = 0; i < threads; ++i) running.emplace_back(work, seed * 1000 + i);
  for (std::thread& each : running) each.join();
  EXPECT_EQ(counters_.lock_wait_timeouts.load(), 0u);
  EXPECT_EQ(counters_.deadlocks.load(), static_cast<uint64_t>(deadlocks.load()));
  // Nothing is left behind.
  const auto last = begin();
  EXPECT_TRUE(locks_.lock_table(*last, table, TableLockMode::Exclusive));
  for (int row = 0; row < 5; ++row)
    EXPECT_TRUE(locks_.try_lock_row(*last, table, std::to_string(row), exclusive));
}

}  // namespace
}  // namespace hailstone
