/* Point lookups by primary key through a prepared statement, over the unix socket of a private server.
 * usage: point_lookup SOCKET DATABASE TABLE ROWS LOOKUPS
 * The table has the columns of the article's Big with PRIMARY KEY (Id); ids are 1 to ROWS, eight digits.
 * Prints lookups per second; fails when a row is missing or is another one than was asked for. */
#include "client.h"

int main(int argc, char** argv) {
  if (argc != 6) fail("usage", "point_lookup SOCKET DATABASE TABLE ROWS LOOKUPS");
  const uint64_t rows = strtoull(argv[4], NULL, 10);
  const uint64_t lookups = strtoull(argv[5], NULL, 10);

  MYSQL* const connection = connect_to(argv[1], argv[2]);

  char query[256];
  snprintf(query, sizeof query,
           "select Id, PZN, EVP, HAP, ArtikelBez, ArtikelText, Hersteller from %s where Id=?", argv[3]);
  MYSQL_STMT* const statement = prepare(connection, query);

  char id[24];
  unsigned long id_length = 8;
  MYSQL_BIND parameter;
  memset(&parameter, 0, sizeof parameter);
  parameter.buffer_type = MYSQL_TYPE_STRING;
  parameter.buffer = id;
  parameter.buffer_length = sizeof id;
  parameter.length = &id_length;
  if (mysql_stmt_bind_param(statement, &parameter)) fail("bind", mysql_stmt_error(statement));

  char fields[7][64];
  unsigned long lengths[7];
  MYSQL_BIND results[7];
  memset(results, 0, sizeof results);
  for (int i = 0; i < 7; ++i) {
    results[i].buffer_type = MYSQL_TYPE_STRING;
    results[i].buffer = fields[i];
    results[i].buffer_length = sizeof fields[i];
    results[i].length = &lengths[i];
  }
  if (mysql_stmt_bind_result(statement, results)) fail("bind", mysql_stmt_error(statement));

  uint64_t state = 88172645463325252U;
  uint64_t start = 0;
  /* The first fifth warms up. */
  const uint64_t warm = lookups / 4;
  for (uint64_t i = 0; i < warm + lookups; ++i) {
    if (i == warm) start = now();
    state ^= state << 13; /* xorshift64, Marsaglia 2003 */
    state ^= state >> 7;
    state ^= state << 17;
    snprintf(id, sizeof id, "%08llu", (unsigned long long)(state % rows + 1));
    if (mysql_stmt_execute(statement)) fail("execute", mysql_stmt_error(statement));
    if (mysql_stmt_fetch(statement)) fail("no row for id", id);
    if (lengths[0] != 8 || memcmp(fields[0], id, 8) != 0) fail("wrong row for id", id);
    if (mysql_stmt_fetch(statement) != MYSQL_NO_DATA) fail("two rows for id", id);
  }
  printf("%.0f\n", (double)lookups * 1e6 / (double)(now() - start));
  mysql_stmt_close(statement);
  mysql_close(connection);
  return 0;
}
