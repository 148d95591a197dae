/* One client of ./run bench backup, over the unix socket of a private server.
 * usage: commit_client SOCKET DATABASE TABLE FIRST
 * The table has the columns id INT PRIMARY KEY, note VARCHAR(60). Says "ready", waits for a line, and inserts
 * a row a transaction, with ids from FIRST on, until it is killed. Each 50 ms it prints the time in
 * microseconds (CLOCK_MONOTONIC), its commits since the last line, and the longest of them in microseconds.
 */
#include "client.h"

enum { interval = 50000 };

int main(int argc, char** argv) {
  if (argc != 5) fail("usage", "commit_client SOCKET DATABASE TABLE FIRST");
  MYSQL* const connection = connect_to(argv[1], argv[2]);
  char query[256];
  snprintf(query, sizeof query, "INSERT INTO %s VALUES (?, 'a note of some words')", argv[3]);
  MYSQL_STMT* const insert = prepare(connection, query);
  int id = atoi(argv[4]);
  MYSQL_BIND parameter;
  memset(&parameter, 0, sizeof parameter);
  parameter.buffer_type = MYSQL_TYPE_LONG;
  parameter.buffer = &id;
  if (mysql_stmt_bind_param(insert, &parameter)) fail("bind", mysql_stmt_error(insert));
  wait_for_start();
  uint64_t printed = now(), longest = 0;
  unsigned commits = 0;
  for (;; ++id) {
    const uint64_t begin = now();
    if (mysql_stmt_execute(insert)) fail("insert", mysql_stmt_error(insert));
    const uint64_t end = now();
    if (end - begin > longest) longest = end - begin;
    ++commits;
    if (end - printed < interval) continue;
    printf("%llu %u %llu\n", (unsigned long long)end, commits, (unsigned long long)longest);
    fflush(stdout);
    printed = end;
    longest = commits = 0;
  }
}
