// What hailstone.h promises, one promise a test.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "api/hailstone/fixture.h"
#include "base/check.h"

namespace hailstone {
namespace {

TEST_F(HailstoneTest, CommittedRowsAreThereAfterReopening) {
  hs_table* table = create_pairs("t/pairs");
  hs_transaction* const transaction = begin();
  ASSERT_HS_OK(insert(transaction, table, 1, "one"), transaction);
  ASSERT_HS_OK(insert(transaction, table, -2, nullptr), transaction);
  commit(transaction);
  hs_table_close(table);
  reopen();
  hs_transaction* const reader = begin();
  ASSERT_HS_OK(hs_table_open(reader, "t/pairs", &table), reader);
  EXPECT_EQ(text_of(reader, table, 1), "one");
  EXPECT_EQ(text_of(reader, table, -2), "NULL");
  EXPECT_EQ(text_of(reader, table, 3), "-");
  const char* name = nullptr;
  hs_type type{};
  int flags = 0;
  EXPECT_EQ(hs_table_columns(table), 2u);
  EXPECT_HS(HS_OK, hs_table_column(table, 1, &name, &type, &flags));
  EXPECT_STREQ(name, "text");
  EXPECT_EQ(type, HS_STRING);
  EXPECT_EQ(flags, 0);
  EXPECT_HS(HS_NOT_FOUND, hs_table_column(table, 2, &name, &type, &flags));
  hs_table_close(table);
  hs_transaction_close(reader);
}

TEST_F(HailstoneTest, RowsAreReplacedAndRemovedByKey) {
  hs_table* const table = create_pairs("t/pairs");
  hs_transaction* const transaction = begin();
  ASSERT_HS_OK(insert(transaction, table, 1, "one"), transaction);
  EXPECT_HS(HS_DUPLICATE_KEY, insert(transaction, table, 1, "again"));
  EXPECT_NE(std::strstr(hs_error_message(transaction), "PRIMARY"), nullptr);
  const hs_value key = hs_int(1), other = hs_int(2);
  const hs_value row[] = {hs_int(2), hs_text("two")};
  EXPECT_HS_OK(hs_update(transaction, table, &key, 1, nullptr, row, 2), transaction);
  EXPECT_EQ(text_of(transaction, table, 1), "-");
  EXPECT_EQ(text_of(transaction, table, 2), "two");
  EXPECT_HS(HS_NOT_FOUND, hs_update(transaction, table, &key, 1, nullptr, row, 2));
  EXPECT_HS(HS_NOT_FOUND, hs_delete(transaction, table, &key, 1));
  EXPECT_HS_OK(hs_delete(transaction, table, &other, 1), transaction);
  EXPECT_EQ(text_of(transaction, table, 2), "-");
  hs_transaction_close(transaction);
  EXPECT_EQ(text_of(table, 2), "-");
  hs_table_close(table);
}

TEST_F(HailstoneTest, SavepointsTakeBackAPart) {
  hs_table* const table = create_pairs("t/pairs");
  hs_transaction* const transaction = begin();
  ASSERT_HS_OK(insert(transaction, table, 1, "kept"), transaction);
  ASSERT_HS_OK(hs_savepoint(transaction, "a"), transaction);
  ASSERT_HS_OK(insert(transaction, table, 2, "gone"), transaction);
  ASSERT_HS_OK(hs_savepoint(transaction, "b"), transaction);
  EXPECT_HS_OK(hs_rollback_to(transaction, "a"), transaction);
  EXPECT_HS(HS_NOT_FOUND, hs_rollback_to(transaction, "b"));
  EXPECT_HS_OK(hs_release(transaction, "a"), transaction);
  EXPECT_HS(HS_NOT_FOUND, hs_release(transaction, "a"));
  commit(transaction);
  EXPECT_EQ(text_of(table, 1), "kept");
  EXPECT_EQ(text_of(table, 2), "-");
  hs_table_close(table);
}

TEST_F(HailstoneTest, TablesComeAndGoWithTheirTransaction) {
  hs_table* const table = create_pairs("t/pairs");
  hs_transaction* transaction = begin();
  ASSERT_HS_OK(insert(transaction, table, 1, "one"), transaction);
  // Another's uncommitted row keeps the table.
  hs_transaction* const other = begin();
  EXPECT_HS(HS_LOCK_TIMEOUT, hs_table_drop(other, "t/pairs"));
  hs_transaction_close(other);
  commit(transaction);

  transaction = begin();
  ASSERT_HS_OK(hs_table_rename(transaction, "t/pairs", "t/renamed"), transaction);
  EXPECT_EQ(text_of(transaction, table, 1), "one");
  const char* name = nullptr;
  ASSERT_HS_OK(hs_table_next(transaction, "t/", nullptr, &name), transaction);
  EXPECT_STREQ(name, "t/renamed");
  EXPECT_HS(HS_NOT_FOUND, hs_table_next(transaction, "t/", "t/renamed", &name));
  ASSERT_HS_OK(hs_rollback(transaction), transaction);
  hs_transaction_close(transaction);

  transaction = begin();
  ASSERT_HS_OK(hs_table_drop(transaction, "t/pairs"), transaction);
  EXPECT_HS(HS_NOT_FOUND, insert(transaction, table, 2, "two"));
  commit(transaction);
  transaction = begin();
  EXPECT_HS(HS_NOT_FOUND, insert(transaction, table, 2, "two"));
  hs_table* gone = nullptr;
  EXPECT_HS(HS_NOT_FOUND, hs_table_open(transaction, "t/pairs", &gone));
  EXPECT_EQ(gone, nullptr);
  hs_transaction_close(transaction);
  hs_table_close(table);
}

TEST_F(HailstoneTest, IsolationIsAsAskedFor) {
  hs_table* const table = create_pairs("t/pairs");
  hs_transaction* const repeatable = begin(HS_REPEATABLE_READ);
  hs_transaction* const committed = begin(HS_READ_COMMITTED);
  EXPECT_EQ(text_of(repeatable, table, 1), "-");
  EXPECT_EQ(text_of(committed, table, 1), "-");
  hs_transaction* const writer = begin();
  ASSERT_HS_OK(insert(writer, table, 1, "one"), writer);
  EXPECT_EQ(text_of(committed, table, 1), "-");
  commit(writer);
  EXPECT_EQ(text_of(repeatable, table, 1), "-");
  EXPECT_EQ(text_of(committed, table, 1), "one");
  // A locking read looks at the newest row whatever the snapshot.
  const hs_value key = hs_int(1);
  hs_value row[2];
  EXPECT_HS_OK(hs_get(repeatable, table, &key, 1, HS_LOCK_EXCLUSIVE, row, 2), repeatable);
  EXPECT_HS(HS_LOCK_TIMEOUT, hs_delete(committed, table, &key, 1));
  hs_transaction_close(repeatable);
  EXPECT_HS_OK(hs_delete(committed, table, &key, 1), committed);
  hs_transaction_close(committed);
  hs_table_close(table);
}

TEST_F(HailstoneTest, ASnapshotThatIsTooOldSaysSo) {
  ASSERT_HS_OK(hs_close(database_), database_);
  options_.snapshot_too_old_seconds = 1;
  open();
  hs_table* const table = create_pairs("d/pairs");
  hs_transaction* const writer = begin();
  ASSERT_HS_OK(insert(writer, table, 1, "one"), writer);
  commit(writer);
  hs_transaction* const old = begin();
  const hs_value key = hs_int(1);
  hs_value row[2];
  ASSERT_HS_OK(hs_get(old, table, &key, 1, HS_LOCK_NONE, row, 2), old);
  int status = HS_OK;
  while (status == HS_OK) status = hs_get(old, table, &key, 1, HS_LOCK_NONE, row, 2);
  EXPECT_HS(HS_SNAPSHOT_TOO_OLD, status);
  EXPECT_NE(std::string(hs_error_message(old)).find("too old"), std::string::npos) << hs_error_message(old);
  EXPECT_HS(HS_SNAPSHOT_TOO_OLD, hs_get(old, table, &key, 1, HS_LOCK_NONE, row, 2));
  hs_transaction_close(old);
  EXPECT_EQ(text_of(table, 1), "one");
  hs_table_close(table);
}

TEST_F(HailstoneTest, CursorsWalkAnIndexBothWays) {
  hs_table* const table = create_pairs("t/pairs");
  hs_transaction* const transaction = begin();
  const char* const texts[] = {"d", "b", "a", "c", "b"};
  for (int i = 0; i < 5; ++i) ASSERT_HS_OK(insert(transaction, table, i, texts[i]), transaction);
  const auto walk = [&](const char* index, auto seek, auto step) {
    std::string seen;
    hs_cursor* cursor = nullptr;
    EXPECT_HS_OK(hs_cursor_open(transaction, table, index, HS_LOCK_NONE, &cursor), transaction);
    for (int status = seek(cursor); status == HS_OK; status = step(cursor)) {
      hs_value id;
      EXPECT_HS_OK(hs_cursor_row(cursor, &id, 1), cursor);
      seen += std::to_string(id.as.i);
    }
    hs_cursor_close(cursor);
    return seen;
  };
  const hs_value b = hs_text("b"), two = hs_int(2);
  const auto first = [](hs_cursor* cursor) { return hs_cursor_seek(cursor, nullptr, 0); };
  const auto last = [](hs_cursor* cursor) { return hs_cursor_seek_last(cursor, nullptr, 0); };
  EXPECT_EQ(walk(nullptr, first, hs_cursor_next), "01234");
  EXPECT_EQ(walk("by text", first, hs_cursor_next), "21430");
  EXPECT_EQ(walk("by text", last, hs_cursor_previous), "03412");
  EXPECT_EQ(walk(
                "by text", [&](hs_cursor* c) { return hs_cursor_seek(c, &b, 1); }, hs_cursor_next),
            "1430");
  EXPECT_EQ(walk(
                "by text", [&](hs_cursor* c) { return hs_cursor_seek_last(c, &b, 1); }, hs_cursor_previous),
            "412");
  EXPECT_EQ(walk(
                nullptr, [&](hs_cursor* c) { return hs_cursor_seek_last(c, &two, 1); }, hs_cursor_next),
            "234");
  hs_cursor* cursor = nullptr;
  EXPECT_HS(HS_NOT_FOUND, hs_cursor_open(transaction, table, "no index", HS_LOCK_NONE, &cursor));
  EXPECT_EQ(cursor, nullptr);
  ASSERT_HS_OK(hs_cursor_open(transaction, table, nullptr, HS_LOCK_NONE, &cursor), transaction);
  EXPECT_HS(HS_INVALID, hs_cursor_next(cursor));
  hs_value value;
  EXPECT_HS(HS_INVALID, hs_cursor_row(cursor, &value, 1));
  hs_transaction_close(transaction);
  EXPECT_HS(HS_INVALID, hs_cursor_seek(cursor, nullptr, 0));
  EXPECT_STRNE(hs_error_message(cursor), "");
  hs_cursor_close(cursor);
  hs_table_close(table);
}

TEST_F(HailstoneTest, ValuesThatDoNotFitAreRefused) {
  hs_schema* schema = nullptr;
  ASSERT_HS(HS_OK, hs_schema_new(&schema));
  EXPECT_HS_OK(hs_schema_column(schema, "tiny", HS_INT8, 0, HS_NOT_NULL), schema);
  EXPECT_HS_OK(hs_schema_column(schema, "positive", HS_UINT16, 0, 0), schema);
  EXPECT_HS_OK(hs_schema_column(schema, "single", HS_FLOAT, 0, 0), schema);
  EXPECT_HS_OK(hs_schema_column(schema, "short", HS_STRING, 4, 0), schema);
  EXPECT_HS(HS_ALREADY_EXISTS, hs_schema_column(schema, "short", HS_STRING, 4, 0));
  EXPECT_HS(HS_INVALID, hs_schema_column(schema, "odd", static_cast<hs_type>(17), 0, 0));
  const char* const missing[] = {"missing"};
  EXPECT_HS(HS_NOT_FOUND, hs_schema_primary_key(schema, missing, 1));
  hs_transaction* const transaction = begin();
  hs_table* table = nullptr;
  ASSERT_HS_OK(hs_table_create(transaction, "t/narrow", schema, &table), transaction);
  EXPECT_HS(HS_ALREADY_EXISTS, hs_table_create(transaction, "t/narrow", schema, nullptr));
  hs_schema_free(schema);
  const auto put = [&](hs_value a, hs_value b, hs_value c, hs_value d) {
    const hs_value row[] = {a, b, c, d};
    return hs_insert(transaction, table, row, 4);
  };
  EXPECT_HS(HS_OK, put(hs_int(-128), hs_uint(65535), hs_double(1e-3), hs_text("four")));
  EXPECT_HS(HS_OK, put(hs_uint(127), hs_int(0), hs_int(7), hs_text("")));
  EXPECT_HS(HS_OUT_OF_RANGE, put(hs_int(128), hs_null(), hs_null(), hs_null()));
  EXPECT_HS(HS_OUT_OF_RANGE, put(hs_int(0), hs_int(-1), hs_null(), hs_null()));
  EXPECT_HS(HS_OUT_OF_RANGE, put(hs_int(0), hs_int(1), hs_double(1e300), hs_null()));
  EXPECT_HS(HS_INVALID, put(hs_null(), hs_null(), hs_null(), hs_null()));
  EXPECT_HS(HS_INVALID, put(hs_text("1"), hs_null(), hs_null(), hs_null()));
  EXPECT_HS(HS_INVALID, put(hs_double(1), hs_null(), hs_null(), hs_null()));
  EXPECT_HS(HS_INVALID, put(hs_int(1), hs_null(), hs_null(), hs_text("fives")));
  EXPECT_HS(HS_INVALID, put(hs_int(1), hs_null(), hs_null(), hs_bytes(nullptr, 3)));
  const hs_value one = hs_int(1);
  EXPECT_HS(HS_INVALID, hs_insert(transaction, table, &one, 1));
  EXPECT_HS(HS_INVALID, hs_delete(transaction, table, &one, 1)) << "there is no primary key";
  hs_scan* scan = nullptr;
  ASSERT_HS_OK(hs_scan_open(transaction, table, &scan), transaction);
  uint64_t rows = 0;
  EXPECT_HS_OK(hs_scan_count(scan, &rows), scan);
  EXPECT_EQ(rows, 2u);
  hs_scan_close(scan);
  hs_table_close(table);
  hs_transaction_close(transaction);
}

TEST_F(HailstoneTest, WhatHasEndedSaysSo) {
  hs_table* const table = create_pairs("t/pairs");
  hs_transaction* const transaction = begin();
  hs_scan* scan = nullptr;
  hs_load* load = nullptr;
  ArrowArrayStream stream;
  ASSERT_HS_OK(hs_scan_open(transaction, table, &scan), transaction);
  ASSERT_HS_OK(hs_scan_stream(scan, &stream), scan);
  ASSERT_HS_OK(hs_load_begin(transaction, table, &load), transaction);
  ASSERT_HS_OK(hs_commit(transaction), transaction);
  EXPECT_HS(HS_INVALID, hs_commit(transaction));
  EXPECT_HS(HS_INVALID, insert(transaction, table, 1, "one"));
  EXPECT_NE(std::strstr(hs_error_message(transaction), "committed"), nullptr);
  hs_transaction_close(transaction);
  uint64_t rows = 0;
  EXPECT_HS(HS_INVALID, hs_scan_count(scan, &rows));
  EXPECT_HS(HS_INVALID, hs_load_finish(load));
  ArrowArray array;
  EXPECT_NE(0, stream.get_next(&stream, &array));
  EXPECT_STRNE(stream.get_last_error(&stream), "");
  hs_scan_close(scan);
  hs_load_close(load);
  stream.release(&stream);
  hs_table_close(table);
}

TEST_F(HailstoneTest, WrongHandlesAreRefused) {
  hs_table* const table = create_pairs("t/pairs");
  hs_transaction* const transaction = begin();
  EXPECT_HS(HS_INVALID, hs_begin(nullptr, HS_REPEATABLE_READ, nullptr));
  EXPECT_HS(HS_INVALID, hs_commit(nullptr));
  EXPECT_HS(HS_INVALID, hs_commit(reinterpret_cast<hs_transaction*>(table)));
  EXPECT_HS(HS_INVALID, hs_insert(transaction, reinterpret_cast<hs_table*>(transaction), nullptr, 0));
  EXPECT_HS(HS_INVALID, hs_insert(transaction, nullptr, nullptr, 0));
  EXPECT_HS(HS_INVALID, hs_insert(transaction, table, nullptr, 2));
  EXPECT_HS(HS_INVALID, hs_table_create(transaction, nullptr, nullptr, nullptr));
  EXPECT_EQ(hs_compare(nullptr, HS_EQUAL, hs_int(1)), nullptr);
  EXPECT_EQ(hs_not(nullptr), nullptr);
  hs_predicate* const parts[] = {hs_is_null("text"), nullptr};
  EXPECT_EQ(hs_and(parts, 2), nullptr);
  EXPECT_STREQ(hs_error_message(nullptr), "");
  EXPECT_STREQ(hs_status_name(12345), "unknown");
  // A table of another database.
  hs_database* other = nullptr;
  ASSERT_HS_OK(hs_open(directory_.file("other").c_str(), nullptr, &other), other);
  hs_transaction* elsewhere = nullptr;
  ASSERT_HS_OK(hs_begin(other, HS_REPEATABLE_READ, &elsewhere), other);
  EXPECT_HS(HS_INVALID, insert(elsewhere, table, 1, "one"));
  hs_transaction_close(elsewhere);
  EXPECT_HS_OK(hs_close(other), other);
  hs_transaction_close(transaction);
  hs_table_close(table);
}

TEST_F(HailstoneTest, PredicatesAreCheckedAgainstTheTable) {
  hs_table* const table = create_pairs("t/pairs");
  hs_transaction* const transaction = begin();
  hs_scan* scan = nullptr;
  ASSERT_HS_OK(hs_scan_open(transaction, table, &scan), transaction);
  const auto filter = [&](hs_predicate* predicate) {
    const int status = hs_scan_filter(scan, predicate);
    hs_predicate_free(predicate);
    return status;
  };
  EXPECT_HS(HS_NOT_FOUND, filter(hs_is_null("missing")));
  EXPECT_HS(HS_INVALID, filter(hs_compare("id", HS_EQUAL, hs_text("1"))));
  EXPECT_HS(HS_INVALID, filter(hs_compare("text", HS_EQUAL, hs_int(1))));
  EXPECT_HS(HS_INVALID, filter(hs_like("id", "1%", 0)));
  EXPECT_HS(HS_OK, filter(hs_not(hs_like("text", "1%", 0))));
  EXPECT_HS(HS_NOT_FOUND, hs_scan_column(scan, "missing", 0));
  EXPECT_HS(HS_INVALID, hs_scan_column(scan, "id", HS_AS_DICTIONARY));
  EXPECT_HS(HS_INVALID, hs_scan_threads(scan, 0));
  const hs_aggregate sum = {HS_SUM, "text"};
  hs_value result;
  EXPECT_HS(HS_INVALID, hs_scan_aggregate(scan, &sum, &result, 1));
  hs_scan_close(scan);
  hs_transaction_close(transaction);
  hs_table_close(table);
}

TEST_F(HailstoneTest, InterruptionEndsWaitsAndStatements) {
  hs_table* const table = create_pairs("t/pairs");
  hs_transaction* const holder = begin();
  ASSERT_HS_OK(insert(holder, table, 1, "one"), holder);
  hs_transaction* const waiter = begin();
  hs_interrupt(waiter, 1);
  EXPECT_HS(HS_INTERRUPTED, insert(waiter, table, 1, "other"));
  EXPECT_HS(HS_INTERRUPTED, insert(waiter, table, 2, "other"));
  hs_interrupt(waiter, 0);
  EXPECT_HS_OK(insert(waiter, table, 2, "other"), waiter);
  commit(waiter);
  commit(holder);
  EXPECT_EQ(text_of(table, 2), "other");
  hs_table_close(table);
}

TEST_F(HailstoneTest, ATableThatATransactionHasWrittenToStaysUntilItEnds) {
  options_.lock_wait_ms = 1000;
  reopen();
  hs_table_close(create_pairs("t/pairs"));
  std::atomic<bool> done{false};
  std::atomic<int> written{0}, gone{0};
  std::vector<std::thread> writers;
  for (int number = 0; number < 2; ++number) {
    writers.emplace_back([&, number] {
      for (int64_t i = 0; !done; ++i) {
        hs_transaction* const transaction = begin();
        hs_table* table = nullptr;
        if (hs_table_open(transaction, "t/pairs", &table) == HS_OK &&
            insert(transaction, table, 2 * i + number, "new") == HS_OK) {
          ++written;
          std::this_thread::yield();
          if (insert(transaction, table, -2 * i - number - 1, "new") != HS_OK) ++gone;
          hs_table* again = nullptr;
          if (hs_table_open(transaction, "t/pairs", &again) != HS_OK) ++gone;
          hs_table_close(again);
        }
        hs_table_close(table);
        hs_transaction_close(transaction);
      }
    });
  }
  hs_schema* schema = nullptr;
  ASSERT_HS(HS_OK, hs_schema_new(&schema));
  ASSERT_HS_OK(hs_schema_column(schema, "id", HS_INT64, 0, HS_NOT_NULL), schema);
  ASSERT_HS_OK(hs_schema_column(schema, "text", HS_STRING, 0, 0), schema);
  constexpr int drops = 2000;
  std::atomic<int> replaced{0};
  std::vector<std::thread> droppers;
  for (int number = 0; number < 2; ++number) {
    droppers.emplace_back([&] {
      for (int i = 0; i < drops; ++i) {
        hs_transaction* const transaction = begin();
        if (hs_table_drop(transaction, "t/pairs") == HS_OK &&
            hs_table_create(transaction, "t/pairs", schema, nullptr) == HS_OK &&
            hs_commit(transaction) == HS_OK) {
          ++replaced;
        }
        hs_transaction_close(transaction);
      }
    });
  }
  for (std::thread& dropper : droppers) dropper.join();
  done = true;
  for (std::thread& writer : writers) writer.join();
  hs_schema_free(schema);
  // Each waits for the other, and then drops what that has made.
  EXPECT_EQ(replaced, 2 * drops);
  EXPECT_GT(written, 0);
  EXPECT_EQ(gone, 0);
}

TEST_F(HailstoneTest, ADeadlockRollsBackItsVictim) {
  options_.lock_wait_ms = 10'000;
  reopen();
  hs_table* const table = create_pairs("t/pairs");
  hs_transaction* const first = begin();
  hs_transaction* const second = begin();
  ASSERT_HS_OK(insert(first, table, 1, "first"), first);
  ASSERT_HS_OK(insert(second, table, 2, "second"), second);
  int first_status = -1;
  std::thread waiter([&] { first_status = insert(first, table, 2, "first"); });
  int second_status = insert(second, table, 1, "second");
  waiter.join();
  // One was chosen; the other got its row.
  EXPECT_TRUE((first_status == HS_DEADLOCK) != (second_status == HS_DEADLOCK));
  hs_transaction* const victim = first_status == HS_DEADLOCK ? first : second;
  EXPECT_HS(HS_INVALID, insert(victim, table, 3, "third"));
  EXPECT_NE(std::strstr(hs_error_message(victim), "deadlock"), nullptr);
  hs_transaction_close(first);
  hs_transaction_close(second);
  hs_table_close(table);
}

TEST_F(HailstoneTest, ALoadIsAllOrNothing) {
  hs_table* const table = create_pairs("t/pairs");
  hs_transaction* const transaction = begin();
  ASSERT_HS_OK(insert(transaction, table, 5, "there"), transaction);
  hs_load* load = nullptr;
  ASSERT_HS_OK(hs_load_begin(transaction, table, &load), transaction);
  for (int64_t id = 0; id < 10; ++id) {
    const hs_value row[] = {hs_int(id), hs_text("loaded")};
    ASSERT_HS_OK(hs_load_row(load, row, 2), load);
  }
  EXPECT_HS(HS_DUPLICATE_KEY, hs_load_finish(load));
  EXPECT_NE(std::strstr(hs_error_message(load), "PRIMARY"), nullptr);
  EXPECT_HS(HS_INVALID, hs_load_finish(load));
  hs_load_close(load);
  EXPECT_EQ(text_of(transaction, table, 1), "-");
  EXPECT_EQ(text_of(transaction, table, 5), "there");
  hs_transaction_close(transaction);
  hs_table_close(table);
}

TEST_F(HailstoneTest, CountersHaveNames) {
  std::set<std::string> names;
  const char *name = nullptr, *description = nullptr;
  uint64_t value = 0;
  for (size_t i = 0; hs_counter_at(database_, i, &name, &description, &value) == HS_OK; ++i) {
    EXPECT_TRUE(names.insert(name).second);
    EXPECT_STRNE(description, "");
  }
  EXPECT_TRUE(names.contains("rows_inserted"));
  hs_table* const table = create_pairs("t/pairs");
  hs_transaction* const transaction = begin();
  ASSERT_HS_OK(insert(transaction, table, 1, "one"), transaction);
  commit(transaction);
  hs_table_close(table);
  EXPECT_HS_OK(hs_counter(database_, "rows_inserted", &value), database_);
  EXPECT_EQ(value, 1u);
  EXPECT_HS(HS_NOT_FOUND, hs_counter(database_, "nonsense", &value));
  EXPECT_NE(std::strstr(hs_error_message(database_), "nonsense"), nullptr);
}

TEST_F(HailstoneTest, ABackupIsADatabase) {
  hs_table* table = create_pairs("t/pairs");
  hs_transaction* transaction = begin();
  ASSERT_HS_OK(insert(transaction, table, 1, "one"), transaction);
  commit(transaction);
  const std::string place = directory_.file("copy");
  ASSERT_HS_OK(hs_backup(database_, place.c_str()), database_);
  EXPECT_HS(HS_ALREADY_EXISTS, hs_backup(database_, place.c_str()));
  hs_table_close(table);
  hs_database* copy = nullptr;
  ASSERT_HS_OK(hs_open(place.c_str(), nullptr, &copy), copy);
  ASSERT_HS_OK(hs_begin(copy, HS_REPEATABLE_READ, &transaction), copy);
  ASSERT_HS_OK(hs_table_open(transaction, "t/pairs", &table), transaction);
  EXPECT_EQ(text_of(transaction, table, 1), "one");
  hs_table_close(table);
  hs_transaction_close(transaction);
  EXPECT_HS_OK(hs_close(copy), copy);
}

TEST_F(HailstoneTest, OpeningFailsWithASentence) {
  hs_database* second = nullptr;
  EXPECT_HS(HS_BUSY, hs_open(path().c_str(), nullptr, &second));
  EXPECT_STRNE(hs_error_message(second), "");
  EXPECT_HS(HS_INVALID, hs_checkpoint(second));
  std::string message;
  std::thread([&] { message = hs_error_message(second); }).join();
  EXPECT_NE(message, "");
  EXPECT_HS(HS_OK, hs_close(second));
  hs_options options;
  hs_options_init(&options);
  options.must_exist = 1;
  EXPECT_HS(HS_NOT_FOUND, hs_open(directory_.file("none").c_str(), &options, &second));
  EXPECT_HS(HS_OK, hs_close(second));
  options.must_exist = 0;
  options.memory_bytes = 1;
  EXPECT_HS(HS_INVALID, hs_open(directory_.file("none").c_str(), &options, &second));
  EXPECT_HS(HS_OK, hs_close(second));
  options.memory_bytes = 0;
  EXPECT_HS(HS_INVALID, hs_open(nullptr, &options, &second));
  EXPECT_HS(HS_OK, hs_close(second));
}

struct Panic {
  int calls = 0;
  int status = 0;
  std::string message;
};

TEST_F(HailstoneTest, DamageReachesTheApplication) {
  hs_table* table = create_pairs("t/pairs");
  hs_table* const sound = create_pairs("t/sound");
  hs_transaction* transaction = begin();
  hs_load* load = nullptr;
  ASSERT_HS_OK(hs_load_begin(transaction, table, &load), transaction);
  const std::string text(200, 'x');
  for (int64_t id = 0; id < 20'000; ++id) {
    const std::string own = text + std::to_string(id * id);
    const hs_value row[] = {hs_int(id * 7), hs_bytes(own.data(), own.size())};
    ASSERT_HS_OK(hs_load_row(load, row, 2), load);
  }
  ASSERT_HS_OK(hs_load_finish(load), load);
  hs_load_close(load);
  commit(transaction);
  hs_table_close(table);
  hs_table_close(sound);
  Panic panic;
  options_.panic = [](void* context, hs_status status, const char* message) {
    auto& noted = *static_cast<Panic*>(context);
    ++noted.calls;
    noted.status = status;
    noted.message = message;
  };
  options_.panic_context = &panic;
  ASSERT_HS_OK(hs_close(database_), database_);
  for (const auto& entry : std::filesystem::directory_iterator(path())) {
    if (!entry.path().filename().string().starts_with("segment-")) continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    for (int offset = 2000; offset < 20'000; offset += 500) {
      file.seekp(offset);
      file.put('\x5a');
    }
  }
  open();
  transaction = begin();
  ASSERT_HS_OK(hs_table_open(transaction, "t/pairs", &table), transaction);
  EXPECT_HS(HS_CORRUPT, hs_table_check(transaction, table));
  EXPECT_EQ(panic.calls, 1);
  EXPECT_EQ(panic.status, HS_CORRUPT);
  EXPECT_NE(panic.message.find("segment-"), std::string::npos) << panic.message;
  EXPECT_HS(HS_CORRUPT, insert(transaction, table, 1, "one"));
  EXPECT_EQ(panic.calls, 1) << "the same event is told once";
  hs_table_close(table);
  ASSERT_HS_OK(hs_table_open(transaction, "t/sound", &table), transaction);
  EXPECT_HS_OK(insert(transaction, table, 1, "one"), transaction);
  hs_table_close(table);
  commit(transaction);
  options_.panic = nullptr;
}

/// What a broken invariant is to the application: told once, by the database's options, before the process
/// ends.
TEST_F(HailstoneTest, ABrokenInvariantIsToldToTheApplication) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  options_.panic = [](void* context, hs_status status, const char* message) {
    std::fprintf(stderr, "%s was told: %s: %s\n", static_cast<const char*>(context), hs_status_name(status),
                 message);
  };
  static char who[] = "the application";
  options_.panic_context = who;
  ASSERT_HS_OK(hs_close(database_), database_);
  open();
  EXPECT_DEATH(HAILSTONE_CHECK(database_ == nullptr, "{} rows", 7),
               "the application was told: corruption: .*database_ == nullptr: 7 rows");
  options_.panic = nullptr;
  ASSERT_HS_OK(hs_close(database_), database_);
  open();
  EXPECT_DEATH(HAILSTONE_CHECK(database_ == nullptr, "{} rows", 7), "^[^\n]*hailstone_test.cc:[0-9]+: ");
}

}  // namespace
TEST_F(HailstoneTest, APlainReadOfATableNewerThanTheSnapshotIsRefused) {
  hs_table* const other = create_pairs("d/other");
  hs_table* const old = create_pairs("d/t");
  hs_transaction* const repeatable = begin(HS_REPEATABLE_READ);
  hs_transaction* const committed = begin(HS_READ_COMMITTED);
  EXPECT_EQ("-", text_of(repeatable, other, 1));
  EXPECT_EQ("-", text_of(committed, other, 1));
  hs_transaction* const ddl = begin();
  ASSERT_HS_OK(hs_table_drop(ddl, "d/t"), ddl);
  commit(ddl);
  hs_table_close(old);
  hs_table* const table = create_pairs("d/t");
  hs_transaction* const writer = begin();
  ASSERT_HS_OK(insert(writer, table, 1, "one"), writer);
  commit(writer);

  EXPECT_EQ("one", text_of(committed, table, 1));
  const hs_value key = hs_int(1);
  hs_value row[2];
  EXPECT_HS(HS_TABLE_CHANGED, hs_get(repeatable, table, &key, 1, HS_LOCK_NONE, row, 2));
  EXPECT_NE(std::string(hs_error_message(repeatable)).find("d/t"), std::string::npos);
  hs_cursor* cursor = nullptr;
  EXPECT_HS(HS_TABLE_CHANGED, hs_cursor_open(repeatable, table, nullptr, HS_LOCK_NONE, &cursor));
  hs_scan* scan = nullptr;
  EXPECT_HS(HS_TABLE_CHANGED, hs_scan_open(repeatable, table, &scan));
  // What is there now can be locked and changed.
  EXPECT_HS_OK(hs_get(repeatable, table, &key, 1, HS_LOCK_SHARED, row, 2), repeatable);
  EXPECT_HS_OK(insert(repeatable, table, 2, "two"), repeatable);
  commit(repeatable);
  commit(committed);
  EXPECT_EQ("two", text_of(table, 2));
  hs_table_close(table);
  hs_table_close(other);
}

}  // namespace hailstone
