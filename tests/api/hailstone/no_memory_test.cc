// What stays when memory runs out in the midst of a backup, a restore, an import, or the reading of a
// dictionary: no file, no damage, and a sentence.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>

#include "api/hailstone/fixture.h"
#include "base/failing_allocations.h"
#include "database/file_copy.h"
#include "file/filesystem.h"

namespace hailstone {
namespace {

class HailstoneMemoryFailureTest : public HailstoneTest {
 protected:
  void SetUp() override {
    if (!FailingAllocations::possible()) GTEST_SKIP() << "this build has an operator new of its own";
    HailstoneTest::SetUp();
    hs_table* const table = create_pairs("d/t");
    hs_transaction* const transaction = begin();
    hs_load* load = nullptr;
    ASSERT_HS_OK(hs_load_begin(transaction, table, &load), transaction);
    for (int64_t id = 0; id < 20'000; ++id) {
      const std::string text = "one of a thousand texts, number " + std::to_string(id % 1000);
      const hs_value row[] = {hs_int(id), hs_bytes(text.data(), text.size())};
      ASSERT_HS_OK(hs_load_row(load, row, 2), load);
    }
    ASSERT_HS_OK(hs_load_finish(load), load);
    hs_load_close(load);
    commit(transaction);
    hs_table_close(table);
  }
  void TearDown() override {
    if (FailingAllocations::possible()) HailstoneTest::TearDown();
  }

