// Describing tables, DDL in transactions, indexes on existing tables, visitors, system tables.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
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

TEST_F(HaildbSchemaTest, KeysOfAnIndexOnABeginningOfTheClusteredKeyHaveAllOfIt) {
  create("test/words", {{"word", IB_VARCHAR, IB_COL_NOT_NULL, 20}},
         {{"PRIMARY", {{"word"}}, true}, {"beginnings", {{"word", 2}}}});
  ib_trx_t trx = begin();
  ib_crsr_t cursor = open("test/words", trx);
  ib_tpl_t row = ib_clust_read_tuple_create(cursor);
  set(row, 0, "abcdef");
  EXPECT_OK(ib_cursor_insert_row(cursor, row));
  ib_crsr_t beginnings = open_index(cursor, "beginnings");
  EXPECT_OK(ib_cursor_first(beginnings));
  ib_tpl_t entry = ib_sec_search_tuple_create(beginnings);
  EXPECT_EQ(ib_tuple_get_n_cols(entry), 2U);
  EXPECT_OK(ib_cursor_read_row(beginnings, entry));
  EXPECT_EQ(text(entry, 0), "ab");
  EXPECT_EQ(text(entry, 1), "abcdef");
  ib_tpl_t key = nullptr;
  EXPECT_OK(ib_tuple_get_cluster_key(beginnings, &key, entry));
  EXPECT_EQ(text(key, 0), "abcdef");
  int compared = -1;
  ib_cursor_set_match_mode(cursor, IB_EXACT_MATCH);
  EXPECT_OK(ib_cursor_moveto(cursor, key, IB_CUR_GE, &compared));
  EXPECT_EQ(compared, 0);
  for (ib_tpl_t tuple : {row, entry, key}) ib_tuple_delete(tuple);
  EXPECT_OK(ib_cursor_close(beginnings));
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(trx));
}

TEST_F(HaildbSchemaTest, IndexesAreAddedAndDropped) {
  const ib_id_t id = create_people();
  fill({{1, "z"}, {2, "y"}, {3, "x"}});
  ib_trx_t trx = begin();
  ib_crsr_t kept = open("test/people", trx);  // stays open over the change
  ib_idx_sch_t index = nullptr;
  EXPECT_DB(DB_SCHEMA_NOT_LOCKED, ib_index_schema_create(trx, "numbers", "test/people", &index));
  EXPECT_OK(ib_schema_lock_exclusive(trx));
  EXPECT_DB(DB_TABLE_NOT_FOUND, ib_index_schema_create(trx, "numbers", "test/none", &index));
  EXPECT_DB(DB_DUPLICATE_KEY, ib_index_schema_create(trx, "names", "test/people", &index));
  ASSERT_OK(ib_index_schema_create(trx, "numbers", "test/people", &index));
  ib_id_t index_id = 0;
  EXPECT_DB(DB_SCHEMA_ERROR, ib_index_create(index, &index_id));
  EXPECT_OK(ib_index_schema_add_col(index, "number", 0));
  EXPECT_OK(ib_index_schema_set_unique(index));
  ASSERT_OK(ib_index_create(index, &index_id));
  ib_index_schema_delete(index);
  EXPECT_EQ(index_id >> 32, id);
  ib_crsr_t numbers = nullptr;
  ASSERT_OK(ib_cursor_open_index_using_id(index_id, trx, &numbers));
  ib_cursor_set_cluster_access(numbers);
  EXPECT_EQ(all_ids(numbers), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(all_ids(kept), (std::vector<int>{1, 2, 3}));
  EXPECT_DB(DB_DUPLICATE_KEY, insert(kept, 4, "w", 30));
  EXPECT_OK(insert(kept, 4, "w", 5));
  EXPECT_EQ(all_ids(numbers), (std::vector<int>{4, 1, 2, 3}));
  EXPECT_OK(ib_cursor_close(numbers));
  EXPECT_OK(ib_cursor_close(kept));
  EXPECT_OK(ib_trx_commit(trx));
  restart();
  ib_id_t found = 0;
  ASSERT_OK(ib_table_get_id("test/people", &found));
  EXPECT_EQ(found, id);
  ASSERT_OK(ib_index_get_id("test/people", "numbers", &found));
  EXPECT_EQ(found, index_id);
  trx = begin();
  EXPECT_DB(DB_SCHEMA_NOT_LOCKED, ib_index_drop(trx, index_id));
  EXPECT_OK(ib_schema_lock_exclusive(trx));
  EXPECT_DB(DB_TABLE_NOT_FOUND, ib_index_drop(trx, index_id + 50));
  EXPECT_OK(ib_index_drop(trx, index_id));
  EXPECT_EQ(ib_trx_state(trx), IB_TRX_ACTIVE);
  ib_crsr_t cursor = open("test/people", trx);
  EXPECT_OK(insert(cursor, 5, "v", 30));
  EXPECT_EQ(all_ids(cursor), (std::vector<int>{1, 2, 3, 4, 5}));
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(trx));
}

