// What was flushed, merged or loaded in bulk after the last checkpoint is in segments and in the log too:
// replay must tell that it is there already, and must not put an older state of a row in its place. Segments
// keep the begin timestamps of their rows for that, and for snapshots, until a checkpoint and every snapshot
// are past them.
#include <random>

#include "database/crash_fixture.h"

namespace hailstone {
namespace {

constexpr const char* table_name = "d/t";

/// With one table.
class ReplayTest : public CrashTest {
 protected:
  void SetUp() override {
    // So little that transactions of a few KiB are large.
    options_.delta_limit = size_t{64} << 10;
    CrashTest::SetUp();
    create(table_name);
  }
  /// What was acknowledged must be there.
  void crash(uint64_t seed) {
    frozen_.reset();
    lose_power(seed);
    open_with_faults();
    expect_model();
  }
  /// Also when the first recovery did not live to its first checkpoint, and after one.
  void crash_and_check() {
    crash(1);
    crash(2);
    ASSERT_OK(database_->checkpoint());
    crash(3);
  }
  void write(int64_t id, const std::string& text) { CrashTest::write(table_name, id, text); }
  void write_large(int64_t first, int64_t rows, const std::string& text) {
    const auto transaction = begin();
    for (int64_t id = first; id < first + rows; ++id) {
      ASSERT_OK(
          put(*table(table_name), *transaction, id, model_[table_name][id] = text + std::string(3000, '.')));
    }
    ASSERT_OK(commit(*transaction));
  }
  void erase(int64_t id) { CrashTest::erase(table_name, id); }
  void load(const Rows& rows, const Changes& changes = {}) { CrashTest::load(table_name, rows, changes); }
  void flush() { CrashTest::flush(table_name); }
  void merge() { CrashTest::merge(table_name); }
  /// A checkpoint, with a disk that takes so many more changes of the manifest and no other.
  Status checkpoint_with_manifest_changes(uint64_t changes) {
    for (const auto call : {FaultFilesystem::Call::Append, FaultFilesystem::Call::Create}) {
      filesystem_->add_rule({.call = call, .path_part = "manifest", .skip = changes});
    }
    const Status status = database_->checkpoint();
    filesystem_->clear_rules();
    return status;
  }
  void keep_snapshot() { CrashTest::keep_snapshot(table_name); }
  void check_snapshots() { CrashTest::check_snapshots(table_name); }
  /// What is in memory now is flushed, without what comes later, when the transaction that has put this row
  /// there has ended.
  void freeze_while_open(int64_t id) {
    frozen_ = begin();
    ASSERT_OK(put(*table(table_name), *frozen_, id, "uncommitted"));
    flush();
  }
  void end_frozen() {
    database_->transactions().rollback(*frozen_);
    frozen_.reset();
    ASSERT_OK(table(table_name)->flush(false));
  }
  void expect_model() { CrashTest::expect_model(table_name); }
  const Rows& rows() { return model_[table_name]; }

