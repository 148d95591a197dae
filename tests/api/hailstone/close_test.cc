// hs_close() beside all that uses the database: in the midst of calls, in several threads, from within calls;
// and handles of what is closed, which say so for ever.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "api/hailstone/fixture.h"
#include "base/test_seed.h"

namespace hailstone {
namespace {

using namespace std::chrono_literals;

class HailstoneCloseTest : public HailstoneTest {
 protected:
  void fill(hs_table* table, int64_t rows) {
    hs_transaction* const transaction = begin();
    hs_load* load = nullptr;
    ASSERT_HS_OK(hs_load_begin(transaction, table, &load), transaction);
    for (int64_t id = 0; id < rows; ++id) {
      const hs_value row[] = {hs_int(id), hs_text("a text of some length")};
      ASSERT_HS_OK(hs_load_row(load, row, 2), load);
    }
    ASSERT_HS_OK(hs_load_finish(load), load);
    hs_load_close(load);
    commit(transaction);
  }
  /// Closed again in the midst of a test: TearDown() closes another one.
  void close_and_open_anew() {
    ASSERT_HS_OK(hs_close(database_), database_);
    open();
  }
};

TEST_F(HailstoneCloseTest, HandlesOfAClosedDatabaseSaySoForEver) {
  hs_table* const table = create_pairs("t/pairs");
  fill(table, 10);
  hs_database* const closed = database_;
  hs_transaction* const transaction = begin();
  ASSERT_HS_OK(insert(transaction, table, 100, "never committed"), transaction);
  hs_cursor* cursor = nullptr;
  hs_scan* scan = nullptr;
  hs_load* load = nullptr;
  ArrowArrayStream stream;
  ArrowArray array;
  ASSERT_HS_OK(hs_cursor_open(transaction, table, nullptr, HS_LOCK_NONE, &cursor), transaction);
  ASSERT_HS_OK(hs_cursor_seek(cursor, nullptr, 0), cursor);
  ASSERT_HS_OK(hs_scan_open(transaction, table, &scan), transaction);
  ASSERT_HS_OK(hs_scan_stream(scan, &stream), scan);
  ASSERT_EQ(0, stream.get_next(&stream, &array));
  ASSERT_HS_OK(hs_load_begin(transaction, table, &load), transaction);
  ASSERT_HS_OK(hs_close(database_), database_);
  open();
  // New handles take the places of the old ones.
  hs_transaction* const later = begin();
  for (int i = 0; i < 3; ++i) {
    EXPECT_HS(HS_INVALID, hs_close(closed));
    EXPECT_HS(HS_INVALID, hs_checkpoint(closed));
    EXPECT_HS(HS_INVALID, insert(transaction, table, 1, "one"));
    EXPECT_HS(HS_INVALID, hs_commit(transaction));
    EXPECT_HS(HS_INVALID, hs_cursor_next(cursor));
    uint64_t rows = 0;
    EXPECT_HS(HS_INVALID, hs_scan_count(scan, &rows));
    EXPECT_HS(HS_INVALID, hs_load_finish(load));
    EXPECT_EQ(hs_table_columns(table), 0U);
    EXPECT_HS(HS_INVALID, hs_table_size(table, &rows, nullptr));
    hs_interrupt(transaction, 1);
    for (const void* handle : {static_cast<void*>(closed), static_cast<void*>(transaction),
                               static_cast<void*>(table), static_cast<void*>(cursor)}) {
      EXPECT_NE(std::strstr(hs_error_message(handle), "closed"), nullptr) << hs_error_message(handle);
    }
    ArrowArray none;
    EXPECT_NE(0, stream.get_next(&stream, &none));
    EXPECT_NE(std::strstr(stream.get_last_error(&stream), "closed"), nullptr);
    hs_cursor_close(cursor);
    hs_scan_close(scan);
    hs_load_close(load);
    hs_table_close(table);
    hs_transaction_close(transaction);
  }
  // An array owns itself.
  EXPECT_EQ(array.length, 11);
  EXPECT_EQ(static_cast<const int64_t*>(array.children[0]->buffers[1])[9], 9);
  array.release(&array);
  stream.release(&stream);
  hs_table* again = nullptr;
  ASSERT_HS_OK(hs_table_open(later, "t/pairs", &again), later);
  EXPECT_EQ(text_of(later, again, 100), "-");
  EXPECT_EQ(text_of(later, again, 9), "a text of some length");
}

TEST_F(HailstoneCloseTest, AHandleIsToldFromFreedMemoryAndFromOthers) {
  hs_transaction* const transaction = begin();
  hs_transaction_close(transaction);
  hs_transaction_close(transaction);
  std::vector<hs_transaction*> others;
  for (int i = 0; i < 1000; ++i) {
    others.push_back(begin());
    ASSERT_NE(others.back(), transaction);
  }
  EXPECT_HS(HS_INVALID, hs_commit(transaction));
  for (hs_transaction* other : others) hs_transaction_close(other);
  int on_the_stack = 0;
  hs_table_close(reinterpret_cast<hs_table*>(&on_the_stack));
  EXPECT_HS(HS_INVALID, hs_commit(reinterpret_cast<hs_transaction*>(&on_the_stack)));
  EXPECT_HS(HS_INVALID, hs_commit(reinterpret_cast<hs_transaction*>(database_)));
  EXPECT_STRNE(hs_error_message(&on_the_stack), "");
  const auto in_the_heap = std::make_unique<std::string>();
  EXPECT_HS(HS_INVALID, hs_close(reinterpret_cast<hs_database*>(in_the_heap.get())));
  hs_predicate* const predicate = hs_is_null("text");
  hs_predicate* const both = hs_and(&predicate, 1);
  hs_predicate_free(predicate);
  EXPECT_EQ(hs_not(predicate), nullptr);
  hs_predicate_free(both);
  hs_predicate_free(both);
  EXPECT_EQ(hs_not(both), nullptr);
}

/// A stream whose batches are made by a function, on the thread that loads.
struct FunctionStream {
  std::function<int()> next;
  ArrowArrayStream stream() {
    ArrowArrayStream made{};
    made.get_schema = [](ArrowArrayStream*, ArrowSchema* out) {
      *out = {};
      out->format = "+s";
      out->release = [](ArrowSchema* schema) { schema->release = nullptr; };
      return 0;
    };
    made.get_next = [](ArrowArrayStream* of, ArrowArray* out) {
      *out = {};
      return static_cast<FunctionStream*>(of->private_data)->next();
    };
    made.get_last_error = [](ArrowArrayStream*) { return "it is the test's"; };
    made.release = [](ArrowArrayStream* of) { of->release = nullptr; };
    made.private_data = this;
    return made;
  }
};

TEST_F(HailstoneCloseTest, ACallCannotCloseWhatItIsIn) {
  hs_table* const table = create_pairs("t/pairs");
  hs_transaction* const transaction = begin();
  ASSERT_HS_OK(insert(transaction, table, 1, "one"), transaction);
  hs_load* load = nullptr;
  ASSERT_HS_OK(hs_load_begin(transaction, table, &load), transaction);
  FunctionStream source;
  source.next = [&] {
    EXPECT_HS(HS_BUSY, hs_close(database_));
    EXPECT_HS(HS_BUSY, hs_close_within(database_, 0));
    EXPECT_HS(HS_INVALID, hs_commit(transaction));
    EXPECT_HS(HS_INVALID, hs_rollback(transaction));
    EXPECT_HS(HS_INVALID, hs_savepoint(transaction, "here"));
    EXPECT_NE(std::strstr(hs_error_message(transaction), "in the midst"), nullptr);
    EXPECT_HS(HS_INVALID, hs_load_finish(load));
    EXPECT_EQ(text_of(transaction, table, 1), "one");
    return 0;
  };
  ArrowArrayStream stream = source.stream();
  EXPECT_HS_OK(hs_load_stream(load, &stream), load);
  // One that is closed in its own call goes when that has ended.
  source.next = [&] {
    hs_load_close(load);
    hs_transaction_close(transaction);
    EXPECT_HS(HS_INVALID, insert(transaction, table, 2, "two"));
    return 0;
  };
  stream = source.stream();
  hs_load_stream(load, &stream);
  EXPECT_EQ(text_of(table, 1), "-");
  close_and_open_anew();
}

TEST_F(HailstoneCloseTest, ACallThatDoesNotReturnEndsTheWait) {
  hs_table* const table = create_pairs("t/pairs");
  std::atomic<bool> is_in{false}, goes_on{false};
  std::thread loader([&] {
    hs_transaction* const transaction = begin();
    hs_load* load = nullptr;
    ASSERT_HS_OK(hs_load_begin(transaction, table, &load), transaction);
    FunctionStream source;
    source.next = [&] {
      is_in = true;
      while (!goes_on) std::this_thread::sleep_for(1ms);
      return 0;
    };
    ArrowArrayStream stream = source.stream();
    hs_load_stream(load, &stream);
    EXPECT_HS(HS_INVALID, hs_load_finish(load)) << "it was closed";
  });
  while (!is_in) std::this_thread::sleep_for(1ms);
  EXPECT_HS(HS_LOCK_TIMEOUT, hs_close_within(database_, 20));
  EXPECT_NE(std::strstr(hs_error_message(database_), "close it again"), nullptr);
  hs_transaction* transaction = nullptr;
  EXPECT_HS(HS_INVALID, hs_begin(database_, HS_REPEATABLE_READ, &transaction));
  EXPECT_STREQ(hs_error_message(database_), "the database is being closed");
  EXPECT_EQ(transaction, nullptr);
  EXPECT_HS(HS_LOCK_TIMEOUT, hs_close_within(database_, 0));
  goes_on = true;
  EXPECT_HS_OK(hs_close(database_), database_);
  loader.join();
  open();
}

TEST_F(HailstoneCloseTest, WaitsForLocksEnd) {
  hs_table* const table = create_pairs("t/pairs");
  fill(table, 10);
  ASSERT_HS_OK(hs_close(database_), database_);
  options_.lock_wait_ms = 3'600'000;
  open();
  hs_transaction* const holder = begin();
  hs_table* again = nullptr;
  ASSERT_HS_OK(hs_table_open(holder, "t/pairs", &again), holder);
  const hs_value key = hs_int(1);
  ASSERT_HS_OK(hs_delete(holder, again, &key, 1), holder);
  std::atomic<bool> begins{false};
  std::thread waiter([&] {
    hs_transaction* const transaction = begin();
    begins = true;
    // It may get the lock when its holder is rolled back, which ends nothing: so is its own transaction.
    const int status = hs_delete(transaction, again, &key, 1);
    EXPECT_TRUE(status == HS_INTERRUPTED || status == HS_INVALID || status == HS_OK) << status;
  });
  while (!begins) std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(20ms);
  EXPECT_HS_OK(hs_close(database_), database_);
  waiter.join();
  open();
  hs_transaction* const later = begin();
  ASSERT_HS_OK(hs_table_open(later, "t/pairs", &again), later);
  EXPECT_EQ(text_of(later, again, 1), "a text of some length");
}

/// By convention the name says that ThreadSanitizer runs it, too.
class HailstoneCloseConcurrentTest : public HailstoneCloseTest {
 protected:
  static int milliseconds() {
    const char* const given = std::getenv("HAILSTONE_CLOSE_TEST_SECONDS");
    return given != nullptr ? 1000 * std::atoi(given) : 2000;
  }
};

/// Each kind of call, with its own handles and now and then with one that all threads share, until the
/// database is closed: none may crash, and none may hang.
class Caller {
 public:
  Caller(hs_database* database, hs_table* table, std::atomic<hs_transaction*>& shared,
         const std::string& backups, uint64_t seed)
      : database_(database), table_(table), shared_(shared), backups_(backups), random_(seed) {}