ib_err_t add_number_index(ib_trx_t trx, const char* name = "numbers") {
  EXPECT_OK(ib_schema_lock_exclusive(trx));
  ib_idx_sch_t index = nullptr;
  EXPECT_OK(ib_index_schema_create(trx, name, "test/people", &index));
  EXPECT_OK(ib_index_schema_add_col(index, "number", 0));
  ib_id_t id = 0;
  const ib_err_t code = ib_index_create(index, &id);
  ib_index_schema_delete(index);
  return code;
}

TEST_F(HaildbSchemaTest, AnInterruptedIndexLeavesTableAndTransactionAsTheyWere) {
  create_people();
  std::map<int, std::string> rows;
  for (int i = 0; i < 3000; ++i) rows[i] = std::to_string(i);
  fill(rows);
  ib_set_trx_is_interrupted_handler([](void* data) { return *static_cast<int*>(data); });
  int stop = 1;
  ib_trx_t trx = begin();
  ib_trx_set_client_data(trx, &stop);
  EXPECT_DB(DB_INTERRUPTED, add_number_index(trx));
  EXPECT_EQ(ib_trx_state(trx), IB_TRX_ACTIVE);
  EXPECT_EQ(ib_schema_lock_is_exclusive(trx), IB_TRUE);
  ib_id_t id = 0;
  EXPECT_DB(DB_TABLE_NOT_FOUND, ib_index_get_id("test/people", "numbers", &id));
  ib_crsr_t cursor = open("test/people", trx);
  EXPECT_EQ(all_ids(cursor).size(), rows.size());
  EXPECT_OK(ib_cursor_close(cursor));
  stop = 0;
  EXPECT_OK(add_number_index(trx));
  ASSERT_OK(ib_index_get_id("test/people", "numbers", &id));
  stop = 1;
  EXPECT_DB(DB_INTERRUPTED, ib_index_drop(trx, id));
  stop = 0;
  EXPECT_OK(ib_index_drop(trx, id));
  EXPECT_OK(ib_trx_commit(trx));
  ib_set_trx_is_interrupted_handler(nullptr);
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

TEST_F(HaildbSchemaTest, SnapshotsFromBeforeAnIndexReadTheTableAsItWas) {
  create_people();
  fill({{1, "a"}, {3, "c"}});
  ib_trx_t old = begin();
  ib_crsr_t before = open("test/people", old);
  EXPECT_EQ(all_ids(before), (std::vector<int>{1, 3}));
  for (const char* name : {"numbers", "again"}) {
    ib_trx_t trx = begin();
    EXPECT_OK(add_number_index(trx, name));
    EXPECT_OK(ib_trx_commit(trx));
  }
  fill({{2, "b"}});
  EXPECT_EQ(all_ids(before), (std::vector<int>{1, 3}));
  ib_crsr_t after = open("test/people", old);
  EXPECT_EQ(all_ids(after), (std::vector<int>{1, 3}));
  EXPECT_OK(move_to(after, 3));
  ib_crsr_t names = open_index(after, "names");
  ib_cursor_set_cluster_access(names);
  EXPECT_EQ(all_ids(names), (std::vector<int>{1, 3}));
  // An index that the snapshot does not have.
  ib_crsr_t numbers = open_index(before, "numbers");
  EXPECT_DB(DB_MISSING_HISTORY, ib_cursor_first(numbers));
  // What is written goes to the table as it is now, whose other rows the snapshot has not got.
  EXPECT_OK(insert(before, 4, "d"));
  EXPECT_DB(DB_MISSING_HISTORY, ib_cursor_first(before));
  for (ib_crsr_t cursor : {numbers, names, after, before}) EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(old));
  ib_trx_t trx = begin();
  after = open("test/people", trx);
  EXPECT_EQ(all_ids(after), (std::vector<int>{1, 2, 3, 4}));
  EXPECT_OK(ib_cursor_close(after));
  EXPECT_OK(ib_trx_commit(trx));
}

TEST_F(HaildbSchemaTest, ReadCommittedSearchesTheTableThatHasTheIndex) {
  create_people();
  fill({{1, "a"}, {3, "c"}});
  ib_trx_t reader = begin(IB_TRX_READ_COMMITTED);
  ib_crsr_t cursor = open("test/people", reader);
  EXPECT_OK(ib_cursor_first(cursor));
  ib_trx_t trx = begin();
  EXPECT_OK(add_number_index(trx));
  EXPECT_OK(ib_trx_commit(trx));
  fill({{2, "b"}});
  EXPECT_OK(move_to(cursor, 2));
  EXPECT_EQ(id_at(cursor), 2);
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(reader));
}