  std::unique_ptr<Transaction> frozen_;
};

TEST_F(ReplayTest, UpdateAfterFlushSurvives) {
  for (int64_t id = 0; id < 100; ++id) write(id, "old");
  flush();
  for (int64_t id = 0; id < 50; ++id) write(id, "new");
  crash_and_check();
}

TEST_F(ReplayTest, ChangesThatAreInSegmentsArePassedOver) {
  for (int64_t id = 0; id < 100; ++id) write(id, "old");
  for (int64_t id = 0; id < 10; ++id) erase(id);
  flush();
  for (int64_t id = 20; id < 30; ++id) write(id, "new");
  erase(50);
  crash(1);
  EXPECT_EQ(database_->counters().rows_recovered, 11U);
  // What an open transaction holds in a delta leaves nothing out that others commit.
  {
    const auto open_transaction = begin();
    ASSERT_OK(put(*table(table_name), *open_transaction, 500, "uncommitted"));
    for (int64_t id = 30; id < 40; ++id) write(id, "newer");
    flush();
    for (int64_t id = 35; id < 45; ++id) write(id, "newest");
    flush();
    database_->transactions().rollback(*open_transaction);
  }
  crash_and_check();
}

TEST_F(ReplayTest, FlushedUpdateSurvives) {
  for (int64_t id = 0; id < 100; ++id) write(id, "old");
  flush();
  for (int64_t id = 0; id < 50; ++id) write(id, "new");
  flush();
  for (int64_t id = 25; id < 75; ++id) write(id, "newest");
  crash_and_check();
}

TEST_F(ReplayTest, MergedUpdateSurvives) {
  for (int64_t id = 0; id < 100; ++id) write(id, "old");
  flush();
  for (int64_t id = 0; id < 50; ++id) write(id, "new");
  merge();
  for (int64_t id = 25; id < 75; ++id) write(id, "newest");
  merge();
  crash_and_check();
}

TEST_F(ReplayTest, DeletedRowsStayDeleted) {
  for (int64_t id = 0; id < 100; ++id) write(id, "old");
  flush();
  for (int64_t id = 0; id < 100; id += 2) erase(id);
  merge();
  for (int64_t id = 1; id < 100; id += 4) erase(id);
  flush();
  crash_and_check();
}

TEST_F(ReplayTest, LoadedRowsAreNotTakenForOlderOnes) {
  // The log has an insert and a delete of the key; that the key was loaded since is told by the segment only,
  // as the manifest's state holds the load already.
  write(1, "old");
  erase(1);
  load({{1, "loaded"}});
  flush();
  crash_and_check();
}

TEST_F(ReplayTest, LoadedRowsAreNotTakenForOlderOnesWhenMerged) {
  write(1, "old");
  write(2, "stays");
  erase(1);
  load({{1, "loaded"}});
  merge();
  crash_and_check();
}

TEST_F(ReplayTest, LoadedRowsSurviveSeveralLoads) {
  for (int round = 0; round < 4; ++round) {
    load({{1, "loaded " + std::to_string(round)}, {2 + round, "once"}});
    write(1, "updated");
    if (round % 2 == 0) flush();
    if (round == 3) break;
    erase(1);
    if (round % 2 == 1) merge();
  }
  erase(1);
  load({{1, "at last"}});
  merge();
  crash_and_check();
}

TEST_F(ReplayTest, LoadedRowsAreChangedByTheirTransaction) {
  write(1, "old");
  freeze_while_open(500);
  load({{2, "loaded"}, {3, "loaded"}, {4, "loaded"}}, {{2, "changed"}, {3, std::nullopt}});
  end_frozen();
  crash_and_check();
}

TEST_F(ReplayTest, LargeTransactionsSurviveWhereverTheirRowsAre) {
  for (const int64_t first : {0, 1000, 2000}) {
    write_large(first, 700, "made");
    if (first == 1000) flush();
    write_large(first, 400, "changed");
    if (first == 2000) merge();
    crash(static_cast<uint64_t>(first));
  }
  // One that goes on while checkpoints are taken, and others commit.
  {
    const auto transaction = begin();
    for (int64_t id = 3000; id < 3900; ++id) {
      ASSERT_OK(put(*table(table_name), *transaction, id, model_[table_name][id] = std::string(3000, 'g')));
      if (id % 100 == 0) write(id % 400, "meanwhile " + std::to_string(id));
      if (id % 300 == 0) ASSERT_OK(database_->checkpoint());
    }
    const Savepoint savepoint = transaction->savepoint();
    for (int64_t id = 3500; id < 4900; ++id) {
      ASSERT_OK(put(*table(table_name), *transaction, id, std::string(2000, 'v')));
    }
    transaction->roll_back_to(savepoint);
    for (int64_t id = 3800; id < 4200; ++id) {
      ASSERT_OK(put(*table(table_name), *transaction, id, model_[table_name][id] = std::string(1000, 'l')));
    }
    ASSERT_OK(commit(*transaction));
  }
  crash_and_check();
  // One that does not come to its end.
  {
    const auto transaction = begin();
    for (int64_t id = 3000; id < 3900; ++id) {
      ASSERT_OK(put(*table(table_name), *transaction, id, std::string(3000, 'n')));
    }
    write(17, "at last");
    filesystem_->power_off();
  }
  lose_power(5);
  open_with_faults();
  expect_model();
  crash_and_check();
}

TEST_F(ReplayTest, AKeyThatALargeTransactionGaveBackIsAnothers) {
  auto transaction = begin();
  for (int64_t id = 0; id < 100; ++id) {
    ASSERT_OK(put(*table(table_name), *transaction, id, model_[table_name][id] = std::string(3000, 'g')));
  }
  const Savepoint savepoint = transaction->savepoint();
  for (int64_t id = 100; id < 200; ++id) {
    ASSERT_OK(put(*table(table_name), *transaction, id, std::string(3000, 'v')));
  }
  transaction->roll_back_to(savepoint);
  for (int64_t id = 100; id < 200; ++id) write(id, "another's");
  ASSERT_OK(commit(*transaction));
  transaction.reset();
  ASSERT_OK(database_->checkpoint());
  expect_model();
  crash_and_check();
}

TEST_F(ReplayTest, ATransactionThatIsOpenAtACheckpointChangesWhatThatCarries) {
  auto holder = begin();
  ASSERT_OK(put(*table(table_name), *holder, 5000, "keeps the delta"));
  // More than the manifest takes.
  for (int64_t id = 0; id < 60; ++id) write(id, std::string(3000, 'o'));
  auto transaction = begin();
  for (int64_t id = 0; id < 30; ++id) {
    ASSERT_OK(table(table_name)->erase(*transaction, pair_key(*table(table_name), id)));
    model_[table_name].erase(id);
  }
  // Beyond what stays in memory of the redo.
  for (int64_t id = 100; id < 600; ++id) {
    ASSERT_OK(put(*table(table_name), *transaction, id, model_[table_name][id] = std::string(3000, 'g')));
  }
  ASSERT_OK(database_->checkpoint());
  ASSERT_OK(commit(*transaction));
  filesystem_->power_off();
  holder.reset();
  transaction.reset();
  crash_and_check();
}

TEST_F(ReplayTest, ACheckpointThatFailsCarriesLoadedRowsThatWereChanged) {
  write(1, "old");
  erase(1);
  write(2, "old");
  ASSERT_OK(database_->checkpoint());
  frozen_ = begin();
  ASSERT_OK(put(*table(table_name), *frozen_, 5000, "keeps the delta"));
  load({{1, "loaded"}, {3, "loaded"}, {4, "loaded"}}, {{4, "changed"}});
  write(1, "updated");
  erase(2);
  erase(3);
  write(3, "again");
  // More than the manifest takes.
  for (int64_t id = 100; id < 160; ++id) {
    write(id, std::string(3000, 'o'));
    ASSERT_OK(put(*table(table_name), *frozen_, 5000 + id, "keeps the delta"));
  }
  EXPECT_FALSE(checkpoint_with_manifest_changes(0));
  erase(4);
  write(2, "again");
  crash_and_check();
}

TEST_F(ReplayTest, LargeTransactionsThatOverlapACheckpoint) {
  const auto fill = [&](Transaction& transaction, int64_t first, Rows* rows) {
    for (int64_t id = first; id < first + 500; ++id) {
      const std::string text(3000, 'g');
      ASSERT_OK(put(*table(table_name), transaction, id, text));
      if (rows != nullptr) (*rows)[id] = text;
    }
  };
  auto ended = begin(), given_up = begin(), open = begin();
  fill(*ended, 0, &model_[table_name]);
  fill(*given_up, 1000, nullptr);
  fill(*open, 2000, &model_[table_name]);
  fill(*ended, 3000, &model_[table_name]);
  fill(*given_up, 4000, nullptr);
  ASSERT_OK(commit(*ended));
  database_->transactions().rollback(*given_up);
  ASSERT_OK(database_->checkpoint());
  fill(*open, 5000, &model_[table_name]);
  ASSERT_OK(commit(*open));
  for (auto* const each : {&ended, &given_up, &open}) each->reset();
  crash_and_check();
}

TEST_F(ReplayTest, RowsOfBeforeACheckpointAreUpdatedAfterIt) {
  for (int64_t id = 0; id < 100; ++id) write(id, "old");
  ASSERT_OK(database_->checkpoint());
  for (int64_t id = 0; id < 50; ++id) write(id, "new");
  erase(60);
  load({{60, "loaded"}});
  merge();
  crash_and_check();
}

TEST_F(ReplayTest, SnapshotsSeeTheirStateThroughFlushAndMerge) {
  for (int64_t id = 0; id < 50; ++id) write(id, "old");
  keep_snapshot();
  for (int64_t id = 0; id < 25; ++id) write(id, "new");
  erase(40);
  keep_snapshot();
  flush();
  check_snapshots();
  load({{40, "loaded"}});
  write(1, "newest");
  keep_snapshot();
  merge();
  check_snapshots();
  ASSERT_OK(database_->checkpoint());
  check_snapshots();
  snapshots_.erase(snapshots_.begin());
  write(2, "newest");
  merge();
  check_snapshots();
  crash_and_check();
}

TEST_F(ReplayTest, RandomWorkSurvivesRandomCrashes) {
  const uint64_t seed = test_seed(7);
  std::mt19937_64 random(seed);
  for (uint64_t step = 0; step < test_rounds(1) * 400; ++step) {
    SCOPED_TRACE("HAILSTONE_TEST_SEED=" + std::to_string(seed) + " step " + std::to_string(step));
    const auto id = static_cast<int64_t>(random() % 12);
    switch (const uint64_t choice = random() % 40) {
      case 0:
        ASSERT_OK(database_->checkpoint());
        break;
      case 16:
        static_cast<void>(checkpoint_with_manifest_changes(random() % 3));
        break;
      case 1:
      case 2:
        crash(random());
        break;
      case 3:
      case 4:
      case 5:
        flush();
        break;
      case 6:
      case 7:
        merge();
        break;
      case 8:
      case 9: {
        Rows loaded;
        for (int64_t each = 0; each < 12; ++each) {
          if (!rows().contains(each) && random() % 2 == 0) loaded[each] = "loaded " + std::to_string(step);
        }
        Changes changes;
        for (int64_t each = 0; each < 12; ++each) {
          if ((!rows().contains(each) && !loaded.contains(each)) || random() % 3 != 0) continue;
          if (random() % 2 == 0) changes[each] = std::nullopt;
          if (random() % 2 == 0) changes[each] = "changed " + std::to_string(step);
        }
        if (!loaded.empty() && rows().size() < 4000) load(loaded, changes);
        break;
      }
      case 14:
        write_large(0, 12, "large " + std::to_string(step));
        break;
      case 15:
        write_large(id, 300, "larger " + std::to_string(step));
        break;
      case 12:
      case 13:
        if (frozen_ == nullptr) {
          freeze_while_open(-1 - static_cast<int64_t>(step));
        } else {
          end_frozen();
        }
        break;
      case 10:
        if (snapshots_.size() < 3) keep_snapshot();
        break;
      case 11:
        check_snapshots();
        if (!snapshots_.empty())
          snapshots_.erase(snapshots_.begin() + static_cast<ptrdiff_t>(random() % snapshots_.size()));
        break;
      default:
        if (choice < 24 && rows().contains(id)) {
          erase(id);
        } else {
          write(id, "written " + std::to_string(step));
        }
    }
    if (HasFatalFailure() || HasFailure()) return;
  }
  crash_and_check();
}

}  // namespace
}  // namespace hailstone
