// Temporary tables: nothing of them is in log and manifest, their files are in memory up to a limit and on
// the disk beyond it, and a crash leaves nothing. All else is as of durable tables.
#include <filesystem>
#include <random>

#include "database/database_fixture.h"
#include "transaction/statement.h"

namespace hailstone {
namespace {

class TemporaryTableTest : public DatabaseTest {
 protected:
  std::shared_ptr<Table> create_temporary(const std::string& name) {
    TableDefinition definition = pair_definition(name);
    definition.indexes.push_back({.name = "text", .parts = {{.column = 1, .prefix = 20}}});
    definition.temporary = true;
    const auto transaction = begin();
    auto table = database_->create_table(*transaction, definition);
    EXPECT_OK(table);
    EXPECT_OK(commit(*transaction));
    return *table;
  }
  std::string random_text(size_t bytes) {
    std::string text(bytes, '\0');
    for (char& each : text) each = static_cast<char>(' ' + random_() % 95);
    return text;
  }
  Rows random_rows(int64_t from, int64_t end, size_t bytes) {
    Rows rows;
    for (int64_t id = from; id < end; ++id) rows[id] = random_text(bytes);
    return rows;
  }
  void load(const std::shared_ptr<Table>& table, const Rows& rows) {
    const auto transaction = begin();
    BulkLoad load(table, *transaction);
    for (const auto& [id, text] : rows) ASSERT_OK(load.append(pair_values(id, text)));
    Duplicate duplicate;
    ASSERT_OK(load.finish(duplicate));
    ASSERT_OK(commit(*transaction));
  }
  size_t files(const std::string& directory) {
    size_t count = 0;
    for (const auto& each : std::filesystem::directory_iterator(directory)) {
      const std::string name = each.path().filename().string();
      if (name.starts_with("segment-") || name.starts_with("deletes-") || name.starts_with("spill")) ++count;
    }
    return count;
  }
  uint64_t logged() { return database_->counters().log_write_bytes.load(); }