TEST_F(HaildbSchemaTest, ReadersMeetNoGapWhenAnIndexIsCommitted) {
  create_people();
  fill({{1, "a"}, {2, "b"}});
  std::atomic<bool> done{false};
  std::vector<std::thread> readers;
  for (const auto level : {IB_TRX_READ_COMMITTED, IB_TRX_REPEATABLE_READ}) {
    readers.emplace_back([&done, level] {
      while (!done) {
        ib_trx_t trx = begin(level);
        ib_crsr_t cursor = open("test/people", trx);
        EXPECT_EQ(all_ids(cursor), (std::vector<int>{1, 2}));
        EXPECT_OK(ib_cursor_close(cursor));
        EXPECT_OK(ib_trx_commit(trx));
      }
    });
  }
  for (int round = 0; round < 30; ++round) {
    ib_trx_t trx = begin();
    EXPECT_OK(add_number_index(trx));
    EXPECT_OK(ib_trx_commit(trx));
    trx = begin();
    ib_id_t id = 0;
    EXPECT_OK(ib_index_get_id("test/people", "numbers", &id));
    EXPECT_OK(ib_schema_lock_exclusive(trx));
    EXPECT_OK(ib_index_drop(trx, id));
    EXPECT_OK(ib_trx_commit(trx));
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
}

/// What waits for the table while an index of it is made goes on in the table that has the index.
TEST_F(HaildbSchemaTest, NothingOfThoseWhoWaitedForAnIndexIsLost) {
  create_people();
  fill({{1, "a"}});
  std::vector<int> expected{1};
  for (int round = 0; round < 10; ++round) {
    ib_trx_t builder = begin();
    EXPECT_OK(add_number_index(builder, fmt::format("numbers{}", round).c_str()));
    ib_trx_t writer = begin(IB_TRX_READ_COMMITTED);
    ib_crsr_t cursor = open("test/people", writer);
    std::thread waits([&] { EXPECT_OK(insert(cursor, round + 2, "new")); });
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_OK(ib_trx_commit(builder));
    waits.join();
    EXPECT_OK(ib_cursor_close(cursor));
    EXPECT_OK(ib_trx_commit(writer));
    expected.push_back(round + 2);
    ib_trx_t reader = begin();
    cursor = open("test/people", reader);
    EXPECT_EQ(all_ids(cursor), expected);
    EXPECT_OK(ib_cursor_close(cursor));
    EXPECT_OK(ib_trx_commit(reader));
  }
}

using HaildbConcurrentTest = HaildbTest;

TEST_F(HaildbConcurrentTest, RowsSurviveIndexesThatComeAndGo) {
  create_people();
  std::atomic<bool> done{false};
  std::vector<std::vector<int>> committed(2);
  std::vector<std::thread> writers;
  for (int number = 0; number < 2; ++number) {
    writers.emplace_back([&, number] {
      for (int i = 0; !done; ++i) {
        ib_trx_t trx = begin(i % 2 == 0 ? IB_TRX_READ_COMMITTED : IB_TRX_REPEATABLE_READ);
        ib_crsr_t cursor = open("test/people", trx);
        EXPECT_OK(insert(cursor, 2 * i + number, "new"));
        EXPECT_OK(ib_cursor_close(cursor));
        EXPECT_OK(ib_trx_commit(trx));
        committed[static_cast<size_t>(number)].push_back(2 * i + number);
      }
    });
  }
  for (int round = 0; round < 300; ++round) {
    ib_trx_t trx = begin();
    if (round % 2 == 0) {
      EXPECT_OK(add_number_index(trx));
    } else {
      ib_id_t id = 0;
      EXPECT_OK(ib_index_get_id("test/people", "numbers", &id));
      EXPECT_OK(ib_schema_lock_exclusive(trx));
      EXPECT_OK(ib_index_drop(trx, id));
    }
    EXPECT_OK(round % 10 == 0 ? ib_trx_rollback(trx) : ib_trx_commit(trx));
    if (round % 10 == 0) ++round;
  }
  done = true;
  for (std::thread& writer : writers) writer.join();
  std::vector<int> expected;
  for (const auto& each : committed) expected.insert(expected.end(), each.begin(), each.end());
  std::ranges::sort(expected);
  ib_trx_t trx = begin();
  ib_crsr_t cursor = open("test/people", trx);
  EXPECT_EQ(all_ids(cursor), expected);
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(trx));
}

TEST_F(HaildbSchemaTest, TableLocksAreOnTheTableThatHasTheIndex) {
  ASSERT_OK(ib_cfg_set_int("lock_wait_timeout", 1UL));
  ASSERT_OK(ib_cfg_set_bool_off("rollback_on_timeout"));
  create_people();
  ib_trx_t holder = begin();
  ib_trx_t by_id = begin();
  ib_crsr_t cursor = open("test/people", holder);
  ib_id_t table = 0;
  EXPECT_OK(ib_table_get_id("test/people", &table));
  ib_trx_t builder = begin();
  EXPECT_OK(add_number_index(builder));
  EXPECT_OK(ib_trx_commit(builder));
  EXPECT_OK(ib_cursor_set_lock_mode(cursor, IB_LOCK_X));
  EXPECT_OK(ib_table_lock(by_id, table, IB_LOCK_IX));
  ib_trx_t other = begin();
  ib_crsr_t others = open("test/people", other);
  EXPECT_DB(DB_LOCK_WAIT_TIMEOUT, ib_cursor_lock(others, IB_LOCK_S));
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(holder));
  EXPECT_DB(DB_LOCK_WAIT_TIMEOUT, ib_cursor_lock(others, IB_LOCK_S));
  EXPECT_OK(ib_trx_commit(by_id));
  EXPECT_OK(ib_cursor_lock(others, IB_LOCK_S));
  // Who makes an index waits for the table as others do.
  builder = begin();
  EXPECT_DB(DB_LOCK_WAIT_TIMEOUT, add_number_index(builder, "again"));
  EXPECT_OK(ib_trx_rollback(builder));
  EXPECT_OK(ib_cursor_close(others));
  EXPECT_OK(ib_trx_commit(other));
}

