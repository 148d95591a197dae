// Databases and tables in memory through hailstone.h.
#include <dirent.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "api/hailstone/fixture.h"

namespace hailstone {
namespace {

/// Bytes that the process has given to system calls that write.
uint64_t written_bytes() {
  std::ifstream counts("/proc/self/io");
  std::string name;
  uint64_t value = 0;
  while (counts >> name >> value) {
    if (name == "wchar:") return value;
  }
  ADD_FAILURE() << "/proc/self/io does not tell how much was written";
  return 0;
}

/// Of this process.
std::set<std::string> open_files() {
  std::set<std::string> numbers;
  DIR* const directory = opendir("/proc/self/fd");
  EXPECT_NE(directory, nullptr);
  while (const dirent* const entry = readdir(directory)) numbers.insert(entry->d_name);
  numbers.erase(std::to_string(dirfd(directory)));
  closedir(directory);
  return numbers;
}

/// A text of which no encoding makes much less, another one for each number.
std::string text_of_number(uint64_t number, size_t bytes) {
  std::string text(bytes, '\0');
  for (char& each : text) {
    number = number * 6364136223846793005 + 1442695040888963407;
    each = static_cast<char>(' ' + (number >> 40) % 95);
  }
  return text;
}

class HailstoneInMemoryTest : public HailstoneTest {
 protected:
  HailstoneInMemoryTest() { in_memory_ = true; }

