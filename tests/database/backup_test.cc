// A backup is the database as it was at one moment, whoever writes meanwhile, and touches the original no
// more.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <random>
#include <thread>

#include "database/database_fixture.h"
#include "database/online_backup.h"

namespace hailstone {
namespace {

class BackupTest : public DatabaseTest {
 protected:
  std::string target(const std::string& name) const { return places_.file(name); }
  /// The database in a directory that backup() made.
  std::unique_ptr<Database> restore(const std::string& name) {
    auto opened = Database::open(posix_filesystem(), target(name), DatabaseOptions());
    EXPECT_OK(opened);
    return opened ? std::move(*opened) : nullptr;
  }
  void expect_restored(const std::string& name, const std::string& table, const Rows& rows) {
    const auto restored = restore(name);
    ASSERT_NE(restored, nullptr);
    const auto found = read_table(*restored, table);
    ASSERT_OK(found);
    EXPECT_EQ(*found, rows);
    const auto transaction = restored->transactions().begin(Isolation::RepeatableRead);
    EXPECT_OK((*restored->table(table))->check(*transaction, {}));
  }
  Rows many(int64_t first, int64_t last, const std::string& text) {
    Rows rows;
    for (int64_t id = first; id < last; ++id) rows[id] = text;
    return rows;
  }
  void load(const std::string& name, const Rows& rows) {
    const auto transaction = begin();
    const auto table = database_->table(name);
    ASSERT_OK(table);
    BulkLoad loading(*table, *transaction);
    for (const auto& [id, text] : rows) ASSERT_OK(loading.append(pair_values(id, text)));
    Duplicate duplicate;
    ASSERT_OK(loading.finish(duplicate));
    ASSERT_OK(commit(*transaction));
  }

