// Failures that pass: what could not be read or written for a while marks nothing, loses nothing and ends
// nothing. Opening on a full disk, and new directories.
#include <filesystem>

#include <atomic>
#include <thread>

#include "database/database_fixture.h"
#include "file/forwarding_filesystem.h"

namespace hailstone {
namespace {

namespace fs = std::filesystem;
using Call = FaultFilesystem::Call;
using Effect = FaultFilesystem::Effect;

Rows some_rows(int64_t count) {
  Rows rows;
  for (int64_t id = 0; id < count; ++id) rows[id] = std::string(100, static_cast<char>('a' + id % 26));
  return rows;
}

class PassingFaultTest : public DatabaseTest {
 protected:
  void TearDown() override { database_.reset(); }  // before the filesystem goes
  void open_faulty() {
    auto opened = Database::open(faults_, directory_.path(), options());
    ASSERT_OK(opened);
    database_ = std::move(*opened);
  }
  void close() {
    ASSERT_OK(database_->close());
    database_.reset();
  }
  size_t files(const std::string& prefix) {
    size_t count = 0;
    for (const auto& file : fs::directory_iterator(directory_.path())) {
      count += file.path().filename().string().starts_with(prefix) ? 1U : 0U;
    }
    return count;
  }
  Status check(const std::string& name) {
    const auto transaction = begin();
    HAILSTONE_ASSIGN(const auto table, database_->table(name));
    return table->check(*transaction, {});
  }

  FaultFilesystem faults_{posix_filesystem()};
};

TEST_F(PassingFaultTest, AFileThatCannotBeOpenedIsTriedAgain) {
  open_faulty();
  create("d/t");
  put_rows("d/t", some_rows(3000));
  ASSERT_OK((*database_->table("d/t"))->flush(true));
  {
    const auto transaction = begin();
    const auto table = database_->table("d/t");
    ASSERT_OK((*table)->erase(*transaction, pair_key(**table, 1)));
    ASSERT_OK(commit(*transaction));
  }
  close();
  Rows left = some_rows(3000);
  left.erase(1);
  for (const std::string prefix : {"segment-", "deletes-"}) {
    for (const int error : {EMFILE, EIO, EACCES}) {
      open_faulty();
      faults_.add_rule({.call = Call::Open, .path_part = prefix, .times = 2, .error_number = error});
      const auto refused = read_table(*database_, "d/t");
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().code(), ErrorCode::Io) << refused.error().message();
      EXPECT_NE(refused.error().message().find(prefix), std::string::npos) << refused.error().message();
      // Without a descriptor it may have been tried twice already.
      static_cast<void>(read_table(*database_, "d/t"));
      expect_rows("d/t", left);
      EXPECT_EQ(database_->counters().tables_corrupt.load(), 0U);
      close();
      faults_.clear_rules();
    }
  }
}

TEST_F(PassingFaultTest, ABlockThatCannotBeReadIsTriedAgain) {
  open_faulty();
  create("d/t");
  put_rows("d/t", some_rows(3000));
  ASSERT_OK((*database_->table("d/t"))->flush(true));
  faults_.add_rule({.call = Call::Read, .path_part = "segment-", .times = 1, .error_number = EIO});
  EXPECT_EQ(code_of(read_table(*database_, "d/t")), ErrorCode::Io);
  expect_rows("d/t", some_rows(3000));
  EXPECT_OK(check("d/t"));
}

TEST_F(PassingFaultTest, RecoveryTriesAgainAndSetsAsideWhatStaysUnreadable) {
  for (const uint64_t times : {uint64_t{3}, ~uint64_t{0}}) {
    for (const Call call : {Call::Open, Call::Read}) {
      open_faulty();
      create("d/t");
      create("d/other");
      put_rows("d/t", some_rows(3000));
      put_rows("d/other", some_rows(10));
      ASSERT_OK((*database_->table("d/t"))->flush(true));
      ASSERT_OK(database_->checkpoint());
      put_rows("d/t", {{-1, "in the log"}, {5, "changed"}});
      database_->wait_for_background_work();
      Rows after = some_rows(3000);
      after[-1] = "in the log";
      after[5] = "changed";
      const TemporaryDirectory crashed;
      fs::copy(directory_.path(), crashed.path());
      {
        FaultFilesystem faults(posix_filesystem());
        faults.add_rule({.call = call, .path_part = "segment-", .times = times, .error_number = EIO});
        auto again = Database::open(faults, crashed.path(), options());
        ASSERT_OK(again);
        const auto other = read_table(**again, "d/other");
        ASSERT_OK(other);
        EXPECT_EQ(*other, some_rows(10));
        const auto rows = read_table(**again, "d/t");
        if (times == 3) {
          ASSERT_OK(rows);
          EXPECT_EQ(*rows, after);
        } else {
          EXPECT_EQ(code_of(rows), ErrorCode::Io);
        }
        faults.clear_rules();
        // Its changes are in the log only, and stay there.
        ASSERT_OK((*again)->close());
      }
      auto whole = Database::open(posix_filesystem(), crashed.path(), options());
      ASSERT_OK(whole);
      const auto rows = read_table(**whole, "d/t");
      ASSERT_OK(rows);
      EXPECT_EQ(*rows, after);
      ASSERT_OK((*whole)->close());
      close();
      for (const auto& each : fs::directory_iterator(directory_.path())) fs::remove(each);
    }
  }
}

TEST_F(PassingFaultTest, ManyTablesShareFewDescriptors) {
  options_.open_files = 2;
  open();
  for (int i = 0; i < 12; ++i) {
    const std::string name = "d/t" + std::to_string(i);
    create(name);
    put_rows(name, some_rows(2000));
    ASSERT_OK((*database_->table(name))->flush(true));
    EXPECT_LE(database_->counters().files_open.load(), 2U);
  }
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 12; ++i) {
      const std::string name = "d/t" + std::to_string(i);
      expect_rows(name, some_rows(2000));
      EXPECT_OK(check(name));
      EXPECT_LE(database_->counters().files_open.load(), 2U);
    }
    database_->set_open_files(1);
  }
  // Files go also when they are closed just then.
  {
    const auto transaction = begin();
    for (int i = 0; i < 12; ++i) ASSERT_OK(database_->drop_table(*transaction, "d/t" + std::to_string(i)));
    ASSERT_OK(commit(*transaction));
  }
  reopen();
  EXPECT_EQ(files("segment-"), 0U);
}