  void run() {
    for (int closed = 0; closed < 20;) {
      hs_transaction* transaction = nullptr;
      const int begun = hs_begin(database_, HS_REPEATABLE_READ, &transaction);
      if (begun != HS_OK) {
        EXPECT_HS(HS_INVALID, begun);
        EXPECT_STRNE(hs_error_message(database_), "");
        ++closed;
        continue;
      }
      use(transaction);
      if (choose(8) == 0) shared_.store(transaction);
      if (hs_transaction* const others = shared_.load(); choose(4) == 0) use(others);
      if (choose(2) == 0) hs_commit(transaction);
      if (choose(16) != 0) hs_transaction_close(transaction);
    }
  }

 private:
  uint32_t choose(uint32_t of) { return static_cast<uint32_t>(random_() % of); }

  void use(hs_transaction* transaction) {
    const hs_value key = hs_int(choose(2000));
    hs_value row[2] = {key, hs_text("some text")};
    switch (choose(14)) {
      case 0:
        hs_insert(transaction, table_, row, 2);
        break;
      case 1:
        hs_update(transaction, table_, &key, 1, nullptr, row, 2);
        break;
      case 2:
        hs_delete(transaction, table_, &key, 1);
        break;
      case 3:
        hs_get(transaction, table_, &key, 1, HS_LOCK_EXCLUSIVE, row, 2);
        break;
      case 4:
        follow_cursor(transaction);
        break;
      case 5:
        load_rows(transaction);
        break;
      case 6:
        read_stream(transaction);
        break;
      case 7: {
        hs_scan* scan = nullptr;
        if (hs_scan_open(transaction, table_, &scan) != HS_OK) break;
        const hs_aggregate wanted[] = {{HS_COUNT_ROWS, nullptr}, {HS_MAX, "text"}};
        hs_value results[2];
        hs_scan_aggregate(scan, wanted, results, 2);
        hs_scan_close(scan);
        break;
      }
      case 8:
        hs_checkpoint(database_);
        break;
      case 9:
        if (choose(10) == 0) hs_backup(database_, (backups_ + std::to_string(random_())).c_str());
        break;
      case 10: {
        uint64_t number = 0;
        hs_expire(database_, &number);
        hs_counter(database_, "rows_inserted", &number);
        hs_table_size(table_, &number, nullptr);
        break;
      }
      case 11: {
        hs_table* table = nullptr;
        const char* name = nullptr;
        hs_table_next(transaction, nullptr, nullptr, &name);
        if (hs_table_open(transaction, "t/pairs", &table) == HS_OK) hs_table_check(transaction, table);
        if (choose(2) == 0) hs_table_close(table);
        break;
      }
      case 12:
        hs_interrupt(shared_.load(), static_cast<int>(choose(2)));
        hs_error_message(shared_.load());
        break;
      default:
        hs_savepoint(transaction, "here");
        hs_insert(transaction, table_, row, 2);
        hs_rollback_to(transaction, "here");
        break;
    }
  }

