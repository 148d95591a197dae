/* What the clients of ./run bench share: an error ends them, a clock, a connection over the unix socket of a
 * private server, prepared statements. */
#pragma once
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* for program_invocation_short_name */
#endif
#include <errno.h>
#include <mysql.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline void fail(const char* what, const char* message) {
  fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, message);
  exit(1);
}

/* Microseconds, of which only differences say something. */
static inline uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_nsec / 1000;
}

/* `database` may be null. */
static inline MYSQL* connect_to(const char* socket, const char* database) {
  MYSQL* const connection = mysql_init(NULL);
  if (mysql_real_connect(connection, NULL, "root", NULL, database, 0, socket, 0) == NULL)
    fail("connect", mysql_error(connection));
  return connection;
}

static inline MYSQL_STMT* prepare(MYSQL* connection, const char* query) {
  MYSQL_STMT* const statement = mysql_stmt_init(connection);
  if (mysql_stmt_prepare(statement, query, strlen(query))) fail("prepare", mysql_stmt_error(statement));
  return statement;
}

/* Says that all is ready, and waits for a line. */
static inline void wait_for_start(void) {
  char line[8];
  puts("ready");
  fflush(stdout);
  if (fgets(line, sizeof line, stdin) == NULL) fail("start", "nobody said so");
}
