// What is there after the process died: whole transactions, DDL and rows together.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>

#include "api/haildb/fixture.h"

namespace hailstone {
namespace {

class HaildbCrashTest : public HaildbTest {
 protected:
  void SetUp() override {
    // The engine may not be running when the process is forked: its threads would be missing in the child.
    home_ = directory_.path() + "/";
  }
  /// Works in a process that dies without a shutdown.
  void work_and_die(const std::function<void()>& work) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      start();
      work();
      ::_exit(HasFailure() ? 1 : 0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }
  static void add_index(ib_trx_t trx, const char* name, const char* column) {
    EXPECT_OK(ib_schema_lock_exclusive(trx));
    ib_idx_sch_t index = nullptr;
    ASSERT_OK(ib_index_schema_create(trx, name, "test/people", &index));
    EXPECT_OK(ib_index_schema_add_col(index, column, 0));
    ib_id_t id = 0;
    EXPECT_OK(ib_index_create(index, &id));
    ib_index_schema_delete(index);
  }
};

int hook_calls = 0;

TEST_F(HaildbCrashTest, TheHookIsCalledAfterACrashOnly) {
  work_and_die([] { create_people(); });
  const auto calls_at_start = [&] {
    hook_calls = 0;
    EXPECT_OK(ib_init());
    ib_logger_set(quiet_log, nullptr);
    EXPECT_OK(ib_cfg_set_text("data_home_dir", home_.c_str()));
    EXPECT_OK(ib_cfg_set_callback(
        "pre_rollback_hook", +[] { ++hook_calls; }));
    EXPECT_OK(ib_startup("barracuda"));
    return hook_calls;
  };
  EXPECT_EQ(calls_at_start(), 1);
  EXPECT_OK(ib_shutdown(IB_SHUTDOWN_NORMAL));
  EXPECT_EQ(calls_at_start(), 0);
}

TEST_F(HaildbCrashTest, WholeTransactionsSurvive) {
  work_and_die([] {
    create_people();
    fill({{1, "c"}, {2, "b"}, {3, "a"}});
    ib_trx_t trx = begin();
    add_index(trx, "numbers", "number");
    ib_crsr_t cursor = open("test/people", trx);
    EXPECT_OK(insert(cursor, 4, "d", 5));
    EXPECT_OK(ib_cursor_close(cursor));
    EXPECT_OK(ib_trx_commit(trx));
    // Not committed: a dropped index, a new table, a row.
    trx = begin();
    EXPECT_OK(ib_schema_lock_exclusive(trx));
    ib_id_t names = 0;
    EXPECT_OK(ib_index_get_id("test/people", "names", &names));
    EXPECT_OK(ib_index_drop(trx, names));
    ib_tbl_sch_t schema = describe("test/new", {{"a", IB_INT, 0, 4}}, {});
    ib_id_t id = 0;
    EXPECT_OK(ib_table_create(trx, schema, &id));
    cursor = open("test/people", trx);
    EXPECT_OK(insert(cursor, 5, "lost"));
  });
  for (int round = 0; round < 2; ++round) {
    start();
    ib_id_t id = 0;
    EXPECT_DB(DB_TABLE_NOT_FOUND, ib_table_get_id("test/new", &id));
    ib_trx_t trx = begin();
    ib_crsr_t cursor = open("test/people", trx);
    EXPECT_EQ(all_ids(cursor), (std::vector<int>{1, 2, 3, 4}));
    ib_crsr_t names = open_index(cursor, "names");
    ib_cursor_set_cluster_access(names);
    EXPECT_EQ(all_ids(names), (std::vector<int>{3, 2, 1, 4}));
    ib_crsr_t numbers = open_index(cursor, "numbers");
    ib_cursor_set_cluster_access(numbers);
    EXPECT_EQ(all_ids(numbers), (std::vector<int>{4, 1, 2, 3}));
    for (ib_crsr_t each : {numbers, names, cursor}) EXPECT_OK(ib_cursor_close(each));
    EXPECT_OK(ib_trx_commit(trx));
    EXPECT_OK(ib_shutdown(IB_SHUTDOWN_NORMAL));
  }
  start();
}

int compare_backwards(const ib_col_meta_t*, const ib_byte_t* a, ib_ulint_t a_size, const ib_byte_t* b,
                      ib_ulint_t b_size) {
  const std::string_view left(reinterpret_cast<const char*>(a), a_size);
  const std::string_view right(reinterpret_cast<const char*>(b), b_size);
  return right.compare(left);
}

TEST_F(HaildbCrashTest, RecoveryNeedsNoClientFunction) {
  const auto word_table = [] {
    create("test/people",
           {{"id", IB_INT, IB_COL_NOT_NULL, 4}, {"word", IB_BLOB, 0, 0}, {"number", IB_INT, 0, 4}},
           {{"PRIMARY", {{"id"}}, true}, {"words", {{"word"}}}});
  };
  work_and_die([&] {
    ib_set_client_compare(compare_backwards);
    word_table();
    fill({{1, "a"}, {2, "c"}, {3, "b"}});
  });
  start();
  ib_set_client_compare(compare_backwards);
  ib_trx_t trx = begin();
  ib_crsr_t cursor = open("test/people", trx);
  ib_crsr_t words = open_index(cursor, "words");
  ib_cursor_set_cluster_access(words);
  EXPECT_OK(insert(cursor, 4, "bb"));
  EXPECT_EQ(all_ids(words), (std::vector<int>{2, 4, 3, 1}));
  EXPECT_OK(ib_cursor_close(words));
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(trx));
}

}  // namespace
}  // namespace hailstone
