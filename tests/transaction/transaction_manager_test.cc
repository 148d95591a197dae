#include "transaction/transaction_manager.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "base/test_seed.h"
#include "transaction/transaction_fixture.h"

namespace hailstone {
namespace {

class TransactionTest : public TransactionFixture {
 protected:
  using TransactionFixture::TransactionFixture;

  /// The redo of each committed transaction by its timestamp, put together from the log as recovery does it.
  std::map<Timestamp, std::string> committed_redo() {
    std::map<TransactionId, std::string> open;
    std::map<Timestamp, std::string> committed;
    for (const StoredRecord& record : records_) {
      ByteReader bytes(record.payload);
      TransactionId id = 0;
      uint64_t number = 0;
      EXPECT_TRUE(bytes.take(id));
      std::string& redo = open[id];
      Timestamp timestamp = 0;
      if (record.type == LogRecordType::Commit) {
        EXPECT_TRUE(bytes.take(timestamp));
      }
      if (record.type == LogRecordType::Rollback) {
        EXPECT_TRUE(bytes.empty());
        open.erase(id);
        continue;
      }
      EXPECT_TRUE(bytes.take(number));
      EXPECT_LE(number, redo.size());
      redo.resize(number);
      ByteView operations;
      EXPECT_TRUE(bytes.take_bytes(bytes.remaining(), operations));
      redo.append(operations);
      if (record.type == LogRecordType::Commit) {
        committed[timestamp] = redo;
        open.erase(id);
      }
    }
    return committed;
  }

