/* What a careless C programmer does: the library answers with codes and stays usable. */
#include <haildb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

#define EXPECT(wanted, call)                                                                    \
  do {                                                                                          \
    ib_err_t expect_code = (call);                                                              \
    if (expect_code != (wanted)) {                                                              \
      fprintf(stderr, "%s:%d: %s gave %d, not %d\n", __FILE__, __LINE__, #call, expect_code,    \
              (int)(wanted));                                                                   \
      ++failures;                                                                               \
    }                                                                                           \
  } while (0)

#define EXPECT_TRUE(condition)                                                      \
  do {                                                                              \
    if (!(condition)) {                                                             \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);       \
      ++failures;                                                                   \
    }                                                                               \
  } while (0)

static int say_nothing(ib_msg_stream_t stream, const char* format, ...) {
  (void)stream;
  (void)format;
  return 0;
}

static void without_engine(void) {
  ib_crsr_t cursor = NULL;
  ib_id_t id = 0;
  ib_i64_t value = 0;
  EXPECT_TRUE(ib_trx_begin(IB_TRX_REPEATABLE_READ) == NULL);
  EXPECT(DB_ERROR, ib_cursor_open_table("test/t", NULL, &cursor));
  EXPECT(DB_ERROR, ib_table_get_id("test/t", &id));
  EXPECT(DB_ERROR, ib_status_get_i64("page_size", &value));
  EXPECT_TRUE(ib_database_create("test") == IB_FALSE);
  EXPECT(DB_ERROR, ib_database_drop("test"));
  EXPECT(DB_ERROR, ib_table_truncate("test/t", &id));
}

