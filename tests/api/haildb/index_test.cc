// Indexes on tables that are there already, beside readers and writers.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <thread>

#include "api/haildb/fixture.h"

namespace hailstone {
namespace {

using HaildbIndexTest = HaildbTest;

TEST_F(HaildbIndexTest, KeysOfAnIndexOnABeginningOfTheClusteredKeyHaveAllOfIt) {
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

TEST_F(HaildbIndexTest, IndexesAreAddedAndDropped) {
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

TEST_F(HaildbIndexTest, AnInterruptedIndexLeavesTableAndTransactionAsTheyWere) {
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

TEST_F(HaildbIndexTest, SnapshotsFromBeforeAnIndexReadTheTableAsItWas) {
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

TEST_F(HaildbIndexTest, ReadCommittedSearchesTheTableThatHasTheIndex) {
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

TEST_F(HaildbIndexTest, ReadersMeetNoGapWhenAnIndexIsCommitted) {
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
TEST_F(HaildbIndexTest, NothingOfThoseWhoWaitedForAnIndexIsLost) {
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

TEST_F(HaildbIndexTest, TableLocksAreOnTheTableThatHasTheIndex) {
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

TEST_F(HaildbIndexTest, IndexesOfTransactionsThatWaitForEachOtherAreAllThere) {
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

TEST_F(HaildbIndexTest, UniqueIndexesRefuseDuplicatesOfExistingRows) {
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

}  // namespace
}  // namespace hailstone
