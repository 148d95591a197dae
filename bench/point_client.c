/* One client of ./run bench upkeep points, over the unix socket of a private server.
 * usage: point_client SOCKET DATABASE TABLE WORK COUNT ROWS FIRST SEED
 * The table has the columns id INT PRIMARY KEY, n INT, note VARCHAR(60), and rows with the ids 1 to ROWS.
 * WORK, COUNT times, each a statement and a transaction:
 *   lookup   reads the row of a random id, and checks that it is there
 *   insert   inserts rows with ids from FIRST on
 *   update   changes n of the row of a random id, and checks that it is there
 *   delete   deletes the rows with ids from FIRST on, and checks that they were there
 *   mixed    one of these at random, of rows from FIRST on where they come or go
 * Says "ready", waits for a line, works, and prints the longest statement in microseconds. */
#include "client.h"

enum { kinds = 4 };
static const char* const names[kinds] = {"lookup", "insert", "update", "delete"};
static const char* const statements[kinds] = {
    "SELECT n FROM %s WHERE id = ?",
    "INSERT INTO %s VALUES (?, 1, 'a note of some words')",
    "UPDATE %s SET n = n + 1 WHERE id = ?",
    "DELETE FROM %s WHERE id = ?",
};

int main(int argc, char** argv) {
  if (argc != 9) fail("usage", "point_client SOCKET DATABASE TABLE WORK COUNT ROWS FIRST SEED");
  const uint64_t count = strtoull(argv[5], NULL, 10), rows = strtoull(argv[6], NULL, 10);
  uint64_t inserted = strtoull(argv[7], NULL, 10), deleted = inserted;
  uint64_t random = 88172645463325252U ^ (strtoull(argv[8], NULL, 10) << 32);
  int wanted = kinds; /* mixed */
  for (int i = 0; i < kinds; ++i) {
    if (strcmp(argv[4], names[i]) == 0) wanted = i;
  }
  MYSQL* const connection = connect_to(argv[1], argv[2]);
  int id = 0, number = 0;
  MYSQL_BIND parameter, result;
  memset(&parameter, 0, sizeof parameter);
  parameter.buffer_type = MYSQL_TYPE_LONG;
  parameter.buffer = &id;
  memset(&result, 0, sizeof result);
  result.buffer_type = MYSQL_TYPE_LONG;
  result.buffer = &number;
  MYSQL_STMT* prepared[kinds];
  for (int i = 0; i < kinds; ++i) {
    char query[256];
    snprintf(query, sizeof query, statements[i], argv[3]);
    prepared[i] = prepare(connection, query);
    if (mysql_stmt_bind_param(prepared[i], &parameter)) fail("bind", mysql_stmt_error(prepared[i]));
  }
  if (mysql_stmt_bind_result(prepared[0], &result)) fail("bind", mysql_stmt_error(prepared[0]));
  wait_for_start();
  uint64_t longest = 0;
  for (uint64_t i = 0; i < count; ++i) {
    random ^= random << 13; /* xorshift64, Marsaglia 2003 */
    random ^= random >> 7;
    random ^= random << 17;
    int kind = wanted == kinds ? (int)((random >> 40) % kinds) : wanted;
    if (wanted == kinds && kind == 3 && deleted == inserted) kind = 1;
    id = kind == 1 ? (int)inserted++ : kind == 3 ? (int)deleted++ : (int)(random % rows + 1);
    const uint64_t begin = now();
    if (mysql_stmt_execute(prepared[kind])) fail("execute", mysql_stmt_error(prepared[kind]));
    if (kind == 0 && mysql_stmt_fetch(prepared[kind]) != 0) fail("lookup", "a row is missing");
    if (kind == 0) mysql_stmt_free_result(prepared[kind]);
    if (kind >= 2 && mysql_stmt_affected_rows(prepared[kind]) != 1) fail(names[kind], "a row is missing");
    const uint64_t took = now() - begin;
    if (took > longest) longest = took;
  }
  printf("%llu\n", (unsigned long long)longest);
  mysql_close(connection);
  return 0;
}