  std::string error(const void* handle) { return hs_error_message(handle); }
  void insert_rows(hs_table* table, int64_t first, int64_t end, const std::string& text) {
    hs_transaction* const transaction = begin();
    for (int64_t id = first; id < end; ++id) {
      ASSERT_HS_OK(insert(transaction, table, id, text.c_str()), transaction);
    }
    commit(transaction);
  }
  uint64_t count(hs_transaction* transaction, hs_table* table) {
    hs_scan* scan = nullptr;
    EXPECT_HS_OK(hs_scan_open(transaction, table, &scan), transaction);
    uint64_t rows = 0;
    EXPECT_HS_OK(hs_scan_count(scan, &rows), scan);
    hs_scan_close(scan);
    return rows;
  }
  uint64_t count(hs_table* table) {
    hs_transaction* const transaction = begin();
    const uint64_t rows = count(transaction, table);
    hs_transaction_close(transaction);
    return rows;
  }
  uint64_t counter(const char* name) {
    uint64_t value = 0;
    EXPECT_HS_OK(hs_counter(database_, name, &value), database_);
    return value;
  }
};

TEST_F(HailstoneInMemoryTest, NothingTouchesADisk) {
  const uint64_t written = written_bytes();
  const std::set<std::string> files = open_files();
  hs_database* database = nullptr;
  ASSERT_HS_OK(hs_open(nullptr, nullptr, &database), database);
  std::swap(database_, database);
  hs_table* const table = create_pairs("t/pairs");
  const std::string text(1000, 'x');
  insert_rows(table, 0, 20'000, text);  // more than one delta holds
  hs_transaction* transaction = begin();
  hs_load* load = nullptr;
  ASSERT_HS_OK(hs_load_begin(transaction, table, &load), transaction);
  for (int64_t id = 20'000; id < 40'000; ++id) {
    const hs_value row[] = {hs_int(id), hs_text(text.c_str())};
    ASSERT_HS_OK(hs_load_row(load, row, 2), load);
  }
  ASSERT_HS_OK(hs_load_finish(load), load);
  hs_load_close(load);
  const hs_value key = hs_int(25'000);
  ASSERT_HS_OK(hs_delete(transaction, table, &key, 1), transaction);
  commit(transaction);
  EXPECT_EQ(count(table), 39'999u);
  ASSERT_HS_OK(hs_checkpoint(database_), database_);
  EXPECT_EQ(open_files(), files);
  EXPECT_GT(counter("in_memory_used"), 0u);
  hs_table_close(table);
  EXPECT_HS_OK(hs_close(database_), database_);
  std::swap(database_, database);
  EXPECT_EQ(written_bytes(), written);
  EXPECT_EQ(open_files(), files);
}

TEST_F(HailstoneInMemoryTest, EachIsADatabaseOfItsOwnAndGoneWhenClosed) {
  hs_table* const table = create_pairs("t/pairs");
  insert_rows(table, 1, 2, "one");
  hs_database* second = nullptr;
  ASSERT_HS_OK(hs_open(nullptr, &options_, &second), second);
  hs_transaction* transaction = nullptr;
  ASSERT_HS_OK(hs_begin(second, HS_REPEATABLE_READ, &transaction), second);
  hs_table* none = nullptr;
  EXPECT_HS(HS_NOT_FOUND, hs_table_open(transaction, "t/pairs", &none));
  hs_transaction_close(transaction);
  EXPECT_HS_OK(hs_close(second), second);
  EXPECT_EQ(text_of(table, 1), "one");
  hs_table_close(table);
  reopen();
  transaction = begin();
  EXPECT_HS(HS_NOT_FOUND, hs_table_open(transaction, "t/pairs", &none));
  hs_transaction_close(transaction);
}

TEST_F(HailstoneInMemoryTest, TransactionsSavepointsAndDdlAreThoseOfADirectory) {
  hs_table* const table = create_pairs("t/pairs");
  insert_rows(table, 0, 10, "before");
  hs_transaction* transaction = begin();
  const hs_value key = hs_int(3);
  const uint32_t text_column = 1;
  const hs_value changed = hs_text("after");
  ASSERT_HS_OK(hs_update(transaction, table, &key, 1, &text_column, &changed, 1), transaction);
  ASSERT_HS_OK(hs_savepoint(transaction, "mark"), transaction);
  ASSERT_HS_OK(hs_delete(transaction, table, &key, 1), transaction);
  EXPECT_HS(HS_DUPLICATE_KEY, insert(transaction, table, 4, "again"));
  ASSERT_HS_OK(hs_rollback_to(transaction, "mark"), transaction);
  EXPECT_EQ(text_of(transaction, table, 3), "after");
  EXPECT_EQ(text_of(table, 3), "before");  // of another transaction
  hs_transaction* const waiting = begin();
  EXPECT_HS(HS_LOCK_TIMEOUT, insert(waiting, table, 3, "third"));
  hs_transaction_close(waiting);
  ASSERT_HS_OK(hs_rollback(transaction), transaction);
  hs_transaction_close(transaction);
  EXPECT_EQ(text_of(table, 3), "before");

  transaction = begin();
  ASSERT_HS_OK(hs_table_rename(transaction, "t/pairs", "t/other"), transaction);
  ASSERT_HS_OK(hs_rollback(transaction), transaction);
  hs_transaction_close(transaction);
  transaction = begin();
  ASSERT_HS_OK(hs_table_drop(transaction, "t/pairs"), transaction);
  commit(transaction);
  EXPECT_EQ(counter("tables"), 0u);
  hs_table_close(table);
  ASSERT_HS_OK(hs_checkpoint(database_), database_);
  EXPECT_EQ(counter("in_memory_used"), 0u);
}

TEST_F(HailstoneInMemoryTest, WhatIsPreparedWaitsForItsEnd) {
  hs_table* const table = create_pairs("t/pairs");
  for (const auto& [id, name] : {std::pair<int64_t, const char*>{1, "a"}, {2, "b"}}) {
    hs_transaction* const transaction = begin();
    ASSERT_HS_OK(insert(transaction, table, id, "prepared"), transaction);
    ASSERT_HS_OK(hs_prepare(transaction, name, 1), transaction);
    hs_transaction_close(transaction);
  }
  EXPECT_EQ(text_of(table, 1), "-");
  ASSERT_HS_OK(hs_commit_prepared(database_, "a", 1), database_);
  ASSERT_HS_OK(hs_rollback_prepared(database_, "b", 1), database_);
  EXPECT_EQ(text_of(table, 1), "prepared");
  EXPECT_EQ(text_of(table, 2), "-");
  hs_table_close(table);
}

TEST_F(HailstoneInMemoryTest, VeryManyDefinitionsLeaveAShortLog) {
  for (int round = 0; round < 40; ++round) {
    hs_transaction* transaction = begin();
    hs_schema* schema = nullptr;
    ASSERT_HS(HS_OK, hs_schema_new(&schema));
    for (int column = 0; column < 100; ++column) {
      const std::string name = "a column with a long name, number " + std::to_string(column);
      ASSERT_HS_OK(hs_schema_column(schema, name.c_str(), HS_INT64, 0, 0), schema);
    }
    for (int table = 0; table < 20; ++table) {
      const std::string name = "t/" + std::to_string(table);
      ASSERT_HS_OK(hs_table_create(transaction, name.c_str(), schema, nullptr), transaction);
    }
    hs_schema_free(schema);
    commit(transaction);
    transaction = begin();
    for (int table = 0; table < 20; ++table) {
      ASSERT_HS_OK(hs_table_drop(transaction, ("t/" + std::to_string(table)).c_str()), transaction);
    }
    commit(transaction);
  }
  // Three megabytes of definitions.
  for (int i = 0; i < 1000 && counter("checkpoints") == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_GT(counter("checkpoints"), 0u);
}

TEST_F(HailstoneInMemoryTest, AFullDatabaseTakesNothingAndHasRoomAgain) {
  ASSERT_HS_OK(hs_close(database_), database_);
  options_.in_memory_bytes = uint64_t{8} << 20;
  open();
  hs_table* const table = create_pairs("t/pairs");
  int64_t rows = 0;
  int status = HS_OK;
  while (status == HS_OK && rows < 100'000) {
    hs_transaction* const transaction = begin();
    status = insert(transaction, table, rows, text_of_number(static_cast<uint64_t>(rows), 1000).c_str());
    if (status == HS_OK) {
      ++rows;
    } else {
      EXPECT_NE(error(transaction).find("in_memory_bytes"), std::string::npos) << error(transaction);
    }
    commit(transaction);
  }
  EXPECT_HS(HS_TABLE_FULL, status);
  EXPECT_EQ(count(table), static_cast<uint64_t>(rows));
  hs_transaction* const transaction = begin();
  for (int64_t id = 0; id < rows / 2; ++id) {
    const hs_value key = hs_int(id);
    ASSERT_HS_OK(hs_delete(transaction, table, &key, 1), transaction);
  }
  commit(transaction);
  for (int64_t id = 0; id < rows / 4; ++id) {
    insert_rows(table, id, id + 1, text_of_number(static_cast<uint64_t>(id), 1000));
  }
  EXPECT_EQ(count(table), static_cast<uint64_t>(rows - rows / 2 + rows / 4));
  hs_table_close(table);
}

TEST_F(HailstoneInMemoryTest, WhatNeedsADirectoryIsRefused) {
  EXPECT_HS(HS_UNSUPPORTED, hs_backup(database_, directory_.file("copy").c_str()));
  EXPECT_NE(error(database_).find("in memory"), std::string::npos) << error(database_);
  EXPECT_HS(HS_INVALID, hs_backup(database_, nullptr));
  options_.must_exist = 1;
  hs_database* other = nullptr;
  EXPECT_HS(HS_NOT_FOUND, hs_open(nullptr, &options_, &other));
  EXPECT_NE(error(other), "");
  EXPECT_HS(HS_OK, hs_close(other));
}

/// Tables in memory of a database in a directory.
class HailstoneInMemoryTableTest : public HailstoneTest {
 protected:
  static hs_schema* schema_of(uint64_t most_bytes) {
    hs_schema* schema = nullptr;
    EXPECT_HS(HS_OK, hs_schema_new(&schema));
    EXPECT_HS_OK(hs_schema_column(schema, "id", HS_INT64, 0, HS_NOT_NULL), schema);
    EXPECT_HS_OK(hs_schema_column(schema, "text", HS_STRING, 0, 0), schema);
    const char* const id[] = {"id"};
    EXPECT_HS_OK(hs_schema_primary_key(schema, id, 1), schema);
    EXPECT_HS_OK(hs_schema_in_memory(schema, most_bytes), schema);
    return schema;
  }
};

TEST_F(HailstoneInMemoryTableTest, WrongHandlesAreRefused) {
  EXPECT_HS(HS_INVALID, hs_schema_in_memory(nullptr, 0));
  EXPECT_HS(HS_INVALID, hs_schema_in_memory(reinterpret_cast<hs_schema*>(database_), 0));
}

TEST_F(HailstoneInMemoryTableTest, TheLastLimitGivenCounts) {
  hs_schema* const schema = schema_of(1);
  ASSERT_HS_OK(hs_schema_in_memory(schema, uint64_t{1} << 20), schema);
  hs_table* const table = create("t/rows", schema);
  hs_transaction* const transaction = begin();
  EXPECT_HS_OK(insert(transaction, table, 1, "one"), transaction);
  // A statement that does not fit is taken back; its transaction goes on.
  EXPECT_HS(HS_TABLE_FULL, insert(transaction, table, 2, std::string(2 << 20, 'x').c_str()));
  EXPECT_NE(std::strstr(hs_error_message(transaction), "t/rows"), nullptr) << hs_error_message(transaction);
  EXPECT_HS_OK(insert(transaction, table, 3, "three"), transaction);
  commit(transaction);
  EXPECT_EQ(text_of(table, 2), "-");
  EXPECT_EQ(text_of(table, 3), "three");
  hs_table_close(table);
}

TEST_F(HailstoneInMemoryTableTest, ALimitThatNothingFitsIntoIsMetByTheFirstRow) {
  hs_table* const table = create("t/rows", schema_of(1));
  hs_transaction* const transaction = begin();
  EXPECT_HS(HS_TABLE_FULL, insert(transaction, table, 1, "one"));
  commit(transaction);
  EXPECT_EQ(text_of(table, 1), "-");
  hs_table_close(table);
}

TEST_F(HailstoneInMemoryTableTest, ALoadThatDoesNotFitIsTakenBack) {
  hs_table* const table = create("t/rows", schema_of(uint64_t{1} << 20));
  hs_transaction* const transaction = begin();
  ASSERT_HS_OK(insert(transaction, table, -1, "kept"), transaction);
  hs_load* load = nullptr;
  ASSERT_HS_OK(hs_load_begin(transaction, table, &load), transaction);
  int status = HS_OK;
  for (int64_t id = 0; id < 50'000 && status == HS_OK; ++id) {
    const std::string text = text_of_number(static_cast<uint64_t>(id), 200);
    const hs_value row[] = {hs_int(id), hs_bytes(text.data(), text.size())};
    status = hs_load_row(load, row, 2);
  }
  if (status == HS_OK) status = hs_load_finish(load);
  EXPECT_HS(HS_TABLE_FULL, status);
  hs_load_close(load);
  commit(transaction);
  EXPECT_EQ(text_of(table, -1), "kept");
  EXPECT_EQ(text_of(table, 7), "-");
  hs_table_close(table);
}

TEST_F(HailstoneInMemoryTableTest, RowsGoWithTheDatabaseAndTheTableStays) {
  hs_schema* const schema = schema_of(0);
  hs_transaction* transaction = begin();
  hs_table* table = nullptr;
  ASSERT_HS_OK(hs_table_create(transaction, "t/rows", schema, &table), transaction);
  hs_schema_free(schema);
  ASSERT_HS_OK(insert(transaction, table, 1, "one"), transaction);
  commit(transaction);
  EXPECT_EQ(text_of(table, 1), "one");
  hs_table_close(table);
  reopen();
  transaction = begin();
  ASSERT_HS_OK(hs_table_open(transaction, "t/rows", &table), transaction);
  EXPECT_EQ(text_of(transaction, table, 1), "-");
  EXPECT_HS_OK(insert(transaction, table, 1, "again"), transaction);
  commit(transaction);
  hs_table_close(table);
}

}  // namespace
}  // namespace hailstone