static void null_handles(void) {
  ib_id_t id = 0;
  int result = 0;
  ib_i32_t number = 0;
  const char *table = NULL, *index = NULL;
  ib_tpl_t tuple = NULL;
  EXPECT(DB_INVALID_INPUT, ib_trx_commit(NULL));
  EXPECT(DB_INVALID_INPUT, ib_trx_rollback(NULL));
  EXPECT(DB_INVALID_INPUT, ib_trx_start(NULL, IB_TRX_SERIALIZABLE));
  EXPECT_TRUE(ib_trx_state(NULL) == IB_TRX_NOT_STARTED);
  EXPECT(DB_INVALID_INPUT, ib_get_duplicate_key(NULL, &table, &index));
  EXPECT(DB_INVALID_INPUT, ib_savepoint_rollback(NULL, "a", 1));
  EXPECT(DB_INVALID_INPUT, ib_savepoint_release(NULL, "a", 1));
  EXPECT(DB_INVALID_INPUT, ib_schema_lock_exclusive(NULL));
  EXPECT(DB_INVALID_INPUT, ib_schema_lock_shared(NULL));
  EXPECT(DB_INVALID_INPUT, ib_schema_unlock(NULL));
  EXPECT(DB_INVALID_INPUT, ib_table_create(NULL, NULL, &id));
  EXPECT(DB_INVALID_INPUT, ib_table_drop(NULL, "test/t"));
  EXPECT(DB_INVALID_INPUT, ib_table_rename(NULL, "test/t", "test/u"));
  EXPECT(DB_INVALID_INPUT, ib_index_create(NULL, &id));
  EXPECT(DB_INVALID_INPUT, ib_index_drop(NULL, id));
  EXPECT(DB_INVALID_INPUT, ib_table_lock(NULL, id, IB_LOCK_IS));
  EXPECT(DB_INVALID_INPUT, ib_cursor_close(NULL));
  EXPECT(DB_INVALID_INPUT, ib_cursor_reset(NULL));
  EXPECT(DB_INVALID_INPUT, ib_cursor_first(NULL));
  EXPECT(DB_INVALID_INPUT, ib_cursor_last(NULL));
  EXPECT(DB_INVALID_INPUT, ib_cursor_next(NULL));
  EXPECT(DB_INVALID_INPUT, ib_cursor_prev(NULL));
  EXPECT(DB_INVALID_INPUT, ib_cursor_moveto(NULL, NULL, IB_CUR_GE, &result));
  EXPECT(DB_INVALID_INPUT, ib_cursor_read_row(NULL, NULL));
  EXPECT(DB_INVALID_INPUT, ib_cursor_insert_row(NULL, NULL));
  EXPECT(DB_INVALID_INPUT, ib_cursor_update_row(NULL, NULL, NULL));
  EXPECT(DB_INVALID_INPUT, ib_cursor_delete_row(NULL));
  EXPECT(DB_INVALID_INPUT, ib_cursor_lock(NULL, IB_LOCK_X));
  EXPECT(DB_INVALID_INPUT, ib_cursor_set_lock_mode(NULL, IB_LOCK_X));
  EXPECT(DB_INVALID_INPUT, ib_cursor_truncate(NULL, &id));
  EXPECT(DB_INVALID_INPUT, ib_update_table_statistics(NULL));
  EXPECT_TRUE(ib_cursor_is_positioned(NULL) == IB_FALSE);
  EXPECT_TRUE(ib_clust_read_tuple_create(NULL) == NULL);
  EXPECT_TRUE(ib_clust_search_tuple_create(NULL) == NULL);
  EXPECT_TRUE(ib_sec_read_tuple_create(NULL) == NULL);
  EXPECT_TRUE(ib_sec_search_tuple_create(NULL) == NULL);
  EXPECT_TRUE(ib_tuple_clear(NULL) == NULL);
  EXPECT_TRUE(ib_col_get_value(NULL, 0) == NULL);
  EXPECT_TRUE(ib_col_get_len(NULL, 0) == 0);
  EXPECT_TRUE(ib_tuple_get_n_cols(NULL) == 0);
  EXPECT(DB_INVALID_INPUT, ib_col_set_value(NULL, 0, "a", 1));
  EXPECT(DB_INVALID_INPUT, ib_tuple_read_i32(NULL, 0, &number));
  EXPECT(DB_INVALID_INPUT, ib_tuple_write_i32(NULL, 0, 1));
  EXPECT(DB_INVALID_INPUT, ib_tuple_copy(NULL, NULL));
  EXPECT(DB_INVALID_INPUT, ib_tuple_get_cluster_key(NULL, &tuple, NULL));
  EXPECT(DB_INVALID_INPUT, ib_table_schema_add_col(NULL, "a", IB_INT, IB_COL_NONE, 0, 4));
  EXPECT(DB_INVALID_INPUT, ib_index_schema_add_col(NULL, "a", 0));
  EXPECT(DB_INVALID_INPUT, ib_index_schema_set_clustered(NULL));
  EXPECT(DB_INVALID_INPUT, ib_index_schema_set_unique(NULL));
  ib_cursor_attach_trx(NULL, NULL);
  ib_cursor_set_match_mode(NULL, IB_EXACT_MATCH);
  ib_cursor_set_cluster_access(NULL);
  ib_cursor_set_simple_select(NULL);
  ib_cursor_stmt_begin(NULL);
  ib_savepoint_take(NULL, "a", 1);
  ib_trx_set_client_data(NULL, NULL);
  ib_tuple_delete(NULL);
  ib_table_schema_delete(NULL);
  ib_index_schema_delete(NULL);
}

static void make_table(void) {
  ib_tbl_sch_t table = NULL;
  ib_idx_sch_t index = NULL;
  ib_id_t id = 0;
  ib_trx_t trx = ib_trx_begin(IB_TRX_REPEATABLE_READ);
  EXPECT(DB_SUCCESS, ib_schema_lock_exclusive(trx));
  EXPECT(DB_SUCCESS, ib_table_schema_create("test/t", &table, IB_TBL_COMPACT, 0));
  EXPECT(DB_SUCCESS, ib_tbl_sch_add_u64_notnull_col(table, "id"));
  EXPECT(DB_SUCCESS, ib_tbl_sch_add_u32_col(table, "number"));
  EXPECT(DB_SUCCESS, ib_tbl_sch_add_blob_col(table, "blob"));
  EXPECT(DB_SUCCESS, ib_table_schema_add_index(table, "PRIMARY", &index));
  EXPECT(DB_SUCCESS, ib_index_schema_add_col(index, "id", 0));
  EXPECT(DB_SUCCESS, ib_index_schema_set_clustered(index));
  EXPECT(DB_SUCCESS, ib_table_create(trx, table, &id));
  ib_index_schema_delete(index); /* belongs to the table */
  ib_table_schema_delete(table);
  ib_table_schema_delete(table);
  EXPECT(DB_SUCCESS, ib_trx_commit(trx));
  EXPECT(DB_INVALID_INPUT, ib_trx_commit(trx));
}

