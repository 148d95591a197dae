// Transactions: isolation, locks, savepoints, what errors do.
#include <atomic>
#include <chrono>
#include <thread>

#include "api/haildb/fixture.h"

namespace hailstone {
namespace {

class HaildbTransactionTest : public HaildbTest {
 protected:
  void SetUp() override {
    HaildbTest::SetUp();
    create_people();
    ASSERT_OK(ib_cfg_set_int("lock_wait_timeout", 1UL));
  }
  static std::vector<int> committed() {
    ib_trx_t trx = begin();
    ib_crsr_t cursor = open("test/people", trx);
    auto ids = all_ids(cursor);
    EXPECT_OK(ib_cursor_close(cursor));
    EXPECT_OK(ib_trx_commit(trx));
    return ids;
  }
};

TEST_F(HaildbTransactionTest, HandlesHaveStates) {
  ib_trx_t trx = begin();
  EXPECT_EQ(ib_trx_state(trx), IB_TRX_ACTIVE);
  EXPECT_DB(DB_ERROR, ib_trx_start(trx, IB_TRX_SERIALIZABLE));
  EXPECT_DB(DB_ERROR, ib_trx_release(trx));
  EXPECT_OK(ib_trx_commit(trx));
  EXPECT_EQ(ib_trx_state(trx), IB_TRX_NOT_STARTED);
  EXPECT_DB(DB_INVALID_INPUT, ib_trx_commit(trx));
  EXPECT_DB(DB_INVALID_INPUT, ib_trx_rollback(trx));
  EXPECT_DB(DB_INVALID_INPUT, ib_trx_release(nullptr));
}

TEST_F(HaildbTransactionTest, RollbackTakesEverythingBack) {
  fill({{1, "a"}, {2, "b"}});
  ib_trx_t trx = begin();
  ib_crsr_t cursor = open("test/people", trx);
  EXPECT_OK(insert(cursor, 3, "c"));
  EXPECT_OK(move_to(cursor, 1));
  EXPECT_OK(ib_cursor_delete_row(cursor));
  EXPECT_EQ(all_ids(cursor), (std::vector<int>{2, 3}));
  EXPECT_EQ(committed(), (std::vector<int>{1, 2}));
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_rollback(trx));
  EXPECT_EQ(committed(), (std::vector<int>{1, 2}));
}

TEST_F(HaildbTransactionTest, IsolationLevelsSeeWhatTheyPromise) {
  fill({{1, "a"}});
  ib_trx_t dirty = begin(IB_TRX_READ_UNCOMMITTED), fresh = begin(IB_TRX_READ_COMMITTED), fixed = begin();
  ib_crsr_t of_dirty = open("test/people", dirty), of_fresh = open("test/people", fresh),
            of_fixed = open("test/people", fixed);
  ib_trx_t writer = begin();
  ib_crsr_t cursor = open("test/people", writer);
  EXPECT_OK(insert(cursor, 2, "b"));
  EXPECT_EQ(all_ids(of_dirty), (std::vector<int>{1, 2}));
  EXPECT_EQ(all_ids(of_fresh), (std::vector<int>{1}));
  EXPECT_EQ(all_ids(of_fixed), (std::vector<int>{1}));
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(writer));
  EXPECT_EQ(all_ids(of_fresh), (std::vector<int>{1, 2}));
  EXPECT_EQ(all_ids(of_fixed), (std::vector<int>{1}));
  for (ib_crsr_t each : {of_dirty, of_fresh, of_fixed}) EXPECT_OK(ib_cursor_close(each));
  for (ib_trx_t each : {dirty, fresh, fixed}) EXPECT_OK(ib_trx_commit(each));
}

