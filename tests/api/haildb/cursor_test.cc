// Cursors: where they go, what they read, what they change.
#include "api/haildb/fixture.h"

namespace hailstone {
namespace {

class HaildbCursorTest : public HaildbTest {
 protected:
  void SetUp() override {
    HaildbTest::SetUp();
    create_people();
  }
};

TEST_F(HaildbCursorTest, RowsComeBackInTheOrderOfTheKey) {
  fill({{3, "c"}, {1, "a"}, {-5, "m"}, {2, "b"}});
  ib_trx_t trx = begin();
  ib_crsr_t cursor = open("test/people", trx);
  EXPECT_EQ(all_ids(cursor), (std::vector<int>{-5, 1, 2, 3}));
  EXPECT_OK(ib_cursor_last(cursor));
  EXPECT_EQ(id_at(cursor), 3);
  EXPECT_OK(ib_cursor_prev(cursor));
  EXPECT_EQ(id_at(cursor), 2);
  EXPECT_OK(ib_cursor_next(cursor));
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(trx));
}

TEST_F(HaildbCursorTest, EndsAreLeftByTheOppositeMove) {
  ib_trx_t trx = begin();
  ib_crsr_t cursor = open("test/people", trx);
  EXPECT_EQ(ib_cursor_is_positioned(cursor), IB_FALSE);
  EXPECT_DB(DB_RECORD_NOT_FOUND, ib_cursor_next(cursor));
  EXPECT_DB(DB_RECORD_NOT_FOUND, ib_cursor_prev(cursor));
  EXPECT_DB(DB_END_OF_INDEX, ib_cursor_first(cursor));
  EXPECT_EQ(ib_cursor_is_positioned(cursor), IB_TRUE);
  EXPECT_EQ(id_at(cursor), -1);
  EXPECT_OK(insert(cursor, 1, "a"));
  EXPECT_OK(insert(cursor, 2, "b"));
  EXPECT_OK(ib_cursor_last(cursor));
  EXPECT_DB(DB_END_OF_INDEX, ib_cursor_next(cursor));
  EXPECT_DB(DB_END_OF_INDEX, ib_cursor_next(cursor));
  EXPECT_OK(ib_cursor_prev(cursor));
  EXPECT_EQ(id_at(cursor), 2);
  EXPECT_OK(ib_cursor_first(cursor));
  EXPECT_DB(DB_END_OF_INDEX, ib_cursor_prev(cursor));
  EXPECT_OK(ib_cursor_next(cursor));
  EXPECT_EQ(id_at(cursor), 1);
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_rollback(trx));
}

