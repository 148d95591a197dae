// Prepared transactions: they outlive their owners, checkpoints and the process, keep others from their rows,
// and end by their names. At last a random workload with power failures.
#include <fmt/format.h>

#include <random>
#include <set>

#include "database/database_fixture.h"

namespace hailstone {
namespace {

constexpr const char* table_name = "d/t";
const std::string long_text(3000, '.');

class PreparedTest : public DatabaseTest {
 protected:
  void SetUp() override {
    // So little that transactions of a few KiB are large.
    options_.delta_limit = size_t{64} << 10;
    open();
    create(table_name);
    Rows rows;
    for (int64_t id = 0; id < 100; ++id) rows[id] = fmt::format("old {}", id);
    put_rows(table_name, rows);
    rows_ = rows;
  }
  std::shared_ptr<Table> table() { return *database_->table(table_name); }
  /// Changes rows from `first` on: one new, one updated, one deleted.
  void change(Transaction& transaction, int64_t first, const std::string& text) {
    ASSERT_OK(put(*table(), transaction, first + 1000, text));
    ASSERT_OK(put(*table(), transaction, first, text));
    ASSERT_OK(table()->erase(transaction, pair_key(*table(), first + 1)));
  }
  void expect_change(int64_t first, const std::string& text) {
    rows_[first + 1000] = rows_[first] = text;
    rows_.erase(first + 1);
  }
  void prepare(const std::string& name, int64_t first, const std::string& text) {
    auto transaction = begin();
    change(*transaction, first, text);
    ASSERT_OK(database_->transactions().prepare(*transaction, name));
    database_->transactions().leave_prepared(std::move(transaction));
  }
  Status commit_prepared(const std::string& name) {
    const auto transaction = database_->transactions().take_prepared(name);
    EXPECT_NE(transaction, nullptr);
    return database_->transactions().commit(*transaction);
  }
  Status roll_back_prepared(const std::string& name) {
    const auto transaction = database_->transactions().take_prepared(name);
    EXPECT_NE(transaction, nullptr);
    return database_->transactions().roll_back_prepared(*transaction);
  }
  void expect_prepared(const std::vector<std::string>& names) {
    EXPECT_EQ(database_->transactions().prepared(), names);
  }
  void expect_rows() { DatabaseTest::expect_rows(table_name, rows_); }
  void expect_locked(int64_t id) {
    const auto transaction = begin();
    transaction->set_lock_wait_timeout(std::chrono::milliseconds(0));
    EXPECT_EQ(code_of(put(*table(), *transaction, id, "other")), ErrorCode::LockWaitTimeout) << id;
  }

