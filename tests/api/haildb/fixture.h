// The HailDB interface for a test: started in a directory of its own, and shut down at the end.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "file/temporary_directory.h"
#include "haildb.h"

namespace hailstone {

#define ASSERT_DB(code, expression) ASSERT_EQ(static_cast<int>(code), static_cast<int>(expression))
#define EXPECT_DB(code, expression) EXPECT_EQ(static_cast<int>(code), static_cast<int>(expression))
#define EXPECT_OK(expression) EXPECT_DB(DB_SUCCESS, expression)
#define ASSERT_OK(expression) ASSERT_DB(DB_SUCCESS, expression)

inline int quiet_log(ib_msg_stream_t, const char*, ...) { return 0; }

class HaildbTest : public ::testing::Test {
 protected:
  void SetUp() override { start(); }
  void TearDown() override { EXPECT_OK(ib_shutdown(IB_SHUTDOWN_NORMAL)); }

  void start() {
    ASSERT_OK(ib_init());
    ib_logger_set(quiet_log, nullptr);
    home_ = directory_.path() + "/";
    ASSERT_OK(ib_cfg_set_text("data_home_dir", home_.c_str()));
    ASSERT_OK(ib_startup("barracuda"));
    ASSERT_EQ(IB_TRUE, ib_database_create("test"));
  }
  void restart(ib_shutdown_t how = IB_SHUTDOWN_NORMAL) {
    ASSERT_OK(ib_shutdown(how));
    start();
  }

  struct Part {
    const char* column;
    ib_ulint_t prefix = 0;
  };
  struct IndexSpec {
    const char* name;
    std::vector<Part> parts;
    bool clustered = false, unique = false;
  };
  struct ColumnSpec {
    const char* name;
    ib_col_type_t type;
    int attributes;
    ib_ulint_t length;
  };
  static ib_tbl_sch_t describe(const char* name, const std::vector<ColumnSpec>& columns,
                               const std::vector<IndexSpec>& indexes) {
    ib_tbl_sch_t schema = nullptr;
    EXPECT_OK(ib_table_schema_create(name, &schema, IB_TBL_COMPACT, 0));
    for (const auto& column : columns) {
      EXPECT_OK(ib_table_schema_add_col(schema, column.name, column.type,
                                        static_cast<ib_col_attr_t>(column.attributes), 0, column.length));
    }
    for (const auto& spec : indexes) {
      ib_idx_sch_t index = nullptr;
      EXPECT_OK(ib_table_schema_add_index(schema, spec.name, &index));
      for (const auto& part : spec.parts) EXPECT_OK(ib_index_schema_add_col(index, part.column, part.prefix));
      if (spec.clustered) {
        EXPECT_OK(ib_index_schema_set_clustered(index));
      }
      if (spec.unique) {
        EXPECT_OK(ib_index_schema_set_unique(index));
      }
    }
    return schema;
  }
  static ib_id_t create(const char* name, const std::vector<ColumnSpec>& columns,
                        const std::vector<IndexSpec>& indexes) {
    ib_tbl_sch_t schema = describe(name, columns, indexes);
    ib_trx_t trx = ib_trx_begin(IB_TRX_REPEATABLE_READ);
    EXPECT_OK(ib_schema_lock_exclusive(trx));
    ib_id_t id = 0;
    EXPECT_OK(ib_table_create(trx, schema, &id));
    EXPECT_OK(ib_trx_commit(trx));
    ib_table_schema_delete(schema);
    return id;
  }
  /// (id INT clustered, name VARCHAR(20) with the index "names", number INT)
  static ib_id_t create_people(const char* name = "test/people") {
    return create(name,
                  {{"id", IB_INT, IB_COL_NOT_NULL, 4}, {"name", IB_VARCHAR, 0, 20}, {"number", IB_INT, 0, 4}},
                  {{"PRIMARY", {{"id"}}, true}, {"names", {{"name"}}}});
  }