  /// Each allocation of the call fails, and 20 in a row; `check` looks at what the call has left.
  template <typename Work>
  static void for_every_allocation(const Work& work, const std::function<void(int)>& check) {
    SampledAllocations sampled;
    for (const uint64_t in_a_row : {uint64_t{1}, uint64_t{20}}) {
      for (uint64_t n = 0;; n = sampled.after(n)) {
        SCOPED_TRACE("allocation " + std::to_string(n) + ", in a row " + std::to_string(in_a_row));
        FailingAllocations::arm(n, in_a_row);
        const int status = FailingAllocations::call(work);
        const uint64_t failed = FailingAllocations::disarm();
        ASSERT_TRUE(status == HS_OK || status == HS_NO_MEMORY) << status;
        if (status != HS_OK) {
          ASSERT_GT(failed, 0U);
        }
        check(status);
        if (HasFailure() || failed == 0) break;
      }
    }
  }
};

TEST_F(HailstoneMemoryFailureTest, AFailedBackupLeavesNothing) {
  const std::string copy = directory_.file("copy"), empty = directory_.file("empty");
  for_every_allocation([&] { return hs_backup(database_, copy.c_str()); },
                       [&](int status) {
                         EXPECT_EQ(std::filesystem::exists(copy), status == HS_OK);
                         EXPECT_TRUE(status == HS_OK || hs_error_message(database_)[0] != 0);
                         std::filesystem::remove_all(copy);
                       });
  std::filesystem::create_directory(empty);
  for_every_allocation([&] { return hs_backup(database_, empty.c_str()); },
                       [&](int status) {
                         EXPECT_EQ(std::filesystem::is_empty(empty), status != HS_OK);
                         std::filesystem::remove_all(empty);
                         std::filesystem::create_directory(empty);
                       });
}

TEST_F(HailstoneMemoryFailureTest, AFailedRestoreLeavesNothing) {
  const std::string copy = directory_.file("copy"), restored = directory_.file("restored");
  ASSERT_HS_OK(hs_backup(database_, copy.c_str()), database_);
  const auto restore = [&]() -> int {
    try {
      const Status done = restore_database(posix_filesystem(), copy, restored, {});
      return done ? HS_OK : done.error().code() == ErrorCode::OutOfMemory ? HS_NO_MEMORY : HS_IO;
    } catch (const std::bad_alloc&) {
      return HS_NO_MEMORY;
    }
  };
  for_every_allocation(restore, [&](int status) {
    EXPECT_EQ(std::filesystem::exists(restored), status == HS_OK);
    std::filesystem::remove_all(restored);
  });
}

TEST_F(HailstoneMemoryFailureTest, AnImportDoesAllOrNothingAndSaysWhy) {
  hs_transaction* const transaction = begin();
  hs_table* table = nullptr;
  hs_scan* scan = nullptr;
  ASSERT_HS_OK(hs_table_open(transaction, "d/t", &table), transaction);
  ASSERT_HS_OK(hs_scan_open(transaction, table, &scan), transaction);
  hs_predicate* const some = hs_compare("id", HS_LESS, hs_int(500));
  ASSERT_HS_OK(hs_scan_filter(scan, some), scan);
  hs_predicate_free(some);
  hs_schema* schema = nullptr;
  ASSERT_HS(HS_OK, hs_schema_new(&schema));
  ASSERT_HS_OK(hs_schema_column(schema, "id", HS_INT64, 0, HS_NOT_NULL), schema);
  ASSERT_HS_OK(hs_schema_column(schema, "text", HS_STRING, 0, 0), schema);
  hs_table* to = nullptr;
  ASSERT_HS_OK(hs_table_create(transaction, "d/to", schema, &to), transaction);
  hs_schema_free(schema);
  ASSERT_HS_OK(hs_savepoint(transaction, "before"), transaction);
  hs_scan* const counted = [&] {
    hs_scan* made = nullptr;
    EXPECT_HS_OK(hs_scan_open(transaction, to, &made), transaction);
    return made;
  }();
  const auto load = [&]() -> int {
    ArrowArrayStream stream{};
    hs_load* loading = nullptr;
    int status = hs_scan_stream(scan, &stream);
    if (status != HS_OK) return status;
    status = hs_load_begin(transaction, to, &loading);
    if (status == HS_OK) {
      status = hs_load_stream(loading, &stream);
      // A stream has numbers of errno only.
      if (status == HS_INVALID && std::strstr(hs_error_message(loading), "error 12") != nullptr)
        status = HS_NO_MEMORY;
      if (status == HS_OK) status = hs_load_finish(loading);
      EXPECT_TRUE(status == HS_OK || hs_error_message(loading)[0] != 0);
    } else {
      EXPECT_STRNE(hs_error_message(transaction), "");
    }
    if (stream.release != nullptr) stream.release(&stream);
    hs_load_close(loading);
    return status;
  };
  for_every_allocation(load, [&](int status) {
    uint64_t rows = 0;
    ASSERT_HS_OK(hs_scan_count(counted, &rows), counted);
    EXPECT_EQ(rows, status == HS_OK ? 500U : 0U);
    ASSERT_HS_OK(hs_rollback_to(transaction, "before"), transaction);
  });
  hs_transaction_close(transaction);
}

TEST_F(HailstoneMemoryFailureTest, ADictionaryThatHasNoMemoryIsNotDamaged) {
  for (uint64_t n = 0;; ++n) {
    SCOPED_TRACE(n);
    reopen();  // nothing of it is in memory
    hs_transaction* const transaction = begin();
    hs_table* table = nullptr;
    ASSERT_HS_OK(hs_table_open(transaction, "d/t", &table), transaction);
    int status = HS_OK;
    std::string said;
    uint64_t failed = 0, rows = 0;
    const auto count = [&] {
      hs_scan* scan = nullptr;
      int counted = hs_scan_open(transaction, table, &scan);
      hs_predicate* const some = hs_like("text", "%number 77%", '\\');
      if (counted == HS_OK) counted = hs_scan_filter(scan, some);
      if (counted == HS_OK) counted = hs_scan_threads(scan, 1);
      if (counted == HS_OK) counted = hs_scan_count(scan, &rows);
      if (counted != HS_OK) said = hs_error_message(scan);
      hs_predicate_free(some);
      hs_scan_close(scan);
      return counted;
    };
    // A thread keeps what it decompresses with.
    std::thread([&] {
      FailingAllocations::arm_malloc(n, 1);
      status = FailingAllocations::call(count);
      failed = FailingAllocations::disarm();
    }).join();
    ASSERT_TRUE(status == HS_OK || status == HS_NO_MEMORY) << said;
    ASSERT_HS(HS_OK, count()) << said;
    EXPECT_EQ(rows, 220U);
    hs_transaction_close(transaction);
    if (failed == 0) {
      EXPECT_GT(n, 0U) << "no allocation was met";
      break;
    }
  }
}

TEST_F(HailstoneMemoryFailureTest, ADictionaryIsGivenOutWhollyOrNotAtAll) {
  SampledAllocations sampled;
  for (const bool of_libraries : {false, true}) {
    for (uint64_t n = 0;; n = sampled.after(n)) {
      SCOPED_TRACE(std::string(of_libraries ? "malloc " : "new ") + std::to_string(n));
      reopen();  // nothing of it is in memory
      hs_transaction* const transaction = begin();
      hs_table* table = nullptr;
      ASSERT_HS_OK(hs_table_open(transaction, "d/t", &table), transaction);
      int64_t rows = 0;
      const auto read = [&] {
        rows = 0;
        hs_scan* scan = nullptr;
        ArrowArrayStream stream{};
        int status = hs_scan_open(transaction, table, &scan);
        if (status == HS_OK) status = hs_scan_column(scan, "text", HS_AS_DICTIONARY);
        if (status == HS_OK) status = hs_scan_stream(scan, &stream);
        hs_scan_close(scan);
        for (bool ended = status != HS_OK; !ended;) {
          ArrowArray array{};
          const int number = stream.get_next(&stream, &array);
          if (number != 0) status = number == ENOMEM ? HS_NO_MEMORY : HS_IO;
          ended = number != 0 || array.release == nullptr;
          rows += array.length;
          if (array.release != nullptr) array.release(&array);
        }
        if (stream.release != nullptr) stream.release(&stream);
        return status;
      };
      int status = HS_OK;
      uint64_t failed = 0;
      // A thread keeps what it decompresses with.
      std::thread([&] {
        of_libraries ? FailingAllocations::arm_malloc(n, 1) : FailingAllocations::arm(n, 1);
        status = FailingAllocations::call(read);
        failed = FailingAllocations::disarm();
      }).join();
      ASSERT_TRUE(status == HS_OK || (status == HS_NO_MEMORY && failed > 0)) << status;
      if (status == HS_OK) {
        EXPECT_EQ(rows, 20'000);
      }
      ASSERT_HS(HS_OK, read());
      EXPECT_EQ(rows, 20'000);
      hs_transaction_close(transaction);
      if (failed == 0 || HasFailure()) break;
    }
  }
}

TEST_F(HailstoneMemoryFailureTest, ALoadThatCannotCompressLeavesNothing) {
  hs_transaction* const transaction = begin();
  hs_table* table = nullptr;
  ASSERT_HS_OK(hs_table_open(transaction, "d/t", &table), transaction);
  ASSERT_HS_OK(hs_savepoint(transaction, "before"), transaction);
  const auto load = [&] {
    hs_load* loading = nullptr;
    int status = hs_load_begin(transaction, table, &loading);
    for (int64_t id = 0; id < 20'000 && status == HS_OK; ++id) {
      const std::string text = std::string(200, 'x') + std::to_string(id * 7919);
      const hs_value row[] = {hs_int(100'000 + id), hs_bytes(text.data(), text.size())};
      status = hs_load_row(loading, row, 2);
    }
    if (status == HS_OK) status = hs_load_finish(loading);
    hs_load_close(loading);
    return status;
  };
  for (uint64_t n = 0;; ++n) {
    SCOPED_TRACE(n);
    int status = HS_OK;
    uint64_t failed = 0;
    // A thread keeps what it compresses with.
    std::thread([&] {
      FailingAllocations::arm_malloc(n, 1);
      status = FailingAllocations::call(load);
      failed = FailingAllocations::disarm();
    }).join();
    ASSERT_TRUE(status == HS_OK || (status == HS_NO_MEMORY && failed > 0)) << hs_error_message(transaction);
    hs_scan* scan = nullptr;
    uint64_t rows = 0;
    ASSERT_HS_OK(hs_scan_open(transaction, table, &scan), transaction);
    ASSERT_HS_OK(hs_scan_count(scan, &rows), scan);
    hs_scan_close(scan);
    EXPECT_EQ(rows, status == HS_OK ? 40'000U : 20'000U);
    ASSERT_HS_OK(hs_rollback_to(transaction, "before"), transaction);
    if (failed == 0 || HasFailure()) break;
  }
  hs_transaction_close(transaction);
}

}  // namespace
}  // namespace hailstone