  TemporaryDirectory places_;
};

TEST_F(BackupTest, HoldsDeltasSegmentsAndDeletes) {
  open();
  create("a/rows");
  create("a/empty");
  Rows rows = many(0, 2000, std::string(1000, 'x'));
  load("a/rows", rows);
  put_rows("a/rows", {{5, "changed"}, {3000, "new"}});
  rows[5] = "changed";
  rows[3000] = "new";
  ASSERT_OK(database_->backup(target("first")));
  put_rows("a/rows", {{6, "too late"}});
  const auto open_transaction = begin();
  ASSERT_OK(put(**database_->table("a/rows"), *open_transaction, 7, "never committed"));
  expect_restored("first", "a/rows", rows);
  rows[6] = "too late";
  ASSERT_OK(database_->backup(target("second")));
  expect_restored("second", "a/rows", rows);
  expect_restored("first", "a/empty", {});
}

TEST_F(BackupTest, ACopyKnowsWhichDatabaseItIsOf) {
  open();
  create("a/rows");
  ASSERT_OK(database_->checkpoint());
  const std::vector<uint64_t> numbers = database_->numbers();
  ASSERT_EQ(numbers.size(), 1);
  ASSERT_OK(database_->backup(target("copy")));
  const auto restored = restore("copy");
  ASSERT_NE(restored, nullptr);
  ASSERT_EQ(restored->numbers().size(), 2);
  EXPECT_EQ(restored->numbers().front(), numbers.front());
  EXPECT_NE(restored->numbers().back(), numbers.front());
  reopen();
  EXPECT_EQ(database_->numbers(), numbers);
}

TEST_F(BackupTest, NeitherSideTouchesTheOther) {
  open();
  create("a/rows");
  Rows rows = many(0, 2000, std::string(1000, 'x'));
  load("a/rows", rows);
  ASSERT_OK(database_->backup(target("copy")));
  {
    const auto restored = restore("copy");
    ASSERT_NE(restored, nullptr);
    const auto transaction = restored->transactions().begin(Isolation::RepeatableRead);
    const auto table = restored->table("a/rows");
    ASSERT_OK(table);
    for (int64_t id = 0; id < 2000; id += 2) ASSERT_OK((*table)->erase(*transaction, pair_key(**table, id)));
    ASSERT_OK(restored->transactions().commit(*transaction));
    ASSERT_OK((*table)->optimize({}));
  }
  expect_rows("a/rows", rows);
  reopen();
  expect_rows("a/rows", rows);
  const auto transaction = begin();
  ASSERT_OK(database_->drop_table(*transaction, "a/rows"));
  ASSERT_OK(commit(*transaction));
  ASSERT_OK(database_->checkpoint());
  for (int64_t id = 0; id < 2000; id += 2) rows.erase(id);
  expect_restored("copy", "a/rows", rows);
}

TEST_F(BackupTest, RefusesADirectoryThatIsNotEmpty) {
  open();
  create("a/rows");
  ASSERT_OK(database_->backup(target("copy")));
  EXPECT_EQ(code_of(database_->backup(target("copy"))), ErrorCode::AlreadyExists);
  EXPECT_EQ(code_of(database_->backup(directory_.path())), ErrorCode::AlreadyExists);
  EXPECT_EQ(code_of(database_->backup(target("no/such/parent"))), ErrorCode::NotFound);
  EXPECT_EQ(code_of(database_->backup("")), ErrorCode::InvalidArgument);
}

/// A filesystem without links copies; whatever fails on the way, nothing is left that could pass for a
/// backup, and the database goes on.
TEST_F(BackupTest, AFailureLeavesNoDatabaseBehind) {
  FaultFilesystem filesystem(posix_filesystem());
  auto opened = Database::open(filesystem, directory_.path(), options());
  ASSERT_OK(opened);
  database_ = std::move(*opened);
  create("a/rows");
  const Rows rows = many(0, 2000, std::string(1000, 'x'));
  load("a/rows", rows);
  bool succeeded = false;
  for (uint64_t skip = 0; !succeeded && skip < 200; ++skip) {
    const std::string place = target("copy" + std::to_string(skip));
    filesystem.add_rule({.path_part = place, .skip = skip, .times = 1, .error_number = ENOSPC});
    succeeded = database_->backup(place).has_value();
    filesystem.clear_rules();
    EXPECT_EQ(std::filesystem::exists(place), succeeded) << skip;
    if (succeeded) expect_restored("copy" + std::to_string(skip), "a/rows", rows);
  }
  EXPECT_TRUE(succeeded);
  expect_rows("a/rows", rows);
  database_.reset();
}

/// The same with links, and of the copy that restores one.
TEST_F(BackupTest, EachFailureOfLinksAndOfARestoreLeavesNothing) {
  FaultFilesystem filesystem(posix_filesystem());
  filesystem.allow_links();
  auto opened = Database::open(filesystem, directory_.path(), options());
  ASSERT_OK(opened);
  database_ = std::move(*opened);
  create("a/rows");
  const Rows rows = many(0, 2000, std::string(1000, 'x'));
  load("a/rows", rows);
  const auto until_it_works = [&](const std::string& name,
                                  const std::function<Status(const std::string&)>& work) {
    bool succeeded = false;
    for (uint64_t skip = 0; !succeeded && skip < 200; ++skip) {
      const std::string place = target(name + std::to_string(skip));
      filesystem.add_rule({.path_part = place, .skip = skip, .times = 1, .error_number = EIO});
      succeeded = work(place).has_value();
      filesystem.clear_rules();
      EXPECT_EQ(std::filesystem::exists(place), succeeded) << skip;
      if (succeeded) expect_restored(name + std::to_string(skip), "a/rows", rows);
    }
    EXPECT_TRUE(succeeded);
  };
  until_it_works("linked", [&](const std::string& place) { return database_->backup(place); });
  ASSERT_OK(database_->backup(target("copy")));
  const auto restore = [&](const std::string& place) {
    return restore_database(filesystem, target("copy"), place, {});
  };
  until_it_works("restored", restore);
  for (const auto call : {FaultFilesystem::Call::LockDirectory, FaultFilesystem::Call::List,
                          FaultFilesystem::Call::Open, FaultFilesystem::Call::CanonicalPath}) {
    filesystem.add_rule({.call = call, .path_part = target("copy"), .times = 1});
    EXPECT_FALSE(restore(target("none")));
    filesystem.clear_rules();
    EXPECT_FALSE(std::filesystem::exists(target("none")));
  }
  database_.reset();
}

class BackupConcurrentTest : public BackupTest {};

/// Each transaction adds the same number to two tables, by rows, loads and deletes; so every moment has equal
/// sums.
TEST_F(BackupConcurrentTest, IsOneMomentWhileWritersGoOn) {
  options_.memory_budget = size_t{16} << 20;
  options_.flush_log_at_commit = FlushLogAtCommit::Write;
  open();
  create("a/left");
  create("a/right");
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    int64_t next = 0;
    while (!stop.load()) {
      const auto transaction = begin();
      for (const char* name : {"a/left", "a/right"}) {
        const auto table = database_->table(name);
        ASSERT_OK(table);
        if (next % 10 == 3) {
          BulkLoad loading(*table, *transaction);
          for (int64_t i = 0; i < 400; ++i)
            ASSERT_OK(loading.append(pair_values(next * 1000 + i, std::string(3000, 'l'))));
          Duplicate duplicate;
          ASSERT_OK(loading.finish(duplicate));
        } else {
          for (int64_t i = 0; i < 20; ++i) ASSERT_OK(put(**table, *transaction, next * 1000 + i, "row"));
          if (next % 10 == 7) {
            for (int64_t i = 0; i < 10; ++i)
              ASSERT_OK((*table)->erase(*transaction, pair_key(**table, (next - 4) * 1000 + i)));
          }
        }
      }
      ASSERT_OK(commit(*transaction));
      if (next % 25 == 20) ASSERT_OK((*database_->table("a/left"))->optimize({}));
      ++next;
    }
  });
  for (int i = 0; i < 6; ++i) {
    const std::string name = "copy" + std::to_string(i);
    EXPECT_OK(database_->backup(target(name)));
    const auto restored = restore(name);
    if (restored == nullptr) break;
    const auto left = read_table(*restored, "a/left"), right = read_table(*restored, "a/right");
    EXPECT_OK(left);
    EXPECT_OK(right);
    if (left && right) {
      EXPECT_TRUE(*left == *right) << left->size() << " and " << right->size() << " rows";
    }
  }
  stop = true;
  writer.join();
}