TEST_F(PassingFaultTest, CommitsWaitForRoomInTheLog) {
  open_faulty();
  create("d/t");
  faults_.add_rule(
      {.call = Call::Append, .path_part = "log-", .effect = Effect::Tear, .error_number = ENOSPC});
  std::atomic<int> committed{0};
  std::vector<std::thread> writers;
  for (int64_t id = 0; id < 4; ++id) {
    writers.emplace_back([&, id] {
      const auto transaction = begin();
      const auto table = database_->table("d/t");
      EXPECT_OK(put(**table, *transaction, id, "waited"));
      EXPECT_OK(commit(*transaction));
      committed.fetch_add(1);
    });
  }
  // One is interrupted: its commit stands, as others may have seen it.
  {
    const auto transaction = begin();
    const auto table = database_->table("d/t");
    ASSERT_OK(put(**table, *transaction, 100, "interrupted"));
    int asked = 0;
    transaction->set_interruption_check([&] { return ++asked > 3; });
    const Status interrupted = commit(*transaction);
    ASSERT_FALSE(interrupted);
    EXPECT_EQ(interrupted.error().code(), ErrorCode::Interrupted) << interrupted.error().message();
    EXPECT_EQ(transaction->state(), Transaction::State::Committed);
  }
  EXPECT_EQ(committed.load(), 0);
  // Who reads is not held up.
  EXPECT_TRUE(read_table(*database_, "d/t")->contains(100));
  EXPECT_FALSE(database_->checkpoint());
  faults_.clear_rules();
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(committed.load(), 4);
  ASSERT_OK(database_->checkpoint());
  close();
  open();
  expect_rows("d/t", {{0, "waited"}, {1, "waited"}, {2, "waited"}, {3, "waited"}, {100, "interrupted"}});
}

