// Small tables and short ways to write and read them, for the tests of the database.
#pragma once

#include <gtest/gtest.h>
#include <array>

#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/test_seed.h"
#include "database/database.h"
#include "file/fault_filesystem.h"
#include "file/temporary_directory.h"
#include "table/bulk_load.h"
#include "table/scan.h"

namespace hailstone {

/// How often a random test repeats: HAILSTONE_TEST_ROUNDS when set, for a long run.
inline uint64_t test_rounds(uint64_t fallback) {
  const char* given = std::getenv("HAILSTONE_TEST_ROUNDS");
  return given != nullptr ? std::strtoull(given, nullptr, 0) : fallback;
}

/// Rows by key: what a table holds.
using Rows = std::map<int64_t, std::string>;

#define ASSERT_OK(expression)                                                             \
  do {                                                                                    \
    const auto& checked = (expression);                                                   \
    ASSERT_TRUE(checked.has_value()) << #expression << ": " << checked.error().message(); \
  } while (false)
#define EXPECT_OK(expression)                                                             \
  do {                                                                                    \
    const auto& checked = (expression);                                                   \
    EXPECT_TRUE(checked.has_value()) << #expression << ": " << checked.error().message(); \
  } while (false)

inline TableDefinition pair_definition(const std::string& name, bool primary_key = true) {
  TableDefinition definition;
  definition.name = name;
  definition.columns.push_back({.name = "id", .type = Type::Signed, .width = 8, .nullable = false});
  definition.columns.push_back({.name = "text", .type = Type::Varchar, .width = 4000});
  if (primary_key) {
    definition.indexes.push_back({.name = "PRIMARY", .unique = true, .parts = {{.column = 0}}});
    definition.has_primary_key = true;
  }
  return definition;
}

inline std::array<Value, 2> pair_values(int64_t id, const std::string& text) {
  return {Value::of(order_signed(id, 8)), Value::of(ByteView(text))};
}

inline std::string pair_row(const Table& table, int64_t id, const std::string& text) {
  std::string row;
  EXPECT_OK(table.layout()->row_codec().encode(pair_values(id, text), row));
  return row;
}

inline std::string pair_key(const Table& table, int64_t id) {
  const Value value = Value::of(order_signed(id, 8));
  std::string key;
  EXPECT_OK(table.key_codec(0).append({&value, 1}, key));
  return key;
}

inline Status put(Table& table, Transaction& transaction, int64_t id, const std::string& text) {
  Duplicate duplicate;
  const std::string row = pair_row(table, id, text);
  auto key = table.insert(transaction, row, duplicate);
  if (!key && key.error().code() == ErrorCode::DuplicateKey) {
    key = table.update(transaction, pair_key(table, id), row, duplicate);
  }
  return key ? Status() : std::unexpected(key.error());
}

inline Result<Rows> read_rows(const std::shared_ptr<Table>& table, Transaction& transaction) {
  Rows rows;
  Scan scan(table, transaction, ReadLock::None, nullptr, {0, 1});
  for (;;) {
    HAILSTONE_ASSIGN(const Batch* batch, scan.next());
    if (batch == nullptr) return rows;
    for (uint32_t i = 0; i < batch->rows; ++i) {
      const int64_t id = native_signed(batch->columns[0].value(i).integer, 8);
      if (!rows.emplace(id, batch->columns[1].value(i).bytes).second) {
        return fail(ErrorCode::Corruption, "row " + std::to_string(id) + " is there twice");
      }
    }
  }
}

inline Result<Rows> read_table(Database& database, const std::string& name) {
  HAILSTONE_ASSIGN(const auto table, database.table(name));
  const auto transaction = database.transactions().begin(Isolation::RepeatableRead);
  return read_rows(table, *transaction);
}

/// A database in a directory of its own, that can be reopened.
class DatabaseTest : public ::testing::Test {
 protected:
  void open() {
    auto opened = Database::open(posix_filesystem(), directory_.path(), options());
    ASSERT_OK(opened);
    database_ = std::move(*opened);
  }
  void reopen() {
    ASSERT_OK(database_->close());
    database_.reset();
    open();
  }
  DatabaseOptions options() {
    DatabaseOptions result = options_;
    result.logger = [this](DatabaseOptions::Severity severity, const std::string& message) {
      const std::lock_guard guard(messages_mutex_);
      if (severity != DatabaseOptions::Severity::Note) messages_.push_back(message);
    };
    return result;
  }
  std::unique_ptr<Transaction> begin() { return database_->transactions().begin(Isolation::RepeatableRead); }
  Status commit(Transaction& transaction) { return database_->transactions().commit(transaction); }
  void create(const std::string& name, bool primary_key = true) {
    const auto transaction = begin();
    ASSERT_OK(database_->create_table(*transaction, pair_definition(name, primary_key)));
    ASSERT_OK(commit(*transaction));
  }
  void put_rows(const std::string& name, const Rows& rows) {
    const auto transaction = begin();
    const auto table = database_->table(name, transaction.get());
    ASSERT_OK(table);
    for (const auto& [id, text] : rows) ASSERT_OK(put(**table, *transaction, id, text));
    ASSERT_OK(commit(*transaction));
  }
  void expect_rows(const std::string& name, const Rows& rows) {
    const auto found = read_table(*database_, name);
    ASSERT_OK(found);
    EXPECT_EQ(*found, rows) << name;
  }
  ErrorCode code_of(const Status& status) {
    EXPECT_FALSE(status);
    return status ? ErrorCode::Unsupported : status.error().code();
  }
  template <typename T>
  ErrorCode code_of(const Result<T>& result) {
    EXPECT_FALSE(result);
    return result ? ErrorCode::Unsupported : result.error().code();
  }

  DatabaseOptions options_;
  TemporaryDirectory directory_;
  std::mutex messages_mutex_;
  std::vector<std::string> messages_;
  std::unique_ptr<Database> database_;
};

}  // namespace hailstone
