/* A first table: make it, put rows in, find one by its key, walk through an index.
 *   first_table DIRECTORY */
#include <hailstone.h>
#include <stdio.h>
#include <stdlib.h>

/* Ends the program when a call has failed. `handle` is the call's error handle. */
static void check(int status, const void *handle) {
  if (status == HS_OK) return;
  fprintf(stderr, "%s: %s\n", hs_status_name(status), hs_error_message(handle));
  exit(1);
}

static void print_text(hs_value value) { printf("%.*s", (int)value.as.bytes.size, (const char *)value.as.bytes.data); }

int main(int argc, char **argv) {
  hs_database *db;
  hs_transaction *tx;
  hs_schema *schema;
  hs_table *planets;
  hs_cursor *cursor;
  hs_value row[3], key;
  const char *primary[] = {"id"};
  const char *by_mass[] = {"mass"};
  const struct {
    int id;
    const char *name;
    double mass;
  } known[] = {{1, "Mercury", 0.055}, {2, "Venus", 0.815}, {3, "Earth", 1.0}, {4, "Mars", 0.107}, {5, "Jupiter", 317.8}};
  size_t i;
  int status;

  if (argc != 2) {
    fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
    return 2;
  }
  check(hs_open(argv[1], NULL, &db), db);
  check(hs_begin(db, HS_REPEATABLE_READ, &tx), db);

  check(hs_schema_new(&schema), NULL);
  check(hs_schema_column(schema, "id", HS_INT32, 0, HS_NOT_NULL), schema);
  check(hs_schema_column(schema, "name", HS_STRING, 40, HS_NOT_NULL), schema);
  check(hs_schema_column(schema, "mass", HS_DOUBLE, 0, 0), schema);
  check(hs_schema_primary_key(schema, primary, 1), schema);
  check(hs_schema_index(schema, "by mass", 0, by_mass, NULL, 1), schema);
  check(hs_table_create(tx, "sky/planet", schema, &planets), tx);
  hs_schema_free(schema);

  for (i = 0; i < sizeof known / sizeof known[0]; ++i) {
    row[0] = hs_int(known[i].id);
    row[1] = hs_text(known[i].name);
    row[2] = hs_double(known[i].mass);
    check(hs_insert(tx, planets, row, 3), tx);
  }
  /* The table and its rows are there for others from here on, or not at all. */
  check(hs_commit(tx), tx);
  hs_transaction_close(tx);

  check(hs_begin(db, HS_REPEATABLE_READ, &tx), db);
  key = hs_int(3);
  check(hs_get(tx, planets, &key, 1, HS_LOCK_NONE, row, 3), tx);
  printf("number 3 is ");
  print_text(row[1]);
  printf("\nfrom the lightest to the heaviest:\n");

  check(hs_cursor_open(tx, planets, "by mass", HS_LOCK_NONE, &cursor), tx);
  for (status = hs_cursor_seek(cursor, NULL, 0); status == HS_OK; status = hs_cursor_next(cursor)) {
    check(hs_cursor_row(cursor, row, 3), cursor);
    printf("  ");
    print_text(row[1]);
    printf(" %g\n", row[2].as.d);
  }
  if (status != HS_NOT_FOUND) check(status, cursor);

  hs_cursor_close(cursor);
  hs_transaction_close(tx);
  hs_table_close(planets);
  check(hs_close(db), db);
  return 0;
}