TEST_F(PassingFaultTest, AnInterruptedCommitThatTheLogHasNoRoomForIsRolledBack) {
  open_faulty();
  create("d/t");
  faults_.add_rule({.call = Call::Append, .path_part = "log-", .error_number = ENOSPC});
  Rows committed;
  Status status;
  for (int64_t id = 0; id < 100; ++id) {
    const auto transaction = begin();
    Rows rows;
    for (int64_t each = id * 1000; each < id * 1000 + 50; ++each) {
      rows[each] = std::string(3000, static_cast<char>('a' + each % 26));
      ASSERT_OK(put(**database_->table("d/t"), *transaction, each, rows[each]));
    }
    transaction->set_interruption_check([] { return true; });
    status = commit(*transaction);
    ASSERT_FALSE(status);
    if (status.error().code() != ErrorCode::Interrupted) {
      EXPECT_EQ(transaction->state(), Transaction::State::RolledBack);
      break;
    }
    EXPECT_EQ(transaction->state(), Transaction::State::Committed);
    committed.merge(rows);
  }
  EXPECT_EQ(status.error().code(), ErrorCode::DiskFull) << status.error().message();
  EXPECT_GT(committed.size(), 1U);
  expect_rows("d/t", committed);
  faults_.clear_rules();
  close();
  open();
  expect_rows("d/t", committed);
}

TEST_F(PassingFaultTest, WhatWaitsInVainFailsAsBefore) {
  options_.log_write_timeout = std::chrono::milliseconds(100);
  open_faulty();
  create("d/t");
  put_rows("d/t", {{1, "there"}});
  faults_.add_rule({.call = Call::Append, .path_part = "log-", .error_number = ENOSPC});
  {
    const auto transaction = begin();
    const auto table = database_->table("d/t");
    ASSERT_OK(put(**table, *transaction, 2, "in vain"));
    EXPECT_EQ(code_of(commit(*transaction)), ErrorCode::DiskFull);
  }
  faults_.clear_rules();
  {
    const auto transaction = begin();
    const auto table = database_->table("d/t");
    ASSERT_OK(put(**table, *transaction, 3, "too late"));
    EXPECT_EQ(code_of(commit(*transaction)), ErrorCode::ReadOnly);
  }
  EXPECT_TRUE(read_table(*database_, "d/t")->contains(1));
  EXPECT_FALSE(database_->close());
  database_.reset();
  open();
  EXPECT_TRUE(read_table(*database_, "d/t")->contains(1));
  EXPECT_FALSE(read_table(*database_, "d/t")->contains(3));
}