TEST_F(HaildbTransactionTest, SavepointsAreNamedByBytes) {
  ib_trx_t trx = begin();
  ib_crsr_t cursor = open("test/people", trx);
  EXPECT_DB(DB_NO_SAVEPOINT, ib_savepoint_rollback(trx, nullptr, 0));
  ib_savepoint_take(trx, "a\0b", 3);
  EXPECT_OK(insert(cursor, 1, "a"));
  ib_savepoint_take(trx, "a\0c", 3);
  EXPECT_OK(insert(cursor, 2, "b"));
  EXPECT_DB(DB_NO_SAVEPOINT, ib_savepoint_rollback(trx, "a", 1));
  EXPECT_OK(ib_savepoint_rollback(trx, "a\0c", 3));
  EXPECT_EQ(all_ids(cursor), (std::vector<int>{1}));
  EXPECT_OK(insert(cursor, 3, "c"));
  EXPECT_OK(ib_savepoint_rollback(trx, "a\0c", 3));
  EXPECT_OK(ib_savepoint_release(trx, "a\0c", 3));
  EXPECT_DB(DB_NO_SAVEPOINT, ib_savepoint_release(trx, "a\0c", 3));
  EXPECT_EQ(all_ids(cursor), (std::vector<int>{1}));
  EXPECT_OK(ib_savepoint_rollback(trx, nullptr, 0));
  EXPECT_EQ(all_ids(cursor), (std::vector<int>{}));
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(trx));
}

TEST_F(HaildbTransactionTest, RowsStayLockedAfterARollbackToASavepoint) {
  ASSERT_OK(ib_cfg_set_bool_off("rollback_on_timeout"));
  fill({{1, "a"}, {2, "b"}, {3, "c"}});
  ib_trx_t trx = begin();
  ib_crsr_t cursor = open("test/people", trx);
  ib_savepoint_take(trx, "s", 1);
  EXPECT_OK(move_to(cursor, 1));
  EXPECT_OK(ib_cursor_delete_row(cursor));
  EXPECT_OK(move_to(cursor, 2));
  ib_tpl_t before = ib_clust_read_tuple_create(cursor), after = ib_clust_read_tuple_create(cursor);
  EXPECT_OK(ib_cursor_read_row(cursor, before));
  EXPECT_OK(ib_tuple_copy(after, before));
  set(after, 2, 7);
  EXPECT_OK(ib_cursor_update_row(cursor, before, after));
  ib_tuple_delete(before);
  ib_tuple_delete(after);
  EXPECT_OK(ib_savepoint_rollback(trx, "s", 1));
  ib_trx_t other = begin();
  ib_crsr_t others = open("test/people", other);
  for (const int id : {1, 2}) {
    EXPECT_OK(move_to(others, id));
    EXPECT_DB(DB_LOCK_WAIT_TIMEOUT, ib_cursor_delete_row(others)) << id;
  }
  EXPECT_OK(move_to(others, 3));
  EXPECT_OK(ib_cursor_delete_row(others));
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(trx));
  EXPECT_OK(move_to(others, 1));
  EXPECT_OK(ib_cursor_delete_row(others));
  EXPECT_OK(ib_cursor_close(others));
  EXPECT_OK(ib_trx_rollback(other));
}

