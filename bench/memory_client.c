/* One client of ./run bench memory, over the unix socket of a private server.
 * usage: memory_client SOCKET DATABASE TABLE WORK COUNT ROWS SEED
 * WORK:
 *   article    inserts COUNT rows (c varchar(4096)), lengths uniform from 0 to 4096, ROWS a statement
 *   sysbench   inserts COUNT rows (k int, c char(120), pad char(60)), ROWS a statement
 *   replace    replaces COUNT rows of article by random ids of 1 to ROWS
 *   lookup     reads COUNT rows by random ids of 1 to ROWS, and checks that they are there
 *   range      reads COUNT ranges of 100 ids of 1 to ROWS in the order of k, and checks how many they have
 * Says "ready", waits for a line, works, and prints the bytes of the values that it has written, or read. */
#include "client.h"

enum { most_text = 4096, k_digits = 11, c_bytes = 119, pad_bytes = 59, range_length = 100 };

static uint64_t state;

static uint64_t next_random(void) {
  state ^= state << 13; /* xorshift64, Marsaglia 2003 */
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

/* Bytes of which no encoding makes fewer. */
static void fill(char* text, size_t bytes) {
  while (bytes > 0) {
    const uint64_t value = next_random();
    const size_t here = bytes < sizeof value ? bytes : sizeof value;
    memcpy(text, &value, here);
    text += here;
    bytes -= here;
  }
}

/* As sysbench has it: groups of 11 digits. */
static void fill_digits(char* text, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i)
    text[i] = i % (k_digits + 1) == k_digits ? '-' : (char)('0' + next_random() % 10);
}

static char* repeated(const char* head, const char* row, uint64_t rows) {
  char* query = malloc(strlen(head) + rows * (strlen(row) + 1) + 1);
  strcpy(query, head);
  char* end = query + strlen(query);
  for (uint64_t i = 0; i < rows; ++i) {
    if (i > 0) *end++ = ',';
    strcpy(end, row);
    end += strlen(row);
  }
  return query;
}

static uint64_t insert(MYSQL* connection, const char* table, int is_article, uint64_t count, uint64_t rows) {
  char head[256];
  snprintf(head, sizeof head, "INSERT INTO %s (%s) VALUES ", table, is_article ? "c" : "k, c, pad");
  MYSQL_STMT* const statement = prepare(connection, repeated(head, is_article ? "(?)" : "(?,?,?)", rows));
  const size_t columns = is_article ? 1 : 3;
  MYSQL_BIND* const values = calloc(rows * columns, sizeof *values);
  unsigned long* const lengths = calloc(rows * columns, sizeof *lengths);
  int* const numbers = calloc(rows, sizeof *numbers);
  char* const texts = malloc(rows * most_text);
  for (uint64_t i = 0; i < rows; ++i) {
    MYSQL_BIND* const of_row = values + i * columns;
    char* const text = texts + i * most_text;
    if (!is_article) {
      of_row[0].buffer_type = MYSQL_TYPE_LONG;
      of_row[0].buffer = numbers + i;
    }
    for (size_t column = columns == 1 ? 0 : 1; column < columns; ++column) {
      of_row[column].buffer_type = MYSQL_TYPE_STRING;
      of_row[column].buffer = column == 2 ? text + c_bytes : text;
      of_row[column].length = lengths + i * columns + column;
    }
  }
  if (mysql_stmt_bind_param(statement, values)) fail("bind", mysql_stmt_error(statement));
  wait_for_start();
  uint64_t bytes = 0;
  for (uint64_t done = 0; done < count; done += rows) {
    for (uint64_t i = 0; i < rows; ++i) {
      char* const text = texts + i * most_text;
      if (is_article) {
        lengths[i] = next_random() % (most_text + 1);
        fill(text, lengths[i]);
        bytes += sizeof(int32_t) + lengths[i];
      } else {
        numbers[i] = (int)(next_random() % count);
        lengths[3 * i + 1] = c_bytes;
        lengths[3 * i + 2] = pad_bytes;
        fill_digits(text, c_bytes);
        fill_digits(text + c_bytes, pad_bytes);
        bytes += 2 * sizeof(int32_t) + c_bytes + pad_bytes;
      }
    }
    if (mysql_stmt_execute(statement)) fail("execute", mysql_stmt_error(statement));
  }
  return bytes;
}