// What ib_cursor_moveto answers: code, result, and the row it stands on (0: none).
struct Answer {
  int code;
  int result;
  int row;
  bool operator==(const Answer&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Answer& answer) {
  return out << "{" << answer.code << ", " << answer.result << ", " << answer.row << "}";
}

TEST_F(HaildbCursorTest, SearchesAnswerAsDocumented) {
  fill({{10, "a"}, {20, "b"}, {30, "c"}});
  ib_trx_t trx = begin();
  ib_crsr_t cursor = open("test/people", trx);
  const auto search = [&](ib_srch_mode_t mode, int key) {
    Answer answer{};
    answer.code = move_to(cursor, key, mode, &answer.result);
    const int row = id_at(cursor);
    answer.row = row < 0 ? 0 : row;
    return answer;
  };
  ib_cursor_set_match_mode(cursor, IB_CLOSEST_MATCH);
  EXPECT_EQ(search(IB_CUR_G, 20), (Answer{10, -1, 30}));
  EXPECT_EQ(search(IB_CUR_G, 30), (Answer{1501, -1, 0}));
  EXPECT_EQ(search(IB_CUR_G, 15), (Answer{10, -1, 20}));
  EXPECT_EQ(search(IB_CUR_G, 5), (Answer{10, -1, 10}));
  EXPECT_EQ(search(IB_CUR_G, 35), (Answer{1501, -1, 0}));
  EXPECT_EQ(search(IB_CUR_GE, 20), (Answer{10, 0, 20}));
  EXPECT_EQ(search(IB_CUR_GE, 15), (Answer{10, -1, 20}));
  EXPECT_EQ(search(IB_CUR_GE, 5), (Answer{10, -1, 10}));
  EXPECT_EQ(search(IB_CUR_GE, 35), (Answer{1501, -1, 0}));
  EXPECT_EQ(search(IB_CUR_L, 20), (Answer{10, 1, 10}));
  EXPECT_EQ(search(IB_CUR_L, 10), (Answer{1501, -1, 0}));
  EXPECT_EQ(search(IB_CUR_L, 15), (Answer{10, 1, 10}));
  EXPECT_EQ(search(IB_CUR_L, 5), (Answer{1501, -1, 0}));
  EXPECT_EQ(search(IB_CUR_L, 35), (Answer{10, 1, 30}));
  EXPECT_EQ(search(IB_CUR_LE, 20), (Answer{10, 0, 20}));
  EXPECT_EQ(search(IB_CUR_LE, 15), (Answer{10, 1, 10}));
  EXPECT_EQ(search(IB_CUR_LE, 5), (Answer{1501, -1, 0}));
  EXPECT_EQ(search(IB_CUR_LE, 35), (Answer{10, 1, 30}));
  ib_cursor_set_match_mode(cursor, IB_EXACT_MATCH);
  for (const ib_srch_mode_t mode : {IB_CUR_G, IB_CUR_GE, IB_CUR_L, IB_CUR_LE}) {
    EXPECT_EQ(search(mode, 20), (Answer{10, 0, 20}));
    EXPECT_EQ(search(mode, 15), (Answer{1500, -1, 20}));
    EXPECT_EQ(search(mode, 5), (Answer{1500, -1, 10}));
    EXPECT_EQ(search(mode, 35), (Answer{1500, -1, 0}));
  }
  EXPECT_OK(ib_cursor_set_lock_mode(cursor, IB_LOCK_X));
  EXPECT_EQ(search(IB_CUR_L, 20), (Answer{10, 0, 20}));
  EXPECT_EQ(search(IB_CUR_L, 15), (Answer{1500, -1, 20}));
  EXPECT_EQ(search(IB_CUR_GE, 35), (Answer{1500, -1, 0}));
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(trx));
}

TEST_F(HaildbCursorTest, AfterAnExactSearchTheCursorGoesOn) {
  fill({{10, "a"}, {20, "b"}, {30, "c"}});
  ib_trx_t trx = begin();
  ib_crsr_t cursor = open("test/people", trx);
  ib_cursor_set_match_mode(cursor, IB_EXACT_MATCH);
  EXPECT_OK(move_to(cursor, 20));
  EXPECT_OK(ib_cursor_next(cursor));
  EXPECT_EQ(id_at(cursor), 30);
  EXPECT_OK(move_to(cursor, 20));
  EXPECT_OK(ib_cursor_prev(cursor));
  EXPECT_EQ(id_at(cursor), 10);
  EXPECT_DB(DB_RECORD_NOT_FOUND, move_to(cursor, 15));
  EXPECT_OK(ib_cursor_next(cursor));
  EXPECT_EQ(id_at(cursor), 30);
  EXPECT_DB(DB_RECORD_NOT_FOUND, move_to(cursor, 15));
  EXPECT_OK(ib_cursor_delete_row(cursor));
  EXPECT_EQ(all_ids(cursor), (std::vector<int>{10, 30}));
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(trx));
}