TEST_F(HaildbTransactionTest, TimeoutsRollBackOrNot) {
  fill({{1, "a"}, {2, "b"}});
  ib_trx_t holder = begin();
  ib_crsr_t held = open("test/people", holder);
  EXPECT_OK(ib_cursor_set_lock_mode(held, IB_LOCK_X));
  EXPECT_OK(move_to(held, 1));

  ib_trx_t trx = begin();
  ib_crsr_t cursor = open("test/people", trx);
  EXPECT_OK(insert(cursor, 3, "c"));
  ASSERT_OK(ib_cfg_set_bool_off("rollback_on_timeout"));
  EXPECT_OK(move_to(cursor, 1));
  EXPECT_DB(DB_LOCK_WAIT_TIMEOUT, ib_cursor_delete_row(cursor));
  EXPECT_EQ(ib_trx_state(trx), IB_TRX_ACTIVE);
  EXPECT_EQ(all_ids(cursor), (std::vector<int>{1, 2, 3}));
  ASSERT_OK(ib_cfg_set_bool_on("rollback_on_timeout"));
  EXPECT_OK(move_to(cursor, 1));
  EXPECT_DB(DB_LOCK_WAIT_TIMEOUT, ib_cursor_delete_row(cursor));
  EXPECT_EQ(ib_trx_state(trx), IB_TRX_NOT_STARTED);
  EXPECT_DB(DB_ERROR, ib_trx_commit(trx));
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_start(trx, IB_TRX_REPEATABLE_READ));
  EXPECT_OK(ib_trx_commit(trx));
  EXPECT_OK(ib_cursor_close(held));
  EXPECT_OK(ib_trx_commit(holder));
  EXPECT_EQ(committed(), (std::vector<int>{1, 2}));
}

/// Ends the lock waits of transactions whose client data says so.
int stops(void* data) { return *static_cast<const int*>(data); }

TEST_F(HaildbTransactionTest, ACursorStaysWhereItIsWhenALockIsRefused) {
  fill({{10, "a"}, {20, "b"}, {30, "c"}, {40, "d"}, {50, "e"}});
  ASSERT_OK(ib_cfg_set_bool_off("rollback_on_timeout"));
  ib_set_trx_is_interrupted_handler(stops);
  ib_trx_t holder = begin();
  ib_crsr_t held = open("test/people", holder);
  EXPECT_OK(move_to(held, 40));
  EXPECT_OK(ib_cursor_delete_row(held));
  for (const ib_trx_level_t level : {IB_TRX_READ_COMMITTED, IB_TRX_REPEATABLE_READ, IB_TRX_SERIALIZABLE}) {
    ib_trx_t trx = begin(level);
    int stop = 0;
    ib_trx_set_client_data(trx, &stop);
    ib_crsr_t cursor = open("test/people", trx);
    EXPECT_OK(ib_cursor_set_lock_mode(cursor, IB_LOCK_X));
    EXPECT_OK(ib_cursor_first(cursor));
    EXPECT_OK(ib_cursor_next(cursor));
    EXPECT_OK(ib_cursor_last(cursor));
    // Once by the time limit.
    stop = level == IB_TRX_REPEATABLE_READ ? 0 : 1;
    EXPECT_DB(DB_LOCK_WAIT_TIMEOUT, move_to(cursor, 40));
    EXPECT_EQ(id_at(cursor), 50);
    stop = 1;
    EXPECT_DB(DB_LOCK_WAIT_TIMEOUT, ib_cursor_prev(cursor));
    EXPECT_EQ(id_at(cursor), 50);
    stop = 0;
    EXPECT_OK(ib_cursor_delete_row(cursor));
    EXPECT_OK(move_to(cursor, 30));
    stop = 1;
    EXPECT_DB(DB_LOCK_WAIT_TIMEOUT, ib_cursor_next(cursor));
    EXPECT_DB(DB_LOCK_WAIT_TIMEOUT, move_to(cursor, 40));
    EXPECT_DB(DB_LOCK_WAIT_TIMEOUT, ib_cursor_last(cursor));
    EXPECT_EQ(id_at(cursor), 30);
    stop = 0;
    EXPECT_OK(ib_cursor_prev(cursor));
    EXPECT_EQ(id_at(cursor), 20);
    EXPECT_OK(move_to(cursor, 10));
    EXPECT_EQ(id_at(cursor), 10);
    EXPECT_OK(ib_cursor_close(cursor));
    EXPECT_OK(ib_trx_rollback(trx));
  }
  EXPECT_OK(ib_cursor_close(held));
  EXPECT_OK(ib_trx_rollback(holder));
}

