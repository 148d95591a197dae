// Row locks by places: the same as those by keys, wherever rows move.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "base/test_seed.h"
#include "transaction/lock_manager.h"
#include "transaction/transaction_fixture.h"

namespace hailstone {
namespace {

constexpr TableId table = 7;
constexpr auto shared = RowLockMode::Shared;
constexpr auto exclusive = RowLockMode::Exclusive;

class Store : public VersionStore {
 public:
  void commit(std::span<const Change>, Timestamp) override {}
  void undo(const Change&) override {}
};

/// All locks are by places.
class PlaceLocksTest : public TransactionFixture {
 protected:
  PlaceLocksTest() {
    manager_ = std::make_unique<TransactionManager>(*log_, by_place_, budget_, counters_, 100, 1);
  }
  ~PlaceLocksTest() override { manager_.reset(); }
  bool try_lock(Transaction& transaction, uint64_t slot, RowLockMode mode) {
    const VersionPlace place{.store = store_, .slot = slot};
    return by_place_.try_lock_row(transaction, table, key(slot), mode, &place);
  }
  bool locked_by_other(const Transaction& transaction, uint64_t slot, RowLockMode mode = exclusive) {
    const VersionPlace place{.store = store_, .slot = slot};
    return by_place_.row_locked_by_other(transaction, table, key(slot), mode, &place);
  }
  /// All rows go to another store, each `by` slots further; those in `gone` nowhere.
  void move_rows(uint64_t by, const std::set<uint64_t>& gone = {}) {
    const auto before = store_;
    store_ = std::make_shared<Store>();
    by_place_.follow_rows(*before, [&](uint64_t slot) -> VersionPlace {
      if (gone.contains(slot)) return {};
      return {.store = store_, .slot = slot + by};
    });
    by_place_.forget_rows(*before);
    shift_ += by;
  }
  /// Of a row that is at this slot now.
  std::string key(uint64_t slot) const { return "row " + std::to_string(slot - shift_); }

