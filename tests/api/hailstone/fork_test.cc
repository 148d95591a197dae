// A child of fork(): what its parent opened is refused there and is not touched; what it opens itself works.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "api/hailstone/fixture.h"

namespace hailstone {
namespace {

class HailstoneForkTest : public HailstoneTest {
 protected:
  /// The number of the first of `checks` that does not hold in a child; 0 when all do.
  static int in_child(const std::function<int()>& checks) {
    const pid_t child = fork();
    if (child == 0) {
      // A call that waits for a lock that a thread of the parent held would wait for ever.
      alarm(30);
      _exit(checks());
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }
};

TEST_F(HailstoneForkTest, AChildTouchesNothing) {
  hs_table* const table = create_pairs("t/pairs");
  hs_transaction* const transaction = begin();
  ASSERT_HS_OK(insert(transaction, table, 1, "of the parent"), transaction);
  hs_cursor* cursor = nullptr;
  hs_scan* scan = nullptr;
  ArrowArrayStream stream;
  ASSERT_HS_OK(hs_cursor_open(transaction, table, nullptr, HS_LOCK_NONE, &cursor), transaction);
  ASSERT_HS_OK(hs_scan_open(transaction, table, &scan), transaction);
  ASSERT_HS_OK(hs_scan_stream(scan, &stream), scan);
  EXPECT_EQ(0, in_child([&] {
              int number = 0;
              const auto fails = [&](bool holds) {
                ++number;
                return !holds;
              };
              hs_transaction* begun = nullptr;
              uint64_t rows = 0;
              ArrowArray array;
              if (fails(insert(transaction, table, 2, "of the child") == HS_INVALID)) return number;
              if (fails(std::strstr(hs_error_message(transaction), "parent") != nullptr)) return number;
              if (fails(hs_commit(transaction) == HS_INVALID)) return number;
              if (fails(hs_begin(database_, HS_REPEATABLE_READ, &begun) == HS_INVALID)) return number;
              if (fails(hs_checkpoint(database_) == HS_INVALID)) return number;
              if (fails(hs_backup(database_, directory_.file("copy").c_str()) == HS_INVALID)) return number;
              if (fails(hs_cursor_seek(cursor, nullptr, 0) == HS_INVALID)) return number;
              if (fails(hs_scan_count(scan, &rows) == HS_INVALID)) return number;
              if (fails(stream.get_next(&stream, &array) != 0)) return number;
              if (fails(std::strstr(stream.get_last_error(&stream), "closed") != nullptr)) return number;
              stream.release(&stream);
              hs_cursor_close(cursor);
              hs_scan_close(scan);
              hs_table_close(table);
              hs_transaction_close(transaction);
              if (fails(hs_close(database_) == HS_INVALID)) return number;
              return 0;
            }));
  commit(transaction);
  stream.release(&stream);
  reopen();
  hs_transaction* const later = begin();
  hs_table* again = nullptr;
  ASSERT_HS_OK(hs_table_open(later, "t/pairs", &again), later);
  EXPECT_EQ(text_of(later, again, 1), "of the parent");
  EXPECT_EQ(text_of(later, again, 2), "-");
}

TEST_F(HailstoneForkTest, AChildOpensDatabasesOfItsOwn) {
  hs_transaction* const transaction = begin();
  const std::string own = directory_.file("own");
  EXPECT_EQ(0, in_child([&] {
              hs_database* database = nullptr;
              hs_transaction* begun = nullptr;
              if (hs_open(own.c_str(), nullptr, &database) != HS_OK) return 1;
              if (hs_begin(database, HS_REPEATABLE_READ, &begun) != HS_OK) return 2;
              if (begun == transaction || hs_commit(transaction) != HS_INVALID) return 3;
              // And its children none of these.
              const int grandchild = in_child([&] { return hs_commit(begun) == HS_INVALID ? 0 : 1; });
              if (grandchild != 0) return 4;
              if (hs_commit(begun) != HS_OK) return 5;
              return hs_close(database) == HS_OK ? 0 : 6;
            }));
  hs_transaction_close(transaction);
}

TEST_F(HailstoneForkTest, ThreadsOfTheParentMayBeInCalls) {
  hs_table* const table = create_pairs("t/pairs");
  std::atomic<bool> ends{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      for (int64_t id = i; !ends; id += 3) {
        hs_transaction* const transaction = begin();
        insert(transaction, table, id, "text");
        hs_commit(transaction);
        hs_transaction_close(transaction);
      }
    });
  }
  const std::string own = directory_.file("own");
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(0, in_child([&] {
                hs_transaction* begun = nullptr;
                if (hs_begin(database_, HS_REPEATABLE_READ, &begun) != HS_INVALID) return 1;
                if (hs_close(database_) != HS_INVALID) return 2;
                hs_database* database = nullptr;
                if (hs_open(nullptr, nullptr, &database) != HS_OK) return 3;
                return hs_close(database) == HS_OK ? 0 : 4;
              }));
  }
  ends = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace hailstone