TEST_F(HaildbTransactionTest, SerializableReadsKeepTheTableFromBeingLocked) {
  fill({{1, "a"}});
  ASSERT_OK(ib_cfg_set_bool_off("rollback_on_timeout"));
  ib_set_trx_is_interrupted_handler(stops);
  int stop = 1;
  ib_trx_t reader = begin(IB_TRX_SERIALIZABLE), other = begin();
  ib_trx_set_client_data(other, &stop);
  ib_crsr_t cursor = open("test/people", reader), locks = open("test/people", other);
  EXPECT_OK(ib_cursor_first(cursor));
  EXPECT_DB(DB_LOCK_WAIT_TIMEOUT, ib_cursor_lock(locks, IB_LOCK_X));
  EXPECT_OK(ib_cursor_lock(locks, IB_LOCK_S));
  EXPECT_OK(ib_cursor_reset(cursor));
  EXPECT_OK(ib_trx_commit(reader));
  EXPECT_OK(ib_cursor_lock(locks, IB_LOCK_X));
  reader = begin(IB_TRX_SERIALIZABLE);
  ib_cursor_attach_trx(cursor, reader);
  EXPECT_DB(DB_LOCK_WAIT_TIMEOUT, ib_cursor_first(cursor));
  ib_trx_set_client_data(reader, &stop);
  EXPECT_DB(DB_LOCK_WAIT_TIMEOUT, move_to(cursor, 1));
  EXPECT_DB(DB_LOCK_WAIT_TIMEOUT, ib_cursor_next(cursor));
  EXPECT_EQ(id_at(cursor), 1);
  stop = 0;
  EXPECT_OK(ib_cursor_close(locks));
  EXPECT_OK(ib_trx_commit(other));
  EXPECT_OK(ib_cursor_first(cursor));
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(reader));
}

TEST_F(HaildbTransactionTest, StatementsOfOneCursorDoNotDisturbAnother) {
  fill({{10, "a"}, {30, "c"}, {50, "e"}});
  ib_trx_t reader = begin(IB_TRX_READ_COMMITTED);
  ib_crsr_t cursor = open("test/people", reader), other = open("test/people", reader);
  // The row where a miss stands is that of its own statement.
  ib_cursor_set_match_mode(cursor, IB_EXACT_MATCH);
  EXPECT_DB(DB_RECORD_NOT_FOUND, move_to(cursor, 20));
  fill({{20, "b"}});
  EXPECT_OK(ib_cursor_first(other));
  EXPECT_EQ(id_at(cursor), 30);
  // A search is a new statement, also when another cursor has begun one that is as new.
  ib_cursor_set_match_mode(cursor, IB_CLOSEST_MATCH);
  EXPECT_OK(ib_cursor_first(cursor));
  fill({{40, "d"}});
  EXPECT_OK(ib_cursor_first(other));
  EXPECT_OK(move_to(cursor, 40));
  EXPECT_EQ(id_at(cursor), 40);
  EXPECT_OK(ib_cursor_close(other));
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(reader));
}

TEST_F(HaildbTransactionTest, DeadlocksHaveOneVictim) {
  fill({{1, "a"}, {2, "b"}});
  ASSERT_OK(ib_cfg_set_int("lock_wait_timeout", 50UL));
  std::atomic<int> locked{0};
  std::atomic<int> victims{0};
  const auto work = [&](int first, int second) {
    ib_trx_t trx = begin();
    ib_crsr_t cursor = open("test/people", trx);
    EXPECT_OK(ib_cursor_set_lock_mode(cursor, IB_LOCK_X));
    ib_cursor_set_match_mode(cursor, IB_EXACT_MATCH);
    EXPECT_OK(move_to(cursor, first));
    ++locked;
    while (locked < 2) std::this_thread::yield();
    const ib_err_t code = move_to(cursor, second);
    if (code == DB_DEADLOCK) {
      ++victims;
      EXPECT_EQ(ib_trx_state(trx), IB_TRX_NOT_STARTED);
      EXPECT_OK(ib_cursor_close(cursor));
      EXPECT_OK(ib_trx_release(trx));
    } else {
      EXPECT_OK(code);
      EXPECT_OK(ib_cursor_close(cursor));
      EXPECT_OK(ib_trx_commit(trx));
    }
  };
  std::thread one(work, 1, 2), two(work, 2, 1);
  one.join();
  two.join();
  EXPECT_EQ(victims, 1);
}

