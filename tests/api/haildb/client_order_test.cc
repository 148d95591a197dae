// The order that the program gives its columns, and that of decimals.
#include <algorithm>
#include <cstring>
#include <set>

#include "api/haildb/fixture.h"

namespace hailstone {
namespace {

using HaildbOrderTest = HaildbTest;

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

TEST_F(HaildbOrderTest, DecimalsAreOrderedAsNumbers) {
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
