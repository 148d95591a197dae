/* Groups that memory has no room for: a million of them with 4 MB, which go by way of files.
 *   query_spill DIRECTORY */
#include <hailstone.h>
#include <stdio.h>
#include <stdlib.h>

static void check(int status, const void *handle) {
  if (status == HS_OK) return;
  fprintf(stderr, "%s: %s\n", hs_status_name(status), hs_error_message(handle));
  exit(1);
}

enum { ROWS = 2000000, VISITORS = 1000000 };

static hs_table *make_visits(hs_transaction *tx) {
  hs_schema *schema;
  hs_table *table;
  hs_load *load;
  hs_value row[2];
  int64_t i;
  check(hs_schema_new(&schema), NULL);
  check(hs_schema_column(schema, "visitor", HS_INT64, 0, HS_NOT_NULL), schema);
  check(hs_schema_column(schema, "seconds", HS_INT32, 0, HS_NOT_NULL), schema);
  check(hs_table_create(tx, "site/visits", schema, &table), tx);
  hs_schema_free(schema);
  check(hs_load_begin(tx, table, &load), tx);
  for (i = 0; i < ROWS; ++i) {
    row[0] = hs_int(i * 7919 % VISITORS);
    row[1] = hs_int(i % 600);
    check(hs_load_row(load, row, 2), load);
  }
  check(hs_load_finish(load), load);
  hs_load_close(load);
  return table;
}

int main(int argc, char **argv) {
  const char *const visitor[] = {"visitor"}, *const visits[] = {"COUNT(*) AS visits", "SUM(seconds) AS seconds"};
  const char *const all[] = {"COUNT(*) AS visitors", "MAX(visits) AS most", "AVG(seconds) AS mean"};
  hs_options options;
  hs_database *db;
  hs_transaction *tx;
  hs_table *table;
  hs_query *query;
  const char *plan;
  struct ArrowArrayStream stream;
  struct ArrowArray array;

  if (argc != 2) {
    fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
    return 2;
  }
  hs_options_init(&options);
  options.memory_bytes = (uint64_t)64 << 20;
  check(hs_open(argv[1], &options, &db), db);
  check(hs_begin(db, HS_REPEATABLE_READ, &tx), db);
  table = make_visits(tx);
  check(hs_commit(tx), tx);
  hs_transaction_close(tx);

  check(hs_begin(db, HS_REPEATABLE_READ, &tx), db);
  check(hs_query_table(tx, table, NULL, &query), tx);
  check(hs_query_memory(query, (uint64_t)4 << 20), query);
  check(hs_query_threads(query, 4), query);
  check(hs_query_aggregate(query, visitor, 1, visits, 2, NULL, 0), query);
  check(hs_query_aggregate(query, NULL, 0, all, 3, NULL, 0), query); /* of the groups */
  check(hs_query_stream(query, &stream), query);
  if (stream.get_next(&stream, &array) != 0) {
    fprintf(stderr, "%s\n", stream.get_last_error(&stream));
    return 1;
  }
  printf("%lld visitors, one of them %lld times\n", (long long)((const int64_t *)array.children[0]->buffers[1])[0],
         (long long)((const int64_t *)array.children[1]->buffers[1])[0]);
  if (((const int64_t *)array.children[0]->buffers[1])[0] != VISITORS) return 1;
  array.release(&array);

  /* What was done, with the bytes that went to files. */
  check(hs_query_explain(query, &plan), query);
  puts(plan);
  stream.release(&stream);
  hs_query_close(query);
  hs_transaction_close(tx);
  hs_table_close(table);
  check(hs_close(db), db);
  return 0;
}
