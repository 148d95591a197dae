// Describing tables, DDL in transactions, databases, and what is refused.
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <thread>

#include "api/haildb/fixture.h"

namespace hailstone {
namespace {

using HaildbSchemaTest = HaildbTest;

TEST_F(HaildbSchemaTest, NamesAndColumnsAreChecked) {
  ib_tbl_sch_t schema = nullptr;
  for (const char* name : {"", "x", "x/", "/x", "a/b/c", "./x", "../x", "noslash"}) {
    EXPECT_DB(DB_DATA_MISMATCH, ib_table_schema_create(name, &schema, IB_TBL_COMPACT, 0)) << name;
  }
  EXPECT_DB(DB_UNSUPPORTED, ib_table_schema_create("a/b", &schema, IB_TBL_COMPRESSED, 3));
  ASSERT_OK(ib_table_schema_create("a/b", &schema, IB_TBL_COMPRESSED, 4));
  ib_table_schema_delete(schema);
  ASSERT_OK(ib_table_schema_create("test/t", &schema, IB_TBL_COMPACT, 0));
  EXPECT_OK(ib_table_schema_add_col(schema, "a", IB_INT, IB_COL_NONE, 0, 4));
  EXPECT_DB(DB_DUPLICATE_KEY, ib_table_schema_add_col(schema, "A", IB_INT, IB_COL_NONE, 0, 4));
  EXPECT_DB(DB_ERROR, ib_table_schema_add_col(schema, "b", IB_INT, IB_COL_NONE, 0, 3));
  EXPECT_DB(DB_ERROR, ib_table_schema_add_col(schema, "b", IB_VARCHAR, IB_COL_NONE, 0, 0));
  EXPECT_DB(DB_ERROR, ib_table_schema_add_col(schema, "b", IB_FLOAT, IB_COL_NONE, 0, 8));
  EXPECT_DB(DB_ERROR, ib_table_schema_add_col(schema, "b", IB_DOUBLE, IB_COL_NONE, 0, 4));
  EXPECT_DB(DB_ERROR,
            ib_table_schema_add_col(schema, std::string(193, 'x').c_str(), IB_INT, IB_COL_NONE, 0, 4));
  EXPECT_OK(ib_tbl_sch_add_text_col(schema, "text"));
  EXPECT_OK(ib_tbl_sch_add_u64_notnull_col(schema, "u64"));
  ib_idx_sch_t index = nullptr, same = nullptr;
  EXPECT_DB(DB_INVALID_INPUT, ib_table_schema_add_index(schema, "gen_clust_index", &index));
  EXPECT_DB(DB_INVALID_INPUT, ib_table_schema_add_index(schema, "\xff", &index));
  EXPECT_OK(ib_table_schema_add_index(schema, "i", &index));
  EXPECT_DB(DB_DUPLICATE_KEY, ib_table_schema_add_index(schema, "I", &same));
  EXPECT_DB(DB_NOT_FOUND, ib_index_schema_add_col(index, "none", 0));
  EXPECT_DB(DB_SCHEMA_ERROR, ib_index_schema_add_col(index, "a", 2));
  ib_trx_t trx = begin();
  ib_id_t id = 7;
  EXPECT_DB(DB_SCHEMA_NOT_LOCKED, ib_table_create(trx, schema, &id));
  EXPECT_OK(ib_schema_lock_exclusive(trx));
  EXPECT_DB(DB_SCHEMA_ERROR, ib_table_create(trx, schema, &id));
  EXPECT_EQ(id, 0U);
  EXPECT_OK(ib_index_schema_add_col(index, "a", 0));
  EXPECT_DB(DB_COL_APPEARS_TWICE_IN_INDEX, ib_index_schema_add_col(index, "A", 0));
  EXPECT_OK(ib_table_create(trx, schema, &id));
  ib_id_t again = 0;
  EXPECT_DB(DB_TABLE_IS_BEING_USED, ib_table_create(trx, schema, &again));
  EXPECT_EQ(again, id);
  EXPECT_OK(ib_trx_commit(trx));
  ib_table_schema_delete(schema);
  ib_table_schema_delete(schema);
}

TEST_F(HaildbSchemaTest, HiddenColumnNamesAndEmptySchemasAreRefused) {
  ib_trx_t trx = begin();
  EXPECT_OK(ib_schema_lock_exclusive(trx));
  ib_id_t id = 0;
  ib_tbl_sch_t schema = describe("test/t", {}, {});
  EXPECT_DB(DB_SCHEMA_ERROR, ib_table_create(trx, schema, &id));
  ib_table_schema_delete(schema);
  schema = describe("test/t", {{"db_row_id", IB_INT, 0, 4}}, {});
  EXPECT_DB(DB_ERROR, ib_table_create(trx, schema, &id));
  ib_table_schema_delete(schema);
  schema = describe("nowhere/t", {{"a", IB_INT, 0, 4}}, {});
  EXPECT_DB(DB_ERROR, ib_table_create(trx, schema, &id));
  ib_table_schema_delete(schema);
  EXPECT_OK(ib_trx_rollback(trx));
}

TEST_F(HaildbSchemaTest, DdlAndRowsCommitOrRollBackTogether) {
  create_people("test/kept");
  fill({{1, "a"}}, "test/kept");
  ib_tbl_sch_t schema =
      describe("test/new", {{"id", IB_INT, IB_COL_NOT_NULL, 4}, {"n", IB_VARCHAR, 0, 9}, {"k", IB_INT, 0, 4}},
               {{"PRIMARY", {{"id"}}, true}});
  for (const bool commit : {false, true}) {
    ib_trx_t trx = begin();
    EXPECT_OK(ib_schema_lock_exclusive(trx));
    ib_id_t id = 0;
    ASSERT_OK(ib_table_create(trx, schema, &id));
    ib_crsr_t cursor = open("test/new", trx);
    EXPECT_OK(insert(cursor, 1, "x"));
    EXPECT_OK(ib_cursor_close(cursor));
    EXPECT_OK(ib_table_drop(trx, "test/kept"));
    EXPECT_DB(DB_TABLE_NOT_FOUND, ib_table_drop(trx, "test/kept"));
    EXPECT_OK(ib_table_rename(trx, "test/new", "test/newer"));
    EXPECT_DB(DB_TABLE_NOT_FOUND, ib_table_rename(trx, "test/new", "test/newer"));
    EXPECT_DB(DB_ERROR, ib_table_rename(trx, "test/newer", "nowhere/x"));
    EXPECT_DB(DB_DUPLICATE_KEY, ib_table_rename(trx, "test/newer", "test/newer"));
    ib_trx_t other = begin();
    ib_crsr_t none = nullptr;
    EXPECT_DB(DB_TABLE_NOT_FOUND, ib_cursor_open_table("test/newer", other, &none));
    EXPECT_EQ(all_ids(cursor = open("test/kept", other)), (std::vector<int>{1}));
    EXPECT_OK(ib_cursor_close(cursor));
    EXPECT_OK(ib_trx_commit(other));
    EXPECT_OK(commit ? ib_trx_commit(trx) : ib_trx_rollback(trx));
    ib_id_t found = 0;
    EXPECT_DB(commit ? DB_SUCCESS : DB_TABLE_NOT_FOUND, ib_table_get_id("test/newer", &found));
    EXPECT_DB(commit ? DB_TABLE_NOT_FOUND : DB_SUCCESS, ib_table_get_id("test/kept", &found));
  }
  ib_table_schema_delete(schema);
  restart();
  ib_trx_t trx = begin();
  ib_crsr_t cursor = open("test/newer", trx);
  EXPECT_EQ(all_ids(cursor), (std::vector<int>{1}));
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(trx));
}

TEST_F(HaildbSchemaTest, TruncateGivesANewTable) {
  const ib_id_t old = create_people();
  fill({{1, "a"}});
  ib_id_t id = 0;
  EXPECT_DB(DB_TABLE_NOT_FOUND, ib_table_truncate("test/none", &id));
  ASSERT_OK(ib_table_truncate("test/people", &id));
  EXPECT_NE(id, old);
  ib_trx_t trx = begin();
  ib_crsr_t cursor = open("test/people", trx);
  EXPECT_EQ(all_ids(cursor), (std::vector<int>{}));
  EXPECT_OK(insert(cursor, 2, "b"));
  EXPECT_DB(DB_SCHEMA_NOT_LOCKED, ib_cursor_truncate(&cursor, &id));
  EXPECT_OK(ib_schema_lock_exclusive(trx));
  ASSERT_OK(ib_cursor_truncate(&cursor, &id));
  EXPECT_EQ(cursor, nullptr);
  EXPECT_EQ(ib_trx_state(trx), IB_TRX_NOT_STARTED);
  EXPECT_DB(DB_ERROR, ib_trx_release(trx));
  EXPECT_OK(ib_schema_unlock(trx));
  EXPECT_OK(ib_trx_start(trx, IB_TRX_REPEATABLE_READ));
  ASSERT_OK(ib_cursor_open_table_using_id(id, trx, &cursor));
  EXPECT_EQ(all_ids(cursor), (std::vector<int>{}));
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(trx));
}