  static ib_trx_t begin(ib_trx_level_t level = IB_TRX_REPEATABLE_READ) { return ib_trx_begin(level); }
  static ib_crsr_t open(const char* name, ib_trx_t trx) {
    ib_crsr_t cursor = nullptr;
    EXPECT_OK(ib_cursor_open_table(name, trx, &cursor));
    return cursor;
  }
  static ib_crsr_t open_index(ib_crsr_t table, const char* name) {
    ib_crsr_t cursor = nullptr;
    EXPECT_OK(ib_cursor_open_index_using_name(table, name, &cursor));
    return cursor;
  }
  static void set(ib_tpl_t tuple, ib_ulint_t column, int value) {
    EXPECT_OK(ib_tuple_write_i32(tuple, static_cast<int>(column), value));
  }
  static void set(ib_tpl_t tuple, ib_ulint_t column, const std::string& value) {
    EXPECT_OK(ib_col_set_value(tuple, column, value.data(), value.size()));
  }
  static int number(ib_tpl_t tuple, ib_ulint_t column) {
    ib_i32_t value = 0;
    EXPECT_OK(ib_tuple_read_i32(tuple, column, &value));
    return value;
  }
  static std::string text(ib_tpl_t tuple, ib_ulint_t column) {
    const ib_ulint_t length = ib_col_get_len(tuple, column);
    if (length == IB_SQL_NULL) return "NULL";
    return {static_cast<const char*>(ib_col_get_value(tuple, column)), length};
  }
  static ib_err_t insert(ib_crsr_t cursor, int id, const std::string& name, int value = 0) {
    ib_tpl_t tuple = ib_clust_read_tuple_create(cursor);
    set(tuple, 0, id);
    set(tuple, 1, name);
    set(tuple, 2, value);
    const ib_err_t code = ib_cursor_insert_row(cursor, tuple);
    ib_tuple_delete(tuple);
    return code;
  }
  /// The id where the cursor is; -1: no row.
  static int id_at(ib_crsr_t cursor) {
    ib_tpl_t tuple = ib_clust_read_tuple_create(cursor);
    const ib_err_t code = ib_cursor_read_row(cursor, tuple);
    const int id = code == DB_SUCCESS ? number(tuple, 0) : -1;
    ib_tuple_delete(tuple);
    return id;
  }
  static std::vector<int> all_ids(ib_crsr_t cursor) {
    std::vector<int> ids;
    for (ib_err_t code = ib_cursor_first(cursor); code == DB_SUCCESS; code = ib_cursor_next(cursor)) {
      ids.push_back(id_at(cursor));
    }
    return ids;
  }
  static ib_err_t move_to(ib_crsr_t cursor, int id, ib_srch_mode_t mode = IB_CUR_GE, int* result = nullptr) {
    ib_tpl_t key = ib_clust_search_tuple_create(cursor);
    set(key, 0, id);
    int compared = 7;
    const ib_err_t code = ib_cursor_moveto(cursor, key, mode, result == nullptr ? &compared : result);
    ib_tuple_delete(key);
    return code;
  }
  /// Rows of a committed transaction.
  static void fill(const std::map<int, std::string>& rows, const char* table = "test/people") {
    ib_trx_t trx = begin();
    ib_crsr_t cursor = open(table, trx);
    for (const auto& [id, name] : rows) EXPECT_OK(insert(cursor, id, name, id * 10));
    EXPECT_OK(ib_cursor_close(cursor));
    EXPECT_OK(ib_trx_commit(trx));
  }

  TemporaryDirectory directory_;
  std::string home_;
};

/// An index on the numbers of test/people.
inline ib_err_t add_number_index(ib_trx_t trx, const char* name = "numbers") {
  EXPECT_OK(ib_schema_lock_exclusive(trx));
  ib_idx_sch_t index = nullptr;
  EXPECT_OK(ib_index_schema_create(trx, name, "test/people", &index));
  EXPECT_OK(ib_index_schema_add_col(index, "number", 0));
  ib_id_t id = 0;
  const ib_err_t code = ib_index_create(index, &id);
  ib_index_schema_delete(index);
  return code;
}

}  // namespace hailstone
