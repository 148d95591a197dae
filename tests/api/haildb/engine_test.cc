// The life of the engine, configuration, status, logger and panic.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "api/haildb/client_order.h"
#include "api/haildb/fixture.h"
#include "base/check.h"

namespace hailstone {
namespace {

TEST(HaildbEngineTest, TheOrderOfCallsIsHeld) {
  EXPECT_EQ(ib_api_version(), 0x600000000ULL);
  EXPECT_DB(DB_ERROR, ib_startup(nullptr));
  EXPECT_EQ(ib_trx_begin(IB_TRX_REPEATABLE_READ), nullptr);
  ASSERT_OK(ib_init());
  EXPECT_DB(DB_ERROR, ib_init());
  EXPECT_OK(ib_shutdown(IB_SHUTDOWN_NORMAL));
  ASSERT_OK(ib_init());
  EXPECT_DB(DB_UNSUPPORTED, ib_startup("Cheetah"));
  ib_logger_set(quiet_log, nullptr);
  EXPECT_OK(ib_cfg_set_text("data_home_dir", "/nonexistent/"));
  EXPECT_DB(DB_ERROR, ib_startup("1"));
  EXPECT_OK(ib_shutdown(IB_SHUTDOWN_NORMAL));
}

using HaildbRunningTest = HaildbTest;

TEST_F(HaildbRunningTest, AStartedEngineIsNotStartedAgain) {
  EXPECT_DB(DB_ERROR, ib_startup(nullptr));
  EXPECT_DB(DB_ERROR, ib_init());
  const char* format = nullptr;
  EXPECT_OK(ib_cfg_get("file_format", &format));
  EXPECT_STREQ(format, "Barracuda");
}

TEST_F(HaildbRunningTest, AChildOfForkLeavesTheEngineAlone) {
  const ib_trx_t trx = ib_trx_begin(IB_TRX_REPEATABLE_READ);
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    int wrong = 0;
    if (ib_trx_begin(IB_TRX_REPEATABLE_READ) != nullptr) wrong |= 1;
    if (ib_trx_commit(trx) != DB_ERROR || ib_trx_rollback(trx) != DB_ERROR) wrong |= 2;
    if (ib_database_create("other") == IB_TRUE) wrong |= 4;
    if (ib_shutdown(IB_SHUTDOWN_NORMAL) != DB_ERROR) wrong |= 8;
    _exit(wrong);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_OK(ib_trx_commit(trx));
}

TEST_F(HaildbRunningTest, StatusHasAllNames) {
  const char** names = nullptr;
  ib_u32_t count = 0;
  ASSERT_OK(ib_status_get_all(&names, &count));
  EXPECT_GT(count, 41U);
  EXPECT_STREQ(names[0], "read_req_pending");
  EXPECT_STREQ(names[40], "have_atomic_builtins");
  EXPECT_EQ(names[count], nullptr);
  for (ib_u32_t i = 0; i < count; ++i) {
    ib_i64_t value = -1;
    EXPECT_OK(ib_status_get_i64(names[i], &value)) << names[i];
    EXPECT_GE(value, 0) << names[i];
  }
  std::free(names);
  ib_i64_t value = 0;
  EXPECT_OK(ib_status_get_i64("PAGE_SIZE", &value));
  EXPECT_EQ(value, 16384);
  EXPECT_DB(DB_NOT_FOUND, ib_status_get_i64("nothing", &value));
  create_people();
  fill({{1, "a"}, {2, "b"}});
  EXPECT_OK(ib_status_get_i64("row_total_inserted", &value));
  EXPECT_EQ(value, 2);
  ib_trx_t trx = begin();
  ib_crsr_t cursor = open("test/people", trx);
  all_ids(cursor);
  EXPECT_OK(ib_status_get_i64("row_total_read", &value));
  EXPECT_EQ(value, 2);
  EXPECT_OK(ib_cursor_close(cursor));
  EXPECT_OK(ib_trx_commit(trx));
}

TEST(HaildbConfigurationTest, VariablesHaveTypesLimitsAndTimes) {
  ib_ulint_t number = 0;
  EXPECT_DB(DB_ERROR, ib_cfg_get("open_files", &number));
  ASSERT_OK(ib_init());
  const char** names = nullptr;
  ib_u32_t count = 0;
  ASSERT_OK(ib_cfg_get_all(&names, &count));
  EXPECT_EQ(count, 36U);
  std::free(names);
  ib_cfg_type_t type = IB_CFG_CB;
  EXPECT_OK(ib_cfg_var_get_type("Open_Files", &type));
  EXPECT_EQ(type, IB_CFG_ULINT);
  EXPECT_DB(DB_NOT_FOUND, ib_cfg_var_get_type("nothing", &type));
  EXPECT_DB(DB_NOT_FOUND, ib_cfg_set("nothing", 1UL));
  EXPECT_DB(DB_NOT_FOUND, ib_cfg_get("nothing", &number));
  EXPECT_OK(ib_cfg_get("buffer_pool_size", &number));
  EXPECT_EQ(number, 8388608U);
  EXPECT_DB(DB_INVALID_INPUT, ib_cfg_set_int("buffer_pool_size", 1024UL));
  EXPECT_DB(DB_INVALID_INPUT, ib_cfg_set_int("flush_log_at_trx_commit", 3UL));
  EXPECT_DB(DB_READONLY, ib_cfg_set_int("file_io_threads", 4UL));
  EXPECT_DB(DB_READONLY, ib_cfg_set_text("version", "9"));
  EXPECT_DB(DB_INVALID_INPUT, ib_cfg_set_text("data_home_dir", "no/slash"));
  EXPECT_DB(DB_INVALID_INPUT, ib_cfg_set_text("file_format", "Cheetah"));
  EXPECT_OK(ib_cfg_set_text("file_format", "1"));
  const char* text = nullptr;
  EXPECT_OK(ib_cfg_get("file_format", &text));
  EXPECT_STREQ(text, "Barracuda");
  EXPECT_OK(ib_cfg_set_text("flush_method", "O_DIRECT"));
  EXPECT_DB(DB_INVALID_INPUT, ib_cfg_set_text("flush_method", "o_direct"));
  EXPECT_OK(ib_cfg_get("flush_method", &text));
  EXPECT_EQ(text, nullptr);
  EXPECT_OK(ib_cfg_set_text("data_file_path", "ibdata1:10M;ibdata2:1G:autoextend:max:2G"));
  for (const char* path : {"", "ibdata1", "ibdata1:", ":10M", "a:10M:autoextend;b:1M", "a:10M:auto"}) {
    EXPECT_DB(DB_INVALID_INPUT, ib_cfg_set_text("data_file_path", path)) << path;
  }
  EXPECT_OK(ib_cfg_set_bool_off("doublewrite"));
  EXPECT_OK(ib_cfg_get("doublewrite", &number));
  EXPECT_EQ(number, IB_FALSE);
  ib_cb_t hook = +[] {};
  ib_cb_t found = nullptr;
  EXPECT_OK(ib_cfg_set_callback("pre_rollback_hook", hook));
  EXPECT_OK(ib_cfg_get("pre_rollback_hook", &found));
  EXPECT_EQ(found, hook);
  EXPECT_OK(ib_shutdown(IB_SHUTDOWN_NORMAL));
  ASSERT_OK(ib_init());
  EXPECT_OK(ib_cfg_get("doublewrite", &number));
  EXPECT_EQ(number, IB_TRUE);
  EXPECT_OK(ib_shutdown(IB_SHUTDOWN_NORMAL));
}

TEST_F(HaildbRunningTest, StartVariablesAreReadonlyNow) {
  EXPECT_DB(DB_READONLY, ib_cfg_set_int("buffer_pool_size", 1UL << 30));
  EXPECT_OK(ib_cfg_set_int("flush_log_at_trx_commit", 2UL));
  EXPECT_OK(ib_cfg_set_int("lock_wait_timeout", 3UL));
  ib_ulint_t number = 0;
  EXPECT_OK(ib_cfg_get("file_io_threads", &number));
  EXPECT_EQ(number, 10U);
}

TEST(HaildbErrorTest, EveryCodeHasWords) {
  EXPECT_STREQ(ib_strerror(DB_SUCCESS), "Success");
  EXPECT_STREQ(ib_strerror(static_cast<ib_err_t>(77)), "Unknown error");
  EXPECT_STRNE(ib_strerror(DB_SCHEMA_NOT_LOCKED), "Unknown error");
}

int panicked_with = 0;
void note_panic(void* data, int code, char* format, ...) {
  if (data == nullptr && std::strcmp(format, "test panic message") == 0) panicked_with = code;
}

/// In a process of its own: a panic is for good.
void panic_and_exit() {
  const TemporaryDirectory directory;
  const std::string home = directory.path() + "/";
  bool good = ib_init() == DB_SUCCESS;
  ib_logger_set(quiet_log, nullptr);
  ib_set_panic_handler(note_panic);
  good = good && ib_cfg_set_text("data_home_dir", home.c_str()) == DB_SUCCESS &&
         ib_startup(nullptr) == DB_SUCCESS;
  ib_trx_t trx = ib_trx_begin(IB_TRX_REPEATABLE_READ);
  good = good && ib_error_inject(2) == DB_ERROR && ib_error_inject(1) == DB_SUCCESS &&
         panicked_with == DB_CORRUPTION;
  good = good && ib_trx_commit(trx) == DB_CORRUPTION && ib_init() == DB_CORRUPTION;
  ib_ulint_t value = 0;
  good = good && ib_cfg_get("open_files", &value) == DB_SUCCESS;
  good = good && ib_shutdown(IB_SHUTDOWN_NORMAL) == DB_CORRUPTION;
  std::_Exit(good ? 0 : 1);
}

void note_real_panic(void* data, int code, char* format, ...) {
  if (data == nullptr && std::strcmp(format, "%s") == 0) panicked_with = code;
}

/// In a process of its own, in which no file can grow any more.
void fill_the_disk_and_exit() {
  const TemporaryDirectory directory;
  const std::string home = directory.path() + "/";
  bool good = ib_init() == DB_SUCCESS;
  ib_logger_set(quiet_log, nullptr);
  ib_set_panic_handler(note_real_panic);
  good = good && ib_cfg_set_text("data_home_dir", home.c_str()) == DB_SUCCESS &&
         ib_startup(nullptr) == DB_SUCCESS && ib_database_create("test") == IB_TRUE;
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit nothing{1, RLIM_INFINITY};
  good = good && ::setrlimit(RLIMIT_FSIZE, &nothing) == 0;
  ib_tbl_sch_t schema = nullptr;
  ib_id_t id = 0;
  ib_trx_t trx = ib_trx_begin(IB_TRX_REPEATABLE_READ);
  good = good && ib_table_schema_create("test/t", &schema, IB_TBL_COMPACT, 0) == DB_SUCCESS &&
         ib_table_schema_add_col(schema, "n", IB_INT, IB_COL_NONE, 0, 4) == DB_SUCCESS &&
         ib_schema_lock_exclusive(trx) == DB_SUCCESS && ib_table_create(trx, schema, &id) == DB_SUCCESS;
  good = good && panicked_with == 0;
  // What could not be kept is seen by nobody from here on.
  good = good && ib_trx_commit(trx) == DB_OUT_OF_FILE_SPACE && panicked_with == DB_OUT_OF_FILE_SPACE;
  good = good && ib_table_get_id("test/t", &id) == DB_OUT_OF_FILE_SPACE;
  ib_i64_t inserted = -1;
  good = good && ib_status_get_i64("row_total_inserted", &inserted) == DB_SUCCESS && inserted == 0;
  good = good && ib_shutdown(IB_SHUTDOWN_NORMAL) == DB_OUT_OF_FILE_SPACE;
  std::_Exit(good ? 0 : 1);
}

void tell_panic(void*, int code, char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::fprintf(stderr, "told with code %d: ", code);
  std::vfprintf(stderr, format, arguments);
  va_end(arguments);
}

/// In a process of its own, which it ends.
void break_an_invariant() {
  const TemporaryDirectory directory;
  const std::string home = directory.path() + "/";
  const bool started = ib_init() == DB_SUCCESS &&
                       ib_cfg_set_text("data_home_dir", home.c_str()) == DB_SUCCESS &&
                       ib_startup(nullptr) == DB_SUCCESS;
  ib_set_panic_handler(tell_panic);
  HAILSTONE_CHECK(!started, "{} rows", 7);
}

TEST(HaildbPanicDeathTest, ABrokenInvariantIsToldToTheHandler) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(break_an_invariant(), "told with code [0-9]+: .*!started: 7 rows");
}

TEST(HaildbPanicDeathTest, ALogThatCannotBeWrittenStopsAllWork) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(fill_the_disk_and_exit(), ::testing::ExitedWithCode(0), "");
}