TEST_F(HaildbSchemaTest, ASnapshotFromBeforeATruncateDoesNotSeeAnEmptyTable) {
  create_people();
  create_people("test/other");
  fill({{1, "a"}});
  ib_trx_t old = begin();
  ib_crsr_t other = open("test/other", old);
  EXPECT_EQ(all_ids(other), (std::vector<int>{}));
  ib_id_t id = 0;
  ASSERT_OK(ib_table_truncate("test/people", &id));
  ib_crsr_t cursor = open("test/people", old);
  EXPECT_DB(DB_MISSING_HISTORY, ib_cursor_first(cursor));
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_cursor_close(other));
  EXPECT_OK(ib_trx_commit(old));
  ib_trx_t trx = begin();
  cursor = open("test/people", trx);
  EXPECT_EQ(all_ids(cursor), (std::vector<int>{}));
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(trx));
}

TEST_F(HaildbSchemaTest, CursorsAndTuplesGoOverToTheTableThatTruncateMakes) {
  create_people();
  fill({{1, "a"}});
  ib_trx_t trx = begin();
  ib_crsr_t cursor = open("test/people", trx);
  ib_tpl_t row = ib_clust_read_tuple_create(cursor);
  ib_tpl_t key = ib_clust_search_tuple_create(cursor);
  EXPECT_OK(ib_trx_commit(trx));
  for (int round = 0; round < 2; ++round) {
    ib_id_t id = 0;
    ASSERT_OK(ib_table_truncate("test/people", &id));
    trx = begin();
    ib_cursor_attach_trx(cursor, trx);
    set(row, 0, 7);
    set(row, 1, "seven");
    EXPECT_OK(ib_cursor_insert_row(cursor, row));
    set(key, 0, 7);
    int compared = -1;
    EXPECT_OK(ib_cursor_moveto(cursor, key, IB_CUR_GE, &compared));
    EXPECT_EQ(compared, 0);
    EXPECT_OK(ib_cursor_read_row(cursor, row));
    EXPECT_EQ(text(row, 1), "seven");
    EXPECT_EQ(all_ids(cursor), (std::vector<int>{7}));
    EXPECT_OK(ib_trx_commit(trx));
  }
  ib_tuple_delete(row);
  ib_tuple_delete(key);
  EXPECT_OK(ib_cursor_close(cursor));
}

