#include "transaction/commit_order.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "transaction/transaction_fixture.h"

namespace hailstone {
namespace {

constexpr TableId table = 7;
constexpr uint32_t clustered = LockManager::clustered_order;
constexpr auto shared = RowLockMode::Shared;
constexpr auto exclusive = RowLockMode::Exclusive;

/// A place in a line of transactions that are committed one after the other; those of one group are
/// independent of each other.
struct Place final : CommitOrder {
  Place(int its_position, int its_group) : position(its_position), group(its_group) {}
  void waits_for(const CommitOrder* other) noexcept override {
    ++waits[other == nullptr ? 0 : static_cast<const Place*>(other)->position];
  }
  bool settles(const CommitOrder& other) const noexcept override {
    return static_cast<const Place&>(other).group == group;
  }
  bool precedes(const CommitOrder& other) const noexcept override {
    return position < static_cast<const Place&>(other).position;
  }

  const int position, group;
  std::map<int, int> waits;  // by the position of the other one; 0: it has none
};

class CommitOrderTest : public TransactionFixture {
 protected:
  std::unique_ptr<Transaction> begin_at(Place& place) {
    auto transaction = begin();
    locks_.set_commit_order(*transaction, &place);
    return transaction;
  }
  /// Since the last call.
  std::map<int, int> reported(Place& place) {
    locks_.wake(0);  // others report under the mutex
    return std::exchange(place.waits, {});
  }
};

TEST_F(CommitOrderTest, EveryoneWhoKeepsATransactionWaitingIsReported) {
  Place first(1, 1), second(2, 1), third(3, 1);
  const auto a = begin_at(first);
  const auto b = begin_at(second);
  const auto c = begin_at(third);
  const auto other = begin();
  ASSERT_TRUE(locks_.try_lock_row(*c, table, "x", shared));
  ASSERT_TRUE(locks_.try_lock_row(*other, table, "x", shared));
  auto b_waits = start_waiting([&] { return locks_.lock_row(*b, table, "x", exclusive); });
  EXPECT_EQ(reported(second), (std::map<int, int>{{0, 1}, {3, 1}}));
  auto a_waits = start_waiting([&] { return locks_.lock_row(*a, table, "x", exclusive); });
  EXPECT_EQ(reported(first), (std::map<int, int>{{0, 1}, {2, 1}, {3, 1}}));  // and for b, who is ahead
  manager_->rollback(*c);
  manager_->rollback(*other);
  EXPECT_TRUE(b_waits.get());
  manager_->rollback(*b);
  EXPECT_TRUE(a_waits.get());

  const auto last = begin();
  auto end = start_waiting([&] { return locks_.wait_for_end(*last, a->id()); });
  Place fourth(4, 1);
  const auto d = begin_at(fourth);
  auto row = start_waiting([&] { return locks_.wait_for_end(*d, a->id()); });
  EXPECT_EQ(reported(fourth), (std::map<int, int>{{1, 1}}));
  manager_->rollback(*a);
  EXPECT_TRUE(end.get());
  EXPECT_TRUE(row.get());
}

TEST_F(CommitOrderTest, OneThatOvertakesTheQueueIsReportedToTheQueue) {
  Place first(1, 1), second(2, 1), third(3, 1);
  const auto a = begin_at(first);
  const auto b = begin_at(second);
  const auto c = begin_at(third);
  const auto writer = begin();
  ASSERT_TRUE(locks_.try_lock_row(*c, table, "x", shared));
  ASSERT_TRUE(locks_.try_lock_row(*b, table, "x", shared));
  auto writes = start_waiting([&] { return locks_.lock_row(*writer, table, "x", exclusive); });
  auto a_waits = start_waiting([&] { return locks_.lock_row(*a, table, "x", shared); });  // for the writer
  EXPECT_EQ(reported(first), (std::map<int, int>{{0, 1}}));
  // c wants more, before the writer and before a: when it waits for b, and when it need not wait.
  auto c_waits = start_waiting([&] { return locks_.lock_row(*c, table, "x", exclusive); });
  EXPECT_TRUE(reported(first).contains(3));
  manager_->rollback(*b);
  EXPECT_TRUE(c_waits.get());
  manager_->rollback(*c);
  EXPECT_TRUE(writes.get());
  manager_->rollback(*writer);
  EXPECT_TRUE(a_waits.get());

  Place fourth(4, 1);
  const auto d = begin_at(fourth);
  auto d_waits = start_waiting([&] { return locks_.lock_row(*d, table, "x", exclusive); });
  reported(fourth);
  EXPECT_TRUE(locks_.try_lock_row(*a, table, "x", exclusive));
  EXPECT_EQ(reported(fourth), (std::map<int, int>{{1, 1}}));
  manager_->rollback(*a);
  EXPECT_TRUE(d_waits.get());
}

TEST_F(CommitOrderTest, TheLaterOneGivesWayInADeadlock) {
  for (const bool first_closes : {false, true}) {
    Place first(1, 1), second(2, 1);
    const auto a = begin_at(first);
    const auto b = begin_at(second);
    const auto other = begin();
    ASSERT_TRUE(locks_.try_lock_row(*a, table, "x", exclusive));
    ASSERT_TRUE(locks_.try_lock_row(*other, table, "y", exclusive));
    ASSERT_TRUE(locks_.try_lock_row(*b, table, "z", exclusive));
    // a waits for the other one, that for b, and b for a.
    const auto a_wants = [&] { return locks_.lock_row(*a, table, "y", exclusive); };
    const auto b_wants = [&] { return locks_.lock_row(*b, table, "x", exclusive); };
    auto other_waits = start_waiting([&] { return locks_.lock_row(*other, table, "z", exclusive); });
    auto a_waits = first_closes ? std::future<Status>() : start_waiting(a_wants);
    // Whoever closes the circle and gives way does not wait.
    auto b_waits = first_closes ? start_waiting(b_wants) : std::async(std::launch::async, b_wants);
    if (first_closes) a_waits = start_waiting(a_wants);
    const Status victim = b_waits.get();
    ASSERT_FALSE(victim);
    EXPECT_EQ(victim.error().code(), ErrorCode::Deadlock);
    EXPECT_TRUE(waits(a_waits));
    manager_->rollback(*b);
    EXPECT_TRUE(other_waits.get());
    manager_->rollback(*other);
    EXPECT_TRUE(a_waits.get());
    EXPECT_EQ(counters_.deadlocks.load(), first_closes ? 2U : 1U);
    manager_->rollback(*a);
  }
}

TEST_F(CommitOrderTest, WhoClosesTwoDeadlocksMakesBothOthersGiveWay) {
  Place first(1, 1), second(2, 1), third(3, 1);
  const auto a = begin_at(first);
  const auto b = begin_at(second);
  const auto c = begin_at(third);
  ASSERT_TRUE(locks_.try_lock_row(*a, table, "x", exclusive));
  ASSERT_TRUE(locks_.try_lock_row(*b, table, "y", shared));
  ASSERT_TRUE(locks_.try_lock_row(*c, table, "y", shared));
  auto b_waits = start_waiting([&] { return locks_.lock_row(*b, table, "x", shared); });
  auto c_waits = start_waiting([&] { return locks_.lock_row(*c, table, "x", shared); });
  auto a_waits = start_waiting([&] { return locks_.lock_row(*a, table, "y", exclusive); });
  EXPECT_EQ(b_waits.get().error().code(), ErrorCode::Deadlock);
  EXPECT_EQ(c_waits.get().error().code(), ErrorCode::Deadlock);
  manager_->rollback(*b);
  EXPECT_TRUE(waits(a_waits));
  manager_->rollback(*c);
  EXPECT_TRUE(a_waits.get());
}

TEST_F(CommitOrderTest, RangesKeepOnlyThoseOutWhoseOrderIsOpen) {
  Place first(1, 1), second(2, 1), third(3, 2);
  const auto a = begin_at(first);
  const auto b = begin_at(second);
  const auto c = begin_at(third);
  const auto other = begin();
  locks_.lock_range(*a, table, clustered, "b", "d");
  EXPECT_EQ(locks_.range_locked_by_other(*b, table, clustered, "c"), 0U);
  EXPECT_EQ(locks_.any_range_locked_by_other(*b, table), 0U);
  EXPECT_EQ(locks_.range_locked_by_other(*c, table, clustered, "c"), a->id());
  EXPECT_EQ(locks_.any_range_locked_by_other(*c, table), a->id());
  EXPECT_EQ(locks_.range_locked_by_other(*other, table, clustered, "c"), a->id());
  locks_.set_commit_order(*a, nullptr);
  EXPECT_EQ(locks_.range_locked_by_other(*b, table, clustered, "c"), a->id());
}

}  // namespace
}  // namespace hailstone
