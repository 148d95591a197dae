// Replacing a table by one of another definition, within a transaction.
#include "database/database_fixture.h"
#include "table/cursor.h"

namespace hailstone {
namespace {

Status keep_values(std::span<const Value> from, std::vector<Value>& to) {
  to.assign(from.begin(), from.end());
  return {};
}

TableDefinition with_text_index(bool unique) {
  TableDefinition definition = pair_definition("d/t");
  definition.indexes.push_back({.name = "texts", .unique = unique, .parts = {{.column = 1}}});
  return definition;
}

TEST_F(DatabaseTest, RebuiltTableHasTheRowsAndTheNewIndex) {
  open();
  create("d/t");
  put_rows("d/t", {{1, "c"}, {2, "a"}, {3, "b"}});
  auto old = *database_->table("d/t");
  {
    const auto transaction = begin();
    ASSERT_OK(put(*old, *transaction, 4, "own"));
    Duplicate duplicate;
    const auto made =
        database_->rebuild_table(*transaction, "d/t", with_text_index(true), keep_values, duplicate);
    ASSERT_OK(made);
    ASSERT_OK(put(**made, *transaction, 5, "later"));
    EXPECT_EQ(*database_->table("d/t"), old);
    EXPECT_EQ(*database_->table((*made)->id(), transaction.get()), *made);
    EXPECT_EQ(code_of(database_->table((*made)->id())), ErrorCode::NotFound);
    EXPECT_EQ(code_of(database_->table(old->id(), transaction.get())), ErrorCode::NotFound);
    ASSERT_OK(commit(*transaction));
  }
  const Rows expected{{1, "c"}, {2, "a"}, {3, "b"}, {4, "own"}, {5, "later"}};
  expect_rows("d/t", expected);
  old.reset();  // no table outlives its database
  reopen();
  expect_rows("d/t", expected);
  const auto transaction = begin();
  Cursor cursor(*database_->table("d/t"), *transaction, 1, ReadLock::None, {0});
  ASSERT_OK(cursor.seek_at_or_after({}));
  ASSERT_OK(cursor.load_values());
  EXPECT_EQ(native_signed(cursor.values()[0].integer, 8), 2);
}

TEST_F(DatabaseTest, RebuildThatFailsOrIsRolledBackChangesNothing) {
  open();
  create("d/t");
  const Rows rows{{1, "same"}, {2, "same"}};
  put_rows("d/t", rows);
  for (const bool unique : {true, false}) {
    const auto transaction = begin();
    Duplicate duplicate;
    const auto made =
        database_->rebuild_table(*transaction, "d/t", with_text_index(unique), keep_values, duplicate);
    if (unique) {
      EXPECT_EQ(code_of(made), ErrorCode::DuplicateKey);
      EXPECT_EQ(duplicate.index, 1U);
      ASSERT_OK(put(**database_->table("d/t", transaction.get()), *transaction, 3, "more"));
    } else {
      ASSERT_OK(made);
    }
    database_->transactions().rollback(*transaction);
    EXPECT_EQ((*database_->table("d/t"))->definition().indexes.size(), 1U);
    expect_rows("d/t", rows);
  }
  reopen();
  expect_rows("d/t", rows);
}

TEST_F(DatabaseTest, NamesAreThoseThatTheTransactionSees) {
  open();
  for (const char* name : {"e/a", "d/b", "d/a", "c"}) create(name);
  const auto transaction = begin();
  ASSERT_OK(database_->drop_table(*transaction, "d/a"));
  for (const char* name : {"e/ab", "d/ab"})
    ASSERT_OK(database_->create_table(*transaction, pair_definition(name)));
  // The catalog has an order of the names from the second time on.
  for (int time = 0; time < 2; ++time) {
    EXPECT_EQ(database_->table_names("d/", transaction.get()), (std::vector<std::string>{"d/ab", "d/b"}));
    EXPECT_EQ(database_->table_names("d/"), (std::vector<std::string>{"d/a", "d/b"}));
  }
  database_->transactions().rollback(*transaction);
}

TEST_F(DatabaseTest, ReadUncommittedSeesTheLatestVersions) {
  open();
  create("d/t");
  put_rows("d/t", {{1, "old"}, {2, "gone"}});
  const auto table = *database_->table("d/t");
  const auto writer = begin();
  ASSERT_OK(put(*table, *writer, 1, "new"));
  ASSERT_OK(table->erase(*writer, pair_key(*table, 2)));
  ASSERT_OK(put(*table, *writer, 3, "added"));
  const auto reader = database_->transactions().begin(Isolation::ReadUncommitted);
  const auto seen = read_rows(table, *reader);
  ASSERT_OK(seen);
  EXPECT_EQ(*seen, (Rows{{1, "new"}, {3, "added"}}));
  database_->transactions().rollback(*writer);
  const auto again = read_rows(table, *reader);
  ASSERT_OK(again);
  EXPECT_EQ(*again, (Rows{{1, "old"}, {2, "gone"}}));
}

}  // namespace
}  // namespace hailstone
