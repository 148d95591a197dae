// Each allocation of each call of the HailDB interface fails in turn.
#include <gtest/gtest.h>

#include "api/haildb/fixture.h"
#include "base/failing_allocations.h"

namespace hailstone {
namespace {

class HaildbMemoryTest : public HaildbTest {
 protected:
  void SetUp() override {
    if (!FailingAllocations::possible()) GTEST_SKIP() << "this build has an operator new of its own";
    HaildbTest::SetUp();
    create_people();
  }
  void TearDown() override {
    if (FailingAllocations::possible()) HaildbTest::TearDown();
  }

  static bool is_failure(ib_err_t code) { return code == DB_OUT_OF_MEMORY || code == DB_ERROR; }

  /// Runs `work` in a transaction of its own until no allocation of it fails; `expected` are the rows when it
  /// has succeeded.
  template <typename Work>
  void for_every_allocation(const char* what, const std::vector<int>& expected, const Work& work) {
    const std::vector<int> before = committed();
    for (const uint64_t in_a_row : {uint64_t{1}, uint64_t{20}}) {
      for (uint64_t n = 0;; ++n) {
        SCOPED_TRACE(std::string(what) + ", allocation " + std::to_string(n));
        ib_trx_t trx = begin();
        ib_crsr_t cursor = open("test/people", trx);
        ib_savepoint_take(trx, "s", 1);
        FailingAllocations::arm(n, in_a_row);
        const ib_err_t code = FailingAllocations::call([&] { return work(cursor); });
        const uint64_t failed = FailingAllocations::disarm();
        if (code != DB_SUCCESS) {
          ASSERT_TRUE(is_failure(code)) << ib_strerror(code);
          ASSERT_GT(failed, 0U);
        }
        ASSERT_EQ(all_ids(cursor), code == DB_SUCCESS ? expected : before);
        FailingAllocations::arm(0, 1000);
        const ib_err_t back = FailingAllocations::call([&] { return ib_savepoint_rollback(trx, "s", 1); });
        FailingAllocations::disarm();
        ASSERT_OK(back);
        ASSERT_EQ(all_ids(cursor), before);
        ASSERT_OK(ib_cursor_close(cursor));
        FailingAllocations::arm(0, 1000);
        const ib_err_t end = FailingAllocations::call([&] { return ib_trx_rollback(trx); });
        FailingAllocations::disarm();
        ASSERT_OK(end);
        if (failed == 0) break;
      }
    }
    ib_trx_t trx = begin();
    ib_crsr_t cursor = open("test/people", trx);
    ASSERT_OK(work(cursor));
    ASSERT_OK(ib_cursor_close(cursor));
    ASSERT_OK(ib_trx_commit(trx));
    ASSERT_EQ(committed(), expected);
  }