  LockManager by_place_{counters_, budget_, 0};
  std::shared_ptr<VersionStore> store_ = std::make_shared<Store>();
  uint64_t shift_ = 0;
};

TEST_F(PlaceLocksTest, SharedLocksGoTogetherAndExclusiveOnesAlone) {
  const auto a = begin();
  const auto b = begin();
  EXPECT_TRUE(try_lock(*a, 1, shared));
  EXPECT_TRUE(try_lock(*b, 1, shared));
  EXPECT_FALSE(locked_by_other(*a, 1, shared));
  EXPECT_TRUE(locked_by_other(*a, 1));
  EXPECT_TRUE(try_lock(*b, 2, exclusive));
  EXPECT_FALSE(try_lock(*a, 2, shared));
  EXPECT_TRUE(try_lock(*b, 2, shared));
  EXPECT_FALSE(try_lock(*b, 1, exclusive));
  EXPECT_TRUE(try_lock(*a, 1, shared));
  EXPECT_EQ(counters_.row_locks.load(), 2u);
  manager_->rollback(*a);
  EXPECT_TRUE(try_lock(*b, 1, exclusive));
  manager_->rollback(*b);
  EXPECT_EQ(counters_.row_locks.load(), 0u);
  EXPECT_EQ(budget_.used(), 0u);
}

TEST_F(PlaceLocksTest, AMillionTakeFewBytesAndAreFreedAtOnce) {
  const auto a = begin();
  constexpr uint64_t rows = 1'000'000;
  for (uint64_t slot = 0; slot < rows; ++slot) ASSERT_TRUE(try_lock(*a, slot, exclusive));
  EXPECT_EQ(counters_.row_locks.load(), rows);
  EXPECT_LT(budget_.used(), 1'000'000u);
  const auto b = begin();
  EXPECT_TRUE(locked_by_other(*b, rows - 1));
  EXPECT_FALSE(locked_by_other(*b, rows));
  manager_->rollback(*a);
  EXPECT_FALSE(locked_by_other(*b, rows - 1));
  EXPECT_EQ(budget_.used(), 0u);
  EXPECT_EQ(counters_.row_locks.load(), 0u);
}

TEST_F(PlaceLocksTest, WhoWantsTheRowWaitsInTheOrderOfArrival) {
  const auto a = begin();
  const auto b = begin();
  const auto c = begin();
  ASSERT_TRUE(try_lock(*a, 1, shared));
  ASSERT_TRUE(try_lock(*a, 2, exclusive));
  ASSERT_FALSE(try_lock(*b, 1, exclusive));
  auto writer = start_waiting([&] { return by_place_.lock_row(*b, table, key(1), exclusive); });
  EXPECT_FALSE(try_lock(*c, 1, shared));  // behind the writer
  auto reader = start_waiting([&] { return by_place_.lock_row(*c, table, key(1), shared); });
  EXPECT_TRUE(try_lock(*a, 1, exclusive));  // whoever holds it goes first
  manager_->rollback(*a);
  EXPECT_TRUE(writer.get());
  EXPECT_TRUE(waits(reader));
  EXPECT_TRUE(locked_by_other(*c, 1));
  manager_->rollback(*b);
  EXPECT_TRUE(reader.get());
  EXPECT_TRUE(try_lock(*c, 1, shared));
}

TEST_F(PlaceLocksTest, ALockThatWentMeanwhileIsTriedAgain) {
  const auto a = begin();
  const auto b = begin();
  ASSERT_TRUE(try_lock(*a, 1, exclusive));
  ASSERT_TRUE(try_lock(*a, 2, exclusive));
  ASSERT_FALSE(try_lock(*b, 1, exclusive));
  by_place_.unlock_row(*a, table, key(1));
  ASSERT_TRUE(by_place_.lock_row(*b, table, key(1), exclusive));
  EXPECT_FALSE(locked_by_other(*a, 1));  // b was told to try again
  EXPECT_TRUE(try_lock(*b, 1, exclusive));
  EXPECT_TRUE(locked_by_other(*a, 1));
}

TEST_F(PlaceLocksTest, OneGrantIsGivenBackSeveralAreKept) {
  const auto a = begin();
  const auto b = begin();
  ASSERT_TRUE(try_lock(*a, 1, exclusive));
  EXPECT_TRUE(by_place_.unlock_row(*a, table, key(1)));
  EXPECT_FALSE(locked_by_other(*b, 1));
  ASSERT_TRUE(try_lock(*a, 1, shared));
  ASSERT_TRUE(try_lock(*a, 1, exclusive));
  EXPECT_TRUE(by_place_.unlock_row(*a, table, key(1)));
  EXPECT_TRUE(locked_by_other(*b, 1));
  // Of one locked long ago only its place tells.
  for (uint64_t slot = 10; slot < 30; ++slot) ASSERT_TRUE(try_lock(*a, slot, exclusive));
  EXPECT_FALSE(by_place_.unlock_row(*a, table, key(10)));
  EXPECT_TRUE(locked_by_other(*b, 10));
  const VersionPlace place{.store = store_, .slot = 10};
  EXPECT_TRUE(by_place_.unlock_row(*a, table, key(10), &place));
  EXPECT_FALSE(locked_by_other(*b, 10));
}

TEST_F(PlaceLocksTest, LocksMoveWithTheirRows) {
  const auto a = begin();
  const auto b = begin();
  for (uint64_t slot = 0; slot < 1000; ++slot) {
    ASSERT_TRUE(try_lock(*a, slot, slot % 3 == 0 ? exclusive : shared));
    if (slot % 3 == 1) {
      ASSERT_TRUE(try_lock(*b, slot, shared));
    }
  }
  move_rows(50'000, {0, 1, 2});
  EXPECT_EQ(counters_.row_locks.load(), 997u + 332u);
  const auto c = begin();
  for (uint64_t slot = 50'003; slot < 51'000; ++slot) {
    ASSERT_EQ(locked_by_other(*c, slot, shared), (slot - 50'000) % 3 == 0) << slot;
    ASSERT_TRUE(locked_by_other(*c, slot)) << slot;
  }
  EXPECT_FALSE(locked_by_other(*c, 50'000));
  EXPECT_TRUE(by_place_.unlock_row(*a, table, "row 999") || locked_by_other(*c, 50'999));
  manager_->rollback(*a);
  manager_->rollback(*b);
  EXPECT_EQ(counters_.row_locks.load(), 0u);
  EXPECT_EQ(budget_.used(), 0u);
}

/// Random requests of several transactions give what the same requests by keys give.
TEST_F(PlaceLocksTest, GivesWhatLocksByKeyGive) {
  const uint64_t seed = test_seed(1);
  std::mt19937_64 random(seed);
  Counters counters;
  LockManager by_key(counters, budget_);
  TransactionManager other(*log_, by_key, budget_, counters, 100, 1'000'000);
  constexpr size_t transactions = 4;
  std::vector<std::unique_ptr<Transaction>> mine(transactions), expected(transactions);
  const auto renew = [&](size_t i) {
    if (mine[i] != nullptr) manager_->rollback(*mine[i]);
    if (expected[i] != nullptr) other.rollback(*expected[i]);
    mine[i] = manager_->begin(Isolation::RepeatableRead);
    expected[i] = other.begin(Isolation::RepeatableRead);
  };
  for (size_t i = 0; i < transactions; ++i) renew(i);
  for (int step = 0; step < 50'000; ++step) {
    const size_t i = random() % transactions;
    const uint64_t row = random() % 20;
    const uint64_t slot = row + shift_;
    const RowLockMode mode = random() % 2 == 0 ? shared : exclusive;
    const uint64_t kind = random() % 100;
    if (kind < 60) {
      ASSERT_EQ(try_lock(*mine[i], slot, mode), by_key.try_lock_row(*expected[i], table, key(slot), mode))
          << step;
    } else if (kind < 94) {
      ASSERT_EQ(locked_by_other(*mine[i], slot, mode),
                by_key.row_locked_by_other(*expected[i], table, key(slot), mode))
          << step;
    } else if (kind < 98) {
      renew(i);
    } else {
      move_rows(random() % 100'000);
    }
  }
  for (size_t i = 0; i < transactions; ++i) renew(i);
  EXPECT_EQ(counters_.row_locks.load(), 0u);
  for (auto& each : expected) other.rollback(*each);
}

/// With no memory for more locks, or enough.
class LockEscalationTest : public PlaceLocksTest {
 protected:
  std::unique_ptr<Transaction> begin_escalating() {
    auto transaction = begin();
    transaction->set_escalates_locks(true);
    return transaction;
  }
  void use_up_memory() { budget_.set_limit(0); }
  void give_memory() { budget_.set_limit(size_t{64} << 20); }
  ErrorCode make_room(Transaction& transaction, RowLockMode mode, bool waits = true) {
    const Status made = by_place_.make_room(transaction, table, mode, waits);
    return made ? ErrorCode() : made.error().code();
  }
};

TEST_F(LockEscalationTest, WithoutItThereAreNoMoreLocks) {
  const auto a = begin();
  ASSERT_TRUE(try_lock(*a, 1, exclusive));
  EXPECT_TRUE(by_place_.has_room(*a, table, exclusive));
  use_up_memory();
  EXPECT_FALSE(by_place_.has_room(*a, table, exclusive));
  EXPECT_EQ(make_room(*a, exclusive), ErrorCode::TooManyLocks);
  const Status range = by_place_.lock_range(*a, table, LockManager::clustered_order, "a", "b");
  ASSERT_FALSE(range);
  EXPECT_EQ(range.error().code(), ErrorCode::TooManyLocks);
  const auto b = begin();
  EXPECT_EQ(by_place_.range_locked_by_other(*b, table, LockManager::clustered_order, "a"), 0u);
  EXPECT_TRUE(locked_by_other(*b, 1));
  give_memory();
  EXPECT_EQ(make_room(*a, exclusive), ErrorCode());
  EXPECT_EQ(counters_.lock_escalations.load(), 0u);
}

TEST_F(LockEscalationTest, OneLockTakesThePlaceOfAll) {
  const auto a = begin_escalating();
  const auto b = begin();
  for (uint64_t slot = 0; slot < 100; ++slot) ASSERT_TRUE(try_lock(*a, slot, exclusive));
  ASSERT_TRUE(try_lock(*b, 200, exclusive));
  use_up_memory();
  ASSERT_EQ(make_room(*a, exclusive), ErrorCode());
  EXPECT_EQ(make_room(*a, shared), ErrorCode());
  EXPECT_EQ(counters_.lock_escalations.load(), 1u);
  EXPECT_EQ(counters_.row_locks.load(), 1u);
  EXPECT_TRUE(try_lock(*a, 300, exclusive));
  move_rows(1000);
  EXPECT_TRUE(locked_by_other(*b, 1050));
  EXPECT_TRUE(locked_by_other(*b, 9000, shared));  // that nobody has met
  EXPECT_FALSE(try_lock(*b, 1050, shared));
  EXPECT_TRUE(by_place_.unlock_row(*a, table, key(1050)));
  EXPECT_TRUE(locked_by_other(*b, 1050));
  EXPECT_EQ(make_room(*b, exclusive), ErrorCode::TooManyLocks);
  // What others have locked before is theirs.
  EXPECT_TRUE(try_lock(*b, 1200, exclusive));
  EXPECT_FALSE(try_lock(*a, 1200, shared));
  auto waiting = start_waiting([&] { return by_place_.lock_row(*a, table, key(1200), exclusive); });
  manager_->rollback(*b);
  EXPECT_TRUE(waiting.get());
  const auto c = begin();
  EXPECT_TRUE(locked_by_other(*c, 1200));
  ASSERT_FALSE(try_lock(*c, 1060, shared));
  auto reader = start_waiting([&] { return by_place_.lock_row(*c, table, key(1060), shared); });
  manager_->rollback(*a);
  EXPECT_TRUE(reader.get());
  EXPECT_FALSE(locked_by_other(*c, 1050));
  manager_->rollback(*c);
  EXPECT_EQ(counters_.row_locks.load(), 0u);
  EXPECT_EQ(budget_.used(), 0u);
}

TEST_F(LockEscalationTest, SeveralMayShareAllRows) {
  const auto a = begin_escalating(), b = begin_escalating(), c = begin_escalating();
  ASSERT_TRUE(try_lock(*a, 1, shared));
  use_up_memory();
  ASSERT_EQ(make_room(*a, shared), ErrorCode());
  ASSERT_EQ(make_room(*b, shared), ErrorCode());
  EXPECT_TRUE(try_lock(*a, 5, shared));
  EXPECT_TRUE(try_lock(*b, 5, shared));
  EXPECT_TRUE(locked_by_other(*a, 5));
  EXPECT_FALSE(locked_by_other(*a, 5, shared));
  EXPECT_EQ(make_room(*c, exclusive, false), ErrorCode::LockWaitTimeout);
  auto waiting = start_waiting([&] { return by_place_.make_room(*c, table, exclusive); });
  manager_->rollback(*a);
  EXPECT_TRUE(waits(waiting));
  manager_->rollback(*b);
  EXPECT_TRUE(waiting.get());
  EXPECT_TRUE(try_lock(*c, 5, exclusive));
}

TEST_F(LockEscalationTest, TwoThatWantMoreAreADeadlock) {
  const auto a = begin_escalating(), b = begin_escalating();
  use_up_memory();
  ASSERT_EQ(make_room(*a, shared), ErrorCode());
  ASSERT_EQ(make_room(*b, shared), ErrorCode());
  auto waiting = start_waiting([&] { return by_place_.make_room(*a, table, exclusive); });
  EXPECT_EQ(make_room(*b, exclusive), ErrorCode::Deadlock);
  manager_->rollback(*b);
  EXPECT_TRUE(waiting.get());
}

TEST_F(LockEscalationTest, RangesBecomeTheWholeOrder) {
  const auto a = begin_escalating();
  const auto b = begin();
  constexpr uint32_t order = 3;
  ASSERT_TRUE(by_place_.lock_range(*a, table, order, "b", "c"));
  ASSERT_TRUE(by_place_.lock_range(*a, table, order, "d", "e"));
  const size_t before = budget_.used();
  use_up_memory();
  ASSERT_TRUE(by_place_.lock_range(*a, table, order, "x", "y"));
  EXPECT_LT(budget_.used(), before);
  EXPECT_EQ(by_place_.range_locked_by_other(*b, table, order, "a"), a->id());
  EXPECT_EQ(by_place_.range_locked_by_other(*b, table, order + 1, "a"), 0u);
  manager_->rollback(*a);
  EXPECT_EQ(budget_.used(), 0u);
}

/// However locks are kept, no two transactions have one row in modes that conflict.
TEST_F(LockEscalationTest, ExcludesAtRandom) {
  const uint64_t seed = test_seed(1);
  std::mt19937_64 random(seed);
  constexpr size_t transactions = 4;
  struct Open {
    std::unique_ptr<Transaction> transaction;
    std::map<uint64_t, RowLockMode> held;  // by row
  };
  std::vector<Open> open(transactions);
  const auto renew = [&](Open& each) {
    if (each.transaction != nullptr) manager_->rollback(*each.transaction);
    each.held.clear();
    each.transaction = manager_->begin(Isolation::RepeatableRead);
    each.transaction->set_escalates_locks(random() % 4 != 0);
    each.transaction->set_lock_wait_timeout(std::chrono::milliseconds(0));
  };
  const auto conflicts = [&](const Open& with, uint64_t row, RowLockMode mode) {
    return std::ranges::any_of(open, [&](const Open& other) {
      if (&other == &with) return false;
      const auto held = other.held.find(row);
      return held != other.held.end() && (mode == exclusive || held->second == exclusive);
    });
  };
  for (Open& each : open) renew(each);
  uint64_t granted = 0;
  for (int step = 0; step < 60'000; ++step) {
    Open& some = open[random() % transactions];
    const uint64_t row = random() % 20, slot = row + shift_;
    const RowLockMode mode = random() % 2 == 0 ? shared : exclusive;
    const uint64_t kind = random() % 1000;
    if (kind < 600) {
      if (make_room(*some.transaction, mode, random() % 2 == 0) != ErrorCode()) continue;
      bool locked = try_lock(*some.transaction, slot, mode);
      // One that nobody holds any more is to be tried again.
      if (!locked && by_place_.lock_row(*some.transaction, table, key(slot), mode))
        locked = try_lock(*some.transaction, slot, mode);
      if (!locked) continue;
      ASSERT_FALSE(conflicts(some, row, mode)) << step;
      auto& held = some.held.emplace(row, mode).first->second;
      if (mode == exclusive) held = exclusive;
      ++granted;
    } else if (kind < 940) {
      if (conflicts(some, row, mode)) {
        ASSERT_TRUE(locked_by_other(*some.transaction, slot, mode)) << step;
      }
    } else if (kind < 970) {
      renew(some);
    } else if (kind < 980) {
      move_rows(random() % 100'000);
    } else if (kind < 990) {
      use_up_memory();
    } else {
      give_memory();
    }
  }
  EXPECT_GT(granted, 1000u);
  EXPECT_GT(counters_.lock_escalations.load(), 100u);
  for (Open& each : open) renew(each);
  EXPECT_EQ(counters_.row_locks.load(), 0u);
}

}  // namespace
}  // namespace hailstone