TEST_F(HaildbTransactionTest, TheHandlerEndsWaits) {
  fill({{1, "a"}});
  ASSERT_OK(ib_cfg_set_int("lock_wait_timeout", 1000UL));
  static std::atomic<int> asked;
  asked = 0;
  ib_set_trx_is_interrupted_handler([](void* data) {
    ++asked;
    return *static_cast<int*>(data);
  });
  ib_trx_t holder = begin();
  ib_crsr_t held = open("test/people", holder);
  EXPECT_OK(move_to(held, 1));
  EXPECT_OK(ib_cursor_delete_row(held));
  ib_trx_t trx = begin();
  int stop = 1;
  ib_trx_set_client_data(trx, &stop);
  ib_crsr_t cursor = open("test/people", trx);
  EXPECT_EQ(all_ids(cursor), (std::vector<int>{1}));
  EXPECT_EQ(asked, 0);
  EXPECT_OK(ib_cursor_first(cursor));
  EXPECT_DB(DB_LOCK_WAIT_TIMEOUT, ib_cursor_delete_row(cursor));
  EXPECT_GT(asked, 0);
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_release(trx));
  EXPECT_OK(ib_cursor_close(held));
  EXPECT_OK(ib_trx_commit(holder));
}

TEST_F(HaildbTransactionTest, SerializableReadsKeepRangesAsTheyAre) {
  fill({{10, "a"}, {20, "b"}, {30, "c"}});
  ib_trx_t reader = begin(IB_TRX_SERIALIZABLE);
  ib_crsr_t cursor = open("test/people", reader);
  EXPECT_OK(move_to(cursor, 10));
  EXPECT_OK(ib_cursor_next(cursor));
  ib_trx_t writer = begin();
  ASSERT_OK(ib_cfg_set_bool_off("rollback_on_timeout"));
  ib_crsr_t other = open("test/people", writer);
  EXPECT_DB(DB_LOCK_WAIT_TIMEOUT, insert(other, 15, "in the range"));
  EXPECT_OK(insert(other, 25, "behind it"));
  EXPECT_OK(insert(other, 5, "before it"));
  EXPECT_OK(ib_cursor_close(other));
  EXPECT_OK(ib_trx_commit(writer));
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(reader));
}

TEST_F(HaildbTransactionTest, SerializableSearchesThatMissKeepTheKeyFree) {
  fill({{10, "a"}, {30, "c"}});
  ib_trx_t reader = begin(IB_TRX_SERIALIZABLE);
  ib_crsr_t cursor = open("test/people", reader);
  ib_cursor_set_match_mode(cursor, IB_EXACT_MATCH);
  EXPECT_DB(DB_RECORD_NOT_FOUND, move_to(cursor, 20));
  ib_crsr_t names = open_index(cursor, "names");
  EXPECT_OK(ib_cursor_last(names));
  ASSERT_OK(ib_cfg_set_bool_off("rollback_on_timeout"));
  ib_trx_t writer = begin();
  ib_crsr_t other = open("test/people", writer);
  EXPECT_DB(DB_LOCK_WAIT_TIMEOUT, insert(other, 20, "b"));
  EXPECT_DB(DB_LOCK_WAIT_TIMEOUT, insert(other, 40, "z"));
  EXPECT_OK(insert(other, 40, "b"));
  EXPECT_OK(ib_cursor_close(other));
  EXPECT_OK(ib_trx_commit(writer));
  EXPECT_OK(ib_cursor_close(names));
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(reader));
}