static uint64_t replace_rows(MYSQL* connection, const char* table, uint64_t count, uint64_t rows) {
  char query[256], text[most_text];
  snprintf(query, sizeof query, "REPLACE INTO %s (id, c) VALUES (?, ?)", table);
  MYSQL_STMT* const statement = prepare(connection, query);
  int id = 0;
  unsigned long length = 0;
  MYSQL_BIND values[2];
  memset(values, 0, sizeof values);
  values[0].buffer_type = MYSQL_TYPE_LONG;
  values[0].buffer = &id;
  values[1].buffer_type = MYSQL_TYPE_STRING;
  values[1].buffer = text;
  values[1].length = &length;
  if (mysql_stmt_bind_param(statement, values)) fail("bind", mysql_stmt_error(statement));
  wait_for_start();
  uint64_t bytes = 0;
  for (uint64_t i = 0; i < count; ++i) {
    id = (int)(next_random() % rows + 1);
    length = next_random() % (most_text + 1);
    fill(text, length);
    bytes += sizeof(int32_t) + length;
    if (mysql_stmt_execute(statement)) fail("execute", mysql_stmt_error(statement));
  }
  return bytes;
}

static uint64_t read_rows(MYSQL* connection, const char* table, int is_lookup, uint64_t count,
                          uint64_t rows) {
  char query[256];
  snprintf(query, sizeof query,
           is_lookup ? "SELECT c FROM %s WHERE id = ?" : "SELECT k FROM %s WHERE k BETWEEN ? AND ?", table);
  MYSQL_STMT* const statement = prepare(connection, query);
  int ends[2] = {0, 0};
  MYSQL_BIND parameters[2];
  memset(parameters, 0, sizeof parameters);
  for (int i = 0; i < 2; ++i) {
    parameters[i].buffer_type = MYSQL_TYPE_LONG;
    parameters[i].buffer = ends + i;
  }
  if (mysql_stmt_bind_param(statement, parameters)) fail("bind", mysql_stmt_error(statement));
  char text[most_text];
  int number = 0;
  unsigned long length = 0;
  MYSQL_BIND result;
  memset(&result, 0, sizeof result);
  result.buffer_type = is_lookup ? MYSQL_TYPE_STRING : MYSQL_TYPE_LONG;
  result.buffer = is_lookup ? (void*)text : (void*)&number;
  result.buffer_length = sizeof text;
  result.length = &length;
  if (mysql_stmt_bind_result(statement, &result)) fail("bind", mysql_stmt_error(statement));
  wait_for_start();
  uint64_t bytes = 0;
  for (uint64_t i = 0; i < count; ++i) {
    ends[0] = (int)(next_random() % (rows - range_length) + 1);
    ends[1] = ends[0] + range_length - 1;
    if (mysql_stmt_execute(statement)) fail("execute", mysql_stmt_error(statement));
    int found = 0;
    while (mysql_stmt_fetch(statement) == 0) {
      if (!is_lookup && number != ends[0] + found) fail("range", "a number is not the next one");
      bytes += length;
      ++found;
    }
    if (found != (is_lookup ? 1 : range_length)) fail("read", "rows are missing, or too many");
  }
  return bytes;
}

int main(int argc, char** argv) {
  if (argc != 8) fail("usage", "memory_client SOCKET DATABASE TABLE WORK COUNT ROWS SEED");
  const char* const work = argv[4];
  const uint64_t count = strtoull(argv[5], NULL, 10), rows = strtoull(argv[6], NULL, 10);
  state = 88172645463325252U ^ (strtoull(argv[7], NULL, 10) << 32);
  MYSQL* const connection = connect_to(argv[1], argv[2]);
  if (mysql_set_character_set(connection, "latin1")) fail("latin1", mysql_error(connection));
  const int is_article = strcmp(work, "article") == 0, is_lookup = strcmp(work, "lookup") == 0;
  uint64_t bytes = 0;
  if (is_article || strcmp(work, "sysbench") == 0) {
    bytes = insert(connection, argv[3], is_article, count, rows);
  } else if (strcmp(work, "replace") == 0) {
    bytes = replace_rows(connection, argv[3], count, rows);
  } else {
    bytes = read_rows(connection, argv[3], is_lookup, count, rows);
  }
  printf("%llu\n", (unsigned long long)bytes);
  mysql_close(connection);
  return 0;
}