TEST_F(HaildbSchemaTest, CursorsStayOnADroppedTableWhenItsNameIsUsedAgain) {
  create_people();
  fill({{1, "a"}});
  ib_trx_t trx = begin(IB_TRX_READ_COMMITTED);
  ib_crsr_t cursor = open("test/people", trx);
  EXPECT_EQ(all_ids(cursor), (std::vector<int>{1}));
  ib_trx_t other = begin();
  EXPECT_OK(ib_schema_lock_exclusive(other));
  EXPECT_OK(ib_table_drop(other, "test/people"));
  EXPECT_OK(ib_trx_commit(other));
  create_people();
  fill({{2, "b"}});
  EXPECT_EQ(all_ids(cursor), (std::vector<int>{1}));
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(trx));
}

TEST_F(HaildbSchemaTest, TheEmptyNameNamesNothing) {
  create_people();
  EXPECT_EQ(ib_database_create(""), IB_FALSE);
  EXPECT_DB(DB_INVALID_INPUT, ib_database_drop(""));
  ib_tbl_sch_t schema = nullptr;
  EXPECT_DB(DB_DATA_MISMATCH, ib_table_schema_create("", &schema, IB_TBL_COMPACT, 0));
  ASSERT_OK(ib_table_schema_create("test/other", &schema, IB_TBL_COMPACT, 0));
  EXPECT_DB(DB_ERROR, ib_table_schema_add_col(schema, "", IB_INT, IB_COL_NONE, 0, 4));
  ib_idx_sch_t index = nullptr;
  EXPECT_DB(DB_INVALID_INPUT, ib_table_schema_add_index(schema, "", &index));
  ib_table_schema_delete(schema);
  ib_trx_t trx = begin();
  ib_crsr_t cursor = nullptr;
  EXPECT_DB(DB_TABLE_NOT_FOUND, ib_cursor_open_table("", trx, &cursor));
  cursor = open("test/people", trx);
  ib_crsr_t other = nullptr;
  EXPECT_DB(DB_TABLE_NOT_FOUND, ib_cursor_open_index_using_name(cursor, "", &other));
  ib_savepoint_take(trx, "", 0);
  EXPECT_DB(DB_NO_SAVEPOINT, ib_savepoint_rollback(trx, nullptr, 0));
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_schema_lock_exclusive(trx));
  EXPECT_DB(DB_INVALID_INPUT, ib_index_schema_create(trx, "", "test/people", &index));
  EXPECT_OK(ib_trx_commit(trx));
}