TEST_F(HaildbSchemaTest, IndexesOfTransactionsThatWaitForEachOtherAreAllThere) {
  create_people();
  fill({{1, "a"}, {2, "b"}});
  ib_trx_t first = begin();
  EXPECT_OK(add_number_index(first));
  EXPECT_OK(ib_schema_unlock(first));
  std::thread second([] {
    ib_trx_t trx = begin();
    EXPECT_OK(add_number_index(trx, "again"));
    EXPECT_OK(ib_trx_commit(trx));
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_OK(ib_trx_commit(first));
  second.join();
  ib_trx_t trx = begin();
  ib_crsr_t cursor = open("test/people", trx);
  for (const char* name : {"names", "numbers", "again"}) {
    ib_crsr_t index = open_index(cursor, name);
    ib_cursor_set_cluster_access(index);
    EXPECT_EQ(all_ids(index), (std::vector<int>{1, 2})) << name;
    EXPECT_OK(ib_cursor_close(index));
  }
  EXPECT_OK(ib_cursor_close(cursor));
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

TEST_F(HaildbSchemaTest, UniqueIndexesRefuseDuplicatesOfExistingRows) {
  create_people();
  fill({{1, "same"}, {2, "same"}});
  ib_trx_t trx = begin();
  EXPECT_OK(ib_schema_lock_exclusive(trx));
  ib_idx_sch_t index = nullptr;
  ASSERT_OK(ib_index_schema_create(trx, "unique_names", "test/people", &index));
  EXPECT_OK(ib_index_schema_add_col(index, "name", 0));
  EXPECT_OK(ib_index_schema_set_unique(index));
  ib_id_t id = 0;
  EXPECT_DB(DB_DUPLICATE_KEY, ib_index_create(index, &id));
  const char *table = nullptr, *name = nullptr;
  EXPECT_OK(ib_get_duplicate_key(trx, &table, &name));
  EXPECT_STREQ(name, "unique_names");
  ib_index_schema_delete(index);
  ib_crsr_t cursor = open("test/people", trx);
  EXPECT_EQ(all_ids(cursor), (std::vector<int>{1, 2}));
  EXPECT_OK(insert(cursor, 3, "same"));
  // A clustered index needs the table for itself.
  ASSERT_OK(ib_index_schema_create(trx, "by_number", "test/people", &index));
  EXPECT_OK(ib_index_schema_add_col(index, "number", 0));
  EXPECT_OK(ib_index_schema_set_clustered(index));
  EXPECT_DB(DB_TABLE_IS_BEING_USED, ib_index_create(index, &id));
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_index_create(index, &id));
  ib_index_schema_delete(index);
  cursor = open("test/people", trx);
  EXPECT_EQ(all_ids(cursor), (std::vector<int>{3, 1, 2}));
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_rollback(trx));
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

struct Visited {
  std::string text;
  int stop_after = 1000;
};

TEST_F(HaildbSchemaTest, VisitorsSeeTheSchema) {
  create_people();
  ib_schema_visitor_t visitor = {
      IB_SCHEMA_VISITOR_TABLE_AND_INDEX_COL,
      [](void* arg, const char* name, ib_tbl_fmt_t format, ib_ulint_t page, int columns, int indexes) {
        static_cast<Visited*>(arg)->text += std::string(name) + " " + std::to_string(format) +
                                            std::to_string(page) + std::to_string(columns) +
                                            std::to_string(indexes) + ";";
        return 0;
      },
      [](void* arg, const char* name, ib_col_type_t type, ib_ulint_t length, ib_col_attr_t attributes) {
        auto& visited = *static_cast<Visited*>(arg);
        visited.text += std::string(name) + " " + std::to_string(type) + "," + std::to_string(length) + "," +
                        std::to_string(attributes) + ";";
        return --visited.stop_after == 0 ? 1 : 0;
      },
      [](void* arg, const char* name, ib_bool_t clustered, ib_bool_t unique, int columns) {
        static_cast<Visited*>(arg)->text += std::string(name) + " " + std::to_string(clustered) +
                                            std::to_string(unique) + std::to_string(columns) + ";";
        return 0;
      },
      [](void* arg, const char* name, ib_ulint_t prefix) {
        static_cast<Visited*>(arg)->text += std::string(name) + std::to_string(prefix) + ";";
        return 0;
      }};
  ib_trx_t trx = begin();
  Visited visited;
  EXPECT_DB(DB_SCHEMA_NOT_LOCKED, ib_table_schema_visit(trx, "test/people", &visitor, &visited));
  EXPECT_OK(ib_schema_lock_exclusive(trx));
  EXPECT_DB(DB_TABLE_NOT_FOUND, ib_table_schema_visit(trx, "test/none", &visitor, &visited));
  EXPECT_OK(ib_table_schema_visit(trx, "test/people", &visitor, &visited));
  EXPECT_EQ(
      visited.text,
      "test/people 1062;id 6,4,1;name 1,20,0;number 6,4,0;DB_ROW_ID 8,6,1;DB_TRX_ID 8,6,1;DB_ROLL_PTR 8,7,1;"
      "PRIMARY 111;id0;names 001;name0;");
  visited = {"", 2};
  EXPECT_DB(DB_ERROR, ib_table_schema_visit(trx, "test/people", &visitor, &visited));
  visited = {};
  visitor.version = IB_SCHEMA_VISITOR_TABLE;
  EXPECT_OK(ib_table_schema_visit(trx, "SYS_FIELDS", &visitor, &visited));
  EXPECT_EQ(visited.text, "SYS_FIELDS 0061;");
  std::string names;
  EXPECT_OK(ib_schema_tables_iterate(
      trx,
      [](void* arg, const char* name, int length) {
        *static_cast<std::string*>(arg) += std::string(name, static_cast<size_t>(length)) + ";";
        return 0;
      },
      &names));
  EXPECT_EQ(names, "SYS_FOREIGN;SYS_FOREIGN_COLS;test/people;");
  EXPECT_OK(ib_trx_commit(trx));
}

TEST_F(HaildbSchemaTest, SystemTablesAreRead) {
  const ib_id_t id = create_people();
  ib_trx_t trx = begin();
  ib_crsr_t cursor = open("SYS_TABLES", trx);
  ib_tpl_t row = ib_clust_read_tuple_create(cursor);
  EXPECT_OK(ib_cursor_first(cursor));
  EXPECT_OK(ib_cursor_read_row(cursor, row));
  EXPECT_EQ(text(row, 0), "test/people");
  EXPECT_EQ(static_cast<unsigned char>(text(row, 1)[7]), id);
  EXPECT_EQ(number(row, 2), 3);
  EXPECT_DB(DB_END_OF_INDEX, ib_cursor_next(cursor));
  EXPECT_DB(DB_ERROR, ib_cursor_delete_row(cursor));
  ib_tpl_t key = ib_clust_search_tuple_create(cursor);
  set(key, 0, "test/people");
  ib_cursor_set_match_mode(cursor, IB_EXACT_MATCH);
  int result = 9;
  EXPECT_OK(ib_cursor_moveto(cursor, key, IB_CUR_GE, &result));
  EXPECT_EQ(result, 0);
  ib_tuple_delete(key);
  ib_tuple_delete(row);
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(trx));
}

TEST_F(HaildbSchemaTest, SystemTablesAreReadBySecondaryIndexes) {
  create_people();
  const ib_id_t second = create_people("test/again");
  ib_trx_t trx = begin();
  ib_crsr_t by_name = open("SYS_TABLES", trx);
  ib_crsr_t by_id = nullptr;
  EXPECT_DB(DB_TABLE_NOT_FOUND, ib_cursor_open_index_using_name(by_name, "NO_IND", &by_id));
  ASSERT_OK(ib_cursor_open_index_using_name(by_name, "ID_IND", &by_id));
  ib_cursor_set_cluster_access(by_id);
  ib_tpl_t row = ib_clust_read_tuple_create(by_id);
  EXPECT_OK(ib_cursor_first(by_id));
  EXPECT_OK(ib_cursor_read_row(by_id, row));
  EXPECT_EQ(text(row, 0), "test/people");
  EXPECT_OK(ib_cursor_next(by_id));
  EXPECT_OK(ib_cursor_read_row(by_id, row));
  EXPECT_EQ(text(row, 0), "test/again");
  EXPECT_DB(DB_END_OF_INDEX, ib_cursor_next(by_id));
  ib_tpl_t key = ib_sec_search_tuple_create(by_id);
  std::string id_bytes(8, '\0');
  for (size_t i = 0; i < 8; ++i) id_bytes[i] = static_cast<char>(second >> (56 - 8 * i) & 0xFF);
  EXPECT_OK(ib_col_set_value(key, 0, id_bytes.data(), 8));
  ib_cursor_set_match_mode(by_id, IB_EXACT_MATCH);
  int result = 9;
  EXPECT_OK(ib_cursor_moveto(by_id, key, IB_CUR_GE, &result));
  EXPECT_OK(ib_cursor_read_row(by_id, row));
  EXPECT_EQ(text(row, 0), "test/again");
  ib_tuple_delete(key);
  ib_tuple_delete(row);
  EXPECT_OK(ib_cursor_close(by_id));
  EXPECT_OK(ib_cursor_close(by_name));
  EXPECT_OK(ib_trx_commit(trx));
}

TEST_F(HaildbSchemaTest, StatisticsCountRows) {
  create_people();
  fill({{1, "a"}, {2, "a"}, {3, "b"}});
  ib_trx_t trx = begin();
  ib_crsr_t cursor = open("test/people", trx);
  ib_table_stats_t statistics;
  EXPECT_DB(DB_INVALID_INPUT, ib_get_table_statistics(cursor, &statistics, 1));
  EXPECT_OK(ib_get_table_statistics(cursor, &statistics, sizeof statistics));
  EXPECT_EQ(statistics.stat_n_rows, 3);
  EXPECT_EQ(statistics.stat_modified_counter, 0U);
  EXPECT_OK(insert(cursor, 4, "b"));
  EXPECT_OK(ib_get_table_statistics(cursor, &statistics, sizeof statistics));
  EXPECT_EQ(statistics.stat_n_rows, 4);
  EXPECT_EQ(statistics.stat_modified_counter, 1U);
  EXPECT_OK(ib_update_table_statistics(cursor));
  EXPECT_OK(ib_get_table_statistics(cursor, &statistics, sizeof statistics));
  EXPECT_EQ(statistics.stat_modified_counter, 0U);
  ib_u64_t columns = 0;
  ib_i64_t* distinct = nullptr;
  EXPECT_DB(DB_NOT_FOUND, ib_get_index_stat_n_diff_key_vals(cursor, "none", &columns, &distinct));
  ASSERT_OK(ib_get_index_stat_n_diff_key_vals(cursor, "names", &columns, &distinct));
  EXPECT_EQ(columns, 2U);
  EXPECT_EQ(distinct[1], 4);
  std::free(distinct);
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(trx));
}

