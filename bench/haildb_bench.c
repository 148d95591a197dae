/* The speed of the HailDB interface with one thread: rows of an int and 100 bytes, in transactions of 10,000.
   haildb_bench DIRECTORY [MILLIONS-OF-ROWS]; prints one line a measurement, as library_bench does. */
#define _POSIX_C_SOURCE 200809L
#include <haildb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define CHECK(call)                                                                           \
  do {                                                                                        \
    ib_err_t check_code = (call);                                                             \
    if (check_code != DB_SUCCESS) {                                                           \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, ib_strerror(check_code)); \
      exit(1);                                                                                \
    }                                                                                         \
  } while (0)

enum { rows_a_transaction = 10000, text_bytes = 100 };

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void create_table(void) {
  ib_tbl_sch_t table = NULL;
  ib_idx_sch_t index = NULL;
  ib_id_t id = 0;
  ib_trx_t trx = ib_trx_begin(IB_TRX_REPEATABLE_READ);
  CHECK(ib_schema_lock_exclusive(trx));
  CHECK(ib_table_schema_create("bench/t", &table, IB_TBL_COMPACT, 0));
  CHECK(ib_table_schema_add_col(table, "id", IB_INT, IB_COL_NOT_NULL, 0, 4));
  CHECK(ib_table_schema_add_col(table, "text", IB_VARCHAR, IB_COL_NONE, 0, text_bytes));
  CHECK(ib_table_schema_add_index(table, "PRIMARY", &index));
  CHECK(ib_index_schema_add_col(index, "id", 0));
  CHECK(ib_index_schema_set_clustered(index));
  CHECK(ib_table_create(trx, table, &id));
  CHECK(ib_trx_commit(trx));
  ib_table_schema_delete(table);
}

static double insert_rows(int rows) {
  char text[text_bytes];
  double begin = now();
  int id = 0;
  memset(text, 'x', sizeof text);
  while (id < rows) {
    ib_trx_t trx = ib_trx_begin(IB_TRX_REPEATABLE_READ);
    ib_crsr_t cursor = NULL;
    ib_tpl_t tuple;
    int end = id + rows_a_transaction < rows ? id + rows_a_transaction : rows;
    CHECK(ib_cursor_open_table("bench/t", trx, &cursor));
    CHECK(ib_cursor_lock(cursor, IB_LOCK_IX));
    tuple = ib_clust_read_tuple_create(cursor);
    for (; id < end; ++id) {
      memcpy(text, &id, sizeof id);
      CHECK(ib_tuple_write_i32(tuple, 0, id));
      CHECK(ib_col_set_value(tuple, 1, text, sizeof text));
      CHECK(ib_cursor_insert_row(cursor, tuple));
      tuple = ib_tuple_clear(tuple);
    }
    ib_tuple_delete(tuple);
    CHECK(ib_cursor_close(cursor));
    CHECK(ib_trx_commit(trx));
  }
  return now() - begin;
}

static double read_all(int rows) {
  double begin = now();
  ib_trx_t trx = ib_trx_begin(IB_TRX_REPEATABLE_READ);
  ib_crsr_t cursor = NULL;
  ib_tpl_t tuple;
  ib_err_t code;
  int found = 0;
  long sum = 0;
  CHECK(ib_cursor_open_table("bench/t", trx, &cursor));
  tuple = ib_clust_read_tuple_create(cursor);
  for (code = ib_cursor_first(cursor); code == DB_SUCCESS; code = ib_cursor_next(cursor)) {
    ib_i32_t id = -1;
    CHECK(ib_cursor_read_row(cursor, tuple));
    CHECK(ib_tuple_read_i32(tuple, 0, &id));
    sum += id;
    ++found;
    tuple = ib_tuple_clear(tuple);
  }
  if (code != DB_END_OF_INDEX || found != rows || sum != (long)rows * (rows - 1) / 2) {
    fprintf(stderr, "read %d of %d rows, sum %ld\n", found, rows, sum);
    exit(1);
  }
  ib_tuple_delete(tuple);
  CHECK(ib_cursor_close(cursor));
  CHECK(ib_trx_commit(trx));
  return now() - begin;
}

static double read_keys(int rows, int reads) {
  double begin = now();
  ib_trx_t trx = ib_trx_begin(IB_TRX_REPEATABLE_READ);
  ib_crsr_t cursor = NULL;
  ib_tpl_t key, tuple;
  unsigned random = 12345;
  int i;
  CHECK(ib_cursor_open_table("bench/t", trx, &cursor));
  ib_cursor_set_match_mode(cursor, IB_EXACT_MATCH);
  key = ib_clust_search_tuple_create(cursor);
  tuple = ib_clust_read_tuple_create(cursor);
  for (i = 0; i < reads; ++i) {
    int result = -1;
    ib_i32_t id = -1;
    int wanted;
    random = random * 1664525u + 1013904223u;
    wanted = (int)((random >> 4) % (unsigned)rows);
    CHECK(ib_tuple_write_i32(key, 0, wanted));
    CHECK(ib_cursor_moveto(cursor, key, IB_CUR_GE, &result));
    CHECK(ib_cursor_read_row(cursor, tuple));
    CHECK(ib_tuple_read_i32(tuple, 0, &id));
    if (id != wanted) exit(1);
    tuple = ib_tuple_clear(tuple);
  }
  ib_tuple_delete(key);
  ib_tuple_delete(tuple);
  CHECK(ib_cursor_close(cursor));
  CHECK(ib_trx_commit(trx));
  return now() - begin;
}

/* In the form of the lines of library_bench. */
static void report(const char* name, int rows, double seconds) {
  printf("%-44s %12d rows %9.3f s %10.2f M rows/s\n", name, rows, seconds, rows / seconds / 1e6);
  fflush(stdout);
}

int main(int argc, char** argv) {
  enum { key_reads = 1000000 };
  double millions = argc > 2 ? atof(argv[2]) : 2;
  int rows = (int)(millions * 1e6);
  char home[4096];
  if (argc < 2 || rows < 1 || rows > 1000000000 || strlen(argv[1]) + 2 > sizeof home) {
    fprintf(stderr, "usage: haildb_bench DIRECTORY [MILLIONS-OF-ROWS]\n");
    return 2;
  }
  sprintf(home, "%s/", argv[1]);
  mkdir(home, 0777);
  CHECK(ib_init());
  CHECK(ib_cfg_set_text("data_home_dir", home));
  CHECK(ib_cfg_set_int("buffer_pool_size", (ib_ulint_t)2 << 30));
  CHECK(ib_cfg_set_int("flush_log_at_trx_commit", 2));
  CHECK(ib_startup("Barracuda"));
  if (ib_database_create("bench") != IB_TRUE) return 1;
  create_table();
  report("haildb.h: insert, transactions of 10,000", rows, insert_rows(rows));
  report("haildb.h: exact matches in random order", key_reads, read_keys(rows, key_reads));
  report("haildb.h: cursor, all rows", rows, read_all(rows));
  CHECK(ib_shutdown(IB_SHUTDOWN_NORMAL));
  return 0;
}