// The rows have an index on each way to the clustered key, and one that is not unique.
class HaildbMissTest : public HaildbTest, public ::testing::WithParamInterface<ib_trx_level_t> {
 protected:
  static ib_err_t search(ib_crsr_t cursor, const std::string& name, ib_srch_mode_t mode) {
    ib_tpl_t key = ib_sec_search_tuple_create(cursor);
    set(key, 0, name);
    int result = 7;
    const ib_err_t code = ib_cursor_moveto(cursor, key, mode, &result);
    ib_tuple_delete(key);
    return code;
  }
};

TEST_P(HaildbMissTest, ExactSearchesThatMissLeaveTheNextRowToOthers) {
  create_people();
  fill({{10, "b"}, {20, "d"}, {30, "f"}});
  ASSERT_OK(ib_cfg_set_bool_off("rollback_on_timeout"));
  ASSERT_OK(ib_cfg_set_int("lock_wait_timeout", 1UL));
  // A holder has the neighbours, so that a search that waits for them fails; and a row that is not committed.
  ib_trx_t holder = begin();
  ib_crsr_t held = open("test/people", holder);
  EXPECT_OK(ib_cursor_set_lock_mode(held, IB_LOCK_X));
  for (const int id : {10, 20, 30}) EXPECT_OK(move_to(held, id));
  EXPECT_OK(insert(held, 18, "cz"));
  for (const ib_match_mode_t match : {IB_EXACT_MATCH, IB_EXACT_PREFIX}) {
    for (const ib_lck_mode_t mode : {IB_LOCK_S, IB_LOCK_X}) {
      SCOPED_TRACE(::testing::Message() << "match " << match << ", lock " << mode);
      ib_trx_t trx = begin(GetParam());
      ib_crsr_t cursor = open("test/people", trx), names = open_index(cursor, "names");
      ib_cursor_set_cluster_access(names);
      for (ib_crsr_t each : {cursor, names}) {
        EXPECT_OK(ib_cursor_set_lock_mode(each, mode));
        ib_cursor_set_match_mode(each, match);
      }
      EXPECT_DB(DB_RECORD_NOT_FOUND, move_to(cursor, 15));
      EXPECT_EQ(id_at(cursor), 20);
      EXPECT_DB(DB_RECORD_NOT_FOUND, move_to(cursor, 25));
      EXPECT_EQ(id_at(cursor), 30);
      EXPECT_DB(DB_RECORD_NOT_FOUND, move_to(cursor, 35));
      EXPECT_EQ(id_at(cursor), -1);
      EXPECT_DB(DB_RECORD_NOT_FOUND, search(names, "cm", IB_CUR_GE));
      EXPECT_EQ(id_at(names), 20);
      EXPECT_DB(DB_RECORD_NOT_FOUND, search(names, "e", IB_CUR_LE));
      EXPECT_EQ(id_at(names), 20);
      EXPECT_DB(DB_RECORD_NOT_FOUND, search(names, "d", IB_CUR_G));
      EXPECT_EQ(id_at(names), 30);
      EXPECT_DB(DB_RECORD_NOT_FOUND, search(names, "d", IB_CUR_L));
      EXPECT_EQ(id_at(names), 10);
      EXPECT_DB(DB_RECORD_NOT_FOUND, search(names, "a", IB_CUR_LE));
      EXPECT_EQ(id_at(names), -1);
      if (match == IB_EXACT_MATCH && mode == IB_LOCK_X) {
        EXPECT_DB(DB_LOCK_WAIT_TIMEOUT, search(names, "d", IB_CUR_GE));  // a hit is locked
      }
      EXPECT_OK(ib_cursor_close(names));
      EXPECT_OK(ib_cursor_close(cursor));
      EXPECT_OK(ib_trx_rollback(trx));
    }
  }
  EXPECT_OK(ib_cursor_close(held));
  EXPECT_OK(ib_trx_rollback(holder));

  // What missed has not locked the row where it stands, which others may change; but none is inserted before
  // it.
  ib_trx_t trx = begin(GetParam());
  ib_crsr_t cursor = open("test/people", trx), names = open_index(cursor, "names");
  for (ib_crsr_t each : {cursor, names}) {
    EXPECT_OK(ib_cursor_set_lock_mode(each, IB_LOCK_X));
    ib_cursor_set_match_mode(each, IB_EXACT_MATCH);
  }
  EXPECT_DB(DB_RECORD_NOT_FOUND, move_to(cursor, 15));
  EXPECT_DB(DB_RECORD_NOT_FOUND, search(names, "c", IB_CUR_GE));
  const ib_err_t in_gap = GetParam() >= IB_TRX_REPEATABLE_READ ? DB_LOCK_WAIT_TIMEOUT : DB_SUCCESS;
  ib_trx_t other = begin();
  ib_crsr_t writing = open("test/people", other);
  ib_cursor_set_match_mode(writing, IB_EXACT_MATCH);
  EXPECT_DB(in_gap, insert(writing, 15, "z"));
  EXPECT_DB(in_gap, insert(writing, 40, "c"));
  EXPECT_OK(insert(writing, 12, "a"));
  EXPECT_OK(insert(writing, 21, "g"));
  EXPECT_OK(move_to(writing, 20));
  EXPECT_OK(ib_cursor_delete_row(writing));
  EXPECT_OK(ib_cursor_close(writing));
  EXPECT_OK(ib_trx_commit(other));
  EXPECT_EQ(id_at(cursor), 20);
  EXPECT_OK(ib_cursor_close(names));
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(trx));
}

