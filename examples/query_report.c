/* A report over two tables: what each city has sold in a month, by expressions as text.
 *   query_report DIRECTORY */
#include <hailstone.h>
#include <stdio.h>
#include <stdlib.h>

static void check(int status, const void *handle) {
  if (status == HS_OK) return;
  fprintf(stderr, "%s: %s\n", hs_status_name(status), hs_error_message(handle));
  exit(1);
}

static hs_table *make_shops(hs_transaction *tx) {
  static const char *const cities[] = {"Berlin", "Paris", "Rome"};
  const char *const key[] = {"id"};
  hs_schema *schema;
  hs_table *table;
  hs_value row[2];
  int i;
  check(hs_schema_new(&schema), NULL);
  check(hs_schema_column(schema, "id", HS_INT32, 0, HS_NOT_NULL), schema);
  check(hs_schema_column(schema, "city", HS_STRING, 40, HS_NOT_NULL), schema);
  check(hs_schema_primary_key(schema, key, 1), schema);
  check(hs_table_create(tx, "trade/shops", schema, &table), tx);
  hs_schema_free(schema);
  for (i = 0; i < 9; ++i) {
    row[0] = hs_int(i);
    row[1] = hs_text(cities[i % 3]);
    check(hs_insert(tx, table, row, 2), tx);
  }
  return table;
}

static hs_table *make_sales(hs_transaction *tx) {
  hs_schema *schema;
  hs_table *table;
  hs_load *load;
  hs_value row[4];
  int i;
  check(hs_schema_new(&schema), NULL);
  check(hs_schema_column(schema, "day", HS_DATE, 0, HS_NOT_NULL), schema);
  check(hs_schema_column(schema, "shop", HS_INT32, 0, HS_NOT_NULL), schema);
  check(hs_schema_column(schema, "price", HS_DOUBLE, 0, HS_NOT_NULL), schema);
  check(hs_schema_column(schema, "n", HS_INT32, 0, HS_NOT_NULL), schema);
  check(hs_table_create(tx, "trade/sales", schema, &table), tx);
  hs_schema_free(schema);
  check(hs_load_begin(tx, table, &load), tx);
  for (i = 0; i < 100000; ++i) {
    row[0] = hs_int(19723 + i / 300); /* from 2024-01-01 on */
    row[1] = hs_int(i % 9);
    row[2] = hs_double(1 + i % 7);
    row[3] = hs_int(1 + i % 3);
    check(hs_load_row(load, row, 4), load);
  }
  check(hs_load_finish(load), load);
  hs_load_close(load);
  return table;
}

static void print_rows(struct ArrowArrayStream *stream) {
  struct ArrowArray array;
  int64_t i;
  for (;;) {
    if (stream->get_next(stream, &array) != 0) {
      fprintf(stderr, "%s\n", stream->get_last_error(stream));
      exit(1);
    }
    if (array.release == NULL) break;
    for (i = 0; i < array.length; ++i) {
      const int32_t *ends = array.children[0]->buffers[1];
      const char *cities = array.children[0]->buffers[2];
      printf("%-8.*s %10.2f %6lld\n", (int)(ends[i + 1] - ends[i]), cities + ends[i],
             ((const double *)array.children[1]->buffers[1])[i],
             (long long)((const int64_t *)array.children[2]->buffers[1])[i]);
    }
    array.release(&array);
  }
}

int main(int argc, char **argv) {
  const char *const keys[] = {"city"};
  const char *const aggregates[] = {"SUM(price * n) AS total", "COUNT(*) AS sales"};
  const char *const order[] = {"total DESC"};
  hs_database *db;
  hs_transaction *tx;
  hs_table *shops, *sales;
  hs_query *query, *right;
  hs_value cheap;
  const char *plan;
  struct ArrowArrayStream stream;

  if (argc != 2) {
    fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
    return 2;
  }
  check(hs_open(argv[1], NULL, &db), db);
  check(hs_begin(db, HS_REPEATABLE_READ, &tx), db);
  shops = make_shops(tx);
  sales = make_sales(tx);

  /* The transaction's own rows are there before it is committed. */
  check(hs_query_table(tx, sales, NULL, &query), tx);
  check(hs_query_table(tx, shops, NULL, &right), tx);
  check(hs_query_join(query, right, HS_JOIN_INNER, "sales.shop = shops.id", NULL, 0), query);
  cheap = hs_double(2);
  check(hs_query_filter(query, "day >= DATE '2024-03-01' AND day < DATE '2024-04-01' AND price > ?", &cheap, 1),
        query);
  check(hs_query_aggregate(query, keys, 1, aggregates, 2, NULL, 0), query);
  check(hs_query_sort(query, order, 1, NULL, 0), query);
  check(hs_query_explain(query, &plan), query);
  puts(plan);
  check(hs_query_stream(query, &stream), query);
  print_rows(&stream);
  stream.release(&stream);

  hs_query_close(right);
  hs_query_close(query);
  check(hs_commit(tx), tx);
  hs_transaction_close(tx);
  hs_table_close(sales);
  hs_table_close(shops);
  check(hs_close(db), db);
  return 0;
}