  void follow_cursor(hs_transaction* transaction) {
    hs_cursor* cursor = nullptr;
    if (hs_cursor_open(transaction, table_, "by text", HS_LOCK_NONE, &cursor) != HS_OK) return;
    int status = hs_cursor_seek(cursor, nullptr, 0);
    for (int i = 0; status == HS_OK && i < 50; ++i) {
      hs_value row[2];
      hs_cursor_row(cursor, row, 2);
      status = hs_cursor_next(cursor);
    }
    if (choose(4) != 0) hs_cursor_close(cursor);
  }

  void load_rows(hs_transaction* transaction) {
    hs_load* load = nullptr;
    if (hs_load_begin(transaction, table_, &load) != HS_OK) return;
    for (int i = 0; i < 100; ++i) {
      const hs_value row[] = {hs_int(static_cast<int64_t>(random_() >> 2)), hs_text("loaded")};
      hs_load_row(load, row, 2);
    }
    hs_load_finish(load);
    if (choose(4) != 0) hs_load_close(load);
  }

  void read_stream(hs_transaction* transaction) {
    hs_scan* scan = nullptr;
    if (hs_scan_open(transaction, table_, &scan) != HS_OK) return;
    ArrowArrayStream stream{};
    if (hs_scan_stream(scan, &stream) == HS_OK) {
      ArrowArray array{};
      if (stream.get_next(&stream, &array) == 0 && array.release != nullptr) array.release(&array);
      if (choose(4) == 0) hs_transaction_close(transaction);
      stream.release(&stream);
    }
    hs_scan_close(scan);
  }

