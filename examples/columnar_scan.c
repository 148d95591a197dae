/* Bulk load and columnar scan: a million measurements, loaded past the log, filtered and summed up by columns, and
 * read as Arrow arrays.
 *   columnar_scan DIRECTORY */
#include <hailstone.h>
#include <stdio.h>
#include <stdlib.h>

static void check(int status, const void *handle) {
  if (status == HS_OK) return;
  fprintf(stderr, "%s: %s\n", hs_status_name(status), hs_error_message(handle));
  exit(1);
}

enum { ROWS = 1000000, SENSORS = 8 };
static const char *const sensor_names[SENSORS] = {"attic", "cellar", "garden", "hall",
                                                  "kitchen", "porch", "roof", "study"};

static void load(hs_transaction *tx, hs_table *table) {
  hs_load *load;
  hs_value row[3];
  int i;
  check(hs_load_begin(tx, table, &load), tx);
  for (i = 0; i < ROWS; ++i) {
    row[0] = hs_int(1700000000000000 + (int64_t)i * 1000000); /* one a second */
    row[1] = hs_text(sensor_names[i % SENSORS]);
    row[2] = hs_double(20 + (i % 100) / 10.0);
    check(hs_load_row(load, row, 3), load);
  }
  check(hs_load_finish(load), load);
  hs_load_close(load);
}

/* Counts the rows of the stream, sensor by sensor, from their dictionary indices. */
static void read_arrays(struct ArrowArrayStream *stream) {
  struct ArrowArray array;
  int64_t rows = 0, arrays = 0;
  for (;;) {
    if (stream->get_next(stream, &array) != 0) {
      fprintf(stderr, "%s\n", stream->get_last_error(stream));
      exit(1);
    }
    if (array.release == NULL) break;
    rows += array.length;
    ++arrays;
    if (arrays == 1) {
      const struct ArrowArray *sensor = array.children[0];
      const int32_t *indices = sensor->buffers[1];
      const int32_t *offsets = sensor->dictionary->buffers[1];
      const char *names = sensor->dictionary->buffers[2];
      const int32_t first = indices[0];
      printf("the first row is of sensor %.*s, at %g degrees\n", (int)(offsets[first + 1] - offsets[first]),
             names + offsets[first], ((const double *)array.children[1]->buffers[1])[0]);
    }
    array.release(&array);
  }
  printf("%lld rows in %lld arrays\n", (long long)rows, (long long)arrays);
}

int main(int argc, char **argv) {
  hs_database *db;
  hs_transaction *tx;
  hs_schema *schema;
  hs_table *table;
  hs_scan *scan;
  hs_predicate *parts[2], *warm_upstairs;
  hs_value upstairs[2];
  struct ArrowArrayStream stream;
  const hs_aggregate wanted[] = {{HS_COUNT_ROWS, NULL}, {HS_MIN, "at"}, {HS_MAX, "degrees"}, {HS_SUM, "degrees"}};
  hs_value found[4];

  if (argc != 2) {
    fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
    return 2;
  }
  check(hs_open(argv[1], NULL, &db), db);
  check(hs_begin(db, HS_REPEATABLE_READ, &tx), db);
  check(hs_schema_new(&schema), NULL);
  check(hs_schema_column(schema, "at", HS_TIMESTAMP, 0, HS_NOT_NULL), schema);
  check(hs_schema_column(schema, "sensor", HS_STRING, 20, HS_NOT_NULL), schema);
  check(hs_schema_column(schema, "degrees", HS_DOUBLE, 0, 0), schema);
  check(hs_table_create(tx, "house/measurement", schema, &table), tx);
  hs_schema_free(schema);
  load(tx, table);
  check(hs_commit(tx), tx);
  hs_transaction_close(tx);

  check(hs_begin(db, HS_REPEATABLE_READ, &tx), db);
  check(hs_scan_open(tx, table, &scan), tx);
  upstairs[0] = hs_text("attic");
  upstairs[1] = hs_text("roof");
  parts[0] = hs_in("sensor", upstairs, 2);
  parts[1] = hs_compare("degrees", HS_GREATER_OR_EQUAL, hs_double(29));
  warm_upstairs = hs_and(parts, 2);
  check(hs_scan_filter(scan, warm_upstairs), scan);
  hs_predicate_free(warm_upstairs);

  /* Summed up inside the engine: no row is put together. */
  check(hs_scan_aggregate(scan, wanted, found, 4), scan);
  printf("%llu measurements, the first at %lld, the warmest of %g, %g on average\n",
         (unsigned long long)found[0].as.u, (long long)found[1].as.i, found[2].as.d,
         found[3].as.d / (double)found[0].as.u);

  /* The rows themselves, as arrays that pyarrow, pandas, polars or DuckDB take as they are. */
  check(hs_scan_column(scan, "sensor", HS_AS_DICTIONARY), scan);
  check(hs_scan_column(scan, "degrees", 0), scan);
  check(hs_scan_stream(scan, &stream), scan);
  read_arrays(&stream);
  stream.release(&stream);

  hs_scan_close(scan);
  hs_transaction_close(tx);
  hs_table_close(table);
  check(hs_close(db), db);
  return 0;
}