  Rows rows_;
};

TEST_F(PreparedTest, IsAsItWasAfterRestarts) {
  prepare("one", 10, "new");
  for (int restart = 0; restart < 4; ++restart) {
    expect_prepared({"one"});
    expect_rows();
    for (const int64_t id : {10, 11, 1010}) expect_locked(id);
    put_rows(table_name, {{50 + restart, "beside"}});
    rows_[50 + restart] = "beside";
    if (restart % 2 == 0) ASSERT_OK(database_->checkpoint());
    reopen();
  }
  ASSERT_OK(commit_prepared("one"));
  expect_change(10, "new");
  expect_rows();
  expect_prepared({});
  reopen();
  expect_prepared({});
  expect_rows();
  put_rows(table_name, {{10, "newer"}});
}

TEST_F(PreparedTest, IsRolledBackByItsName) {
  prepare("one", 10, "new");
  prepare("two", 20, "new");
  ASSERT_OK(roll_back_prepared("one"));
  expect_prepared({"two"});
  expect_rows();
  reopen();
  expect_prepared({"two"});
  ASSERT_OK(roll_back_prepared("two"));
  expect_rows();
  reopen();
  expect_prepared({});
  expect_rows();
  put_rows(table_name, {{10, "newer"}, {20, "newer"}});
}

TEST_F(PreparedTest, ItsOwnerEndsItToo) {
  for (const bool commits : {true, false}) {
    const auto transaction = begin();
    change(*transaction, commits ? 30 : 40, "new");
    ASSERT_OK(database_->transactions().prepare(*transaction, "mine"));
    EXPECT_EQ(database_->transactions().take_prepared("mine"), nullptr) << "somebody has it";
    if (commits) {
      ASSERT_OK(commit(*transaction));
      expect_change(30, "new");
    } else {
      ASSERT_OK(database_->transactions().roll_back_prepared(*transaction));
    }
    expect_prepared({});
    expect_rows();
  }
  reopen();
  expect_rows();
}

TEST_F(PreparedTest, ADeletedAndAReplacedRowComeBackWhole) {
  auto transaction = begin();
  ASSERT_OK(table()->erase(*transaction, pair_key(*table(), 5)));
  ASSERT_OK(put(*table(), *transaction, 5, "again"));
  ASSERT_OK(put(*table(), *transaction, 6, "first"));
  const Savepoint savepoint = transaction->savepoint();
  ASSERT_OK(put(*table(), *transaction, 6, "second"));
  ASSERT_OK(put(*table(), *transaction, 7, "taken back"));
  transaction->roll_back_to(savepoint);
  ASSERT_OK(put(*table(), *transaction, 8, "third"));
  ASSERT_OK(table()->erase(*transaction, pair_key(*table(), 8)));
  ASSERT_OK(database_->transactions().prepare(*transaction, "x"));
  database_->transactions().leave_prepared(std::move(transaction));
  reopen();
  expect_rows();
  put_rows(table_name, {{7, "free"}});
  ASSERT_OK(commit_prepared("x"));
  rows_[5] = "again";
  rows_[6] = "first";
  rows_[7] = "free";
  rows_.erase(8);
  expect_rows();
  reopen();
  expect_rows();
}

TEST_F(PreparedTest, ALargeOneAndALoadNeedNoMemory) {
  for (const bool commits : {false, true}) {
    auto transaction = begin();
    Rows changed = rows_;
    for (int64_t id = 0; id < 200; ++id) {
      changed[id] = fmt::format("large {}", id) + long_text;
      ASSERT_OK(put(*table(), *transaction, id, changed[id]));
    }
    {
      BulkLoad load(table(), *transaction);
      for (int64_t id = 5000; id < 6500; ++id) {
        changed[id] = fmt::format("loaded {}", id) + std::string(800, 'z');
        ASSERT_OK(load.append(pair_values(id, changed[id])));
      }
      Duplicate duplicate;
      ASSERT_OK(load.finish(duplicate));
    }
    ASSERT_OK(database_->transactions().prepare(*transaction, "large"));
    database_->transactions().leave_prepared(std::move(transaction));
    for (int restart = 0; restart < 3; ++restart) {
      expect_rows();
      expect_locked(7);
      if (restart == 1) ASSERT_OK(database_->checkpoint());
      reopen();
    }
    if (commits) {
      ASSERT_OK(commit_prepared("large"));
      rows_ = changed;
    } else {
      ASSERT_OK(roll_back_prepared("large"));
    }
    expect_rows();
    reopen();
    expect_rows();
    if (commits) continue;
    // Nothing of the load stays behind.
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
      if (entry.path().filename().string().starts_with("segment-")) {
        EXPECT_LT(std::filesystem::file_size(entry.path()), size_t{500} << 10) << entry.path();
      }
    }
  }
}

TEST_F(PreparedTest, WhatCannotBePreparedStaysActive) {
  prepare("one", 10, "new");
  {
    const auto transaction = begin();
    change(*transaction, 20, "new");
    EXPECT_EQ(code_of(database_->transactions().prepare(*transaction, "one")), ErrorCode::AlreadyExists);
    ASSERT_OK(commit(*transaction));
    expect_change(20, "new");
  }
  {
    const auto transaction = begin();
    ASSERT_OK(database_->create_table(*transaction, pair_definition("d/other")));
    EXPECT_EQ(code_of(database_->transactions().prepare(*transaction, "two")), ErrorCode::Unsupported);
    ASSERT_OK(commit(*transaction));
  }
  {
    const auto transaction = begin();
    ASSERT_OK(commit(*transaction));
    EXPECT_EQ(code_of(database_->transactions().prepare(*transaction, "two")), ErrorCode::InvalidArgument);
  }
  {
    // One that has only read is prepared, and known to nobody else.
    auto transaction = begin();
    ASSERT_OK(read_rows(table(), *transaction));
    ASSERT_OK(database_->transactions().prepare(*transaction, "one"));
    database_->transactions().leave_prepared(std::move(transaction));
  }
  expect_prepared({"one"});
  ASSERT_OK(roll_back_prepared("one"));
  expect_rows();
}

TEST_F(PreparedTest, DdlWaitsForIt) {
  prepare("one", 10, "new");
  reopen();
  const auto transaction = begin();
  transaction->set_lock_wait_timeout(std::chrono::milliseconds(0));
  EXPECT_EQ(code_of(database_->locks().lock_table(*transaction, table()->id(), TableLockMode::Exclusive)),
            ErrorCode::LockWaitTimeout);
  ASSERT_OK(commit_prepared("one"));
  EXPECT_OK(database_->locks().lock_table(*transaction, table()->id(), TableLockMode::Exclusive));
}

/// What a transaction does to the table.
struct Changes {
  size_t range = 0;  // of the rows
  Rows put;
  std::set<int64_t> erased;
};

/// One thread's transactions, plain and prepared, and what must be there after them.
class PreparedWorkload {
 public:
  explicit PreparedWorkload(uint64_t seed) : random_(seed) {}

