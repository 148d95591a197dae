// What hailstone.h does when memory runs out.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <map>

#include "api/hailstone/fixture.h"
#include "base/failing_allocations.h"
#include "base/test_seed.h"

namespace hailstone {
namespace {

class HailstoneMemoryTest : public HailstoneTest {
 protected:
  void SetUp() override {
    HailstoneTest::SetUp();
    ASSERT_HS_OK(hs_close(database_), database_);
    options_.memory_bytes = uint64_t{16} << 20;
    open();
  }

  void load(hs_table* table, int64_t rows) {
    hs_transaction* const transaction = begin();
    hs_load* load = nullptr;
    ASSERT_HS_OK(hs_load_begin(transaction, table, &load), transaction);
    for (int64_t id = 0; id < rows; ++id) {
      const hs_value row[] = {hs_int(id), hs_null()};
      ASSERT_HS_OK(hs_load_row(load, row, 2), load);
    }
    ASSERT_HS_OK(hs_load_finish(load), load);
    hs_load_close(load);
    commit(transaction);
  }

  static int64_t count(hs_database* database, hs_table* table) {
    hs_transaction* transaction = nullptr;
    EXPECT_HS_OK(hs_begin(database, HS_REPEATABLE_READ, &transaction), database);
    hs_cursor* cursor = nullptr;
    EXPECT_HS_OK(hs_cursor_open(transaction, table, nullptr, HS_LOCK_NONE, &cursor), transaction);
    int64_t rows = 0;
    int moved = hs_cursor_seek(cursor, nullptr, 0);
    for (; moved == HS_OK; moved = hs_cursor_next(cursor)) ++rows;
    EXPECT_HS(HS_NOT_FOUND, moved);
    hs_cursor_close(cursor);
    hs_transaction_close(transaction);
    return rows;
  }
};

TEST_F(HailstoneMemoryTest, WritesThatFailLeaveNothing) {
  constexpr int64_t rows = 300'000;
  hs_table* const table = create_pairs("d/t");
  load(table, rows);
  hs_transaction* const transaction = begin();
  int64_t deleted = 0, refused = 0;
  for (int64_t i = 0; i < rows; ++i) {
    // In no order: rows side by side would be one entry in the transaction's list of changes.
    const hs_value key = hs_int(i * 7919 % rows);
    const int status = hs_delete(transaction, table, &key, 1);
    if (status == HS_OK) {
      ++deleted;
    } else {
      ASSERT_HS(HS_NO_MEMORY, status);
      ++refused;
    }
  }
  EXPECT_GT(refused, 0);
  // Nor does a row that is refused keep others from writing it.
  const int64_t last = (rows - 1) * 7919 % rows;
  EXPECT_EQ(text_of(transaction, table, last), "NULL");
  hs_transaction* const other = begin();
  EXPECT_HS(HS_DUPLICATE_KEY, insert(other, table, last, "x"));
  hs_transaction_close(other);
  commit(transaction);
  EXPECT_EQ(count(database_, table), rows - deleted);

  // What a crash would leave.
  const std::string copy = directory_.file("copy");
  std::filesystem::copy(path(), copy, std::filesystem::copy_options::recursive);
  hs_database* recovered = nullptr;
  ASSERT_HS_OK(hs_open(copy.c_str(), &options_, &recovered), recovered);
  hs_transaction* reader = nullptr;
  ASSERT_HS_OK(hs_begin(recovered, HS_REPEATABLE_READ, &reader), recovered);
  hs_table* again = nullptr;
  ASSERT_HS_OK(hs_table_open(reader, "d/t", &again), reader);
  hs_transaction_close(reader);
  EXPECT_EQ(count(recovered, again), rows - deleted);
  hs_table_close(again);
  EXPECT_HS_OK(hs_close(recovered), recovered);
  hs_table_close(table);
}

/// Each call is made with its n-th allocation failing, and with 20 failing in a row, until none fails any
/// more; of a call that makes many, with a sample of them. After each the rows must be what they were, or
/// what the call makes of them.
class HailstoneNoMemoryTest : public HailstoneTest {
 protected:
  using Rows = std::map<int64_t, std::string>;