static void mixed_up_handles(void) {
  ib_trx_t trx = ib_trx_begin(IB_TRX_REPEATABLE_READ);
  ib_crsr_t cursor = NULL;
  ib_tpl_t row, key;
  int result = 0;
  EXPECT(DB_SUCCESS, ib_cursor_open_table("test/t", trx, &cursor));
  EXPECT(DB_INVALID_INPUT, ib_trx_commit((ib_trx_t)(void*)cursor));
  EXPECT(DB_INVALID_INPUT, ib_cursor_close((ib_crsr_t)(void*)trx));
  row = ib_clust_read_tuple_create(cursor);
  key = ib_clust_search_tuple_create(cursor);
  EXPECT(DB_DATA_MISMATCH, ib_cursor_insert_row(cursor, row));
  EXPECT(DB_DATA_MISMATCH, ib_cursor_insert_row(cursor, key));
  EXPECT(DB_DATA_MISMATCH, ib_cursor_moveto(cursor, row, IB_CUR_GE, &result));
  EXPECT(DB_INVALID_INPUT, ib_cursor_moveto(cursor, key, (ib_srch_mode_t)77, &result));
  EXPECT(DB_RECORD_NOT_FOUND, ib_cursor_read_row(cursor, row));
  EXPECT(DB_SUCCESS, ib_tuple_write_u64(row, 0, 1));
  EXPECT(DB_SUCCESS, ib_col_set_value(row, 2, "blob", 4));
  EXPECT(DB_SUCCESS, ib_cursor_insert_row(cursor, row));
  EXPECT(DB_DUPLICATE_KEY, ib_cursor_insert_row(cursor, row));
  EXPECT(DB_SUCCESS, ib_cursor_first(cursor));
  EXPECT(DB_SUCCESS, ib_cursor_read_row(cursor, row));
  EXPECT_TRUE(ib_col_get_len(row, 1) == IB_SQL_NULL);
  EXPECT_TRUE(ib_col_get_len(row, 2) == 4 && memcmp(ib_col_get_value(row, 2), "blob", 4) == 0);
  /* The transaction ends first, then the cursor, twice. */
  EXPECT(DB_SUCCESS, ib_trx_commit(trx));
  EXPECT(DB_ERROR, ib_cursor_insert_row(cursor, row));
  EXPECT(DB_MISSING_HISTORY, ib_cursor_next(cursor));
  EXPECT(DB_SUCCESS, ib_cursor_close(cursor));
  EXPECT(DB_INVALID_INPUT, ib_cursor_close(cursor));
  EXPECT(DB_INVALID_INPUT, ib_cursor_insert_row(cursor, row));
  ib_tuple_delete(row);
  ib_tuple_delete(row);
  ib_tuple_delete(key);
}

int main(int argc, char** argv) {
  char home[4096];
  if (argc != 2 || strlen(argv[1]) + 2 > sizeof home) return 2;
  sprintf(home, "%s/", argv[1]);
  without_engine();
  EXPECT(DB_SUCCESS, ib_init());
  ib_logger_set(say_nothing, NULL);
  EXPECT(DB_SUCCESS, ib_cfg_set_text("data_home_dir", home));
  EXPECT(DB_SUCCESS, ib_startup("Antelope"));
  EXPECT_TRUE(ib_database_create("test") == IB_TRUE);
  null_handles();
  make_table();
  mixed_up_handles();
  EXPECT(DB_SUCCESS, ib_database_drop("test"));
  EXPECT(DB_SUCCESS, ib_shutdown(IB_SHUTDOWN_NORMAL));
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