  /// False when the database refused: the power is off.
  bool step(Database& database) {
    const auto table = database.table(table_name);
    if (!table) {
      const auto transaction = database.transactions().begin(Isolation::RepeatableRead);
      return database.create_table(*transaction, pair_definition(table_name)) &&
             database.transactions().commit(*transaction);
    }
    switch (random_() % 24) {
      case 0:
        return database.checkpoint().has_value();
      case 1:
        return (*table)->flush(true).has_value();
      case 2:
        return (*table)->merge().has_value();
      case 3:
      case 4:
      case 5:
        return open_.size() >= ranges || prepare(database, *table);
      case 6:
      case 7:
      case 8:
        return open_.empty() || end_one(database);
      default:
        return plain(database, *table);
    }
  }

  void check(Database& database) {
    const auto names = database.transactions().prepared();
    const std::set<std::string> found_names(names.begin(), names.end());
    if (!maybe_prepared_.first.empty() && found_names.contains(maybe_prepared_.first))
      open_[maybe_prepared_.first] = maybe_prepared_.second;
    if (!maybe_ended_.empty() && !found_names.contains(maybe_ended_)) {
      if (maybe_commits_) apply(open_[maybe_ended_]);
      open_.erase(maybe_ended_);
    }
    maybe_prepared_.first.clear();
    maybe_ended_.clear();
    std::set<std::string> expected_names;
    for (const auto& [name, changes] : open_) expected_names.insert(name);
    EXPECT_EQ(found_names, expected_names);
    const auto names_of_tables = database.table_names();
    if (names_of_tables.empty()) {
      EXPECT_TRUE(committed_.empty() && open_.empty());
      return;
    }
    const auto found = read_table(database, table_name);
    ASSERT_OK(found);
    if (maybe_) {
      Rows with = committed_;
      apply(*maybe_, with);
      if (*found == with) committed_ = with;
      maybe_.reset();
    }
    EXPECT_EQ(*found, committed_);
    // Nobody else gets at the rows.
    for (const auto& [name, changes] : open_) {
      if (changes.put.empty()) continue;
      const auto table = database.table(table_name);
      const auto transaction = database.transactions().begin(Isolation::RepeatableRead);
      transaction->set_lock_wait_timeout(std::chrono::milliseconds(0));
      const Status written = put(**table, *transaction, changes.put.begin()->first, "not I");
      ASSERT_FALSE(written);
      EXPECT_EQ(written.error().code(), ErrorCode::LockWaitTimeout);
    }
  }