  std::mt19937_64 random_{test_seed(std::random_device{}())};
};

TEST_F(TemporaryTableTest, LogAndManifestKnowNothingOfIt) {
  open();
  create("d/durable");
  const uint64_t before = logged();
  const auto manifest = std::filesystem::file_size(directory_.file("manifest"));
  {
    const auto table = create_temporary("t/temporary");
    EXPECT_FALSE(table->is_durable());
    EXPECT_FALSE(table->is_in_memory());
    Rows rows = random_rows(0, 2000, 100);
    put_rows("t/temporary", rows);
    ASSERT_OK(table->flush(true));
    {
      const auto transaction = begin();
      for (int64_t id = 0; id < 500; ++id) ASSERT_OK(table->erase(*transaction, pair_key(*table, id)));
      ASSERT_OK(table->raise_auto_increment(*transaction, 77));
      ASSERT_OK(commit(*transaction));
      rows.erase(rows.begin(), rows.find(500));
    }
    expect_rows("t/temporary", rows);
    while (*table->merge({})) {
    }
    expect_rows("t/temporary", rows);
    // Renamed, given another definition, emptied.
    auto transaction = begin();
    ASSERT_OK(database_->rename_table(*transaction, "t/temporary", "t/renamed"));
    ASSERT_OK(commit(*transaction));
    TableDefinition definition = *database_->definition("t/renamed");
    EXPECT_TRUE(definition.temporary);
    definition.columns[1].name = "words";
    transaction = begin();
    ASSERT_OK(database_->replace_definition(*transaction, "t/renamed", definition));
    ASSERT_OK(commit(*transaction));
    expect_rows("t/renamed", rows);
    transaction = begin();
    ASSERT_OK(database_->truncate_table(*transaction, "t/renamed"));
    ASSERT_OK(commit(*transaction));
    expect_rows("t/renamed", {});
  }
  EXPECT_EQ(logged(), before);
  ASSERT_OK(database_->checkpoint());
  auto transaction = begin();
  ASSERT_OK(database_->drop_table(*transaction, "t/renamed"));
  ASSERT_OK(commit(*transaction));
  ASSERT_OK(database_->checkpoint());
  EXPECT_EQ(std::filesystem::file_size(directory_.file("manifest")) < manifest + 200, true);
  EXPECT_EQ(database_->counters().temporary_memory_used.load(), 0u);
  EXPECT_EQ(files(directory_.path()), 0u);
}

TEST_F(TemporaryTableTest, GoesToFilesBeyondItsMemoryAndTheyGoWithIt) {
  options_.temporary_memory_size = size_t{1} << 20;
  open();
  const Rows rows = random_rows(0, 8000, 1000);  // that no encoding makes much smaller
  {
    const auto table = create_temporary("t/temporary");
    Rows first(rows.begin(), rows.find(4000)), second(rows.find(4000), rows.end());
    load(table, first);
    EXPECT_GE(database_->counters().temporary_memory_used.load(), size_t{1} << 20);
    load(table, second);
    EXPECT_GT(files(directory_.path()), 0u);
    // Not beyond the limit by more than a file for each writer.
    EXPECT_LT(database_->counters().temporary_memory_used.load(), size_t{6} << 20);
    expect_rows("t/temporary", rows);
    const auto transaction = begin();
    ASSERT_OK(table->check(*transaction, {}));
  }
  const auto transaction = begin();
  ASSERT_OK(database_->drop_table(*transaction, "t/temporary"));
  ASSERT_OK(commit(*transaction));
  ASSERT_OK(database_->checkpoint());
  EXPECT_EQ(files(directory_.path()), 0u);
  EXPECT_EQ(database_->counters().temporary_memory_used.load(), 0u);
}

TEST_F(TemporaryTableTest, ATransactionMayWriteMoreThanMemoryHolds) {
  options_.memory_budget = size_t{16} << 20;
  options_.temporary_memory_size = size_t{1} << 20;
  open();
  const auto table = create_temporary("t/temporary");
  put_rows("t/temporary", {{-1, "before"}});
  for (const bool commits : {false, true}) {
    const auto transaction = begin();
    Rows rows{{-1, "before"}};
    for (int64_t id = 0; id < 40'000; ++id) {
      const std::string text = random_text(900);
      ASSERT_OK(put(*table, *transaction, id, text));
      rows[id] = text;
    }
    EXPECT_EQ(*read_rows(table, *transaction), rows);
    EXPECT_GT(database_->counters().spills.load(), 0u);
    {
      Statement statement(*transaction);
      for (int64_t id = 100; id < 200; ++id) {
        ASSERT_OK(table->erase(*transaction, pair_key(*table, id)));
      }
      for (int64_t id = 50'000; id < 70'000; ++id) ASSERT_OK(put(*table, *transaction, id, random_text(900)));
      statement.roll_back();
    }
    EXPECT_EQ(*read_rows(table, *transaction), rows);
    if (commits) {
      ASSERT_OK(commit(*transaction));
      expect_rows("t/temporary", rows);
    } else {
      database_->transactions().rollback(*transaction);
      expect_rows("t/temporary", {{-1, "before"}});
    }
  }
}

TEST_F(TemporaryTableTest, ACrashLeavesNothingOfItAndAllOfTheOthers) {
  options_.temporary_memory_size = 0;  // all files are on the disk
  open();
  create("d/durable");
  const auto table = create_temporary("t/temporary");
  load(table, random_rows(0, 4000, 1000));
  {
    // One transaction of both kinds.
    const auto transaction = begin();
    ASSERT_OK(put(**database_->table("d/durable"), *transaction, 1, "kept"));
    ASSERT_OK(put(*table, *transaction, 1, "lost"));
    ASSERT_OK(commit(*transaction));
  }
  ASSERT_OK(database_->checkpoint());
  put_rows("d/durable", {{2, "kept, too"}});
  EXPECT_GT(files(directory_.path()), 0u);
  const TemporaryDirectory crashed;
  std::filesystem::copy(directory_.path(), crashed.path());
  auto other = Database::open(posix_filesystem(), crashed.path(), options());
  ASSERT_OK(other);
  EXPECT_EQ(*read_table(**other, "d/durable"), (Rows{{1, "kept"}, {2, "kept, too"}}));
  EXPECT_FALSE((*other)->has_table("t/temporary"));
  EXPECT_EQ((*other)->table_names(), std::vector<std::string>{"d/durable"});
  ASSERT_OK((*other)->checkpoint());
  for (const auto& each : std::filesystem::directory_iterator(crashed.path())) {
    const std::string name = each.path().filename().string();
    // One segment may be the durable table's.
    EXPECT_FALSE(name.starts_with("segment-") && std::filesystem::file_size(each.path()) > 100'000) << name;
  }
}

TEST_F(TemporaryTableTest, ARolledBackCreationLeavesNothing) {
  options_.temporary_memory_size = 0;
  open();
  for (const bool truncates : {false, true}) {
    const auto transaction = begin();
    TableDefinition definition = pair_definition("t/temporary");
    definition.temporary = true;
    auto table = database_->create_table(*transaction, definition);
    ASSERT_OK(table);
    BulkLoad load(*table, *transaction);
    for (const auto& [id, text] : random_rows(0, 3000, 1000)) ASSERT_OK(load.append(pair_values(id, text)));
    Duplicate duplicate;
    ASSERT_OK(load.finish(duplicate));
    if (truncates) ASSERT_OK(database_->truncate_table(*transaction, "t/temporary"));
    database_->transactions().rollback(*transaction);
  }
  EXPECT_FALSE(database_->has_table("t/temporary"));
  ASSERT_OK(database_->checkpoint());
  EXPECT_EQ(files(directory_.path()), 0u);
}

TEST_F(TemporaryTableTest, StaysOpenHoweverManyTablesThereAre) {
  options_.open_tables = 2;
  open();
  create_temporary("t/temporary");
  put_rows("t/temporary", {{1, "here"}});
  for (int i = 0; i < 20; ++i) {
    create("d/" + std::to_string(i));
    put_rows("d/" + std::to_string(i), {{i, "row"}});
  }
  ASSERT_OK(database_->checkpoint());
  for (int i = 0; i < 20; ++i) expect_rows("d/" + std::to_string(i), {{i, "row"}});
  expect_rows("t/temporary", {{1, "here"}});
}

TEST_F(TemporaryTableTest, MayBeInMemoryAlone) {
  open();
  TableDefinition definition = pair_definition("t/temporary");
  definition.temporary = true;
  definition.in_memory = true;
  definition.most_bytes = size_t{1} << 20;
  const uint64_t before = logged();
  const auto transaction = begin();
  const auto table = database_->create_table(*transaction, definition);
  ASSERT_OK(table);
  ASSERT_OK(commit(*transaction));
  EXPECT_TRUE((*table)->is_in_memory());
  put_rows("t/temporary", {{1, "one"}});
  const auto full = begin();
  Status status;
  for (int64_t id = 2; status && id < 5000; ++id) status = put(**table, *full, id, random_text(1000));
  EXPECT_EQ(code_of(status), ErrorCode::TableFull);
  database_->transactions().rollback(*full);
  expect_rows("t/temporary", {{1, "one"}});
  EXPECT_EQ(logged(), before);
}

}  // namespace
}  // namespace hailstone