  void SetUp() override {
    if (!FailingAllocations::possible()) GTEST_SKIP() << "this build has an operator new of its own";
    HailstoneTest::SetUp();
    table_ = create_pairs("d/t");
  }
  void TearDown() override {
    if (!FailingAllocations::possible()) return;
    hs_table_close(table_);
    HailstoneTest::TearDown();
  }

  /// `work` returns a status; it runs with failing allocations until it has met none. `between` looks at what
  /// it left, and takes it back.
  template <typename Work>
  void for_every_allocation(const char* what, const Work& work, const std::function<void(int)>& between) {
    SampledAllocations sampled;
    for (const uint64_t in_a_row : {uint64_t{1}, uint64_t{20}}) {
      for (uint64_t n = 0;; n = sampled.after(n)) {
        SCOPED_TRACE(std::string(what) + ", allocation " + std::to_string(n) + ", in a row " +
                     std::to_string(in_a_row));
        FailingAllocations::arm(n, in_a_row);
        const int status = FailingAllocations::call(work);
        const uint64_t failed = FailingAllocations::disarm();
        if (status != HS_OK) {
          ASSERT_HS(HS_NO_MEMORY, status);
          ASSERT_GT(failed, 0U);
        }
        ASSERT_NO_FATAL_FAILURE(between(status));
        if (HasFailure()) return;
        if (failed == 0) break;
      }
    }
  }

  static Rows rows_of(hs_transaction* transaction, hs_table* table, const char* index) {
    Rows rows;
    hs_cursor* cursor = nullptr;
    EXPECT_HS_OK(hs_cursor_open(transaction, table, index, HS_LOCK_NONE, &cursor), transaction);
    int moved = hs_cursor_seek(cursor, nullptr, 0);
    for (; moved == HS_OK; moved = hs_cursor_next(cursor)) {
      hs_value row[2];
      EXPECT_HS_OK(hs_cursor_row(cursor, row, 2), cursor);
      rows[row[0].as.i] = {static_cast<const char*>(row[1].as.bytes.data), row[1].as.bytes.size};
    }
    EXPECT_HS(HS_NOT_FOUND, moved);
    hs_cursor_close(cursor);
    return rows;
  }
  static void expect_rows(hs_transaction* transaction, hs_table* table, const Rows& expected) {
    ASSERT_EQ(rows_of(transaction, table, nullptr), expected);
    ASSERT_EQ(rows_of(transaction, table, "by text"), expected);
  }
  void expect_rows(const Rows& expected) {
    hs_transaction* const transaction = begin();
    expect_rows(transaction, table_, expected);
    hs_transaction_close(transaction);
  }

  /// Of a call that changes rows within a transaction.
  template <typename Work>
  void change(const char* what, const Work& work, const Rows& after) {
    hs_transaction* const transaction = begin();
    const Rows before = rows_of(transaction, table_, nullptr);
    ASSERT_HS_OK(hs_savepoint(transaction, "before"), transaction);
    for_every_allocation(
        what, [&] { return work(transaction); },
        [&](int status) {
          expect_rows(transaction, table_, status == HS_OK ? after : before);
          // Taking back needs no memory.
          FailingAllocations::arm(0, 1000);
          const int back = FailingAllocations::call([&] { return hs_rollback_to(transaction, "before"); });
          FailingAllocations::disarm();
          ASSERT_HS(HS_OK, back);
          expect_rows(transaction, table_, before);
        });
    ASSERT_HS_OK(work(transaction), transaction);
    commit(transaction);
    expect_rows(after);
  }

  void open_table() {
    hs_transaction* const reader = begin();
    ASSERT_HS_OK(hs_table_open(reader, "d/t", &table_), reader);
    hs_transaction_close(reader);
  }
  void open_again() {
    hs_table_close(table_);
    reopen();
    open_table();
  }