 private:
  static constexpr size_t ranges = 6;
  static constexpr int64_t range_rows = 100;

  void apply(const Changes& changes) { apply(changes, committed_); }
  static void apply(const Changes& changes, Rows& rows) {
    for (const int64_t id : changes.erased) rows.erase(id);
    for (const auto& [id, text] : changes.put) rows[id] = text;
  }
  bool is_held(size_t range) const {
    return std::ranges::any_of(open_, [&](const auto& each) { return each.second.range == range; });
  }

  /// Changes of rows in one range, and perhaps a load.
  bool change(const std::shared_ptr<Table>& table, Transaction& transaction, Changes& changes) {
    const uint64_t count = random_() % 6 == 0 ? 60 : 1 + random_() % 5;
    for (uint64_t i = 0; i < count; ++i) {
      const int64_t id =
          static_cast<int64_t>(changes.range) * range_rows + static_cast<int64_t>(random_() % range_rows);
      if (random_() % 3 == 0) {
        const Status erased = table->erase(transaction, pair_key(*table, id));
        if (!erased && erased.error().code() != ErrorCode::NotFound) return false;
        if (erased) {
          changes.erased.insert(id);
          changes.put.erase(id);
        }
      } else {
        const std::string text = fmt::format("{}-{}", ++serial_, count > 5 ? long_text : std::string());
        if (!put(*table, transaction, id, text)) return false;
        changes.put[id] = text;
      }
    }
    if (random_() % 12 != 0) return true;
    BulkLoad load(table, transaction);
    const int64_t first = 1'000'000 + static_cast<int64_t>(++serial_) * 10'000;
    const std::string text = fmt::format("{}", serial_) + std::string(900, 'z');
    for (int64_t id = first; id < first + 1500; ++id) {
      if (!load.append(pair_values(id, text))) return false;
      changes.put[id] = text;
    }
    Duplicate duplicate;
    return load.finish(duplicate).has_value();
  }

  bool prepare(Database& database, const std::shared_ptr<Table>& table) {
    Changes changes;
    changes.range = random_() % ranges;
    if (is_held(changes.range)) return true;
    auto transaction = database.transactions().begin(Isolation::RepeatableRead);
    if (!change(table, *transaction, changes)) return false;
    const bool changed = transaction->redo_bytes() > 0;
    const std::string name = fmt::format("g{}", ++serial_);
    maybe_prepared_ = std::pair(name, changes);
    if (!database.transactions().prepare(*transaction, name)) return false;
    maybe_prepared_.first.clear();
    if (changed) open_[name] = changes;
    database.transactions().leave_prepared(std::move(transaction));
    return true;
  }

  bool end_one(Database& database) {
    auto chosen = open_.begin();
    std::advance(chosen, random_() % open_.size());
    maybe_ended_ = chosen->first;
    maybe_commits_ = random_() % 2 == 0;
    const auto transaction = database.transactions().take_prepared(chosen->first);
    if (transaction == nullptr) {
      ADD_FAILURE() << chosen->first << " is not prepared";
      return false;
    }
    const bool ended = maybe_commits_ ? database.transactions().commit(*transaction).has_value()
                                      : database.transactions().roll_back_prepared(*transaction).has_value();
    if (!ended) return false;
    if (maybe_commits_) apply(chosen->second);
    open_.erase(chosen);
    maybe_ended_.clear();
    return true;
  }

  bool plain(Database& database, const std::shared_ptr<Table>& table) {
    Changes changes;
    changes.range = random_() % (ranges + 2);
    if (is_held(changes.range)) return true;
    const auto transaction = database.transactions().begin(Isolation::RepeatableRead);
    if (!change(table, *transaction, changes)) return false;
    if (random_() % 6 == 0) {
      database.transactions().rollback(*transaction);
      return true;
    }
    maybe_ = changes;
    if (!database.transactions().commit(*transaction)) return false;
    apply(changes);
    maybe_.reset();
    return true;
  }

