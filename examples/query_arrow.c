/* The ten best of a table that is joined with rows of the program's own, which come as an Arrow stream.
 *   query_arrow DIRECTORY */
#include <hailstone.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(int status, const void *handle) {
  if (status == HS_OK) return;
  fprintf(stderr, "%s: %s\n", hs_status_name(status), hs_error_message(handle));
  exit(1);
}

/* --- A stream of one record batch: player int64, team utf8. Libraries such as nanoarrow make these. --- */

enum { PLAYERS = 40 };
static int64_t players[PLAYERS];
static int32_t team_ends[PLAYERS + 1];
static char teams[PLAYERS * 4 + 1];
static const void *player_buffers[] = {NULL, players}, *team_buffers[] = {NULL, team_ends, teams},
                  *no_buffers[] = {NULL};
static struct ArrowSchema schema_children[2], *schema_pointers[] = {&schema_children[0], &schema_children[1]};
static struct ArrowArray array_children[2], *array_pointers[] = {&array_children[0], &array_children[1]};

static void release_schema(struct ArrowSchema *schema) { schema->release = NULL; }
static void release_array(struct ArrowArray *array) { array->release = NULL; }
static void release_stream(struct ArrowArrayStream *stream) { stream->release = NULL; }
static const char *last_error(struct ArrowArrayStream *stream) {
  (void)stream;
  return NULL;
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
  static const char *const names[] = {"player", "team"}, *const formats[] = {"l", "u"};
  int i;
  (void)stream;
  for (i = 0; i < 2; ++i) {
    memset(&schema_children[i], 0, sizeof schema_children[i]);
    schema_children[i].format = formats[i];
    schema_children[i].name = names[i];
    schema_children[i].release = release_schema;
  }
  memset(out, 0, sizeof *out);
  out->format = "+s";
  out->n_children = 2;
  out->children = schema_pointers;
  out->release = release_schema;
  return 0;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out) {
  int *done = stream->private_data;
  int i;
  memset(out, 0, sizeof *out);
  if ((*done)++ != 0) return 0; /* released: the end */
  for (i = 0; i < 2; ++i) {
    memset(&array_children[i], 0, sizeof array_children[i]);
    array_children[i].length = PLAYERS;
    array_children[i].n_buffers = i == 0 ? 2 : 3;
    array_children[i].buffers = i == 0 ? player_buffers : team_buffers;
    array_children[i].release = release_array;
  }
  out->length = PLAYERS;
  out->n_buffers = 1;
  out->buffers = no_buffers;
  out->n_children = 2;
  out->children = array_pointers;
  out->release = release_array;
  return 0;
}

static void make_stream(struct ArrowArrayStream *stream, int *done) {
  int i;
  for (i = 0; i < PLAYERS; ++i) {
    players[i] = i;
    memcpy(teams + i * 4, i % 2 == 0 ? "blue" : "gold", 4);
    team_ends[i + 1] = (i + 1) * 4;
  }
  *done = 0;
  memset(stream, 0, sizeof *stream);
  stream->get_schema = get_schema;
  stream->get_next = get_next;
  stream->get_last_error = last_error;
  stream->release = release_stream;
  stream->private_data = done;
}

/* --- The store. --- */

static hs_table *make_games(hs_transaction *tx) {
  hs_schema *schema;
  hs_table *table;
  hs_load *load;
  hs_value row[2];
  int i;
  check(hs_schema_new(&schema), NULL);
  check(hs_schema_column(schema, "player", HS_INT64, 0, HS_NOT_NULL), schema);
  check(hs_schema_column(schema, "points", HS_INT32, 0, 0), schema);
  check(hs_table_create(tx, "club/games", schema, &table), tx);
  hs_schema_free(schema);
  check(hs_load_begin(tx, table, &load), tx);
  for (i = 0; i < 200000; ++i) {
    row[0] = hs_int(i % 97);
    row[1] = i % 50 == 0 ? hs_null() : hs_int(i % 11);
    check(hs_load_row(load, row, 2), load);
  }
  check(hs_load_finish(load), load);
  hs_load_close(load);
  return table;
}

int main(int argc, char **argv) {
  const char *const keys[] = {"games.player", "team"};
  const char *const aggregates[] = {"SUM(points) AS points", "COUNT(points) AS games"};
  const char *const items[] = {"player", "team", "CAST(points AS SIGNED) AS points", "points / games AS mean"};
  const char *const order[] = {"points DESC", "player"};
  hs_database *db;
  hs_transaction *tx;
  hs_table *games;
  hs_query *query, *right;
  struct ArrowArrayStream stream;
  struct ArrowArray array;
  int done;
  int64_t i;

  if (argc != 2) {
    fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
    return 2;
  }
  check(hs_open(argv[1], NULL, &db), db);
  check(hs_begin(db, HS_REPEATABLE_READ, &tx), db);
  games = make_games(tx);

  make_stream(&stream, &done);
  check(hs_query_table(tx, games, NULL, &query), tx);
  check(hs_query_arrow(tx, &stream, "members", &right), tx); /* the library has the stream now */
  check(hs_query_join(query, right, HS_JOIN_INNER, "games.player = members.player", NULL, 0), query);
  check(hs_query_aggregate(query, keys, 2, aggregates, 2, NULL, 0), query);
  check(hs_query_project(query, items, 4, NULL, 0), query);
  check(hs_query_sort(query, order, 2, NULL, 0), query);
  check(hs_query_limit(query, 0, 10), query);
  check(hs_query_stream(query, &stream), query);
  for (;;) {
    if (stream.get_next(&stream, &array) != 0) {
      fprintf(stderr, "%s\n", stream.get_last_error(&stream));
      return 1;
    }
    if (array.release == NULL) break;
    for (i = 0; i < array.length; ++i) {
      const int32_t *ends = array.children[1]->buffers[1];
      printf("player %2lld of %.*s: %lld points\n", (long long)((const int64_t *)array.children[0]->buffers[1])[i],
             (int)(ends[i + 1] - ends[i]), (const char *)array.children[1]->buffers[2] + ends[i],
             (long long)((const int64_t *)array.children[2]->buffers[1])[i]);
    }
    array.release(&array);
  }
  stream.release(&stream);

  hs_query_close(right);
  hs_query_close(query);
  hs_transaction_close(tx);
  hs_table_close(games);
  check(hs_close(db), db);
  return 0;
}