INSTANTIATE_TEST_SUITE_P(Levels, HaildbMissTest,
                         ::testing::Values(IB_TRX_READ_UNCOMMITTED, IB_TRX_READ_COMMITTED,
                                           IB_TRX_REPEATABLE_READ, IB_TRX_SERIALIZABLE));

TEST_F(HaildbTransactionTest, ReadCommittedLocksNoRanges) {
  fill({{10, "a"}, {30, "c"}});
  ib_trx_t reader = begin(IB_TRX_READ_COMMITTED);
  ib_crsr_t cursor = open("test/people", reader);
  EXPECT_OK(ib_cursor_set_lock_mode(cursor, IB_LOCK_S));
  EXPECT_EQ(all_ids(cursor), (std::vector<int>{10, 30}));
  fill({{20, "b"}});
  EXPECT_EQ(all_ids(cursor), (std::vector<int>{10, 20, 30}));
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(reader));
}

TEST_F(HaildbTransactionTest, TableLocks) {
  ib_id_t id = 0;
  ASSERT_OK(ib_table_get_id("test/people", &id));
  ib_trx_t one = begin(), two = begin();
  EXPECT_DB(DB_INVALID_INPUT, ib_table_lock(one, id, IB_LOCK_X));
  EXPECT_DB(DB_TABLE_NOT_FOUND, ib_table_lock(one, id + 1000, IB_LOCK_IX));
  EXPECT_OK(ib_table_lock(one, id, IB_LOCK_IX));
  ib_crsr_t cursor = open("test/people", two);
  EXPECT_OK(ib_cursor_lock(cursor, IB_LOCK_IS));
  EXPECT_DB(DB_LOCK_WAIT_TIMEOUT, ib_cursor_lock(cursor, IB_LOCK_X));
  EXPECT_EQ(ib_trx_state(two), IB_TRX_NOT_STARTED);
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_release(two));
  EXPECT_OK(ib_trx_commit(one));
}