  std::mt19937_64 random_;
  uint64_t serial_ = 0;
  Rows committed_;
  std::map<std::string, Changes> open_;
  // The step that was not answered.
  std::optional<Changes> maybe_;
  std::pair<std::string, Changes> maybe_prepared_;
  std::string maybe_ended_;
  bool maybe_commits_ = false;
};

TEST(PreparedPowerFailureTest, FilesOfALoadStayUntilItsRollbackIsDurable) {
  const uint64_t seed = test_seed(7);
  constexpr uint64_t changes = 6;  // of a rollback: of the log and of the load's file
  for (uint64_t round = 0; round < 4 * changes; ++round) {
    SCOPED_TRACE(fmt::format("HAILSTONE_TEST_SEED={} round {}", seed, round));
    TemporaryDirectory directory;
    FaultFilesystem filesystem(posix_filesystem());
    {
      const auto database = Database::open(filesystem, directory.file("database"), {});
      ASSERT_OK(database);
      TransactionManager& transactions = (*database)->transactions();
      auto transaction = transactions.begin(Isolation::RepeatableRead);
      ASSERT_OK((*database)->create_table(*transaction, pair_definition(table_name)));
      ASSERT_OK(transactions.commit(*transaction));
      transaction = transactions.begin(Isolation::RepeatableRead);
      BulkLoad load(*(*database)->table(table_name), *transaction);
      for (int64_t id = 0; id < 1500; ++id) ASSERT_OK(load.append(pair_values(id, long_text)));
      Duplicate duplicate;
      ASSERT_OK(load.finish(duplicate));
      ASSERT_OK(transactions.prepare(*transaction, "load"));
      filesystem.power_off_after(round % changes);
      static_cast<void>(transactions.roll_back_prepared(*transaction));
      filesystem.power_off();
      if (transaction->state() == Transaction::State::Prepared)
        transactions.leave_prepared(std::move(transaction));
    }
    ASSERT_OK(filesystem.leave_crash_state(seed + round));
    const auto database = Database::open(posix_filesystem(), directory.file("database"), {});
    ASSERT_OK(database);
    const auto rows = read_table(**database, table_name);
    ASSERT_OK(rows);
    EXPECT_TRUE(rows->empty());
  }
}

TEST(PreparedPowerFailureTest, WhatWasPreparedSurvivesUntilItEnds) {
  const uint64_t seed = test_seed(6);
  for (uint64_t round = 0; round < test_rounds(8); ++round) {
    SCOPED_TRACE(fmt::format("HAILSTONE_TEST_SEED={} round {}", seed, round));
    std::mt19937_64 random(seed * 1000 + round);
    TemporaryDirectory directory;
    PreparedWorkload workload(random());
    DatabaseOptions options;
    options.memory_budget = size_t{32} << 20;
    options.checkpoint_log_bytes = size_t{256} << 10;
    options.delta_limit = size_t{64} << 10;
    for (int life = 0; life < 5; ++life) {
      FaultFilesystem filesystem(posix_filesystem(), random());
      filesystem.power_off_after(random() % (life == 0 ? 1200 : 600));
      {
        auto database = Database::open(filesystem, directory.file("database"), options);
        if (database) {
          for (int steps = 0; steps < 300 && workload.step(**database); ++steps) {
          }
        } else {
          EXPECT_TRUE(filesystem.powered_off()) << database.error().message();
        }
        filesystem.power_off();
      }
      ASSERT_OK(filesystem.leave_crash_state(random()));
      auto database = Database::open(posix_filesystem(), directory.file("database"), options);
      ASSERT_OK(database);
      workload.check(**database);
      if (::testing::Test::HasFailure()) return;
      if (random() % 2 == 0) ASSERT_OK((*database)->close());
    }
  }
}

}  // namespace
}  // namespace hailstone