TEST_F(PassingFaultTest, OpeningOnAFullDiskSucceedsAndLeavesNothing) {
  open_faulty();
  create("d/a");
  create("d/dropped");
  put_rows("d/dropped", some_rows(3000));
  ASSERT_OK((*database_->table("d/dropped"))->flush(true));
  ASSERT_OK(database_->checkpoint());
  for (int64_t first = 0; first < 20'000; first += 2000) {
    Rows rows;
    for (int64_t id = first; id < first + 2000; ++id) rows[id] = std::string(200, 'r');
    put_rows("d/a", rows);
  }
  {
    // The drop reaches the log, but not the manifest.
    faults_.add_rule({.call = Call::Append, .path_part = "manifest", .error_number = ENOSPC});
    const auto transaction = begin();
    ASSERT_OK(database_->drop_table(*transaction, "d/dropped"));
    ASSERT_OK(commit(*transaction));
  }
  database_->wait_for_background_work();
  const TemporaryDirectory crashed;
  fs::copy(directory_.path(), crashed.path());
  faults_.clear_rules();
  close();
  options_.delta_limit = 64 << 10;
  const auto segments = [&] {
    size_t count = 0;
    for (const auto& file : fs::directory_iterator(crashed.path())) {
      count += file.path().filename().string().starts_with("segment-") ? 1U : 0U;
    }
    return count;
  };
  const size_t before = segments();
  options_.log_write_timeout = std::chrono::milliseconds(0);
  for (int attempt = 0; attempt < 3; ++attempt) {
    FaultFilesystem full(posix_filesystem());
    full.set_free_bytes(0);
    auto opened = Database::open(full, crashed.path(), options());
    ASSERT_OK(opened);
    const auto rows = read_table(**opened, "d/a");
    ASSERT_OK(rows);
    EXPECT_EQ(rows->size(), 20'000U);
    EXPECT_FALSE((*opened)->has_table("d/dropped"));
    EXPECT_FALSE((*opened)->close());
    EXPECT_LE(segments(), before);
  }
  // What fails otherwise leaves nothing either.
  for (int attempt = 0; attempt < 3; ++attempt) {
    FaultFilesystem failing(posix_filesystem());
    failing.add_rule({.call = Call::Create, .path_part = "segment-", .skip = 2, .error_number = EROFS});
    auto opened = Database::open(failing, crashed.path(), options());
    ASSERT_FALSE(opened);
    EXPECT_LE(segments(), before);
  }
  auto opened = Database::open(posix_filesystem(), crashed.path(), options());
  ASSERT_OK(opened);
  const auto rows = read_table(**opened, "d/a");
  ASSERT_OK(rows);
  EXPECT_EQ(rows->size(), 20'000U);
  ASSERT_OK((*opened)->close());
}

/// Remembers which directories were synced.
class SyncedDirectories final : public ForwardingFilesystem {
 public:
  SyncedDirectories() : ForwardingFilesystem(posix_filesystem()) {}
  Status sync_directory(const std::string& path) override {
    synced.push_back(fs::weakly_canonical(path).string());
    return below().sync_directory(path);
  }
  std::vector<std::string> synced;
};

TEST_F(PassingFaultTest, TheDirectoryThatHoldsANewDatabaseIsSynced) {
  for (const std::string name : {"new", "new2/", "new3//"}) {
    SyncedDirectories filesystem;
    const std::string path = directory_.file(name);
    auto opened = Database::open(filesystem, path, options());
    ASSERT_OK(opened);
    ASSERT_FALSE(filesystem.synced.empty());
    EXPECT_EQ(filesystem.synced.front(), fs::weakly_canonical(directory_.path()).string()) << name;
    ASSERT_OK((*opened)->close());
  }
}

TEST_F(PassingFaultTest, ABackupThatFailsLeavesNothing) {
  open_faulty();
  create("d/t");
  put_rows("d/t", some_rows(3000));
  ASSERT_OK((*database_->table("d/t"))->flush(true));
  const std::string target = directory_.path() + "-backup";
  for (const Call call : {Call::Create, Call::Append, Call::Sync, Call::SyncDirectory}) {
    faults_.add_rule({.call = call, .path_part = "-backup", .error_number = ENOSPC});
    EXPECT_FALSE(database_->backup(target));
    EXPECT_FALSE(fs::exists(target)) << static_cast<int>(call);
    faults_.clear_rules();
  }
  // A directory that was there stays.
  fs::create_directory(target);
  faults_.add_rule({.call = Call::Sync, .path_part = "-backup", .error_number = ENOSPC});
  EXPECT_FALSE(database_->backup(target));
  EXPECT_TRUE(fs::is_empty(target));
  faults_.clear_rules();
  ASSERT_OK(database_->backup(target));
  const std::string restored = directory_.path() + "-restored";
  faults_.add_rule({.call = Call::SyncDirectory, .path_part = "-restored", .error_number = EIO});
  EXPECT_FALSE(restore_database(faults_, target, restored, {}));
  EXPECT_FALSE(fs::exists(restored));
  fs::remove_all(target);
}

}  // namespace
}  // namespace hailstone
