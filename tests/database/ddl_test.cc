// DDL as part of transactions.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "base/test_seed.h"
#include "database/database_fixture.h"

namespace hailstone {
namespace {

TEST_F(DatabaseTest, CreatedTableIsSeenByOthersFromTheCommitOn) {
  open();
  {
    const auto transaction = begin();
    const auto table = database_->create_table(*transaction, pair_definition("d/t"));
    ASSERT_OK(table);
    ASSERT_OK(put(**table, *transaction, 1, "one"));
    EXPECT_EQ(code_of(database_->table("d/t")), ErrorCode::NotFound);
    EXPECT_TRUE(database_->table_names().empty());
    EXPECT_EQ(*database_->table("d/t", transaction.get()), *table);
    ASSERT_OK(commit(*transaction));
    EXPECT_EQ(*database_->table("d/t"), *table);
    expect_rows("d/t", {{1, "one"}});
  }
  reopen();
  expect_rows("d/t", {{1, "one"}});
}

TEST_F(DatabaseTest, NamesComeWithTheCommitThatMadeThem) {
  open();
  create("d/stays");
  create("d/goes");
  create("d/is_renamed");
  const auto transaction = begin();
  ASSERT_OK(database_->create_table(*transaction, pair_definition("d/uncommitted")));
  const auto names = [&] {
    const auto pairs = database_->names_with_commits();
    return std::map<std::string, Timestamp>(pairs.begin(), pairs.end());
  };
  auto before = names();
  EXPECT_EQ(before.size(), 3);
  EXPECT_LT(before["d/stays"], before["d/goes"]);
  EXPECT_LT(before["d/goes"], before["d/is_renamed"]);
  database_->transactions().rollback(*transaction);

  put_rows("d/stays", {{1, "one"}});  // no definition
  {
    const auto changing = begin();
    ASSERT_OK(database_->drop_table(*changing, "d/goes"));
    ASSERT_OK(database_->rename_table(*changing, "d/is_renamed", "e/renamed"));
    ASSERT_OK(commit(*changing));
  }
  const auto after = names();
  EXPECT_EQ(after.size(), 2);
  EXPECT_EQ(after.at("d/stays"), before["d/stays"]);
  EXPECT_EQ(after.at("e/renamed"), database_->transactions().last_committed());
  reopen();
  EXPECT_EQ(names(), after);
}

TEST_F(DatabaseTest, NamesAreInOrderWheneverTheyAreAskedFor) {
  open();
  std::mt19937_64 random(test_seed(21));
  std::set<std::string> expected;
  const auto any_name = [&] { return fmt::format("{}/t{}", random() % 3 == 0 ? "d" : "e", random() % 40); };
  for (int step = 0; step < 400; ++step) {
    if (random() % 50 == 0) reopen();
    const std::string name = any_name(), other = any_name();
    const bool there = expected.contains(name);
    const auto transaction = begin();
    if (!there) {
      ASSERT_OK(database_->create_table(*transaction, pair_definition(name)));
    } else if (random() % 2 == 0 || expected.contains(other)) {
      ASSERT_OK(database_->drop_table(*transaction, name));
    } else {
      ASSERT_OK(database_->rename_table(*transaction, name, other));
    }
    if (random() % 4 == 0) {
      database_->transactions().rollback(*transaction);
    } else {
      ASSERT_OK(commit(*transaction));
      if (!there) {
        expected.insert(name);
      } else {
        expected.erase(name);
        if (!expected.contains(other) && database_->table(other)) expected.insert(other);
      }
    }
    if (random() % 4 != 0) continue;
    std::vector<std::string> of_e;
    for (const std::string& each : expected)
      if (each.starts_with("e/t1")) of_e.push_back(each);
    ASSERT_EQ(database_->table_names("e/t1"), of_e);
    ASSERT_EQ(database_->table_names(), std::vector<std::string>(expected.begin(), expected.end()));
  }
}

TEST_F(DatabaseTest, RolledBackCreationLeavesNothing) {
  open();
  {
    const auto transaction = begin();
    const auto table = database_->create_table(*transaction, pair_definition("d/t"));
    ASSERT_OK(table);
    ASSERT_OK(put(**table, *transaction, 1, "one"));
    database_->transactions().rollback(*transaction);
  }
  EXPECT_EQ(code_of(database_->table("d/t")), ErrorCode::NotFound);
  create("d/t");
  expect_rows("d/t", {});
  reopen();
  expect_rows("d/t", {});
  EXPECT_EQ(database_->table_names().size(), 1U);
}

TEST_F(DatabaseTest, RolledBackDropChangesNothing) {
  open();
  create("d/t");
  put_rows("d/t", {{1, "one"}});
  {
    const auto transaction = begin();
    ASSERT_OK(database_->drop_table(*transaction, "d/t"));
    EXPECT_EQ(code_of(database_->table("d/t", transaction.get())), ErrorCode::NotFound);
    expect_rows("d/t", {{1, "one"}});
    database_->transactions().rollback(*transaction);
  }
  expect_rows("d/t", {{1, "one"}});
  reopen();
  expect_rows("d/t", {{1, "one"}});
}

TEST_F(DatabaseTest, DroppedTableIsGone) {
  open();
  create("d/t");
  Rows rows;
  for (int64_t id = 0; id < 2000; ++id) rows[id] = std::string(100, 'x');
  put_rows("d/t", rows);
  ASSERT_OK(database_->checkpoint());
  {
    const auto transaction = begin();
    ASSERT_OK(database_->drop_table(*transaction, "d/t"));
    EXPECT_EQ(code_of(database_->drop_table(*transaction, "d/t")), ErrorCode::NotFound);
    // The same name in the same transaction.
    ASSERT_OK(database_->create_table(*transaction, pair_definition("d/t")));
    ASSERT_OK(database_->drop_table(*transaction, "d/t"));
    ASSERT_OK(commit(*transaction));
  }
  EXPECT_EQ(code_of(database_->table("d/t")), ErrorCode::NotFound);
  reopen();
  EXPECT_EQ(code_of(database_->table("d/t")), ErrorCode::NotFound);
  create("d/t");
  expect_rows("d/t", {});
  EXPECT_TRUE(messages_.empty());
}

TEST_F(DatabaseTest, AFlushThatEndsBehindTheDropLeavesNoFile) {
  open();
  create("d/t");
  Rows rows;
  for (int64_t id = 0; id < 2000; ++id) rows[id] = std::string(100, 'x');
  put_rows("d/t", rows);
  auto table = database_->table("d/t");
  ASSERT_OK(table);
  {
    const auto transaction = begin();
    ASSERT_OK(database_->drop_table(*transaction, "d/t"));
    ASSERT_OK(commit(*transaction));
  }
  ASSERT_OK(database_->checkpoint());
  ASSERT_OK((*table)->flush(true));
  EXPECT_EQ((*table)->record().segments.size(), 1U);
  table->reset();
  for (const auto& each : std::filesystem::directory_iterator(directory_.path()))
    EXPECT_FALSE(each.path().filename().string().starts_with("segment-")) << each.path();
}

TEST_F(DatabaseTest, RenamesAndSwaps) {
  open();
  create("d/a");
  create("d/b");
  put_rows("d/a", {{1, "a"}});
  put_rows("d/b", {{2, "b"}});
  {
    const auto transaction = begin();
    EXPECT_EQ(code_of(database_->rename_table(*transaction, "d/a", "d/b")), ErrorCode::AlreadyExists);
    EXPECT_EQ(code_of(database_->rename_table(*transaction, "d/none", "d/c")), ErrorCode::NotFound);
    ASSERT_OK(database_->rename_table(*transaction, "d/a", "d/c"));
    ASSERT_OK(database_->rename_table(*transaction, "d/b", "d/a"));
    ASSERT_OK(database_->rename_table(*transaction, "d/c", "d/b"));
    expect_rows("d/a", {{1, "a"}});
    ASSERT_OK(commit(*transaction));
  }
  expect_rows("d/a", {{2, "b"}});
  expect_rows("d/b", {{1, "a"}});
  EXPECT_EQ(database_->table_names(), (std::vector<std::string>{"d/a", "d/b"}));
  EXPECT_EQ((*database_->table("d/a"))->definition().name, "d/a");
  reopen();
  expect_rows("d/a", {{2, "b"}});
  expect_rows("d/b", {{1, "a"}});
  EXPECT_EQ((*database_->table("d/a"))->definition().name, "d/a");
}

TEST_F(DatabaseTest, FilesOfADroppedTableGoWithoutACheckpoint) {
  open();
  create("d/a");
  put_rows("d/a", {{1, "a"}});
  ASSERT_OK((*database_->table("d/a"))->optimize({}));
  const auto segment_files = [&] {
    int count = 0;
    for (const auto& file : std::filesystem::directory_iterator(directory_.path())) {
      if (file.path().filename().string().starts_with("segment-")) ++count;
    }
    return count;
  };
  ASSERT_EQ(segment_files(), 1);
  EXPECT_EQ(database_->counters().segments.load(), 1U);
  {
    const auto transaction = begin();
    ASSERT_OK(database_->drop_table(*transaction, "d/a"));
    ASSERT_OK(commit(*transaction));
  }
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (segment_files() != 0 && std::chrono::steady_clock::now() < patience) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(segment_files(), 0);
  EXPECT_EQ(database_->counters().segments.load(), 0U);
}

TEST_F(DatabaseTest, SavepointsTakeBackDdl) {
  open();
  create("d/a");
  {
    const auto transaction = begin();
    ASSERT_OK(database_->create_table(*transaction, pair_definition("d/b")));
    const Savepoint savepoint = transaction->savepoint();
    ASSERT_OK(database_->rename_table(*transaction, "d/b", "d/c"));
    ASSERT_OK(database_->drop_table(*transaction, "d/a"));
    ASSERT_OK(database_->create_table(*transaction, pair_definition("d/d")));
    transaction->roll_back_to(savepoint);
    EXPECT_OK(database_->table("d/a", transaction.get()));
    EXPECT_OK(database_->table("d/b", transaction.get()));
    // What was taken back is free again.
    const auto other = begin();
    ASSERT_OK(database_->create_table(*other, pair_definition("d/d")));
    ASSERT_OK(commit(*other));
    ASSERT_OK(commit(*transaction));
  }
  EXPECT_EQ(database_->table_names(), (std::vector<std::string>{"d/a", "d/b", "d/d"}));
  reopen();
  EXPECT_EQ(database_->table_names(), (std::vector<std::string>{"d/a", "d/b", "d/d"}));
}

TEST_F(DatabaseTest, TwoTransactionsOnOneNameAreBusy) {
  open();
  create("d/a");
  const auto first = begin();
  const auto second = begin();
  ASSERT_OK(database_->create_table(*first, pair_definition("d/t")));
  EXPECT_EQ(code_of(database_->create_table(*second, pair_definition("d/t"))), ErrorCode::Busy);
  EXPECT_EQ(code_of(database_->rename_table(*second, "d/a", "d/t")), ErrorCode::Busy);
  ASSERT_OK(database_->drop_table(*second, "d/a"));
  EXPECT_EQ(code_of(database_->drop_table(*first, "d/a")), ErrorCode::Busy);
  database_->transactions().rollback(*first);
  ASSERT_OK(database_->create_table(*second, pair_definition("d/t")));
  ASSERT_OK(commit(*second));
  EXPECT_EQ(database_->table_names(), std::vector<std::string>{"d/t"});
}

TEST_F(DatabaseTest, TruncatesAndRedefines) {
  open();
  create("d/t");
  put_rows("d/t", {{1, "one"}});
  {
    const auto transaction = begin();
    const auto empty = database_->truncate_table(*transaction, "d/t");
    ASSERT_OK(empty);
    ASSERT_OK(put(**empty, *transaction, 9, "nine"));
    expect_rows("d/t", {{1, "one"}});
    ASSERT_OK(commit(*transaction));
  }
  expect_rows("d/t", {{9, "nine"}});
  {
    const auto transaction = begin();
    TableDefinition definition = pair_definition("d/t");
    definition.application = "comment";
    definition.columns[1].name = "renamed";
    ASSERT_OK(database_->replace_definition(*transaction, "d/t", definition));
    definition.columns[1].width = 10;
    EXPECT_EQ(code_of(database_->replace_definition(*transaction, "d/t", definition)),
              ErrorCode::InvalidArgument);
    ASSERT_OK(commit(*transaction));
  }
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ((*database_->table("d/t"))->definition().application, "comment");
    EXPECT_EQ((*database_->table("d/t"))->definition().columns[1].name, "renamed");
    expect_rows("d/t", {{9, "nine"}});
    reopen();
  }
}

// A plain read with an older snapshot would find a table empty that has always had rows under its name.
TEST_F(DatabaseTest, AnOlderSnapshotDoesNotFitANewTable) {
  open();
  for (const std::string name : {"d/truncated", "d/replaced", "d/renamed", "d/redefined", "d/same"}) {
    create(name);
    put_rows(name, {{1, "one"}});
  }
  const auto reader = begin();
  static_cast<void>(reader->snapshot());
  const auto fresh = begin();
  const auto check = [&](const std::string& name, bool by_name) {
    return code_of((*database_->table(name))->check_snapshot(*reader, by_name));
  };
  {
    const auto ddl = begin();
    const auto empty = database_->truncate_table(*ddl, "d/truncated");
    ASSERT_OK(empty);
    // The one that makes it may read it.
    static_cast<void>(ddl->snapshot());
    EXPECT_OK((*empty)->check_snapshot(*ddl, true));
    ASSERT_OK(database_->drop_table(*ddl, "d/replaced"));
    ASSERT_OK(database_->create_table(*ddl, pair_definition("d/replaced")));
    ASSERT_OK(database_->rename_table(*ddl, "d/renamed", "d/new"));
    TableDefinition definition = *database_->definition("d/redefined");
    definition.columns[1].name = "renamed";
    ASSERT_OK(database_->replace_definition(*ddl, "d/redefined", definition));
    ASSERT_OK(commit(*ddl));
  }
  for (const bool by_name : {false, true}) {
    EXPECT_EQ(check("d/truncated", by_name), ErrorCode::TableChanged);
    EXPECT_EQ(check("d/replaced", by_name), ErrorCode::TableChanged);
    EXPECT_OK((*database_->table("d/redefined"))->check_snapshot(*reader, by_name));
    EXPECT_OK((*database_->table("d/same"))->check_snapshot(*reader, by_name));
    EXPECT_OK((*database_->table("d/truncated"))->check_snapshot(*fresh, by_name));
  }
  EXPECT_OK((*database_->table("d/new"))->check_snapshot(*reader, false));
  EXPECT_EQ(check("d/new", true), ErrorCode::TableChanged);
}

// What the catalog knows of the commits outlives the table object.
TEST_F(DatabaseTest, AnOlderSnapshotDoesNotFitATableThatWasClosedMeanwhile) {
  options_.open_tables = 1;
  open();
  create("d/t");
  put_rows("d/t", {{1, "one"}});
  const auto reader = begin();
  static_cast<void>(reader->snapshot());
  {
    const auto ddl = begin();
    ASSERT_OK(database_->truncate_table(*ddl, "d/t"));
    ASSERT_OK(commit(*ddl));
  }
  for (int i = 0; i < 20; ++i) create("d/other" + std::to_string(i));
  ASSERT_OK(database_->checkpoint());
  // Until the table was closed, and is opened anew: it may be the one that stays open for a while.
  std::shared_ptr<Table> table;
  bool was_closed = false;
  for (int i = 0; i < 1000 && !was_closed; ++i) {
    table.reset();
    ASSERT_OK(database_->table("d/other" + std::to_string(i % 20)));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const auto opens = database_->counters().table_opens.load();
    auto found = database_->table("d/t");
    ASSERT_OK(found);
    table = std::move(*found);
    was_closed = database_->counters().table_opens.load() > opens;
  }
  ASSERT_TRUE(was_closed);
  EXPECT_EQ(code_of(table->check_snapshot(*reader, true)), ErrorCode::TableChanged);
}

}  // namespace
}  // namespace hailstone
