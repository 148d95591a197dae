// Rows that expire, through hailstone.h.
#include <chrono>
#include <cstring>

#include "api/hailstone/fixture.h"

namespace hailstone {
namespace {

class HailstoneRetentionTest : public HailstoneTest {
 protected:
  void SetUp() override {
    HailstoneTest::SetUp();
    hs_close(database_);
    options_.retention_interval_seconds = 0;
    open();
  }
  /// "t/events": id, at, day, seconds; no retention so far.
  static hs_schema* schema_of() {
    hs_schema* schema = nullptr;
    EXPECT_HS(HS_OK, hs_schema_new(&schema));
    EXPECT_HS_OK(hs_schema_column(schema, "id", HS_INT64, 0, HS_NOT_NULL), schema);
    EXPECT_HS_OK(hs_schema_column(schema, "at", HS_TIMESTAMP, 0, 0), schema);
    EXPECT_HS_OK(hs_schema_column(schema, "day", HS_DATE, 0, HS_ROW_WISE), schema);
    EXPECT_HS_OK(hs_schema_column(schema, "seconds", HS_UINT32, 0, 0), schema);
    EXPECT_HS_OK(hs_schema_column(schema, "text", HS_STRING, 0, 0), schema);
    const char* const id[] = {"id"};
    EXPECT_HS_OK(hs_schema_primary_key(schema, id, 1), schema);
    return schema;
  }
  /// A row of so many hours ago in all its columns.
  void put(hs_table* table, int64_t id, int64_t hours) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const int64_t second = std::chrono::duration_cast<std::chrono::seconds>(now).count() - hours * 3600;
    const hs_value row[] = {hs_int(id), hs_int(second * 1'000'000), hs_int(second / 86'400),
                            hs_uint(static_cast<uint64_t>(second)), hs_null()};
    hs_transaction* const transaction = begin();
    EXPECT_HS_OK(hs_insert(transaction, table, row, 5), transaction);
    commit(transaction);
  }
  uint64_t expire() {
    uint64_t rows = 99;
    EXPECT_HS_OK(hs_expire(database_, &rows), database_);
    return rows;
  }
  bool has(hs_table* table, int64_t id) {
    hs_transaction* const transaction = begin();
    const hs_value key = hs_int(id);
    hs_value row[5];
    const int status = hs_get(transaction, table, &key, 1, HS_LOCK_NONE, row, 5);
    hs_transaction_close(transaction);
    return status == HS_OK;
  }
};

TEST_F(HailstoneRetentionTest, RowsExpireByEachKindOfColumn) {
  for (const char* const column : {"at", "day", "seconds"}) {
    SCOPED_TRACE(column);
    hs_schema* const schema = schema_of();
    ASSERT_HS_OK(hs_schema_retention(schema, column, 2, HS_DAYS), schema);
    hs_table* const table = create("t/events", schema);
    put(table, 1, 100);
    put(table, 2, 47);
    EXPECT_EQ(expire(), 1U);
    EXPECT_FALSE(has(table, 1));
    EXPECT_TRUE(has(table, 2));
    EXPECT_EQ(expire(), 0U);
    hs_table_close(table);
    hs_transaction* const transaction = begin();
    ASSERT_HS_OK(hs_table_drop(transaction, "t/events"), transaction);
    commit(transaction);
  }
}

TEST_F(HailstoneRetentionTest, ItCanBeChangedAndTakenBack) {
  hs_table* const table = create("t/events", schema_of());
  put(table, 1, 100);
  put(table, 2, 10);
  EXPECT_EQ(expire(), 0U);
  const auto change = [&](uint32_t amount, hs_time_unit unit) {
    hs_transaction* const transaction = begin();
    EXPECT_HS_OK(hs_table_retention(transaction, "t/events", "at", amount, unit), transaction);
    commit(transaction);
  };
  change(1, HS_WEEKS);
  EXPECT_EQ(expire(), 0U);
  change(1, HS_DAYS);
  EXPECT_EQ(expire(), 1U);
  change(0, HS_DAYS);
  EXPECT_EQ(expire(), 0U);
  change(5, HS_HOURS);
  hs_table_close(table);
  reopen();
  EXPECT_EQ(expire(), 1U);
}

TEST_F(HailstoneRetentionTest, ARollbackTakesTheChangeBack) {
  hs_table* const table = create("t/events", schema_of());
  put(table, 1, 100);
  hs_transaction* const transaction = begin();
  EXPECT_HS_OK(hs_table_retention(transaction, "t/events", "at", 1, HS_DAYS), transaction);
  EXPECT_HS_OK(hs_rollback(transaction), transaction);
  hs_transaction_close(transaction);
  EXPECT_EQ(expire(), 0U);
  hs_table_close(table);
}

TEST_F(HailstoneRetentionTest, WhatIsWrongIsNamed) {
  hs_schema* const schema = schema_of();
  EXPECT_HS(HS_NOT_FOUND, hs_schema_retention(schema, "nowhere", 1, HS_DAYS));
  EXPECT_NE(std::strstr(hs_error_message(schema), "nowhere"), nullptr);
  EXPECT_HS(HS_INVALID, hs_schema_retention(schema, "text", 1, HS_DAYS));
  EXPECT_HS(HS_INVALID, hs_schema_retention(schema, nullptr, 1, HS_DAYS));
  EXPECT_HS(HS_INVALID, hs_schema_retention(schema, "at", 1, static_cast<hs_time_unit>(6)));
  EXPECT_HS(HS_OK, hs_schema_retention(schema, nullptr, 0, HS_DAYS));
  EXPECT_HS(HS_INVALID, hs_schema_retention(nullptr, "at", 1, HS_DAYS));
  EXPECT_HS(HS_INVALID, hs_expire(nullptr, nullptr));
  EXPECT_HS(HS_OK, hs_schema_retention(schema, "at", 1'000'001, HS_DAYS));
  hs_transaction* const transaction = begin();
  EXPECT_HS(HS_INVALID, hs_table_create(transaction, "t/events", schema, nullptr));
  EXPECT_HS(HS_NOT_FOUND, hs_table_retention(transaction, "t/events", "at", 1, HS_DAYS));
  hs_transaction_close(transaction);
  hs_schema_free(schema);
}

}  // namespace
}  // namespace hailstone