TEST_F(HaildbTransactionTest, TheSchemaLockIsOneForAll) {
  ib_trx_t one = begin(), two = begin();
  EXPECT_DB(DB_SCHEMA_NOT_LOCKED, ib_schema_unlock(one));
  EXPECT_OK(ib_schema_lock_shared(one));
  EXPECT_EQ(ib_schema_lock_is_shared(one), IB_TRUE);
  EXPECT_DB(DB_SCHEMA_NOT_LOCKED, ib_schema_lock_exclusive(one));
  EXPECT_OK(ib_schema_lock_shared(two));
  EXPECT_OK(ib_schema_unlock(two));
  std::atomic<bool> got{false};
  std::thread waiter([&] {
    EXPECT_OK(ib_schema_lock_exclusive(two));
    got = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(got);
  EXPECT_OK(ib_schema_unlock(one));
  waiter.join();
  EXPECT_EQ(ib_schema_lock_is_exclusive(two), IB_TRUE);
  EXPECT_OK(ib_schema_lock_exclusive(two));
  EXPECT_OK(ib_schema_lock_shared(two));
  EXPECT_OK(ib_trx_commit(two));
  EXPECT_OK(ib_schema_lock_exclusive(one));
  EXPECT_OK(ib_trx_rollback(one));
}

TEST_F(HaildbTransactionTest, NoThreadWaitsForASchemaLockThatItHolds) {
  ib_trx_t one = begin(), two = begin();
  ib_id_t id = 0;
  EXPECT_OK(ib_schema_lock_shared(one));
  EXPECT_DB(DB_ERROR, ib_schema_lock_exclusive(two));
  EXPECT_DB(DB_ERROR, ib_table_truncate("test/people", &id));
  EXPECT_DB(DB_ERROR, ib_database_drop("test"));
  EXPECT_OK(ib_schema_lock_shared(two));
  EXPECT_OK(ib_schema_unlock(two));
  EXPECT_OK(ib_schema_unlock(one));
  EXPECT_OK(ib_schema_lock_exclusive(one));
  EXPECT_DB(DB_ERROR, ib_schema_lock_shared(two));
  EXPECT_DB(DB_ERROR, ib_schema_lock_exclusive(two));
  EXPECT_DB(DB_ERROR, ib_table_rename(two, "test/people", "test/others"));
  EXPECT_DB(DB_ERROR, ib_table_truncate("test/people", &id));
  EXPECT_DB(DB_ERROR, ib_database_drop("test"));
  EXPECT_OK(ib_trx_rollback(one));
  EXPECT_OK(ib_schema_lock_exclusive(two));
  EXPECT_OK(ib_trx_rollback(two));
}

TEST_F(HaildbTransactionTest, ShutdownEndsWhatIsOpen) {
  ib_trx_t trx = begin();
  ib_crsr_t cursor = open("test/people", trx);
  ib_tpl_t tuple = ib_clust_read_tuple_create(cursor);
  EXPECT_OK(insert(cursor, 1, "lost"));
  restart(IB_SHUTDOWN_NO_BUFPOOL_FLUSH);
  EXPECT_DB(DB_INVALID_INPUT, ib_cursor_close(cursor));
  EXPECT_DB(DB_INVALID_INPUT, ib_trx_rollback(trx));
  EXPECT_DB(DB_INVALID_INPUT, ib_tuple_write_i32(tuple, 0, 1));
  ib_tuple_delete(tuple);
  EXPECT_EQ(committed(), (std::vector<int>{}));
}

TEST_F(HaildbTransactionTest, CommittedRowsSurviveRestarts) {
  fill({{1, "a"}, {2, "b"}});
  for (const ib_shutdown_t how :
       {IB_SHUTDOWN_NORMAL, IB_SHUTDOWN_NO_IBUFMERGE_PURGE, IB_SHUTDOWN_NO_BUFPOOL_FLUSH}) {
    restart(how);
    EXPECT_EQ(committed(), (std::vector<int>{1, 2}));
  }
}

}  // namespace
}  // namespace hailstone
