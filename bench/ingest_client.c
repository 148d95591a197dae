/* One client of ./run bench ingest, over the unix socket of a private server.
 * usage: ingest_client SOCKET TABLE VERB FIRST ROWS EACH RATE SECONDS
 * Inserts the records FIRST to FIRST + ROWS, EACH a statement as an array of parameters, each statement a
 * transaction, at most RATE records a second (0: as many as it can), for SECONDS at most. VERB: INSERT, or
 * INSERT IGNORE. The record of a number is the same in each run; 100 of them have the same second. Says
 * "ready", waits for a line, works, and prints for each statement when it ended, in microseconds from the
 * start, how many it took, and how many rows it inserted. */
#include "client.h"

enum { columns = 6, most_text = 64, records_a_second = 100, most_seconds = 6 * 86400 };

/* A random number that belongs to `number` (SplitMix64, Steele and others 2014). */
static uint64_t mixed(uint64_t number) {
  uint64_t bits = (number + 1) * UINT64_C(0x9E3779B97F4A7C15);
  bits = (bits ^ bits >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  bits = (bits ^ bits >> 27) * UINT64_C(0x94D049BB133111EB);
  return bits ^ bits >> 31;
}

struct record {
  MYSQL_TIME at;
  int64_t visitor;
  int32_t site, bytes;
  char url[most_text], referrer[most_text];
  unsigned long url_bytes, referrer_bytes;
};

static void make(uint64_t number, struct record* to) {
  const unsigned second = (unsigned)(number / records_a_second % most_seconds);
  to->at.year = 2026;
  to->at.month = 11;
  to->at.day = 24 + second / 86400;
  to->at.hour = second / 3600 % 24;
  to->at.minute = second / 60 % 60;
  to->at.second = second % 60;
  to->at.time_type = MYSQL_TIMESTAMP_DATETIME;
  to->visitor = (int64_t)(mixed(number) >> 2);
  const uint64_t more = mixed(number + (UINT64_C(1) << 48));
  const unsigned page = (unsigned)(more >> 47);
  to->site = (int32_t)(page % 1000);
  to->bytes = (int32_t)(page % 9000);
  to->url_bytes = (unsigned long)sprintf(to->url, "/shop/article/%08u.html", page);
  to->referrer_bytes = (unsigned long)sprintf(to->referrer, "http://search.example/%013llu",
                                              (unsigned long long)(more & ((UINT64_C(1) << 40) - 1)));
}

static void bind(MYSQL_STMT* statement, struct record* records) {
  const enum enum_field_types types[columns] = {MYSQL_TYPE_DATETIME, MYSQL_TYPE_LONGLONG, MYSQL_TYPE_LONG,
                                                MYSQL_TYPE_LONG,     MYSQL_TYPE_STRING,   MYSQL_TYPE_STRING};
  void* const values[columns] = {&records->at,    &records->visitor, &records->site,
                                 &records->bytes, records->url,      records->referrer};
  MYSQL_BIND parameters[columns];
  memset(parameters, 0, sizeof parameters);
  for (int i = 0; i < columns; ++i) {
    parameters[i].buffer_type = types[i];
    parameters[i].buffer = values[i];
  }
  parameters[4].length = &records->url_bytes;
  parameters[5].length = &records->referrer_bytes;
  size_t record_bytes = sizeof *records;
  mysql_stmt_attr_set(statement, STMT_ATTR_ROW_SIZE, &record_bytes);
  if (mysql_stmt_bind_param(statement, parameters)) fail("bind", mysql_stmt_error(statement));
}

static void sleep_until(uint64_t time) {
  const uint64_t before = now();
  if (time <= before) return;
  const struct timespec pause = {(time_t)((time - before) / 1000000),
                                 (long)((time - before) % 1000000 * 1000)};
  nanosleep(&pause, NULL);
}

struct statement_time {
  uint64_t end, took, rows;
};

int main(int count, char** arguments) {
  if (count != 9) fail("arguments", "SOCKET TABLE VERB FIRST ROWS EACH RATE SECONDS");
  uint64_t number[5];
  for (int i = 0; i < 5; ++i) number[i] = strtoull(arguments[4 + i], NULL, 10);
  const uint64_t first = number[0], rows = number[1], each = number[2], rate = number[3],
                 most_time = number[4] * 1000000;
  if (each == 0) fail("arguments", "EACH is 0");
  char query[256];
  snprintf(query, sizeof query, "%s INTO %s VALUES (?, ?, ?, ?, ?, ?)", arguments[3], arguments[2]);
  MYSQL* const connection = connect_to(arguments[1], NULL);
  MYSQL_STMT* const statement = prepare(connection, query);
  struct record* const records = calloc(each, sizeof *records);
  struct statement_time* const times = calloc(rows / each + 1, sizeof *times);
  bind(statement, records);
  wait_for_start();
  const uint64_t start = now();
  size_t statements = 0;
  for (uint64_t done = 0; done < rows && now() - start < most_time; ++statements) {
    unsigned here = (unsigned)(rows - done < each ? rows - done : each);
    for (unsigned i = 0; i < here; ++i) make(first + done + i, records + i);
    if (rate != 0) sleep_until(start + done * 1000000 / rate);
    const uint64_t before = now();
    mysql_stmt_attr_set(statement, STMT_ATTR_ARRAY_SIZE, &here);
    if (mysql_stmt_execute(statement)) fail("execute", mysql_stmt_error(statement));
    const uint64_t after = now();
    times[statements].end = after - start;
    times[statements].took = after - before;
    times[statements].rows = mysql_stmt_affected_rows(statement);
    done += here;
  }
  for (size_t i = 0; i < statements; ++i)
    printf("%llu %llu %llu\n", (unsigned long long)times[i].end, (unsigned long long)times[i].took,
           (unsigned long long)times[i].rows);
  mysql_close(connection);
  return 0;
}