TEST_F(HaildbCursorTest, AMissStandsOnTheRowThatWasNextThen) {
  fill({{10, "a"}, {20, "b"}, {30, "c"}, {40, "d"}, {50, "e"}});
  for (const ib_lck_mode_t mode : {IB_LOCK_NONE, IB_LOCK_X}) {
    ib_trx_t trx = begin();
    ib_crsr_t cursor = open("test/people", trx), other = open("test/people", trx);
    EXPECT_OK(ib_cursor_set_lock_mode(cursor, mode));
    ib_cursor_set_match_mode(cursor, IB_EXACT_MATCH);
    // Inserted: the key itself, one between, one behind, one before.
    for (const int inserted : {25, 27, 35, 22}) {
      EXPECT_DB(DB_RECORD_NOT_FOUND, move_to(cursor, 25));
      EXPECT_OK(insert(inserted % 2 == 0 ? cursor : other, inserted, "new"));
      EXPECT_EQ(ib_cursor_is_positioned(cursor), IB_TRUE);
      EXPECT_EQ(id_at(cursor), 30);
      EXPECT_OK(ib_cursor_prev(cursor));
      EXPECT_EQ(id_at(cursor), inserted < 30 ? inserted : 20);
      if (inserted > 30) {
        EXPECT_OK(ib_cursor_next(cursor));
        EXPECT_OK(ib_cursor_next(cursor));
        EXPECT_EQ(id_at(cursor), inserted);
      }
      ib_cursor_set_match_mode(other, IB_EXACT_MATCH);
      EXPECT_OK(move_to(other, inserted));
      EXPECT_OK(ib_cursor_delete_row(other));
    }
    // The same key again and again, and the one that is deleted.
    EXPECT_DB(DB_RECORD_NOT_FOUND, move_to(cursor, 25));
    EXPECT_OK(insert(other, 25, "new"));
    EXPECT_OK(insert(other, 26, "new"));
    EXPECT_OK(ib_cursor_delete_row(cursor));
    EXPECT_EQ(all_ids(cursor), (std::vector<int>{10, 20, 25, 26, 40, 50}));
    EXPECT_DB(DB_RECORD_NOT_FOUND, move_to(cursor, 60));
    EXPECT_OK(insert(cursor, 60, "new"));
    EXPECT_EQ(id_at(cursor), -1);
    EXPECT_OK(ib_cursor_prev(cursor));
    EXPECT_EQ(id_at(cursor), 60);
    EXPECT_DB(DB_RECORD_NOT_FOUND, move_to(cursor, 35));
    EXPECT_OK(move_to(other, 40));
    EXPECT_OK(ib_cursor_delete_row(other));
    EXPECT_EQ(id_at(cursor), 40);
    EXPECT_DB(DB_RECORD_NOT_FOUND, ib_cursor_delete_row(cursor));
    EXPECT_OK(ib_cursor_close(other));
    EXPECT_OK(ib_cursor_close(cursor));
    EXPECT_OK(ib_trx_rollback(trx));
  }
}

TEST_F(HaildbCursorTest, WhereAMissStandsOutlivesTheTransactionAndSavepoints) {
  fill({{10, "a"}, {30, "c"}, {40, "d"}});
  ib_trx_t trx = begin();
  ib_crsr_t cursor = open("test/people", trx);
  ib_cursor_set_match_mode(cursor, IB_EXACT_MATCH);
  EXPECT_DB(DB_RECORD_NOT_FOUND, move_to(cursor, 20));
  EXPECT_OK(ib_cursor_reset(cursor));
  EXPECT_EQ(id_at(cursor), 30);
  ib_cursor_attach_trx(cursor, trx);
  EXPECT_OK(ib_cursor_next(cursor));
  EXPECT_EQ(id_at(cursor), 40);
  ib_savepoint_take(trx, "a", 1);
  EXPECT_OK(insert(cursor, 25, "b"));
  EXPECT_DB(DB_RECORD_NOT_FOUND, move_to(cursor, 20));
  EXPECT_OK(ib_savepoint_rollback(trx, "a", 1));
  EXPECT_EQ(id_at(cursor), 25);
  EXPECT_DB(DB_RECORD_NOT_FOUND, ib_cursor_delete_row(cursor));
  EXPECT_DB(DB_RECORD_NOT_FOUND, move_to(cursor, 35));
  EXPECT_OK(ib_trx_commit(trx));
  EXPECT_EQ(id_at(cursor), 40);
  EXPECT_OK(ib_cursor_close(cursor));
}