TEST_F(HaildbSchemaTest, TheThreadThatMadeATableFindsItBeforeTheCommit) {
  ib_tbl_sch_t schema = describe("test/new", {{"a", IB_INT, 0, 4}}, {{"as", {{"a"}}}});
  ib_trx_t trx = begin();
  ib_id_t made = 5;
  EXPECT_DB(DB_SCHEMA_NOT_LOCKED, ib_table_create(trx, schema, &made));
  EXPECT_EQ(made, 0U);
  EXPECT_OK(ib_schema_lock_exclusive(trx));
  EXPECT_OK(ib_table_create(trx, schema, &made));
  EXPECT_OK(ib_schema_unlock(trx));
  ib_table_schema_delete(schema);
  ib_id_t id = 0;
  EXPECT_OK(ib_table_get_id("test/new", &id));
  EXPECT_EQ(id, made);
  EXPECT_OK(ib_index_get_id("test/new", "as", &id));
  ib_crsr_t cursor = open("test/new", nullptr);
  EXPECT_OK(ib_cursor_close(cursor));
  std::thread([] {
    ib_id_t none = 0;
    EXPECT_DB(DB_TABLE_NOT_FOUND, ib_table_get_id("test/new", &none));
  }).join();
  EXPECT_OK(ib_trx_rollback(trx));
  EXPECT_DB(DB_TABLE_NOT_FOUND, ib_table_get_id("test/new", &id));
}

TEST_F(HaildbSchemaTest, DroppedTablesLiveOnForTheirCursors) {
  create_people();
  fill({{1, "a"}});
  ib_trx_t reader = begin();
  ib_crsr_t cursor = open("test/people", reader);
  ib_trx_t trx = begin();
  EXPECT_OK(ib_schema_lock_exclusive(trx));
  EXPECT_OK(ib_table_drop(trx, "test/people"));
  EXPECT_DB(DB_TABLESPACE_DELETED, ib_table_drop(trx, "test/people"));
  EXPECT_OK(ib_trx_commit(trx));
  EXPECT_EQ(all_ids(cursor), (std::vector<int>{1}));
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(reader));
}

TEST_F(HaildbSchemaTest, ADroppedTableIsKnownByItsLastName) {
  create_people();
  ib_trx_t trx = begin();
  EXPECT_OK(ib_table_rename(trx, "test/people", "test/folk"));
  EXPECT_OK(ib_trx_commit(trx));
  trx = begin();
  ib_crsr_t cursor = open("test/folk", nullptr);
  EXPECT_OK(ib_schema_lock_exclusive(trx));
  EXPECT_OK(ib_table_drop(trx, "test/folk"));
  EXPECT_DB(DB_TABLESPACE_DELETED, ib_table_drop(trx, "test/folk"));
  EXPECT_DB(DB_TABLE_NOT_FOUND, ib_table_drop(trx, "test/people"));
  EXPECT_OK(ib_trx_rollback(trx));
  trx = begin();
  EXPECT_OK(ib_table_rename(trx, "test/folk", "test/people"));
  EXPECT_DB(DB_TABLE_NOT_FOUND, ib_table_drop(trx, "test/folk"));
  EXPECT_OK(ib_trx_commit(trx));
  EXPECT_OK(ib_cursor_close(cursor));
}