TEST_F(HaildbSchemaTest, StatisticsAreComputedWhenTheyAreOld) {
  create_people();
  ib_trx_t trx = begin();
  ib_crsr_t cursor = open("test/people", trx);
  const auto names = [&] {
    ib_u64_t columns = 0;
    ib_i64_t* distinct = nullptr;
    EXPECT_OK(ib_get_index_stat_n_diff_key_vals(cursor, "names", &columns, &distinct));
    const ib_i64_t count = distinct[0];
    std::free(distinct);
    return count;
  };
  for (int i = 0; i < 20; ++i) EXPECT_OK(insert(cursor, i, i % 2 == 0 ? "a" : "b"));
  EXPECT_EQ(names(), 2);
  EXPECT_OK(insert(cursor, 20, "c"));
  EXPECT_EQ(names(), 2);
  for (int i = 21; i < 60; ++i) EXPECT_OK(insert(cursor, i, "d"));
  EXPECT_EQ(names(), 4);
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(trx));
}

TEST_F(HaildbSchemaTest, ChangesAreCountedUntilTheProgramHasStatisticsComputed) {
  create_people();
  ib_trx_t trx = begin();
  ib_crsr_t cursor = open("test/people", trx);
  for (int i = 0; i < 50; ++i) EXPECT_OK(insert(cursor, i, "a"));
  const auto changes = [](ib_crsr_t of) {
    ib_table_stats_t statistics;
    EXPECT_OK(ib_get_table_statistics(of, &statistics, sizeof statistics));
    return statistics.stat_modified_counter;
  };
  EXPECT_EQ(changes(cursor), 0U);  // computed at first use
  // So many that the statistics are computed anew, which the program does not notice.
  for (int i = 50; i < 200; ++i) EXPECT_OK(insert(cursor, i, "a"));
  EXPECT_EQ(changes(cursor), 150U);
  EXPECT_EQ(changes(cursor), 150U);
  EXPECT_OK(move_to(cursor, 7));
  EXPECT_OK(ib_cursor_delete_row(cursor));
  EXPECT_EQ(changes(cursor), 151U);
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(trx));
  // An index builds the table anew; its rows stay what they were.
  trx = begin();
  ASSERT_OK(add_number_index(trx));
  EXPECT_OK(ib_trx_commit(trx));
  trx = begin();
  cursor = open("test/people", trx);
  EXPECT_EQ(changes(cursor), 151U);
  EXPECT_OK(ib_update_table_statistics(cursor));
  EXPECT_EQ(changes(cursor), 0U);
  EXPECT_OK(insert(cursor, 300, "a"));
  EXPECT_EQ(changes(cursor), 1U);
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(trx));
  ib_id_t id = 0;
  ASSERT_OK(ib_table_truncate("test/people", &id));
  trx = begin();
  cursor = open("test/people", trx);
  EXPECT_EQ(changes(cursor), 0U);
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(trx));
}

