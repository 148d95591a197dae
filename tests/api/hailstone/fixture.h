// A database through hailstone.h for a test, in a directory of its own or in memory, closed at the end.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "file/temporary_directory.h"
#include "hailstone.h"

namespace hailstone {

#define EXPECT_HS(code, expression) EXPECT_EQ(static_cast<int>(code), static_cast<int>(expression))
#define ASSERT_HS(code, expression) ASSERT_EQ(static_cast<int>(code), static_cast<int>(expression))
/// With the sentence of the error handle.
#define EXPECT_HS_OK(expression, handle) \
  EXPECT_EQ(0, static_cast<int>(expression)) << hs_error_message(handle)
#define ASSERT_HS_OK(expression, handle) \
  ASSERT_EQ(0, static_cast<int>(expression)) << hs_error_message(handle)

class HailstoneTest : public ::testing::Test {
 protected:
  void SetUp() override {
    hs_options_init(&options_);
    options_.durability = HS_DURABLE_AGAINST_CRASH;
    options_.memory_bytes = uint64_t{64} << 20;
    options_.lock_wait_ms = 20;
    open();
  }
  void TearDown() override { EXPECT_HS_OK(hs_close(database_), database_); }

  void open() {
    const char* const directory = in_memory_ ? nullptr : path_.c_str();
    ASSERT_HS_OK(hs_open(directory, &options_, &database_), database_);
  }
  void reopen() {
    ASSERT_HS_OK(hs_close(database_), database_);
    open();
  }
  std::string path() const { return path_; }

  hs_transaction* begin(hs_isolation isolation = HS_REPEATABLE_READ) {
    hs_transaction* transaction = nullptr;
    EXPECT_HS_OK(hs_begin(database_, isolation, &transaction), database_);
    return transaction;
  }
  static void commit(hs_transaction* transaction) {
    EXPECT_HS_OK(hs_commit(transaction), transaction);
    hs_transaction_close(transaction);
  }
  /// A table, committed; frees the schema.
  hs_table* create(const char* name, hs_schema* schema) {
    hs_transaction* const transaction = begin();
    hs_table* table = nullptr;
    EXPECT_HS_OK(hs_table_create(transaction, name, schema, &table), transaction);
    hs_schema_free(schema);
    commit(transaction);
    return table;
  }
  /// id BIGINT, the primary key; text STRING; index "by text".
  hs_table* create_pairs(const char* name) {
    hs_schema* schema = nullptr;
    EXPECT_HS(HS_OK, hs_schema_new(&schema));
    EXPECT_HS_OK(hs_schema_column(schema, "id", HS_INT64, 0, HS_NOT_NULL), schema);
    EXPECT_HS_OK(hs_schema_column(schema, "text", HS_STRING, 0, 0), schema);
    const char* const id[] = {"id"};
    const char* const text[] = {"text"};
    EXPECT_HS_OK(hs_schema_primary_key(schema, id, 1), schema);
    EXPECT_HS_OK(hs_schema_index(schema, "by text", 0, text, nullptr, 1), schema);
    return create(name, schema);
  }
  static int insert(hs_transaction* transaction, hs_table* table, int64_t id, const char* text) {
    const hs_value row[] = {hs_int(id), text == nullptr ? hs_null() : hs_text(text)};
    return hs_insert(transaction, table, row, 2);
  }
  /// The text of a row; "-" when it is not there, "NULL" when it is NULL.
  static std::string text_of(hs_transaction* transaction, hs_table* table, int64_t id) {
    const hs_value key = hs_int(id);
    hs_value row[2];
    const int status = hs_get(transaction, table, &key, 1, HS_LOCK_NONE, row, 2);
    if (status == HS_NOT_FOUND) return "-";
    EXPECT_HS_OK(status, transaction);
    if (row[1].kind == HS_VALUE_NULL) return "NULL";
    return {static_cast<const char*>(row[1].as.bytes.data), row[1].as.bytes.size};
  }
  std::string text_of(hs_table* table, int64_t id) {
    hs_transaction* const transaction = begin();
    std::string text = text_of(transaction, table, id);
    hs_transaction_close(transaction);
    return text;
  }

  hs_options options_{};
  bool in_memory_ = false;
  TemporaryDirectory directory_;
  const std::string path_ = directory_.file("data");
  hs_database* database_ = nullptr;
};

}  // namespace hailstone