  std::shared_ptr<ListStore> store_ = std::make_shared<ListStore>();
};
class TransactionConcurrentTest : public TransactionTest {};

struct LoggedAction : TransactionAction {
  LoggedAction(std::vector<std::string>& its_log, std::string its_name)
      : log(its_log), name(std::move(its_name)) {}
  void commit(Timestamp timestamp) override { log.push_back(name + " at " + std::to_string(timestamp)); }
  void undo() override { log.push_back("undo " + name); }
  std::vector<std::string>& log;
  std::string name;
};

TEST_F(TransactionTest, CommitStampsAndPublishes) {
  const auto a = begin();
  const uint64_t slot = ListStore::insert(store_, *a);
  ASSERT_TRUE(add_redo(*a, "put"));
  EXPECT_TRUE(a->has_writes());
  const auto before = begin();
  before->snapshot();
  EXPECT_EQ(store_->newest(a->snapshot()), a->marker());
  ASSERT_TRUE(manager_->commit(*a));
  EXPECT_EQ(a->state(), Transaction::State::Committed);
  EXPECT_EQ(a->commit_timestamp(), 101u);
  EXPECT_EQ(manager_->last_committed(), 101u);
  EXPECT_EQ(store_->version(slot).begin, 101u);
  EXPECT_EQ(store_->newest(before->snapshot()), 0u);
  EXPECT_EQ(store_->newest(begin()->snapshot()), 101u);
  EXPECT_GE(log_->durable(), log_->end());
  const Status again = manager_->commit(*a);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(counters_.transactions_committed.load(), 1u);
}

TEST_F(TransactionTest, ReadOnlyTransactionsLeaveNoTrace) {
  const auto a = begin();
  a->snapshot();
  ASSERT_TRUE(manager_->commit(*a));
  EXPECT_EQ(a->commit_timestamp(), 0u);
  EXPECT_EQ(manager_->last_committed(), 100u);
  open_log();
  EXPECT_TRUE(records_.empty());
}

TEST_F(TransactionTest, ChangesWithoutRedoAreStampedButNotLogged) {
  const auto a = begin();
  ListStore::insert(store_, *a);
  ASSERT_TRUE(manager_->commit(*a));
  EXPECT_EQ(a->commit_timestamp(), 101u);
  open_log();
  EXPECT_TRUE(records_.empty());
}

TEST_F(TransactionTest, RollbackTakesBackEndsThenInsertsNewestFirst) {
  std::vector<std::string> log;
  {
    const auto a = begin();
    add_action(*a, std::make_unique<LoggedAction>(log, "one"));
    const uint64_t slot = ListStore::insert(store_, *a);
    ListStore::end(store_, *a, slot);
    ListStore::insert(store_, *a);
    add_action(*a, std::make_unique<LoggedAction>(log, "two"));
    EXPECT_GT(budget_.used(), 0u);
  }  // destruction rolls back
  EXPECT_EQ(store_->undone(), (std::vector<uint64_t>{0, 1, 0}));
  EXPECT_EQ(log, (std::vector<std::string>{"undo two", "undo one"}));
  EXPECT_EQ(budget_.used(), 0u);
  EXPECT_EQ(counters_.transactions_rolled_back.load(), 1u);
  EXPECT_EQ(counters_.transactions_active.load(), 0u);
}

TEST_F(TransactionTest, SavepointsCutChangesActionsAndRedo) {
  std::vector<std::string> log;
  const auto a = begin();
  const uint64_t first = ListStore::insert(store_, *a);
  add_action(*a, std::make_unique<LoggedAction>(log, "kept"));
  ASSERT_TRUE(add_redo(*a, "kept "));
  const Savepoint savepoint = a->savepoint();
  const uint64_t second = ListStore::insert(store_, *a);
  add_action(*a, std::make_unique<LoggedAction>(log, "dropped"));
  ASSERT_TRUE(add_redo(*a, "dropped "));
  a->roll_back_to(savepoint);
  ASSERT_TRUE(add_redo(*a, "end"));
  ASSERT_TRUE(manager_->commit(*a));
  EXPECT_EQ(store_->version(first).begin, 101u);
  EXPECT_EQ(store_->version(second).begin, infinity);
  EXPECT_EQ(log, (std::vector<std::string>{"undo dropped", "kept at 101"}));
  open_log();
  EXPECT_EQ(committed_redo(), (std::map<Timestamp, std::string>{{101, "kept end"}}));
}

TEST_F(TransactionTest, WritesThatAreNotKeptLeaveNothing) {
  std::vector<std::string> log;
  const auto a = begin();
  ASSERT_TRUE(add_redo(*a, "kept "));
  uint64_t slot = 0;
  {
    Write outer(*a);
    ASSERT_TRUE(outer.prepare(1));
    slot = ListStore::insert(store_, *a);
    a->add_action(std::make_unique<LoggedAction>(log, "action"));
    ASSERT_TRUE(add_redo(*a, "kept by an inner one "));
    outer.redo().append("half an opera");
  }
  EXPECT_EQ(store_->version(slot).begin, infinity);
  EXPECT_EQ(log, (std::vector<std::string>{"undo action"}));
  ASSERT_TRUE(add_redo(*a, "end"));
  ASSERT_TRUE(manager_->commit(*a));
  open_log();
  EXPECT_EQ(committed_redo(), (std::map<Timestamp, std::string>{{101, "kept end"}}));
}

TEST_F(TransactionTest, StatementsAreTakenBackUnlessTheyEnd) {
  const auto a = begin(Isolation::ReadCommitted);
  uint64_t kept = 0, dropped = 0;
  {
    Statement statement(*a);
    kept = ListStore::insert(store_, *a);
    a->snapshot();
    statement.end();
  }
  EXPECT_FALSE(a->has_snapshot());
  {
    const Statement statement(*a);
    dropped = ListStore::insert(store_, *a);
  }
  {
    // Of a transaction that has ended there is nothing to take back.
    const Statement statement(*a);
    ASSERT_TRUE(manager_->commit(*a));
  }
  EXPECT_EQ(store_->version(kept).begin, 101u);
  EXPECT_EQ(store_->version(dropped).begin, infinity);
}

TEST_F(TransactionTest, ReadersKeepTheSnapshotThatTheyBeganWith) {
  const auto reader = begin(Isolation::ReadCommitted);
  auto held = reader->hold_snapshot();
  const auto writer = begin();
  ListStore::insert(store_, *writer);
  ASSERT_TRUE(manager_->commit(*writer));
  reader->next_statement();
  EXPECT_EQ(reader->snapshot().read, 101u);
  EXPECT_EQ((**held).read, 100u);
  EXPECT_EQ(manager_->horizon(), 100u);
  EXPECT_TRUE(reader->is_behind(101));  // as the first snapshot is in use
  held.reset();
  EXPECT_EQ(manager_->horizon(), 101u);
  EXPECT_FALSE(reader->is_behind(101));
}

TEST_F(TransactionTest, CommitGivesEachStoreItsChanges) {
  const auto other = std::make_shared<ListStore>();
  const auto a = begin();
  std::vector<uint64_t> slots;
  for (int i = 0; i < 100; ++i) {  // ListStore checks that it gets its own only
    ListStore::insert(store_, *a);
    ListStore::insert(other, *a);
  }
  ASSERT_TRUE(manager_->commit(*a));
  for (uint64_t slot = 0; slot < 100; ++slot) {
    EXPECT_EQ(store_->version(slot).begin, 101u);
    EXPECT_EQ(other->version(slot).begin, 101u);
  }
}

TEST_F(TransactionTest, StoresAreKeptAliveToTheEnd) {
  std::weak_ptr<ListStore> watched;
  const auto a = begin();
  {
    const auto passing = std::make_shared<ListStore>();
    watched = passing;
    ListStore::insert(passing, *a);
    for (int i = 0; i < 50; ++i) ListStore::insert(std::make_shared<ListStore>(), *a);
  }
  EXPECT_FALSE(watched.expired());
  manager_->rollback(*a);
  EXPECT_TRUE(watched.expired());
}

TEST_F(TransactionTest, SnapshotsFollowTheIsolationLevel) {
  const auto committed = begin(Isolation::ReadCommitted);
  const auto repeatable = begin(Isolation::RepeatableRead);
  EXPECT_EQ(committed->snapshot().read, 100u);
  EXPECT_EQ(repeatable->snapshot().read, 100u);
  const auto writer = begin();
  const uint64_t slot = ListStore::insert(store_, *writer);
  EXPECT_FALSE(repeatable->current().includes(store_->version(slot).begin));
  ASSERT_TRUE(manager_->commit(*writer));
  EXPECT_EQ(committed->snapshot().read, 100u);
  committed->next_statement();
  repeatable->next_statement();
  EXPECT_EQ(committed->snapshot().read, 101u);
  EXPECT_EQ(repeatable->snapshot().read, 100u);
  EXPECT_TRUE(repeatable->current().includes(store_->version(slot).begin));
  EXPECT_TRUE(repeatable->current().sees(5, infinity));
  EXPECT_FALSE(repeatable->current().sees(5, 6));
  EXPECT_FALSE(repeatable->current().sees(5, repeatable->marker()));
  EXPECT_TRUE(repeatable->current().sees(5, writer->marker()));
}

TEST_F(TransactionTest, HorizonIsTheOldestSnapshot) {
  const auto commit_one = [&] {
    const auto writer = begin();
    ListStore::insert(store_, *writer);
    ASSERT_TRUE(manager_->commit(*writer));
  };
  EXPECT_EQ(manager_->horizon(), 100u);
  const auto a = begin();
  a->snapshot();
  commit_one();
  const auto b = begin();
  const auto c = begin();
  b->snapshot();
  c->snapshot();
  commit_one();
  EXPECT_EQ(manager_->horizon(), 100u);
  manager_->rollback(*a);
  EXPECT_EQ(manager_->horizon(), 101u);
  manager_->rollback(*b);
  EXPECT_EQ(manager_->horizon(), 101u);
  ASSERT_TRUE(manager_->commit(*c));
  EXPECT_EQ(manager_->horizon(), 102u);
}

TEST(SnapshotsInUseTest, TellWhatMayBeSeen) {
  std::mt19937_64 random(test_seed(51));
  constexpr Timestamp most = 40;
  for (int round = 0; round < 200; ++round) {
    std::set<Timestamp> reads;
    const Timestamp newest = random() % most;
    for (uint64_t i = random() % 4; i > 0; --i) reads.insert(random() % (newest + 1));
    const SnapshotsInUse snapshots({reads.begin(), reads.end()}, newest);
    EXPECT_EQ(snapshots.oldest(), reads.empty() ? newest : *reads.begin());
    // Those in use, and those that may come.
    for (Timestamp read = newest; read <= most; ++read) reads.insert(read);
    for (Timestamp end = 0; end < most; ++end) {
      for (Timestamp begin = 0; begin < end; ++begin) {
        const bool seen = std::ranges::any_of(
            reads, [&](Timestamp read) { return Snapshot{.read = read}.sees(begin, end); });
        ASSERT_EQ(snapshots.may_see(begin, end), seen) << begin << " " << end << " " << newest;
      }
      const Timestamp same = snapshots.same_end(end);
      ASSERT_LE(same, end);
      for (const Timestamp read : reads) ASSERT_EQ(same <= read, end <= read) << same << " " << end;
    }
    EXPECT_TRUE(snapshots.may_see(most, infinity));
    EXPECT_TRUE(snapshots.may_see(0, marker_of(3)));
    EXPECT_TRUE(snapshots.may_see(marker_of(3), marker_of(3)));
  }
}

TEST_F(TransactionTest, ReadersKnowWhetherTheyReadTheNewest) {
  const auto reader = begin();
  EXPECT_TRUE(manager_->reads_newest(*reader));
  const auto writer = begin();
  EXPECT_TRUE(manager_->reads_newest(*reader));
  ListStore::insert(store_, *writer);
  EXPECT_FALSE(manager_->reads_newest(*reader));
  EXPECT_FALSE(manager_->reads_newest(*writer));
  reader->snapshot();
  ASSERT_TRUE(manager_->commit(*writer));
  EXPECT_FALSE(manager_->reads_newest(*reader));  // its snapshot is from before the commit
  const auto later = begin();
  EXPECT_TRUE(manager_->reads_newest(*later));
  later->snapshot();
  EXPECT_TRUE(manager_->reads_newest(*later));
  const auto other = begin();
  ListStore::insert(store_, *other);
  EXPECT_FALSE(manager_->reads_newest(*later));
  manager_->rollback(*other);
  EXPECT_TRUE(manager_->reads_newest(*later));
}

TEST_F(TransactionTest, AnOldSnapshotIsEndedAndSaysSo) {
  const auto commit_one = [&] {
    const auto writer = begin();
    ListStore::insert(store_, *writer);
    ASSERT_TRUE(manager_->commit(*writer));
  };
  const auto now = [] { return std::chrono::steady_clock::now(); };
  const auto old = begin();
  old->snapshot();
  const auto statement = manager_->begin(Isolation::ReadCommitted);
  statement->snapshot();
  const HeldSnapshot held(*manager_, 0, /*may_expire=*/false);
  EXPECT_EQ((*held).read, 100u);
  commit_one();
  EXPECT_EQ(manager_->expire_snapshots(now() - std::chrono::hours(1)), 0u);
  EXPECT_TRUE(old->check_snapshot());
  EXPECT_EQ(manager_->expire_snapshots(now()), 2u);
  const Status checked = old->check_snapshot();
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code(), ErrorCode::SnapshotTooOld);
  EXPECT_EQ(manager_->horizon(), 100u);  // what a statement holds stays
  EXPECT_TRUE(held.check());
  // The next statement has a snapshot of its own.
  ASSERT_FALSE(statement->check_snapshot());
  statement->next_statement();
  EXPECT_EQ(statement->snapshot().read, 101u);
  EXPECT_TRUE(statement->check_snapshot());
  EXPECT_EQ(manager_->expire_snapshots(now()), 1u);
  // It may still write.
  ListStore::insert(store_, *old);
  ASSERT_TRUE(manager_->commit(*old));
  manager_->rollback(*statement);
}

TEST_F(TransactionTest, LongRedoGoesToTheLogEarly) {
  std::mt19937_64 random(test_seed(50));
  std::map<Timestamp, std::string> expected;
  for (int round = 0; round < 6; ++round) {
    const auto a = begin();
    std::string redo;
    std::vector<Savepoint> savepoints;
    for (int i = 0; i < 40; ++i) {
      switch (random() % 6) {
        case 0:
          savepoints.push_back(a->savepoint());
          break;
        case 1:
          if (!savepoints.empty()) {
            const size_t chosen = random() % savepoints.size();
            a->roll_back_to(savepoints[chosen]);
            redo.resize(savepoints[chosen].redo);
            savepoints.resize(chosen + 1);
          }
          break;
        default: {
          const std::string operation(random() % 400'000, static_cast<char>(random()));
          ASSERT_TRUE(add_redo(*a, operation));
          redo += operation;
        }
      }
    }
    if (round % 3 == 2) {
      manager_->rollback(*a);
    } else {
      ASSERT_TRUE(manager_->commit(*a));
      if (!redo.empty()) expected[a->commit_timestamp()] = redo;
    }
    EXPECT_EQ(manager_->oldest_open_record(~Lsn{0}), ~Lsn{0});
  }
  EXPECT_EQ(budget_.used(), 0u);
  open_log();
  auto found = committed_redo();
  ASSERT_EQ(found.size(), expected.size());
  EXPECT_TRUE(found == expected);
}

TEST_F(TransactionTest, OldestOpenRecordIsHeldUntilTheEnd) {
  const auto a = begin();
  const auto b = begin();
  const std::string long_redo(3 << 20, 'r');
  EXPECT_EQ(manager_->oldest_open_record(77), 77u);
  const Lsn start = log_->end();
  // Long redo is logged before the next write.
  ASSERT_TRUE(add_redo(*a, long_redo));
  ASSERT_TRUE(add_redo(*a, "next"));
  const Lsn between = log_->end();
  ASSERT_TRUE(add_redo(*b, long_redo));
  ASSERT_TRUE(add_redo(*b, "next"));
  const Lsn oldest = manager_->oldest_open_record(log_->end());
  EXPECT_LE(oldest, std::max<Lsn>(start, 1));
  manager_->rollback(*a);
  EXPECT_GE(manager_->oldest_open_record(log_->end()), between);
  EXPECT_LT(manager_->oldest_open_record(log_->end()), log_->end());
  manager_->rollback(*b);
  EXPECT_EQ(manager_->oldest_open_record(77), 77u);
}

TEST_F(TransactionTest, TransactionThatFillsTheMemoryIsRefused) {
  budget_.set_limit(1 << 20);
  const auto a = begin();
  for (int changes = 0; changes < 1'000'000; ++changes) {
    Write write(*a);
    const Status prepared = write.prepare(1);
    if (!prepared) {
      EXPECT_EQ(prepared.error().code(), ErrorCode::OutOfMemory);
      EXPECT_GT(changes, 10'000);
      break;
    }
    ASSERT_LT(changes, 100'000);
    a->add_change(store_, 0, Change::Kind::End);
    write.keep();
  }
  manager_->rollback(*a);
  EXPECT_EQ(budget_.used(), 0u);
}

TEST_F(TransactionTest, CommitsStopWhileACheckpointLooks) {
  Timestamp seen = 0;
  ASSERT_TRUE(manager_->with_commits_stopped([&](Timestamp last) -> Status {
    seen = last;
    return {};
  }));
  EXPECT_EQ(seen, 100u);
  const Status failed =
      manager_->with_commits_stopped([](Timestamp) -> Status { return fail(ErrorCode::Io, "no"); });
  EXPECT_FALSE(failed);
  manager_->resume_after(500, 70);
  const auto a = begin();
  EXPECT_EQ(a->id(), 71u);
  EXPECT_EQ(a->snapshot().read, 500u);
}

class TransactionFaultTest : public TransactionTest {
 protected:
  TransactionFaultTest() : TransactionTest(faulty()) {}
  static FaultFilesystem& faulty() {
    static FaultFilesystem filesystem(posix_filesystem());
    return filesystem;
  }
};

TEST_F(TransactionFaultTest, CommitThatTheLogRefusesIsRolledBack) {
  const auto first = begin();
  ListStore::insert(store_, *first);
  ASSERT_TRUE(add_redo(*first, "first"));
  faulty().add_rule({.call = FaultFilesystem::Call::Sync});
  const Status not_durable = manager_->commit(*first);
  ASSERT_FALSE(not_durable);
  EXPECT_EQ(first->state(), Transaction::State::Committed);  // visible, but its durability is unknown

  const auto second = begin();
  const auto other = std::make_shared<ListStore>();
  ListStore::insert(other, *second);
  const uint64_t slot = ListStore::insert(store_, *second);
  ListStore::insert(other, *second);
  ASSERT_TRUE(add_redo(*second, "second"));
  EXPECT_FALSE(manager_->commit(*second));
  EXPECT_EQ(second->state(), Transaction::State::RolledBack);
  EXPECT_EQ(store_->version(slot).begin, infinity);
  EXPECT_EQ(other->undone(), (std::vector<uint64_t>{1, 0}));
  EXPECT_EQ(manager_->last_committed(), 101u);
  faulty().clear_rules();
}

// Each writer changes several stores in one transaction; a snapshot taken at any moment has to see the same
// transaction as newest in all of them, and go on seeing it.
TEST_F(TransactionConcurrentTest, SnapshotsSeeTransactionsWhollyOrNotAtAll) {
  manager_->set_flush_log_at_commit(FlushLogAtCommit::EverySecond);
  std::mt19937_64 random(test_seed(60));
  constexpr size_t stores = 3;
  std::vector<std::shared_ptr<ListStore>> all;
  for (size_t i = 0; i < stores; ++i) all.push_back(std::make_shared<ListStore>());
  std::atomic<int> writers = 2;
  const auto write = [&](uint64_t seed) {
    std::mt19937_64 own(seed);
    for (int i = 0; i < 300; ++i) {
      const auto transaction = begin();
      std::vector<size_t> order{0, 1, 2};
      std::shuffle(order.begin(), order.end(), own);
      for (const size_t each : order) ListStore::insert(all[each], *transaction);
      EXPECT_TRUE(add_redo(*transaction, "changes"));
      if (own() % 5 == 0) {
        manager_->rollback(*transaction);
      } else {
        EXPECT_TRUE(manager_->commit(*transaction));
      }
    }
    --writers;
  };
  const auto read = [&] {
    Timestamp previous = 0;
    while (writers > 0) {
      const auto transaction = begin(Isolation::RepeatableRead);
      const Snapshot snapshot = transaction->snapshot();
      EXPECT_GE(snapshot.read, previous);
      previous = snapshot.read;
      for (int again = 0; again < 2; ++again) {
        for (const auto& store : all) {
          const Timestamp newest = store->newest(snapshot);
          EXPECT_TRUE(newest == snapshot.read || (newest == 0 && snapshot.read == 100))
              << newest << " " << snapshot.read;
        }
      }
      EXPECT_LE(manager_->horizon(), snapshot.read);
    }
  };
  std::vector<std::thread> threads;
  const uint64_t seed = random();
  threads.emplace_back(write, seed);
  threads.emplace_back(write, seed + 1);
  threads.emplace_back(read);
  threads.emplace_back(read);
  for (std::thread& each : threads) each.join();
  ASSERT_TRUE(log_->sync(log_->end()));
  open_log();
  Timestamp expected = 100;
  for (const auto& [timestamp, redo] : committed_redo()) {
    EXPECT_EQ(timestamp, ++expected);
    EXPECT_EQ(redo, "changes");
  }
  EXPECT_EQ(expected, manager_->last_committed());
}

}  // namespace
}  // namespace hailstone