// Compares without case, so that values with other bytes are equal.
int compare_without_case(const ib_col_meta_t* meta, const ib_byte_t* a, ib_ulint_t a_size, const ib_byte_t* b,
                         ib_ulint_t b_size) {
  EXPECT_EQ(meta->type_len, 0U);
  const int order = ::strncasecmp(reinterpret_cast<const char*>(a), reinterpret_cast<const char*>(b),
                                  std::min(a_size, b_size));
  if (order != 0) return order;
  return a_size < b_size ? -1 : a_size > b_size ? 1 : 0;
}

class HaildbClientOrderTest : public HaildbTest {
 protected:
  void SetUp() override {
    HaildbTest::SetUp();
    ib_set_client_compare(compare_without_case);
    create("test/words", {{"word", IB_VARCHAR_ANYCHARSET, IB_COL_NOT_NULL, 20}, {"note", IB_BLOB, 0, 0}},
           {{"PRIMARY", {{"word"}}, true}, {"notes", {{"note", 3}}}});
  }
  static ib_err_t insert(ib_crsr_t cursor, const std::string& word, const std::string& note) {
    ib_tpl_t row = ib_clust_read_tuple_create(cursor);
    set(row, 0, word);
    set(row, 1, note);
    const ib_err_t code = ib_cursor_insert_row(cursor, row);
    ib_tuple_delete(row);
    return code;
  }
  static std::string words(ib_crsr_t cursor) {
    std::string all;
    ib_tpl_t row = ib_clust_read_tuple_create(cursor);
    for (ib_err_t code = ib_cursor_first(cursor); code == DB_SUCCESS; code = ib_cursor_next(cursor)) {
      EXPECT_OK(ib_cursor_read_row(cursor, row));
      all += text(row, 0) + " ";
    }
    ib_tuple_delete(row);
    return all;
  }
};

