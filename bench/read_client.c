/* A client of ./run bench ingest that reads, over the unix socket of a private server.
 * usage: read_client SOCKET SECONDS PAUSE
 * Runs the statements of its standard input, one a line, over and over for SECONDS, with PAUSE microseconds
 * between them, fetches all rows, and prints for each run which statement it was, from 0, and how many
 * microseconds it took. */
#include "client.h"

enum { most_statements = 4096, most_bytes = 1024 };

int main(int count, char** arguments) {
  if (count != 4) fail("arguments", "SOCKET SECONDS PAUSE");
  const uint64_t most_time = strtoull(arguments[2], NULL, 10) * 1000000;
  const uint64_t pause_time = strtoull(arguments[3], NULL, 10);
  char(*const statements)[most_bytes] = calloc(most_statements, most_bytes);
  size_t all = 0;
  while (all < most_statements && fgets(statements[all], most_bytes, stdin) != NULL) ++all;
  if (all == 0) fail("statements", "there are none");
  MYSQL* const connection = connect_to(arguments[1], NULL);
  const uint64_t start = now();
  for (size_t run = 0; now() - start < most_time; ++run) {
    const char* const text = statements[run % all];
    const uint64_t before = now();
    if (mysql_real_query(connection, text, strcspn(text, "\n"))) fail(text, mysql_error(connection));
    MYSQL_RES* const rows = mysql_store_result(connection);
    if (rows == NULL) fail(text, mysql_error(connection));
    printf("%zu %llu\n", run % all, (unsigned long long)(now() - before));
    mysql_free_result(rows);
    const struct timespec pause = {(time_t)(pause_time / 1000000), (long)(pause_time % 1000000 * 1000)};
    nanosleep(&pause, NULL);
  }
  mysql_close(connection);
  free(statements);
  return 0;
}