/// What happens between the steps: the last moment counts, whatever is written, merged or dropped around it.
TEST_F(BackupTest, TheLastCutIsTheMoment) {
  open();
  create("a/rows");
  create("a/dropped");
  Rows rows = many(0, 2000, std::string(1000, 'x'));
  load("a/rows", rows);
  load("a/dropped", rows);
  auto backup = database_->begin_backup(target("copy"));
  ASSERT_OK(backup);
  EXPECT_FALSE((*backup)->has_cut());
  load("a/rows", many(2000, 4000, "later"));
  rows.merge(many(2000, 4000, "later"));
  {
    const auto transaction = begin();
    ASSERT_OK(database_->drop_table(*transaction, "a/dropped"));
    ASSERT_OK(commit(*transaction));
  }
  ASSERT_OK((*database_->table("a/rows"))->optimize({}));
  ASSERT_OK((*backup)->cut());
  put_rows("a/rows", {{5000, "between the cuts"}});
  rows[5000] = "between the cuts";
  ASSERT_OK(database_->checkpoint());
  ASSERT_OK((*backup)->cut());
  EXPECT_TRUE((*backup)->has_cut());
  put_rows("a/rows", {{6000, "too late"}});
  ASSERT_OK((*database_->table("a/rows"))->optimize({}));
  ASSERT_OK(database_->checkpoint());
  EXPECT_EQ(code_of(Database::open(posix_filesystem(), target("copy"), DatabaseOptions())),
            ErrorCode::Corruption)
      << "what is not finished is no database";
  ASSERT_OK((*backup)->finish());
  backup->reset();
  expect_restored("copy", "a/rows", rows);
  const auto restored = restore("copy");
  EXPECT_EQ(code_of(restored->table("a/dropped")), ErrorCode::NotFound);
}

TEST_F(BackupTest, WhatIsGivenUpIsRemoved) {
  open();
  create("a/rows");
  load("a/rows", many(0, 2000, std::string(1000, 'x')));
  {
    const auto backup = database_->begin_backup(target("copy"));
    ASSERT_OK(backup);
    EXPECT_TRUE(std::filesystem::exists(target("copy")));
    ASSERT_OK((*backup)->cut());
  }
  EXPECT_FALSE(std::filesystem::exists(target("copy")));
}

/// The folder in the database's own directory, which may only have that name, goes when the database is
/// opened.
TEST_F(BackupTest, AStagedBackupDoesNotOutliveItsServer) {
  open();
  create("a/rows");
  const Rows rows = many(0, 2000, std::string(1000, 'x'));
  load("a/rows", rows);
  const std::string staged = directory_.file(staged_backup);
  EXPECT_EQ(code_of(database_->backup(staged + "2")), ErrorCode::InvalidArgument);
  ASSERT_OK(database_->backup(staged));
  std::filesystem::copy(staged, target("copy"));
  expect_restored("copy", "a/rows", rows);
  reopen();
  EXPECT_FALSE(std::filesystem::exists(staged));
  expect_rows("a/rows", rows);
}

}  // namespace
}  // namespace hailstone
