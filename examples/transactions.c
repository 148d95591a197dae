/* Transactions: money moves from one account to another, wholly or not at all; a savepoint takes back a part.
 *   transactions DIRECTORY */
#include <hailstone.h>
#include <stdio.h>
#include <stdlib.h>

static void check(int status, const void *handle) {
  if (status == HS_OK) return;
  fprintf(stderr, "%s: %s\n", hs_status_name(status), hs_error_message(handle));
  exit(1);
}

enum { ID, BALANCE };

/* Moves an amount; HS_INVALID when there is not enough. Leaves the end of the transaction to the caller. */
static int move_money(hs_transaction *tx, hs_table *accounts, int from, int to, int64_t amount) {
  const hs_value from_key = hs_int(from), to_key = hs_int(to);
  const uint32_t column = BALANCE;
  hs_value row[2], balance;
  /* Locked: nobody changes the two rows between reading and writing them. */
  int status = hs_get(tx, accounts, &from_key, 1, HS_LOCK_EXCLUSIVE, row, 2);
  if (status != HS_OK) return status;
  if (row[BALANCE].as.i < amount) return HS_INVALID;
  balance = hs_int(row[BALANCE].as.i - amount);
  status = hs_update(tx, accounts, &from_key, 1, &column, &balance, 1);
  if (status != HS_OK) return status;
  status = hs_get(tx, accounts, &to_key, 1, HS_LOCK_EXCLUSIVE, row, 2);
  if (status != HS_OK) return status;
  balance = hs_int(row[BALANCE].as.i + amount);
  return hs_update(tx, accounts, &to_key, 1, &column, &balance, 1);
}

static int64_t balance_of(hs_database *db, hs_table *accounts, int id) {
  hs_transaction *tx;
  const hs_value key = hs_int(id);
  hs_value row[2];
  check(hs_begin(db, HS_READ_COMMITTED, &tx), db);
  check(hs_get(tx, accounts, &key, 1, HS_LOCK_NONE, row, 2), tx);
  hs_transaction_close(tx);
  return row[BALANCE].as.i;
}

int main(int argc, char **argv) {
  hs_database *db;
  hs_transaction *tx;
  hs_schema *schema;
  hs_table *accounts;
  hs_value row[2];
  const char *primary[] = {"id"};
  int id, status;

  if (argc != 2) {
    fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
    return 2;
  }
  check(hs_open(argv[1], NULL, &db), db);
  check(hs_begin(db, HS_REPEATABLE_READ, &tx), db);
  check(hs_schema_new(&schema), NULL);
  check(hs_schema_column(schema, "id", HS_INT32, 0, HS_NOT_NULL), schema);
  check(hs_schema_column(schema, "balance", HS_INT64, 0, HS_NOT_NULL), schema);
  check(hs_schema_primary_key(schema, primary, 1), schema);
  check(hs_table_create(tx, "bank/account", schema, &accounts), tx);
  hs_schema_free(schema);
  for (id = 1; id <= 3; ++id) {
    row[ID] = hs_int(id);
    row[BALANCE] = hs_int(100);
    check(hs_insert(tx, accounts, row, 2), tx);
  }
  check(hs_commit(tx), tx);
  hs_transaction_close(tx);

  /* One that succeeds. */
  check(hs_begin(db, HS_REPEATABLE_READ, &tx), db);
  check(move_money(tx, accounts, 1, 2, 30), tx);
  check(hs_commit(tx), tx);
  hs_transaction_close(tx);

  /* One that fails half-way: the first move is taken back with the rest. */
  check(hs_begin(db, HS_REPEATABLE_READ, &tx), db);
  check(move_money(tx, accounts, 1, 3, 50), tx);
  status = move_money(tx, accounts, 1, 3, 50);
  printf("a second 50 from account 1: %s\n", status == HS_INVALID ? "there is not enough" : "done");
  check(hs_rollback(tx), tx);
  hs_transaction_close(tx);

  /* A savepoint: the part before it is kept. */
  check(hs_begin(db, HS_REPEATABLE_READ, &tx), db);
  check(move_money(tx, accounts, 2, 3, 10), tx);
  check(hs_savepoint(tx, "first move"), tx);
  check(move_money(tx, accounts, 2, 3, 100), tx);
  check(hs_rollback_to(tx, "first move"), tx);
  check(hs_commit(tx), tx);
  hs_transaction_close(tx);

  for (id = 1; id <= 3; ++id) printf("account %d: %lld\n", id, (long long)balance_of(db, accounts, id));
  status = balance_of(db, accounts, 1) == 70 && balance_of(db, accounts, 2) == 120 &&
                   balance_of(db, accounts, 3) == 110
               ? 0
               : 1;
  hs_table_close(accounts);
  check(hs_close(db), db);
  return status;
}