TEST(HaildbPanicDeathTest, StopsAllWorkAndTellsTheHandler) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(panic_and_exit(), ::testing::ExitedWithCode(0), "");
}

TEST(HaildbLabelTest, LabelsFitBetweenOthers) {
  using haildb::ClientOrder;
  std::string low, high;
  // Ever narrower from both sides, and long runs.
  for (int i = 0; i < 3000; ++i) {
    const std::string middle = ClientOrder::between(low, high);
    ASSERT_TRUE(low < middle && (high.empty() || middle < high)) << i;
    (i % 3 == 0 ? low : high) = middle;
  }
  std::string last = ClientOrder::between({}, {});
  const std::string limit = ClientOrder::between(last, {});
  for (int i = 0; i < 100'000; ++i) {
    std::string next = ClientOrder::between(last, limit);
    ASSERT_TRUE(last < next && next < limit);
    last = std::move(next);
  }
  EXPECT_LT(last.size(), 20U);
  std::string first = ClientOrder::between({}, limit);
  for (int i = 0; i < 100'000; ++i) {
    std::string next = ClientOrder::between({}, first);
    ASSERT_LT(next, first);
    first = std::move(next);
  }
  EXPECT_LT(first.size(), 20U);
}

}  // namespace
}  // namespace hailstone