  hs_table* table_ = nullptr;
};

TEST_F(HailstoneNoMemoryTest, CallsThatChangeRowsDoAllOrNothing) {
  Rows rows;
  const auto update = [&](hs_transaction* transaction, int64_t id, const char* text) {
    const hs_value key = hs_int(id), row[] = {hs_int(id), hs_text(text)};
    return hs_update(transaction, table_, &key, 1, nullptr, row, 2);
  };
  const auto erase = [&](hs_transaction* transaction, int64_t id) {
    const hs_value key = hs_int(id);
    return hs_delete(transaction, table_, &key, 1);
  };
  for (int64_t id = 0; id < 20; ++id) {
    const std::string text = "a text that is longer than short strings are " + std::to_string(id);
    rows[id] = text;
    change(
        "insert", [&](hs_transaction* transaction) { return insert(transaction, table_, id, text.c_str()); },
        rows);
    if (HasFailure()) return;
  }
  rows[3] = "changed";
  change(
      "update", [&](hs_transaction* transaction) { return update(transaction, 3, "changed"); }, rows);
  rows.erase(4);
  change(
      "delete", [&](hs_transaction* transaction) { return erase(transaction, 4); }, rows);
  if (HasFailure()) return;

  // The same where rows are in segments.
  const std::string text(600, 'l');
  const auto load = [&](hs_transaction* transaction, int64_t first, int64_t last) {
    hs_load* loading = nullptr;
    int status = hs_load_begin(transaction, table_, &loading);
    for (int64_t id = first; id < last && status == HS_OK; ++id) {
      const hs_value row[] = {hs_int(id), hs_bytes(text.data(), text.size())};
      status = hs_load_row(loading, row, 2);
    }
    if (status == HS_OK) status = hs_load_finish(loading);
    hs_load_close(loading);
    return status;
  };
  for (int64_t id = 100; id < 150; ++id) rows[id] = std::string(600, 'l');
  change(
      "small load", [&](hs_transaction* transaction) { return load(transaction, 100, 150); }, rows);
  for (int64_t id = 1000; id < 3000; ++id) rows[id] = std::string(600, 'l');
  change(
      "load", [&](hs_transaction* transaction) { return load(transaction, 1000, 3000); }, rows);
  if (HasFailure()) return;
  rows[1500] = "out of a segment";
  change(
      "update of a segment's row",
      [&](hs_transaction* transaction) { return update(transaction, 1500, "out of a segment"); }, rows);
  rows.erase(1501);
  change(
      "delete of a segment's row", [&](hs_transaction* transaction) { return erase(transaction, 1501); },
      rows);
}

TEST_F(HailstoneNoMemoryTest, LargeTransactionsDoAllOrNothing) {
  options_.row_memory_bytes = uint64_t{64} << 10;
  open_again();
  const std::string text(2000, 't');
  Rows after;
  for (int64_t id = 20; id < 90; ++id) after[id] = id < 60 ? "changed" : text;
  const auto write = [&](hs_transaction* transaction) {
    int status = HS_OK;
    for (int64_t id = 0; id < 90 && status == HS_OK; ++id)
      status = insert(transaction, table_, id, text.c_str());
    for (int64_t id = 20; id < 60 && status == HS_OK; ++id) {
      const hs_value key = hs_int(id), row[] = {hs_int(id), hs_text("changed")};
      status = hs_update(transaction, table_, &key, 1, nullptr, row, 2);
    }
    for (int64_t id = 0; id < 20 && status == HS_OK; ++id) {
      const hs_value key = hs_int(id);
      status = hs_delete(transaction, table_, &key, 1);
    }
    if (status != HS_OK) {
      EXPECT_HS(HS_OK, hs_rollback_to(transaction, "before"));
    }
    return status;
  };
  change("large transaction", write, after);
  open_again();
  expect_rows(after);
}

TEST_F(HailstoneNoMemoryTest, CommitsHappenOrDoNot) {
  Rows rows;
  int64_t id = 0;
  for (const uint64_t in_a_row : {uint64_t{1}, uint64_t{20}}) {
    for (uint64_t n = 0;; ++n) {
      SCOPED_TRACE(n);
      hs_transaction* const transaction = begin();
      Rows after = rows;
      for (int i = 0; i < 3; ++i, ++id) {
        after[id] = "some text";
        ASSERT_HS_OK(insert(transaction, table_, id, "some text"), transaction);
      }
      FailingAllocations::arm(n, in_a_row);
      const int status = FailingAllocations::call([&] { return hs_commit(transaction); });
      const uint64_t failed = FailingAllocations::disarm();
      hs_transaction_close(transaction);
      if (status == HS_OK) {
        rows = after;
      } else {
        ASSERT_HS(HS_NO_MEMORY, status);
      }
      expect_rows(rows);
      if (failed == 0 || HasFailure()) break;
    }
  }
  open_again();
  expect_rows(rows);
}

TEST_F(HailstoneNoMemoryTest, RollbacksNeedNoMemory) {
  hs_transaction* const transaction = begin();
  for (int64_t id = 0; id < 50; ++id) ASSERT_HS_OK(insert(transaction, table_, id, "x"), transaction);
  ASSERT_HS_OK(hs_table_rename(transaction, "d/t", "d/other"), transaction);
  FailingAllocations::arm(0, 1'000'000);
  const int status = FailingAllocations::call([&] { return hs_rollback(transaction); });
  FailingAllocations::disarm();
  EXPECT_HS(HS_OK, status);
  hs_transaction_close(transaction);
  expect_rows({});
  open_again();
  expect_rows({});
}

TEST_F(HailstoneNoMemoryTest, TablesComeAndGoWhollyOrNotAtAll) {
  const auto names = [&](hs_transaction* transaction) {
    std::string all, last;
    const char* name = nullptr;
    while (hs_table_next(transaction, "", last.c_str(), &name) == HS_OK) {
      last = name;
      all += last + " ";
    }
    return all;
  };
  hs_schema* schema = nullptr;
  ASSERT_HS(HS_OK, hs_schema_new(&schema));
  ASSERT_HS_OK(hs_schema_column(schema, "id", HS_INT64, 0, HS_NOT_NULL), schema);
  const auto ddl = [&](const char* what, const std::function<int(hs_transaction*)>& work,
                       const std::string& before, const std::string& after) {
    for (const bool commits : {false, true}) {
      for (uint64_t n = 0;; ++n) {
        SCOPED_TRACE(std::string(what) + ", allocation " + std::to_string(n));
        hs_transaction* const transaction = begin();
        int status = HS_OK;
        if (commits) status = work(transaction);
        ASSERT_HS(HS_OK, status);
        FailingAllocations::arm(n, 1);
        status =
            FailingAllocations::call([&] { return commits ? hs_commit(transaction) : work(transaction); });
        const uint64_t failed = FailingAllocations::disarm();
        if (status != HS_OK) {
          ASSERT_HS(HS_NO_MEMORY, status);
        }
        if (!commits) {
          ASSERT_EQ(names(transaction), status == HS_OK ? after : before);
          ASSERT_HS_OK(hs_rollback(transaction), transaction);
        }
        hs_transaction_close(transaction);
        hs_transaction* const reader = begin();
        ASSERT_EQ(names(reader), commits && status == HS_OK ? after : before);
        hs_transaction_close(reader);
        if (commits && status == HS_OK) return;
        if (failed == 0) break;
      }
    }
  };
  ddl(
      "create",
      [&](hs_transaction* transaction) {
        hs_table* made = nullptr;
        const int status = hs_table_create(transaction, "d/made", schema, &made);
        hs_table_close(made);
        return status;
      },
      "d/t ", "d/made d/t ");
  if (HasFailure()) return;
  ddl(
      "rename", [](hs_transaction* transaction) { return hs_table_rename(transaction, "d/made", "d/named"); },
      "d/made d/t ", "d/named d/t ");
  if (HasFailure()) return;
  ddl(
      "drop", [](hs_transaction* transaction) { return hs_table_drop(transaction, "d/named"); },
      "d/named d/t ", "d/t ");
  hs_schema_free(schema);
  open_again();
  hs_transaction* const reader = begin();
  EXPECT_EQ(names(reader), "d/t ");
  hs_transaction_close(reader);
}

TEST_F(HailstoneNoMemoryTest, ReadsGiveAllOrAnError) {
  hs_transaction* const writer = begin();
  Rows rows;
  for (int64_t id = 0; id < 300; ++id) {
    rows[id] = "text number " + std::to_string(id) + " of three hundred";
    ASSERT_HS_OK(insert(writer, table_, id, rows[id].c_str()), writer);
  }
  commit(writer);
  ASSERT_HS_OK(hs_checkpoint(database_), database_);
  hs_transaction* const reader = begin();
  uint64_t result = 0;
  for_every_allocation(
      "get",
      [&] {
        const hs_value key = hs_int(7);
        hs_value row[2];
        return hs_get(reader, table_, &key, 1, HS_LOCK_SHARED, row, 2);
      },
      [](int) {});
  for_every_allocation(
      "count",
      [&] {
        hs_scan* scan = nullptr;
        hs_predicate* const predicate = hs_compare("text", HS_GREATER, hs_text("text number 2"));
        int status = hs_scan_open(reader, table_, &scan);
        if (status == HS_OK) status = predicate == nullptr ? HS_NO_MEMORY : hs_scan_filter(scan, predicate);
        if (status == HS_OK) status = hs_scan_count(scan, &result);
        hs_scan_close(scan);
        hs_predicate_free(predicate);
        return status;
      },
      [&](int status) {
        if (status == HS_OK) {
          ASSERT_EQ(result, 188U);
        }
      });
  for_every_allocation(
      "cursor",
      [&] {
        hs_cursor* cursor = nullptr;
        int status = hs_cursor_open(reader, table_, "by text", HS_LOCK_NONE, &cursor);
        result = 0;
        if (status == HS_OK) status = hs_cursor_seek(cursor, nullptr, 0);
        for (; status == HS_OK; status = hs_cursor_next(cursor)) ++result;
        hs_cursor_close(cursor);
        return status == HS_NOT_FOUND ? static_cast<int>(HS_OK) : status;
      },
      [&](int status) {
        if (status == HS_OK) {
          ASSERT_EQ(result, rows.size());
        }
      });
  hs_transaction_close(reader);
}

TEST_F(HailstoneNoMemoryTest, DatabasesCloseAndOpen) {
  hs_transaction* const writer = begin();
  Rows rows;
  for (int64_t id = 0; id < 300; ++id) {
    rows[id] = "text number " + std::to_string(id);
    ASSERT_HS_OK(insert(writer, table_, id, rows[id].c_str()), writer);
  }
  commit(writer);
  const std::string where = path();
  SampledAllocations sampled;
  for (const uint64_t in_a_row : {uint64_t{1}, uint64_t{20}}) {
    for (uint64_t n = 0;; n = sampled.after(n)) {
      SCOPED_TRACE(n);
      hs_table_close(table_);
      FailingAllocations::arm(n, in_a_row);
      const int closed = FailingAllocations::call([&] { return hs_close(database_); });
      uint64_t failed = FailingAllocations::disarm();
      if (closed != HS_OK) {
        ASSERT_HS(HS_NO_MEMORY, closed);
      }
      FailingAllocations::arm(n, in_a_row);
      const int opened =
          FailingAllocations::call([&] { return hs_open(where.c_str(), &options_, &database_); });
      failed += FailingAllocations::disarm();
      if (opened != HS_OK) {
        ASSERT_HS(HS_NO_MEMORY, opened);
        ASSERT_HS(HS_OK, hs_close(database_));
        open();
      }
      open_table();
      ASSERT_NO_FATAL_FAILURE(expect_rows(rows));
      if (failed == 0) break;
    }
  }
}

TEST_F(HailstoneNoMemoryTest, BackgroundWorkIsTriedAgain) {
  // Each allocation of other threads fails with some chance, while rows are loaded, changed and flushed.
  Rows rows;
  const uint64_t seed = test_seed(70);
  for (int round = 0; round < 30; ++round) {
    FailingAllocations::arm_others(static_cast<uint32_t>(2 + round * 7), seed + static_cast<uint64_t>(round));
    hs_transaction* const writer = begin();
    hs_load* load = nullptr;
    ASSERT_HS_OK(hs_load_begin(writer, table_, &load), writer);
    int status = HS_OK;
    const std::string text(500, 'b');
    Rows loaded;
    for (int64_t id = round * 10'000; id < round * 10'000 + 3'000 && status == HS_OK; ++id) {
      const hs_value row[] = {hs_int(id), hs_bytes(text.data(), text.size())};
      status = hs_load_row(load, row, 2);
      loaded[id] = text;
    }
    if (status == HS_OK) status = hs_load_finish(load);
    hs_load_close(load);
    if (status == HS_OK) {
      ASSERT_HS_OK(hs_commit(writer), writer);
      rows.merge(loaded);
    } else {
      ASSERT_HS(HS_NO_MEMORY, status);
    }
    hs_transaction_close(writer);
    // Flushes, merges and the like, on the threads of the database.
    static_cast<void>(hs_checkpoint(database_));
  }
  FailingAllocations::disarm();
  ASSERT_HS_OK(hs_checkpoint(database_), database_);
  expect_rows(rows);
  open_again();
  expect_rows(rows);
}

}  // namespace
}  // namespace hailstone