  hs_database* const database_;
  hs_table* const table_;
  std::atomic<hs_transaction*>& shared_;
  const std::string backups_;
  std::mt19937_64 random_;
};

TEST_F(HailstoneCloseConcurrentTest, EveryKindOfCallMayBeUnderWay) {
  const uint64_t seed = test_seed(std::random_device()());
  std::mt19937_64 random(seed);
  fill(create_pairs("t/pairs"), 1000);
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds());
  for (int round = 0; std::chrono::steady_clock::now() < until; ++round) {
    SCOPED_TRACE(round);
    std::atomic<hs_transaction*> shared{nullptr};
    hs_transaction* const opener = begin();
    hs_table* table = nullptr;
    ASSERT_HS_OK(hs_table_open(opener, "t/pairs", &table), opener);
    hs_transaction_close(opener);
    std::vector<std::thread> threads;
    const std::string backups = directory_.file("backup") + std::to_string(round) + ".";
    for (uint64_t i = 0; i < 6; ++i) {
      threads.emplace_back(
          [&, i, own = random()] { Caller(database_, table, shared, backups, own + i).run(); });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 40));
    std::thread second([&, closed = database_] {
      const int status = hs_close(closed);
      EXPECT_TRUE(status == HS_OK || status == HS_INVALID) << status;
    });
    hs_database* const closed = database_;
    int status = HS_LOCK_TIMEOUT;
    while (status == HS_LOCK_TIMEOUT) status = hs_close_within(closed, 5);
    EXPECT_TRUE(status == HS_OK || status == HS_INVALID) << status;
    second.join();
    for (std::thread& thread : threads) thread.join();
    ASSERT_NO_FATAL_FAILURE(open());
  }
}

}  // namespace
}  // namespace hailstone