TEST_F(HaildbSchemaTest, DatabasesAreDirectories) {
  EXPECT_EQ(ib_database_create("a/b"), IB_FALSE);
  EXPECT_EQ(ib_database_create("more"), IB_TRUE);
  EXPECT_EQ(ib_database_create("more"), IB_TRUE);
  struct stat status;
  EXPECT_EQ(::stat((home_ + "more").c_str(), &status), 0);
  create_people("more/t1");
  create_people("more/t2");
  EXPECT_DB(DB_INVALID_INPUT, ib_database_drop(""));
  EXPECT_OK(ib_database_drop("none"));
  EXPECT_OK(ib_database_drop("more/"));
  EXPECT_NE(::stat((home_ + "more").c_str(), &status), 0);
  ib_id_t id = 0;
  EXPECT_DB(DB_TABLE_NOT_FOUND, ib_table_get_id("more/t1", &id));
}

TEST_F(HaildbSchemaTest, DroppingADatabaseWaitsForTheCursorsOfOthers) {
  EXPECT_EQ(ib_database_create("more"), IB_TRUE);
  create_people("more/t");
  ib_trx_t trx = begin();
  ib_crsr_t cursor = open("more/t", trx);
  EXPECT_OK(insert(cursor, 1, "a"));
  EXPECT_DB(DB_ERROR, ib_database_drop("more")) << "its own cursor would be waited for for ever";
  std::atomic<bool> dropped{false};
  std::thread other([&] {
    EXPECT_OK(ib_database_drop("more"));
    dropped = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(dropped);
  EXPECT_OK(insert(cursor, 2, "b"));
  EXPECT_OK(ib_trx_commit(trx));
  EXPECT_OK(ib_cursor_close(cursor));
  other.join();
  EXPECT_TRUE(dropped);
}

std::vector<std::string> messages;
int keep_message(ib_msg_stream_t, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char text[1000];
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  messages.emplace_back(text);
  return 0;
}

TEST_F(HaildbSchemaTest, WhatIsRefusedIsExplainedInTheLog) {
  ib_logger_set(keep_message, nullptr);
  messages.clear();
  const auto explained = [](const char* by) {
    const bool found = messages.size() == 1 && messages[0].find(by) != std::string::npos;
    const std::string all = ::testing::PrintToString(messages);
    messages.clear();
    return found ? ::testing::AssertionSuccess() : ::testing::AssertionFailure() << all;
  };
  ib_trx_t trx = begin();
  EXPECT_OK(ib_schema_lock_exclusive(trx));
  ib_id_t id = 0;
  ib_tbl_sch_t schema = describe("nowhere/t", {{"a", IB_INT, 0, 4}}, {});
  EXPECT_DB(DB_ERROR, ib_table_create(trx, schema, &id));
  EXPECT_TRUE(explained("ib_database_create"));
  EXPECT_DB(DB_ERROR, ib_table_schema_add_col(schema, "b", IB_INT, IB_COL_NONE, 0, 3));
  EXPECT_TRUE(explained("3 bytes"));
  ib_table_schema_delete(schema);
  schema = describe("test/t", {{"DB_ROW_ID", IB_INT, 0, 4}}, {});
  EXPECT_DB(DB_ERROR, ib_table_create(trx, schema, &id));
  EXPECT_TRUE(explained("DB_ROW_ID"));
  ib_table_schema_delete(schema);
  schema = describe("test/t", {{"a", IB_FLOAT, IB_COL_UNSIGNED, 4}}, {});
  EXPECT_DB(DB_ERROR, ib_table_create(trx, schema, &id));
  EXPECT_TRUE(explained("unsigned"));
  ib_table_schema_delete(schema);
  schema = describe("test/t", {{"a", IB_INT, 0, 4}}, {});
  EXPECT_OK(ib_table_create(trx, schema, &id));
  ib_table_schema_delete(schema);
  for (const char* const name : {"test/", "t"}) {
    EXPECT_DB(DB_ERROR, ib_table_rename(trx, "test/t", name)) << name;
    EXPECT_TRUE(explained("no name of a table")) << name;
  }
  EXPECT_DB(DB_ERROR, ib_trx_start(trx, IB_TRX_REPEATABLE_READ));
  EXPECT_TRUE(explained("active"));
  EXPECT_OK(ib_trx_rollback(trx));
  EXPECT_DB(DB_ERROR, ib_startup("barracuda"));
  EXPECT_TRUE(explained("runs"));
  for (const char* const name : {".", "..", "a/b"}) EXPECT_EQ(ib_database_create(name), IB_FALSE) << name;
  ib_logger_set(quiet_log, nullptr);
}

}  // namespace
}  // namespace hailstone