TEST_F(HaildbClientOrderTest, TheFunctionDecidesOrderAndEquality) {
  ib_trx_t trx = begin();
  ib_crsr_t cursor = open("test/words", trx);
  for (const char* word : {"delta", "Alpha", "charlie", "Bravo"}) EXPECT_OK(insert(cursor, word, word));
  EXPECT_DB(DB_DUPLICATE_KEY, insert(cursor, "ALPHA", "x"));
  EXPECT_EQ(words(cursor), "Alpha Bravo charlie delta ");
  ib_tpl_t key = ib_clust_search_tuple_create(cursor);
  int result = 9;
  set(key, 0, "BRAVO");
  EXPECT_OK(ib_cursor_moveto(cursor, key, IB_CUR_GE, &result));
  EXPECT_EQ(result, 0);
  set(key, 0, "Bz");
  EXPECT_OK(ib_cursor_moveto(cursor, key, IB_CUR_GE, &result));
  EXPECT_EQ(result, -1);
  ib_tpl_t row = ib_clust_read_tuple_create(cursor);
  EXPECT_OK(ib_cursor_read_row(cursor, row));
  EXPECT_EQ(text(row, 0), "charlie");
  EXPECT_OK(ib_cursor_moveto(cursor, key, IB_CUR_L, &result));
  EXPECT_OK(ib_cursor_read_row(cursor, row));
  EXPECT_EQ(text(row, 0), "Bravo");
  ib_tuple_delete(row);
  ib_tuple_delete(key);
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(trx));

  restart();
  ib_set_client_compare(compare_without_case);
  trx = begin();
  cursor = open("test/words", trx);
  EXPECT_OK(insert(cursor, "azure", "n"));
  EXPECT_EQ(words(cursor), "Alpha azure Bravo charlie delta ");
  EXPECT_DB(DB_DUPLICATE_KEY, insert(cursor, "DELTA", "x"));
  ib_crsr_t notes = open_index(cursor, "notes");
  ib_cursor_set_cluster_access(notes);
  EXPECT_EQ(words(notes), "Alpha Bravo charlie delta azure ");
  EXPECT_OK(ib_cursor_close(notes));
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(trx));

  // Without the function the bytes would give another order.
  restart();
  trx = begin();
  EXPECT_DB(DB_ERROR, ib_cursor_open_table("test/words", trx, &cursor));
  EXPECT_OK(ib_trx_commit(trx));
}

TEST_F(HaildbClientOrderTest, UpdatesKeepTheOrder) {
  {
    ib_trx_t trx = begin();
    ib_crsr_t cursor = open("test/words", trx);
    for (const char* word : {"delta", "Alpha", "charlie", "Bravo"}) EXPECT_OK(insert(cursor, word, word));
    EXPECT_OK(ib_cursor_close(cursor));
    EXPECT_OK(ib_trx_commit(trx));
  }
  // A cursor that has only updated has no room but that of the update itself.
  ib_trx_t trx = begin();
  const auto update = [&](const std::string& word, ib_ulint_t column, const char* value) {
    ib_crsr_t cursor = open("test/words", trx);
    ib_tpl_t key = ib_clust_search_tuple_create(cursor);
    ib_tpl_t before = ib_clust_read_tuple_create(cursor), after = ib_clust_read_tuple_create(cursor);
    set(key, 0, word);
    int result = 9;
    EXPECT_OK(ib_cursor_moveto(cursor, key, IB_CUR_GE, &result));
    EXPECT_EQ(result, 0);
    EXPECT_OK(ib_cursor_read_row(cursor, before));
    EXPECT_OK(ib_tuple_copy(after, before));
    if (value == nullptr) {
      EXPECT_OK(ib_col_set_value(after, column, nullptr, IB_SQL_NULL));
    } else {
      set(after, column, value);
    }
    const ib_err_t code = ib_cursor_update_row(cursor, before, after);
    for (ib_tpl_t tuple : {key, before, after}) ib_tuple_delete(tuple);
    EXPECT_OK(ib_cursor_close(cursor));
    return code;
  };
  EXPECT_OK(update("delta", 0, "Aaa"));
  EXPECT_OK(update("alpha", 1, "Zulu"));
  EXPECT_OK(update("bravo", 1, nullptr));
  EXPECT_DB(DB_DUPLICATE_KEY, update("CHARLIE", 0, "AAA"));
  EXPECT_OK(update("CHARLIE", 0, "Charlie"));
  EXPECT_DB(DB_DATA_MISMATCH, update("charlie", 0, nullptr));
  ib_crsr_t cursor = open("test/words", trx);
  ib_crsr_t notes = open_index(cursor, "notes");
  ib_cursor_set_cluster_access(notes);
  EXPECT_EQ(words(cursor), "Aaa Alpha Bravo Charlie ");
  EXPECT_EQ(words(notes), "Bravo Charlie Aaa Alpha ");
  EXPECT_OK(ib_cursor_close(notes));
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(trx));
}