  static std::vector<int> committed() {
    ib_trx_t trx = begin();
    ib_crsr_t cursor = open("test/people", trx);
    std::vector<int> ids = all_ids(cursor);
    EXPECT_OK(ib_cursor_close(cursor));
    EXPECT_OK(ib_trx_commit(trx));
    return ids;
  }
};

TEST_F(HaildbMemoryTest, RowsAreWrittenWhollyOrNotAtAll) {
  fill({{1, "one"}, {2, "two"}, {3, "three"}});
  ib_trx_t trx = begin();
  ib_crsr_t cursor = open("test/people", trx);
  ib_tpl_t row = ib_clust_read_tuple_create(cursor);
  set(row, 0, 4);
  set(row, 1, "a name of twenty byt");
  set(row, 2, 40);
  for_every_allocation("insert", {1, 2, 3, 4}, [&](ib_crsr_t to) { return ib_cursor_insert_row(to, row); });
  if (HasFailure()) return;

  ib_tpl_t key = ib_clust_search_tuple_create(cursor);
  set(key, 0, 2);
  const auto go_to_two = [&](ib_crsr_t to) {
    int compared = 0;
    const ib_err_t code = ib_cursor_moveto(to, key, IB_CUR_GE, &compared);
    if (code != DB_SUCCESS) return code;
    return compared == 0 ? DB_SUCCESS : DB_RECORD_NOT_FOUND;
  };
  ib_tpl_t before = ib_clust_read_tuple_create(cursor), after = ib_clust_read_tuple_create(cursor);
  ASSERT_OK(go_to_two(cursor));
  ASSERT_OK(ib_cursor_read_row(cursor, before));
  set(after, 0, 5);
  set(after, 1, "moved");
  set(after, 2, 50);
  for_every_allocation("update", {1, 3, 4, 5}, [&](ib_crsr_t at) {
    const ib_err_t code = go_to_two(at);
    return code == DB_SUCCESS ? ib_cursor_update_row(at, before, after) : code;
  });
  if (HasFailure()) return;
  set(key, 0, 3);
  for_every_allocation("delete", {1, 4, 5}, [&](ib_crsr_t at) {
    const ib_err_t code = go_to_two(at);
    return code == DB_SUCCESS ? ib_cursor_delete_row(at) : code;
  });
  for (ib_tpl_t each : {row, key, before, after}) ib_tuple_delete(each);
  ASSERT_OK(ib_cursor_close(cursor));
  ASSERT_OK(ib_trx_commit(trx));
}

TEST_F(HaildbMemoryTest, TransactionsAndCursorsOpenOrDoNot) {
  for (uint64_t n = 0;; ++n) {
    SCOPED_TRACE(n);
    FailingAllocations::arm(n, 1);
    const auto opened = FailingAllocations::call([&] {
      ib_trx_t trx = ib_trx_begin(IB_TRX_REPEATABLE_READ);
      ib_crsr_t cursor = nullptr;
      ib_err_t code = trx == nullptr ? DB_OUT_OF_MEMORY : ib_cursor_open_table("test/people", trx, &cursor);
      if (code == DB_SUCCESS) code = ib_cursor_close(cursor);
      if (trx != nullptr) {
        const ib_err_t ended = ib_trx_commit(trx);
        if (code == DB_SUCCESS) code = ended;
      }
      return code;
    });
    const uint64_t failed = FailingAllocations::disarm();
    ASSERT_TRUE(opened == DB_SUCCESS || is_failure(opened)) << ib_strerror(opened);
    if (failed == 0) break;
  }
}

TEST_F(HaildbMemoryTest, TheSchemaChangesWhollyOrNotAtAll) {
  fill({{1, "one"}, {2, "two"}, {3, "three"}});
  // What a transaction sees of the schema: tables, and the index that is made and dropped.
  const auto seen = [](ib_trx_t trx) {
    std::string all;
    for (const char* name : {"test/people", "test/named", "test/made"}) {
      ib_crsr_t cursor = nullptr;
      if (ib_cursor_open_table(name, trx, &cursor) != DB_SUCCESS) continue;
      all += std::string(name) + " " + std::to_string(all_ids(cursor).size());
      ib_crsr_t index = nullptr;
      if (ib_cursor_open_index_using_name(cursor, "by number", &index) == DB_SUCCESS) {
        all += " with " + std::to_string(all_ids(index).size());
        EXPECT_OK(ib_cursor_close(index));
      }
      EXPECT_OK(ib_cursor_close(cursor));
      all += "; ";
    }
    return all;
  };
  const auto change = [&](const char* what, const std::string& after, const auto& work) {
    std::string before;
    for (const uint64_t in_a_row : {uint64_t{1}, uint64_t{20}}) {
      for (uint64_t n = 0;; ++n) {
        SCOPED_TRACE(std::string(what) + ", allocation " + std::to_string(n));
        ib_trx_t trx = begin();
        ASSERT_OK(ib_schema_lock_exclusive(trx));
        before = seen(trx);
        FailingAllocations::arm(n, in_a_row);
        const ib_err_t code = FailingAllocations::call([&] { return work(trx); });
        const uint64_t failed = FailingAllocations::disarm();
        if (code != DB_SUCCESS) {
          ASSERT_TRUE(is_failure(code)) << ib_strerror(code);
          ASSERT_GT(failed, 0U);
        }
        ASSERT_EQ(seen(trx), code == DB_SUCCESS ? after : before);
        FailingAllocations::arm(0, 1000);
        const ib_err_t back = FailingAllocations::call([&] { return ib_trx_rollback(trx); });
        FailingAllocations::disarm();
        ASSERT_OK(back);
        trx = begin();
        ASSERT_EQ(seen(trx), before);
        ASSERT_OK(ib_trx_commit(trx));
        if (failed == 0) break;
      }
    }
    ib_trx_t trx = begin();
    ASSERT_OK(ib_schema_lock_exclusive(trx));
    ASSERT_OK(work(trx));
    ASSERT_OK(ib_trx_commit(trx));
    trx = begin();
    ASSERT_EQ(seen(trx), after);
    ASSERT_OK(ib_trx_commit(trx));
  };
  change("create", "test/people 3; test/made 0; ", [](ib_trx_t trx) {
    ib_tbl_sch_t schema = nullptr;
    ib_id_t id = 0;
    ib_err_t code = ib_table_schema_create("test/made", &schema, IB_TBL_COMPACT, 0);
    if (code != DB_SUCCESS) return code;
    code = ib_table_schema_add_col(schema, "id", IB_INT, IB_COL_NOT_NULL, 0, 4);
    if (code == DB_SUCCESS) code = ib_table_create(trx, schema, &id);
    ib_table_schema_delete(schema);
    return code;
  });
  if (HasFailure()) return;
  change("create an index", "test/people 3 with 3; test/made 0; ", [](ib_trx_t trx) {
    ib_idx_sch_t schema = nullptr;
    ib_id_t id = 0;
    ib_err_t code = ib_index_schema_create(trx, "by number", "test/people", &schema);
    if (code != DB_SUCCESS) return code;
    code = ib_index_schema_add_col(schema, "number", 0);
    if (code == DB_SUCCESS) code = ib_index_create(schema, &id);
    ib_index_schema_delete(schema);
    return code;
  });
  if (HasFailure()) return;
  change("rename", "test/named 3 with 3; test/made 0; ",
         [](ib_trx_t trx) { return ib_table_rename(trx, "test/people", "test/named"); });
  if (HasFailure()) return;
  change("drop", "test/named 3 with 3; ", [](ib_trx_t trx) { return ib_table_drop(trx, "test/made"); });
}

}  // namespace
}  // namespace hailstone