TEST_F(HaildbCursorTest, LongerKeysThanRowsCanHaveAreBetweenRows) {
  create("test/long", {{"key", IB_VARBINARY, IB_COL_NOT_NULL, 0}, {"number", IB_INT, 0, 4}},
         {{"PRIMARY", {{"key"}}, true}});
  ib_trx_t trx = begin();
  ib_crsr_t cursor = open("test/long", trx);
  ib_tpl_t row = ib_clust_read_tuple_create(cursor), key = ib_clust_search_tuple_create(cursor);
  const std::string bytes(40'000, 'x');
  set(row, 0, bytes);
  EXPECT_DB(DB_TOO_BIG_RECORD, ib_cursor_insert_row(cursor, row));
  for (const std::string& short_one : {bytes.substr(0, 700), bytes.substr(0, 7'000) + "y"}) {
    set(row, 0, short_one);
    ASSERT_OK(ib_cursor_insert_row(cursor, row));
  }
  set(key, 0, bytes);
  const auto search = [&](ib_srch_mode_t mode) {
    Answer answer{};
    answer.code = ib_cursor_moveto(cursor, key, mode, &answer.result);
    answer.row = ib_cursor_read_row(cursor, row) == DB_SUCCESS ? static_cast<int>(ib_col_get_len(row, 0)) : 0;
    return answer;
  };
  EXPECT_EQ(search(IB_CUR_GE), (Answer{10, -1, 7'001}));
  EXPECT_EQ(search(IB_CUR_G), (Answer{10, -1, 7'001}));
  EXPECT_EQ(search(IB_CUR_LE), (Answer{10, 1, 700}));
  EXPECT_EQ(search(IB_CUR_L), (Answer{10, 1, 700}));
  ib_cursor_set_match_mode(cursor, IB_EXACT_MATCH);
  EXPECT_EQ(search(IB_CUR_GE), (Answer{1500, -1, 7'001}));
  set(key, 0, std::string(40'000, 'z'));
  EXPECT_EQ(search(IB_CUR_GE), (Answer{1500, -1, 0}));
  ib_tuple_delete(key);
  ib_tuple_delete(row);
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(trx));
}

class HaildbSecondaryTest : public HaildbCursorTest {
 protected:
  struct Cursors {
    ib_crsr_t table, names;
  };
  Cursors open_both(ib_trx_t trx) {
    Cursors cursors{open("test/people", trx), nullptr};
    cursors.names = open_index(cursors.table, "names");
    ib_cursor_set_cluster_access(cursors.names);
    return cursors;
  }
  static void close(const Cursors& cursors) {
    EXPECT_OK(ib_cursor_close(cursors.names));
    EXPECT_OK(ib_cursor_close(cursors.table));
  }
  static Answer search(ib_crsr_t cursor, ib_srch_mode_t mode, const std::string& name) {
    ib_tpl_t key = ib_sec_search_tuple_create(cursor);
    set(key, 0, name);
    Answer answer{};
    answer.code = ib_cursor_moveto(cursor, key, mode, &answer.result);
    ib_tuple_delete(key);
    const int row = id_at(cursor);
    answer.row = row < 0 ? 0 : row;
    return answer;
  }
};

TEST_F(HaildbSecondaryTest, SearchesAnswerAsDocumented) {
  fill({{1, "bb"}, {2, "dd"}, {3, "dd"}, {4, "dd"}, {5, "ff"}});
  ib_trx_t trx = begin();
  const Cursors cursors = open_both(trx);
  ib_crsr_t const names = cursors.names;
  EXPECT_EQ(search(names, IB_CUR_GE, "dd"), (Answer{10, 0, 2}));
  EXPECT_EQ(search(names, IB_CUR_LE, "dd"), (Answer{10, 0, 4}));
  EXPECT_EQ(search(names, IB_CUR_G, "dd"), (Answer{10, -1, 5}));
  EXPECT_EQ(search(names, IB_CUR_L, "dd"), (Answer{10, 1, 1}));
  ib_cursor_set_match_mode(names, IB_EXACT_MATCH);
  EXPECT_EQ(search(names, IB_CUR_G, "dd"), (Answer{1500, -1, 5}));
  EXPECT_EQ(search(names, IB_CUR_G, "ff"), (Answer{1500, -1, 0}));
  EXPECT_EQ(search(names, IB_CUR_GE, "dd"), (Answer{10, 0, 2}));
  EXPECT_EQ(search(names, IB_CUR_GE, "cc"), (Answer{1500, -1, 2}));
  EXPECT_EQ(search(names, IB_CUR_L, "dd"), (Answer{1500, 1, 1}));
  EXPECT_EQ(search(names, IB_CUR_L, "bb"), (Answer{1500, -1, 0}));
  EXPECT_EQ(search(names, IB_CUR_LE, "dd"), (Answer{10, 0, 4}));
  EXPECT_EQ(search(names, IB_CUR_LE, "ee"), (Answer{1500, 1, 4}));
  EXPECT_EQ(search(names, IB_CUR_LE, "aa"), (Answer{1500, -1, 0}));
  ib_cursor_set_match_mode(names, IB_EXACT_PREFIX);
  EXPECT_EQ(search(names, IB_CUR_GE, "d"), (Answer{10, -1, 2}));
  EXPECT_EQ(search(names, IB_CUR_GE, "dd"), (Answer{10, 0, 2}));
  EXPECT_EQ(search(names, IB_CUR_GE, "c"), (Answer{1500, -1, 2}));
  EXPECT_EQ(search(names, IB_CUR_G, "b"), (Answer{10, -1, 1}));
  EXPECT_EQ(search(names, IB_CUR_G, "dd"), (Answer{1500, -1, 5}));
  EXPECT_EQ(search(names, IB_CUR_GE, "g"), (Answer{1500, -1, 0}));
  EXPECT_EQ(search(names, IB_CUR_L, "d"), (Answer{1500, -1, 1}));
  EXPECT_EQ(search(names, IB_CUR_LE, "dd"), (Answer{10, 0, 4}));
  EXPECT_EQ(search(names, IB_CUR_LE, "d"), (Answer{1500, -1, 1}));
  close(cursors);
  EXPECT_OK(ib_trx_commit(trx));
}

TEST_F(HaildbSecondaryTest, TrailingSpacesDoNotCount) {
  fill({{1, "a"}, {2, "a   "}, {3, "a\tb"}});
  ib_trx_t trx = begin();
  const Cursors cursors = open_both(trx);
  ib_cursor_set_match_mode(cursors.names, IB_EXACT_MATCH);
  EXPECT_EQ(search(cursors.names, IB_CUR_GE, "a "), (Answer{10, 0, 1}));
  EXPECT_OK(ib_cursor_next(cursors.names));
  EXPECT_EQ(id_at(cursors.names), 2);
  EXPECT_EQ(all_ids(cursors.names), (std::vector<int>{3, 1, 2}));
  close(cursors);
  EXPECT_OK(ib_trx_commit(trx));
}

TEST_F(HaildbSecondaryTest, WithoutClusterAccessOnlyTheIndexIsRead) {
  fill({{1, "a"}});
  ib_trx_t trx = begin();
  ib_crsr_t table = open("test/people", trx);
  ib_crsr_t names = open_index(table, "names");
  EXPECT_OK(ib_cursor_first(names));
  ib_tpl_t key = ib_sec_search_tuple_create(names);
  ASSERT_OK(ib_cursor_read_row(names, key));
  EXPECT_EQ(ib_tuple_get_n_cols(key), 2U);
  EXPECT_EQ(ib_tuple_get_n_user_cols(key), 1U);
  EXPECT_EQ(text(key, 0), "a");
  EXPECT_EQ(number(key, 1), 1);
  ib_tpl_t clustered = nullptr;
  ASSERT_OK(ib_tuple_get_cluster_key(names, &clustered, key));
  EXPECT_EQ(number(clustered, 0), 1);
  ib_tpl_t row = ib_sec_read_tuple_create(names);
  ASSERT_OK(ib_cursor_read_row(names, row));
  EXPECT_EQ(number(row, 0), 1);
  EXPECT_EQ(text(row, 1), "a");
  EXPECT_EQ(ib_col_get_len(row, 2), IB_SQL_NULL);
  EXPECT_DB(DB_ERROR, ib_cursor_delete_row(names));
  EXPECT_DB(DB_ERROR, ib_cursor_update_row(names, row, row));
  for (ib_tpl_t tuple : {key, clustered, row}) ib_tuple_delete(tuple);
  EXPECT_OK(ib_cursor_close(names));
  EXPECT_OK(ib_cursor_close(table));
  EXPECT_OK(ib_trx_commit(trx));
}

TEST_F(HaildbCursorTest, UpdatesChangeColumnsThatDiffer) {
  fill({{1, "a"}, {2, "b"}, {3, "c"}});
  ib_trx_t trx = begin();
  ib_crsr_t cursor = open("test/people", trx);
  ib_tpl_t before = ib_clust_read_tuple_create(cursor);
  ib_tpl_t after = ib_clust_read_tuple_create(cursor);
  EXPECT_OK(move_to(cursor, 2));
  EXPECT_OK(ib_cursor_read_row(cursor, before));
  EXPECT_OK(ib_tuple_copy(after, before));
  EXPECT_OK(ib_cursor_update_row(cursor, before, after));
  set(after, 1, "changed");
  EXPECT_OK(ib_cursor_update_row(cursor, before, after));
  // The copy made when the cursor came here.
  EXPECT_OK(ib_cursor_read_row(cursor, before));
  EXPECT_EQ(text(before, 1), "b");
  EXPECT_OK(ib_cursor_next(cursor));
  EXPECT_EQ(id_at(cursor), 3);
  EXPECT_OK(ib_cursor_prev(cursor));
  EXPECT_OK(ib_cursor_read_row(cursor, before));
  EXPECT_EQ(text(before, 1), "changed");
  EXPECT_EQ(number(before, 2), 20);
  // A new key: the row is met again.
  EXPECT_OK(ib_tuple_copy(after, before));
  set(after, 0, 9);
  EXPECT_OK(ib_cursor_update_row(cursor, before, after));
  EXPECT_OK(ib_cursor_next(cursor));
  EXPECT_EQ(id_at(cursor), 3);
  EXPECT_OK(ib_cursor_next(cursor));
  EXPECT_EQ(id_at(cursor), 9);
  set(after, 0, 1);
  EXPECT_OK(ib_cursor_read_row(cursor, before));
  EXPECT_DB(DB_DUPLICATE_KEY, ib_cursor_update_row(cursor, before, after));
  const char *table = nullptr, *index = nullptr;
  EXPECT_OK(ib_get_duplicate_key(trx, &table, &index));
  EXPECT_STREQ(table, "test/people");
  EXPECT_STREQ(index, "PRIMARY");
  EXPECT_EQ(all_ids(cursor), (std::vector<int>{1, 3, 9}));
  ib_tuple_delete(before);
  ib_tuple_delete(after);
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(trx));
}

TEST_F(HaildbCursorTest, DeletedRowsAreGoneAndThePlaceStays) {
  fill({{1, "a"}, {2, "b"}, {3, "c"}, {4, "d"}});
  ib_trx_t trx = begin();
  ib_crsr_t cursor = open("test/people", trx);
  EXPECT_DB(DB_RECORD_NOT_FOUND, ib_cursor_delete_row(cursor));
  EXPECT_OK(move_to(cursor, 2));
  EXPECT_OK(ib_cursor_delete_row(cursor));
  EXPECT_EQ(id_at(cursor), 2);
  EXPECT_DB(DB_RECORD_NOT_FOUND, ib_cursor_delete_row(cursor));
  EXPECT_OK(ib_cursor_next(cursor));
  EXPECT_EQ(id_at(cursor), 3);
  EXPECT_OK(ib_cursor_delete_row(cursor));
  EXPECT_OK(ib_cursor_prev(cursor));
  EXPECT_EQ(id_at(cursor), 1);
  EXPECT_OK(insert(cursor, 2, "again"));
  EXPECT_OK(ib_cursor_next(cursor));
  EXPECT_EQ(id_at(cursor), 2);
  EXPECT_EQ(all_ids(cursor), (std::vector<int>{1, 2, 4}));
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(trx));
}

TEST_F(HaildbCursorTest, OwnChangesAheadAreMet) {
  fill({{1, "a"}, {2, "b"}, {3, "c"}, {4, "d"}, {5, "e"}});
  restart();  // the rows are in a segment now
  ib_trx_t trx = begin();
  ib_crsr_t cursor = open("test/people", trx);
  ib_crsr_t other = open("test/people", trx);
  EXPECT_OK(ib_cursor_first(cursor));
  EXPECT_OK(move_to(other, 2));
  EXPECT_OK(ib_cursor_delete_row(other));
  EXPECT_OK(ib_cursor_next(cursor));
  EXPECT_EQ(id_at(cursor), 3);
  EXPECT_OK(move_to(other, 5));
  EXPECT_OK(ib_cursor_delete_row(other));
  EXPECT_OK(insert(other, 6, "f"));
  EXPECT_OK(ib_cursor_next(cursor));
  EXPECT_EQ(id_at(cursor), 4);
  EXPECT_OK(ib_cursor_next(cursor));
  EXPECT_EQ(id_at(cursor), 6);
  EXPECT_DB(DB_END_OF_INDEX, ib_cursor_next(cursor));
  EXPECT_OK(ib_cursor_close(other));
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_rollback(trx));
}

TEST_F(HaildbCursorTest, ResetKeepsThePlace) {
  fill({{1, "a"}, {2, "b"}, {3, "c"}});
  ib_trx_t trx = begin();
  ib_crsr_t cursor = open("test/people", trx);
  EXPECT_OK(move_to(cursor, 2));
  EXPECT_OK(ib_cursor_reset(cursor));
  EXPECT_DB(DB_MISSING_HISTORY, ib_cursor_first(cursor));
  EXPECT_OK(ib_trx_commit(trx));
  EXPECT_EQ(ib_cursor_is_positioned(cursor), IB_TRUE);
  trx = begin();
  ib_cursor_attach_trx(cursor, trx);
  EXPECT_EQ(id_at(cursor), 2);
  EXPECT_OK(ib_cursor_next(cursor));
  EXPECT_EQ(id_at(cursor), 3);
  // The transaction ends without a reset.
  EXPECT_OK(ib_trx_commit(trx));
  EXPECT_EQ(id_at(cursor), 3);
  EXPECT_DB(DB_MISSING_HISTORY, ib_cursor_prev(cursor));
  EXPECT_OK(ib_cursor_close(cursor));
}

TEST_F(HaildbSecondaryTest, AttachingBeginsWithoutClusterAccess) {
  fill({{1, "a"}});
  ib_trx_t trx = begin();
  const Cursors cursors = open_both(trx);
  EXPECT_OK(ib_cursor_reset(cursors.names));
  ib_cursor_set_cluster_access(cursors.names);
  ib_cursor_attach_trx(cursors.names, trx);
  EXPECT_OK(ib_cursor_first(cursors.names));
  EXPECT_DB(DB_ERROR, ib_cursor_delete_row(cursors.names));
  ib_cursor_set_cluster_access(cursors.names);
  EXPECT_OK(ib_cursor_delete_row(cursors.names));
  close(cursors);
  EXPECT_OK(ib_trx_rollback(trx));
}

TEST_F(HaildbCursorTest, CursorsOpenByIds) {
  ib_id_t table = 0, index = 0;
  ASSERT_OK(ib_table_get_id("test/people", &table));
  ASSERT_OK(ib_index_get_id("test/people", "names", &index));
  EXPECT_EQ(index >> 32, table);
  ib_trx_t trx = begin();
  ib_crsr_t cursor = nullptr;
  ASSERT_OK(ib_cursor_open_table_using_id(table, trx, &cursor));
  EXPECT_OK(insert(cursor, 1, "a"));
  EXPECT_OK(ib_cursor_close(cursor));
  ASSERT_OK(ib_cursor_open_index_using_id(index, trx, &cursor));
  EXPECT_OK(ib_cursor_first(cursor));
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_DB(DB_TABLE_NOT_FOUND, ib_cursor_open_index_using_id(index + 100, trx, &cursor));
  EXPECT_DB(DB_TABLE_NOT_FOUND, ib_cursor_open_table_using_id(table + 100, trx, &cursor));
  EXPECT_DB(DB_TABLE_NOT_FOUND, ib_cursor_open_table("test/none", trx, &cursor));
  EXPECT_EQ(cursor, nullptr);
  EXPECT_OK(ib_trx_commit(trx));
}

TEST_F(HaildbCursorTest, HiddenKeysKeepTheOrderOfInsertion) {
  create("test/log", {{"line", IB_VARCHAR, 0, 20}}, {});
  ib_trx_t trx = begin();
  ib_crsr_t cursor = open("test/log", trx);
  ib_tpl_t row = ib_clust_read_tuple_create(cursor);
  for (const char* line : {"z", "a", "a"}) {
    set(row, 0, line);
    EXPECT_OK(ib_cursor_insert_row(cursor, row));
  }
  std::string lines;
  for (ib_err_t code = ib_cursor_first(cursor); code == DB_SUCCESS; code = ib_cursor_next(cursor)) {
    EXPECT_OK(ib_cursor_read_row(cursor, row));
    lines += text(row, 0);
    EXPECT_EQ(ib_col_get_len(row, 1), 6U);
  }
  EXPECT_EQ(lines, "zaa");
  ib_tpl_t key = ib_clust_search_tuple_create(cursor);
  EXPECT_EQ(ib_tuple_get_n_cols(key), 1U);
  EXPECT_EQ(ib_tuple_get_n_user_cols(key), 0U);
  ib_tuple_delete(key);
  ib_tuple_delete(row);
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(trx));
}

}  // namespace
}  // namespace hailstone