TEST_F(HaildbClientOrderTest, TuplesAreCopiedOverARebuildOfTheTable) {
  ib_trx_t trx = begin();
  ib_crsr_t cursor = open("test/words", trx);
  EXPECT_OK(insert(cursor, "word", "a note"));
  EXPECT_OK(ib_cursor_first(cursor));
  ib_tpl_t old_row = ib_clust_read_tuple_create(cursor);
  EXPECT_OK(ib_cursor_read_row(cursor, old_row));
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(trx));
  trx = begin();
  EXPECT_OK(ib_schema_lock_exclusive(trx));
  ib_idx_sch_t index = nullptr;
  ASSERT_OK(ib_index_schema_create(trx, "whole_notes", "test/words", &index));
  EXPECT_OK(ib_index_schema_add_col(index, "note", 0));
  ib_id_t id = 0;
  ASSERT_OK(ib_index_create(index, &id));
  ib_index_schema_delete(index);
  EXPECT_OK(ib_trx_commit(trx));
  trx = begin();
  cursor = open("test/words", trx);
  EXPECT_OK(ib_cursor_first(cursor));
  ib_tpl_t new_row = ib_clust_read_tuple_create(cursor);
  EXPECT_OK(ib_cursor_read_row(cursor, new_row));
  ib_tpl_t copy = ib_clust_read_tuple_create(cursor);
  EXPECT_OK(ib_tuple_copy(copy, old_row));
  EXPECT_EQ(text(copy, 0) + " " + text(copy, 1), "word a note");
  EXPECT_OK(ib_tuple_copy(old_row, new_row));
  EXPECT_EQ(text(old_row, 0) + " " + text(old_row, 1), "word a note");
  for (ib_tpl_t tuple : {old_row, new_row, copy}) ib_tuple_delete(tuple);
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(trx));
}

TEST_F(HaildbClientOrderTest, ManyValuesInAnyOrder) {
  ib_trx_t trx = begin();
  ib_crsr_t cursor = open("test/words", trx);
  std::set<std::string> expected;
  unsigned random = 7;
  for (int i = 0; i < 2000; ++i) {
    random = random * 1664525U + 1013904223U;
    const std::string word = i % 3 == 0 ? "m" + std::to_string(100000 + i) : std::to_string(random >> 8);
    const bool added = expected.insert(word).second;
    EXPECT_DB(added ? DB_SUCCESS : DB_DUPLICATE_KEY, insert(cursor, word, ""));
  }
  std::string all;
  for (const auto& word : expected) all += word + " ";
  EXPECT_EQ(words(cursor), all);
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(trx));
}

TEST_F(HaildbSchemaTest, DecimalsAreOrderedAsNumbers) {
  create("test/decimals", {{"d", IB_DECIMAL, IB_COL_NOT_NULL, 0}}, {{"PRIMARY", {{"d"}}, true}});
  ib_trx_t trx = begin();
  ib_crsr_t cursor = open("test/decimals", trx);
  ib_tpl_t row = ib_clust_read_tuple_create(cursor);
  for (const char* value : {"10", "9.5", "-1.25", "0", "-1.2", "100", "0.05", "-100", "0.5", "+7", "-12"}) {
    set(row, 0, value);
    EXPECT_OK(ib_cursor_insert_row(cursor, row)) << value;
  }
  set(row, 0, "10.0");
  EXPECT_DB(DB_DUPLICATE_KEY, ib_cursor_insert_row(cursor, row));
  std::string all;
  for (ib_err_t code = ib_cursor_first(cursor); code == DB_SUCCESS; code = ib_cursor_next(cursor)) {
    EXPECT_OK(ib_cursor_read_row(cursor, row));
    all += text(row, 0) + " ";
  }
  EXPECT_EQ(all, "-100 -12 -1.25 -1.2 0 0.05 0.5 +7 9.5 10 100 ");
  ib_tuple_delete(row);
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(trx));
}

}  // namespace
}  // namespace hailstone
