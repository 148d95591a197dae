/*
 * hailstone.h: a transactional store with columns, in a library
 * =============================================================
 * A database is a directory, or in memory. It holds tables; a table has typed columns, indexes, and rows,
 * stored column by column ("columnar") or as rows, as chosen for each column. Changes are made in
 * transactions; what has been committed survives crashes. This header is the manual: docs/c-api.md is a tour
 * of it, examples/ has whole programs.
 *
 *   hs_database *db;
 *   hs_transaction *tx;
 *   hs_table *table;
 *   hs_value row[2] = {hs_int(1), hs_text("hello")};
 *   if (hs_open("data", NULL, &db) != HS_OK) { puts(hs_error_message(db)); hs_close(db); return 1; }
 *   hs_begin(db, HS_REPEATABLE_READ, &tx);
 *   hs_table_open(tx, "shop/article", &table);
 *   hs_insert(tx, table, row, 2);
 *   hs_commit(tx);
 *   hs_table_close(table);
 *   hs_transaction_close(tx);
 *   hs_close(db);
 *
 * Errors
 *   Every function that can fail returns an hs_status: HS_OK, which is 0, or a positive code. The sentence
 *   that goes with it, hs_error_message(), belongs to the handle that is named "error handle" below: it says
 *   what failed, where, and what to do. A function that fails has changed nothing unless it says otherwise.
 *   Misuse (a closed handle, one of another kind, a NULL, a column that is not there) is HS_INVALID, never a
 *   crash. The library prints nothing, installs no signal handler, and never ends the process.
 *
 * Handles and threads
 *   hs_database      thread-safe. Any number of threads, each with transactions of its own.
 *   hs_table         thread-safe and immutable; may be used with all transactions of its database.
 *   hs_transaction   one thread at a time, with all scans, cursors, loads and streams made from it: a call of
 *                    another thread waits for its turn. The exception is hs_interrupt(). A transaction cannot
 *                    be ended from within one of its own calls (HS_INVALID).
 *   hs_schema, hs_predicate   one thread at a time; belong to no database.
 *   A handle is a number, not an address: nothing may be read or written through it. Handles are closed in
 * any order. One that is closed, or whose database is, stays recognisable for ever: calls with it are
 * HS_INVALID, and closing it again does nothing. Every ..._close() and ..._free() takes NULL for "nothing to
 * do". A process holds a database directory alone (HS_BUSY for others, and for a second hs_open() in the same
 *   process).
 *
 * fork()
 *   Handles are for the process that made them. In a child each call with one of them is HS_INVALID: it takes
 *   no lock and touches no file, and the parent goes on undisturbed. A child opens databases of its own. When
 *   the parent ends without hs_close(), its directory stays held until such children have ended, too, or have
 *   called exec().
 *
 * Memory
 *   What a function takes (strings, values, arrays) it copies; nothing needs to outlive the call. What it
 * gives out belongs to the library and is valid as long as its description says; Arrow structures own
 * themselves.
 */
#ifndef HAILSTONE_H
#define HAILSTONE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(_WIN32)
#define HS_API
#else
#define HS_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------------------
 * The Arrow C data and stream interfaces, as their specification defines them. The receiver of a
 * structure calls its release() when done with it, unless that is NULL.
 */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};

#endif /* ARROW_C_DATA_INTERFACE */

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
  int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);
  const char* (*get_last_error)(struct ArrowArrayStream*);
  void (*release)(struct ArrowArrayStream*);
  void* private_data;
};

#endif /* ARROW_C_STREAM_INTERFACE */

/* ------------------------------------------------------------------------------------------------------
 * Handles and codes
 */
typedef struct hs_database hs_database;
typedef struct hs_transaction hs_transaction;
typedef struct hs_table hs_table;
typedef struct hs_schema hs_schema;
typedef struct hs_cursor hs_cursor;
typedef struct hs_load hs_load;
typedef struct hs_scan hs_scan;
typedef struct hs_predicate hs_predicate;

typedef enum hs_status {
  HS_OK = 0,
  HS_NOT_FOUND = 1,      /* no such row, table, column, savepoint or file */
  HS_ALREADY_EXISTS = 2, /* a table or file of that name is there */
  HS_DUPLICATE_KEY = 3,  /* a unique index or the primary key has that key already */
  HS_LOCK_TIMEOUT = 4,   /* a lock was not granted in time; the transaction lives on */
  HS_DEADLOCK = 5,       /* two transactions waited for each other; this one has been rolled back: it can only
                          * be closed, and run again from its beginning */
  HS_INTERRUPTED = 6,    /* hs_interrupt() */
  HS_NO_MEMORY = 7, /* the database's memory (hs_options.memory_bytes), or the system's, does not suffice */
  HS_DISK_FULL = 8,
  HS_IO = 9,            /* any other failure of the filesystem */
  HS_CORRUPT = 10,      /* stored bytes are damaged; the message names the file. Other tables stay usable */
  HS_INVALID = 11,      /* the call is wrong */
  HS_TOO_LARGE = 12,    /* a row (1 GiB) or a key (16 KiB, as it is stored) is beyond its limit. A string in a
                         * key takes two bytes more than it has, and one more for each zero byte */
  HS_BUSY = 13,         /* in use by another process or transaction, or handles are still open */
  HS_READ_ONLY = 14,    /* an earlier failure of the disk has stopped all changes; open the database again */
  HS_UNSUPPORTED = 15,  /* valid, but not offered */
  HS_OUT_OF_RANGE = 16, /* a number does not fit into its column, or a sum into 64 bits */
  HS_TABLE_CHANGED = 17, /* the table was made or replaced after the transaction's snapshot was taken; read it
                          * in a new transaction */
  HS_SNAPSHOT_TOO_OLD = 18, /* the transaction's snapshot was ended (hs_options.snapshot_too_old_seconds) */
  HS_TABLE_FULL = 19 /* the rows of a table in memory take all that they may; room is there again when some
                      * have been deleted and the transaction is committed */
} hs_status;

/* "0.1.0". */
HS_API const char* hs_version(void);
/* A few English words for a code; "unknown" for numbers that are none. */
HS_API const char* hs_status_name(int status);
/* The sentence of the last failed call whose error handle this is; "" when there was none, or `handle` is
 * NULL. Takes hs_database, hs_transaction, hs_schema, hs_cursor, hs_load and hs_scan handles; of a closed one
 * it says so. Never "" after a failure, also when there was no memory. Valid until the next call of the
 * library on this thread. Of a database: the last failure on the calling thread. */
HS_API const char* hs_error_message(const void* handle);

/* ------------------------------------------------------------------------------------------------------
 * Databases
 */
typedef enum hs_durability {
  HS_DURABLE_EACH_SECOND = 0,  /* written and synced once a second */
  HS_DURABLE = 1,              /* a commit returns when it is on the disk */
  HS_DURABLE_AGAINST_CRASH = 2 /* a commit returns when the system has it; synced once a second */
} hs_durability;

/* How files of columns are written, and how all files are read. docs/io.md compares them, `hailstone disk
 * sweep` measures them on a disk. Where the system refuses one (io_uring is often forbidden in containers),
 * the log callback is told and HS_IO_BUFFERED is used. */
typedef enum hs_io_method {
  HS_IO_SYNC = 0,     /* a system call for each block; the system's page cache reads ahead */
  HS_IO_BUFFERED = 1, /* through buffers of 128 KiB where blocks follow each other */
  HS_IO_ASYNC = 2,    /* the same with two buffers, through io_uring */
  HS_IO_MMAP = 3,     /* through memory mappings */
  HS_IO_DIRECT = 4    /* past the system's page cache (O_DIRECT), through io_uring */
} hs_io_method;

typedef enum hs_log_level { HS_LOG_NOTE = 0, HS_LOG_WARNING = 1, HS_LOG_ERROR = 2 } hs_log_level;

/* Called from any thread, also from several at once; must not call the library. */
typedef void (*hs_log_callback)(void* context, hs_log_level level, const char* message);
/* Something is broken beyond the one call that meets it: damaged bytes (HS_CORRUPT), or a disk that failed so
 * that no commit is possible any more (HS_READ_ONLY; HS_IO or HS_DISK_FULL of a commit). Called once for each
 * such event, on the thread of the first call that meets it and before that returns; must not call the
 * library. What the background meets goes to the log callback, and comes here when a call needs what is
 * broken. The application decides what becomes of the process; such calls go on to fail, all others go on to
 * work.
 *
 * One thing the application does not decide: when the library finds an invariant of its own broken, what it
 * would do next is unknown. Then this is called, of each open database, with HS_CORRUPT and a message that
 * begins with a file and a line of the library, and the process ends when it returns. */
typedef void (*hs_panic_callback)(void* context, hs_status status, const char* message);

/* Fill with hs_options_init(), then change what is to differ. */
typedef struct hs_options {
  size_t struct_size; /* set by hs_options_init() */
  /* 512 MiB; for rows in memory, loads and the cache; at least 16 MiB. A transaction may write more: its rows
   * then go to files. */
  uint64_t memory_bytes;
  uint64_t checkpoint_log_bytes; /* 256 MiB; length of log that starts a checkpoint; at least 64 KiB */
  /* So much of a table's newest rows stays in memory as rows, where single rows are quickest, before it
   * becomes columns in a file. 0: an eighth of memory_bytes, at most 64 MiB
   * or, if that is more, a sixty-fourth of it; at most half. */
  uint64_t row_memory_bytes;
  hs_durability durability;    /* HS_DURABLE */
  unsigned background_threads; /* 2; 1 to 64. They flush, merge, encode loads and help scans */
  unsigned lock_wait_ms;       /* 50,000; how long a transaction waits for a lock; 0: not at all */
  int must_exist;              /* 0; else a directory without a database is HS_NOT_FOUND */
  hs_log_callback log;         /* NULL: notes and warnings are dropped */
  void* log_context;
  hs_panic_callback panic; /* NULL: none */
  void* panic_context;
  /* Tables that nobody uses stay ready in memory up to so many, with some 4 KiB each and a row or two;
   * further ones are opened when they are used. 0: one for each 16 KiB of memory_bytes, at most 32,768. */
  uint64_t open_tables;
  hs_io_method io_method; /* HS_IO_SYNC */
  /* How long hs_commit() waits, at most, when the log cannot be written, as on a full disk; what was written
   * of it is cut off, and the same is written again until it fits. hs_interrupt() ends the wait of a
   * transaction: HS_INTERRUPTED then says that it is committed, others may have seen it, but that it would be
   * lost if the process ended before the log can be written. After this time, or when the disk fails to sync
   * the log, nothing can be committed until the database has been opened again. */
  unsigned log_write_timeout_ms; /* 600,000 */
  /* Files of columns that stay open although nobody reads them; others are opened again when they are read.
   * 0: half of the files that the process may have open. */
  uint64_t open_files;
  /* 0: a transaction may read by its snapshot as long as it likes. Else: reads by a snapshot that is older
   * return HS_SNAPSHOT_TOO_OLD, and the disk space of the row versions that only it needed comes free. */
  unsigned snapshot_too_old_seconds;
  /* 1 GiB; for the rows of all tables in memory (hs_schema_in_memory()), beside memory_bytes. */
  uint64_t in_memory_bytes;
  /* 60; seconds between the beginnings of two looks for rows that have expired (hs_schema_retention()); 0:
   * none are looked for, but by hs_expire(). */
  unsigned retention_interval_seconds;
  /* 0. 1: nothing is written to the directory, not even a lock file, so that the database may lie where
   * nothing can be written, as a backup on a read-only mount. What its log holds is brought to its last
   * committed state in memory. Others may read it in this way at the same time; while a process has it open
   * to write, hs_open() returns HS_BUSY. Changes, hs_checkpoint(), hs_expire() and hs_backup() return
   * HS_UNSUPPORTED, a directory without a database HS_NOT_FOUND. What queries have no memory for goes to
   * nameless files in the folder $TMPDIR, else /var/tmp. */
  int read_only;
} hs_options;

/* hs_options_init(&options) */
HS_API void hs_options_init_sized(hs_options* options, size_t struct_size);
#define hs_options_init(options) hs_options_init_sized((options), sizeof(hs_options))

/* Opens the database in `directory`, making it (not its parents) when it is not there, and brings it to its
 * last committed state. NULL: a new database in memory, which has no file anywhere and is gone at hs_close();
 * all else is as in a directory, but for hs_backup(). The rows of its tables are those of tables in memory
 * (hs_schema_in_memory()), within hs_options.in_memory_bytes; options that are about files and durability do
 * nothing. `options`: NULL for the defaults. HS_NOT_FOUND: must_exist, and there is none. On failure
 * *database is a handle, too: it serves hs_error_message() and hs_close() only (NULL when there was no memory
 * for it). */
HS_API int hs_open(const char* directory, const hs_options* options, hs_database** database);
/* Writes out what is in memory, so that the next hs_open() has nothing to recover, and ends the database:
 * open transactions are rolled back, and all handles that were made from it are closed, as is this one. It
 * may be called while other threads use the database: new calls are refused, those under way are asked to
 * stop (HS_INTERRUPTED or HS_INVALID, "the database is being closed"), and it waits until they have returned.
 * Arrow arrays stay valid; Arrow streams give an error, and are still to be released. Several threads may
 * call it at once: all return when the database is closed. HS_BUSY, with nothing done: it was called from
 * within a call of the same database (a stream that is being loaded, a function that the library calls). Any
 * other error: the handle is gone all the same, nothing committed is lost; hs_error_message() of it has the
 * sentence on this thread, and the log callback has it. */
HS_API int hs_close(hs_database* database);
/* The same, but it waits for calls of other threads at most so long. HS_LOCK_TIMEOUT: some go on; the
 * database takes no new ones, and is to be closed by another call. So a program can look for signals in
 * between. */
HS_API int hs_close_within(hs_database* database, unsigned milliseconds);

/* Makes everything committed independent of the log. Happens by itself now and then. Error handle: database.
 */
HS_API int hs_checkpoint(hs_database* database);
/* Looks for rows that have expired (hs_schema_retention()) and ends them, in transactions of its own; rows
 * that open transactions have locked or changed are left. `rows`: NULL, or gets how many have ended. Happens
 * by itself, too (hs_options.retention_interval_seconds). Error handle: database. */
HS_API int hs_expire(hs_database* database, uint64_t* rows);
/* Makes `directory`, which must be new or empty, a copy of the database as it is now, while writers go on. To
 * restore is to open the copy (or a copy of it). Files that never change are hard links where possible, so
 * that this takes little time and space, but a failing disk hits both: copy it elsewhere. HS_ALREADY_EXISTS
 * when the directory is not empty, HS_INVALID when it is inside of the database's, HS_UNSUPPORTED when the
 * database is in memory. On failure no file is left behind. Error handle: database. */
HS_API int hs_backup(hs_database* database, const char* directory);

/* The value of a counter ("rows_inserted", "log_fsyncs" …). HS_NOT_FOUND. Error handle: database. */
HS_API int hs_counter(hs_database* database, const char* name, uint64_t* value);
/* The counter number `index`, from 0 on, until HS_NOT_FOUND. Name and description are valid for ever; each of
 * the three may be NULL. */
HS_API int hs_counter_at(hs_database* database, size_t index, const char** name, const char** description,
                         uint64_t* value);

/* ------------------------------------------------------------------------------------------------------
 * Values
 */
typedef enum hs_type {
  HS_INT8 = 1,
  HS_INT16 = 2,
  HS_INT32 = 3,
  HS_INT64 = 4,
  HS_UINT8 = 5,
  HS_UINT16 = 6,
  HS_UINT32 = 7,
  HS_UINT64 = 8,
  HS_FLOAT = 9,      /* IEEE single. All NaN are one value, greater than all others and equal to itself */
  HS_DOUBLE = 10,    /* IEEE double. Likewise */
  HS_STRING = 11,    /* UTF-8 (not checked), ordered by bytes, which is the order of code points */
  HS_BYTES = 12,     /* any bytes, ordered by bytes */
  HS_DATE = 13,      /* days since 1970-01-01, 32 bits, signed */
  HS_TIMESTAMP = 14, /* microseconds since 1970-01-01 00:00 UTC, 64 bits, signed */
  HS_BOOL = 15,      /* 0 or 1 */
  HS_DATETIME = 16   /* a time of no time zone, as HS_TIMESTAMP would have it of UTC */
} hs_type;

typedef enum hs_value_kind {
  HS_VALUE_NULL = 0,
  HS_VALUE_INT = 1,    /* signed integers, HS_DATE, HS_TIMESTAMP, HS_DATETIME */
  HS_VALUE_UINT = 2,   /* unsigned integers, HS_BOOL */
  HS_VALUE_DOUBLE = 3, /* HS_FLOAT and HS_DOUBLE */
  HS_VALUE_BYTES = 4   /* HS_STRING and HS_BYTES */
} hs_value_kind;

/* One value. Given to the library, any kind of number goes into any column that holds it exactly (a double
 * only into HS_FLOAT, rounded, and HS_DOUBLE; an integer into a floating column is rounded); else
 * HS_OUT_OF_RANGE, or HS_INVALID when the kind does not fit the column at all, or a string is longer than the
 * column's max_bytes. Bytes are not ended by a zero. */
typedef struct hs_value {
  hs_value_kind kind;
  union {
    int64_t i;
    uint64_t u;
    double d;
    struct {
      const void* data; /* may be NULL when size is 0 */
      size_t size;      /* bytes */
    } bytes;
  } as;
} hs_value;

static inline hs_value hs_null(void) {
  const hs_value value = {HS_VALUE_NULL, {0}};
  return value;
}
static inline hs_value hs_int(int64_t number) {
  hs_value value = hs_null();
  value.kind = HS_VALUE_INT;
  value.as.i = number;
  return value;
}
static inline hs_value hs_uint(uint64_t number) {
  hs_value value = hs_null();
  value.kind = HS_VALUE_UINT;
  value.as.u = number;
  return value;
}
static inline hs_value hs_double(double number) {
  hs_value value = hs_null();
  value.kind = HS_VALUE_DOUBLE;
  value.as.d = number;
  return value;
}
static inline hs_value hs_bytes(const void* data, size_t size) {
  hs_value value = hs_null();
  value.kind = HS_VALUE_BYTES;
  value.as.bytes.data = data;
  value.as.bytes.size = size;
  return value;
}
/* A string that ends with a zero. Of NULL: a value that every function refuses. */
static inline hs_value hs_text(const char* text) {
  return hs_bytes(text, text == NULL ? 1 : strlen(text)); /* NOLINT(modernize-use-nullptr): this is C */
}

/* ------------------------------------------------------------------------------------------------------
 * Transactions. Each call that reads or writes rows is one statement: it takes effect wholly or not at all.
 *
 * Writes always act on the newest version of a row. A program that reads a row without a lock, computes a new
 * value from what it saw, and writes it by hs_update() can so lose the update that another transaction has
 * committed in between, under HS_READ_COMMITTED and HS_REPEATABLE_READ alike. A value that a write depends on
 * must be read with HS_LOCK_EXCLUSIVE, or under HS_SERIALIZABLE: then the other one waits, or one of the two
 * gets HS_DEADLOCK and begins again.
 */
typedef enum hs_isolation {
  HS_READ_UNCOMMITTED = 0, /* as HS_READ_COMMITTED */
  HS_READ_COMMITTED = 1,   /* each statement sees what was committed when it began */
  HS_REPEATABLE_READ = 2,  /* all statements see what was committed when the first one began; see above. Of a
                            * table that was made later, plain reads give HS_TABLE_CHANGED: one of its name may
                            * have had rows then */
  HS_SERIALIZABLE = 3      /* as before, and hs_get() and cursors lock what they read. Scans do not */
} hs_isolation;

/* Begins a transaction. Error handle: database. */
HS_API int hs_begin(hs_database* database, hs_isolation isolation, hs_transaction** transaction);
/* Makes the changes permanent and visible, and ends the transaction: all that can be done with it then is
 * hs_error_message() and hs_transaction_close(). On failure nothing of it is visible, but for HS_INTERRUPTED
 * (see log_write_timeout_ms), and for HS_IO, HS_DISK_FULL and HS_READ_ONLY: then the disk failed while the
 * log was written, and only the next hs_open() finds out whether the commit is there. Error handle:
 * transaction. */
HS_API int hs_commit(hs_transaction* transaction);
/* Takes back all changes and ends the transaction. Error handle: transaction. */
HS_API int hs_rollback(hs_transaction* transaction);
/* Closes the handle; a transaction that has not ended is rolled back first. Cursors, loads, scans and streams
 * made from it stay valid handles, but give HS_INVALID, as after its end. Within a call of the transaction
 * (from a stream that it loads) it is rolled back when that call returns. */
HS_API void hs_transaction_close(hs_transaction* transaction);

/* Two-phase commit, for a transaction that is one part of several in different systems. First each part is
 * prepared, under an identity that the coordinator gives to the whole: from then on the part can still be
 * committed and still be rolled back, whatever happens to the process or the machine. Then the coordinator
 * notes which of the two it shall be, and tells all parts. What is prepared keeps its row locks, and some
 * memory and log, until it ends.
 *
 * hs_prepare() ends all use of the transaction but for hs_commit(), hs_rollback() and hs_transaction_close(),
 * which leaves it prepared; so does the end of the process. What then goes on is by the identity: 1 to
 * HS_MAX_PREPARED_ID bytes of any value. HS_ALREADY_EXISTS when another prepared transaction has it;
 * HS_UNSUPPORTED for a transaction that has made, renamed or dropped tables. After an error it is as it was,
 * but for HS_IO, HS_DISK_FULL and HS_READ_ONLY: then the next hs_open() may find it prepared. Error handle:
 * transaction. */
#define HS_MAX_PREPARED_ID 255
HS_API int hs_prepare(hs_transaction* transaction, const void* id, size_t id_size);
/* Calls `each` for every prepared transaction that has changed something, in the order of the identities'
 * bytes, which are valid during the call. `each` must not call the library. Error handle: database. */
typedef void (*hs_prepared_callback)(void* context, const void* id, size_t id_size);
HS_API int hs_prepared(hs_database* database, hs_prepared_callback each, void* context);
/* Ends a prepared transaction. HS_NOT_FOUND: none has this identity. HS_BUSY: its handle, or one that was
 * made from it, is not closed yet. After another error it is still prepared, but for HS_INTERRUPTED, as
 * hs_commit() has it. Error handle: database. */
HS_API int hs_commit_prepared(hs_database* database, const void* id, size_t id_size);
HS_API int hs_rollback_prepared(hs_database* database, const void* id, size_t id_size);

/* Marks a point to come back to. A name that is used already moves. Error handle: transaction. */
HS_API int hs_savepoint(hs_transaction* transaction, const char* name);
/* Takes back all changes since the point, which stays; later points go. Locks stay. HS_NOT_FOUND. */
HS_API int hs_rollback_to(hs_transaction* transaction, const char* name);
/* Forgets the point and later ones. HS_NOT_FOUND. */
HS_API int hs_release(hs_transaction* transaction, const char* name);

/* Makes the call that the transaction is in, and all later ones but commit and rollback (also to a
 * savepoint), return HS_INTERRUPTED (on = 1), or stops doing so (on = 0). For other threads; a closed
 * transaction is left alone. */
HS_API void hs_interrupt(hs_transaction* transaction, int on);

/* ------------------------------------------------------------------------------------------------------
 * Tables. Making, dropping and renaming tables is part of the transaction: others see it after the commit, a
 * rollback takes it back. Names are "group/table": something, a slash, and something, of any bytes but zero.
 */

/* A description of a table, to be made or as it is. */
HS_API int hs_schema_new(hs_schema** schema); /* HS_NO_MEMORY */
HS_API void hs_schema_free(hs_schema* schema);

#define HS_NOT_NULL 1 /* the column has no NULLs; implied by the primary key */
#define HS_ROW_WISE \
  2 /* stored with the other such columns as rows; else columnar, which is what scans like */
#define HS_DESCENDING 4 /* for index parts */

/* Adds a column, one of at most 4096. `max_bytes`: of HS_STRING and HS_BYTES; 0: only the row's limit; 0 for
 * other types. `flags`: HS_NOT_NULL, HS_ROW_WISE or 0. Error handle: schema. */
HS_API int hs_schema_column(hs_schema* schema, const char* name, hs_type type, uint32_t max_bytes, int flags);
/* Sets the primary key: the order that rows are stored in, and what hs_get(), hs_update() and hs_delete()
 * find them by. A table without one keeps rows in the order of insertion. */
HS_API int hs_schema_primary_key(hs_schema* schema, const char* const* columns, size_t column_count);
/* Adds an index. `flags`: NULL, or HS_DESCENDING or 0 for each column. Rows with a NULL in a unique index do
 * not count as equal. */
HS_API int hs_schema_index(hs_schema* schema, const char* name, int unique, const char* const* columns,
                           const int* flags, size_t column_count);

/* The table's rows are to be in memory only: they are gone when the database is closed, while the table
 * stays. `most_bytes`: that they may take; 0: what hs_options.in_memory_bytes leaves. A write that needs more
 * is HS_TABLE_FULL. Error handle: schema. */
HS_API int hs_schema_in_memory(hs_schema* schema, uint64_t most_bytes);

typedef enum hs_time_unit {
  HS_HOURS = 1,
  HS_DAYS = 2,
  HS_WEEKS = 3,
  HS_MONTHS = 4,
  HS_YEARS = 5
} hs_time_unit;

/* Rows are to expire when the time in `column` is more than `amount` units back: they end then as if another
 * transaction had deleted them, and what a snapshot sees it sees on. `column`: of type HS_TIMESTAMP, HS_DATE
 * (a day has passed when it is over), or integers, which count seconds since 1970-01-01 00:00 UTC; rows where
 * it is NULL stay. Months and years are those of the calendar, in UTC, all else is 24 hours a day. `amount`:
 * at most 1,000,000; 0: rows stay, and `column` may be NULL. Error handle: schema. */
HS_API int hs_schema_retention(hs_schema* schema, const char* column, uint32_t amount, hs_time_unit unit);

/* Makes the table. HS_ALREADY_EXISTS; HS_BUSY when another open transaction has made or dropped a table of
 * that name; HS_INVALID names what is wrong with the schema. `table`: NULL, or as hs_table_open(). Error
 * handle: transaction. */
HS_API int hs_table_create(hs_transaction* transaction, const char* name, const hs_schema* schema,
                           hs_table** table);
/* Drops the table, after waiting for transactions that have changed rows of it. HS_NOT_FOUND, HS_BUSY. */
HS_API int hs_table_drop(hs_transaction* transaction, const char* name);
/* Renames it; table handles stay good. HS_NOT_FOUND, HS_ALREADY_EXISTS, HS_BUSY. */
HS_API int hs_table_rename(hs_transaction* transaction, const char* from, const char* to);
/* The same as hs_schema_retention() for a table that is there. HS_NOT_FOUND: no such table or column.
 * HS_BUSY. */
HS_API int hs_table_retention(hs_transaction* transaction, const char* name, const char* column,
                              uint32_t amount, hs_time_unit unit);
/* Names of the tables that begin with `prefix` (NULL: all), in byte order: the one that follows `after`
 * (NULL: the first). HS_NOT_FOUND: there is none. *name is valid until the next call with the transaction. */
HS_API int hs_table_next(hs_transaction* transaction, const char* prefix, const char* after,
                         const char** name);

/* A handle to the table as the transaction sees it, good for all transactions of the database, and for as
 * long as the table is there: HS_NOT_FOUND later, once it has been dropped. Error handle: transaction. */
HS_API int hs_table_open(hs_transaction* transaction, const char* name, hs_table** table);
HS_API void hs_table_close(hs_table* table);
/* Number of columns, and what the column number `column` (from 0 on) is; the name is valid for ever. Each
 * pointer may be NULL. HS_NOT_FOUND for a number that is too great. */
HS_API size_t hs_table_columns(const hs_table* table);
HS_API int hs_table_column(const hs_table* table, size_t column, const char** name, hs_type* type,
                           int* flags);
/* The max_bytes of a HS_STRING or HS_BYTES column; 0: none. */
HS_API int hs_table_column_limit(const hs_table* table, size_t column, uint32_t* max_bytes);

#define HS_PRIMARY 8 /* the index is the primary key */
#define HS_UNIQUE 16

/* The index number `index`, from 0 on, the primary key first: its name, HS_PRIMARY and HS_UNIQUE, and how
 * many columns it has. Each pointer may be NULL; the name is valid for ever. HS_NOT_FOUND for a
 * number that is too great. */
HS_API int hs_table_index(const hs_table* table, size_t index, const char** name, int* flags,
                          size_t* column_count);
/* The column (its number) that is part `part` of the index, and HS_DESCENDING or 0. HS_NOT_FOUND. */
HS_API int hs_table_index_column(const hs_table* table, size_t index, size_t part, size_t* column,
                                 int* flags);
/* Reads every byte of the table and compares its indexes with its rows. HS_CORRUPT names the first thing that
 * is wrong. HS_UNSUPPORTED: nothing is, as far as this program can tell; the sentence names an index of texts
 * in a collation that only the program that made the table knows. Error handle: transaction. */
HS_API int hs_table_check(hs_transaction* transaction, hs_table* table);
/* Estimates: rows, and bytes on disk and in memory; of a table that was dropped, what they were last. Each
 * pointer may be NULL. */
HS_API int hs_table_size(hs_table* table, uint64_t* rows, uint64_t* bytes);

/* ------------------------------------------------------------------------------------------------------
 * Rows one by one. `values`: one for each column of the table, in order. `key`: one value for each column of
 * the primary key. A call that writes a row locks it until the end of the transaction; a call that
 * needs a locked row waits (HS_LOCK_TIMEOUT, HS_DEADLOCK). Error handle: transaction.
 */

/* HS_DUPLICATE_KEY names the index and the key. */
HS_API int hs_insert(hs_transaction* transaction, hs_table* table, const hs_value* values,
                     size_t value_count);
/* Replaces the row of this key. `columns`: NULL, `values` is the whole new row; else the numbers of the
 * columns that change, each once, one for each value. The key itself may change. HS_NOT_FOUND,
 * HS_DUPLICATE_KEY. */
HS_API int hs_update(hs_transaction* transaction, hs_table* table, const hs_value* key, size_t key_count,
                     const uint32_t* columns, const hs_value* values, size_t value_count);
/* Inserts the row, or replaces the one that has its primary key: one statement, whatever other transactions
 * do meanwhile. HS_DUPLICATE_KEY: another row has its key of a unique index. HS_INVALID: the table has no
 * primary key. */
HS_API int hs_upsert(hs_transaction* transaction, hs_table* table, const hs_value* values,
                     size_t value_count);
HS_API int hs_delete(hs_transaction* transaction, hs_table* table, const hs_value* key, size_t key_count);

typedef enum hs_lock {
  HS_LOCK_NONE = 0,     /* reads what the transaction's isolation shows */
  HS_LOCK_SHARED = 1,   /* reads the newest committed row, and keeps others from changing it */
  HS_LOCK_EXCLUSIVE = 2 /* and from locking it */
} hs_lock;

/* Fills `values` with the columns of the row, at most `value_count` of them. Bytes are valid until the next
 * call with the transaction. HS_NOT_FOUND. */
HS_API int hs_get(hs_transaction* transaction, hs_table* table, const hs_value* key, size_t key_count,
                  hs_lock lock, hs_value* values, size_t value_count);

/* ------------------------------------------------------------------------------------------------------
 * Rows in the order of an index. A cursor sees the rows as they were when it was first moved. Error handle:
 * transaction for hs_cursor_open(), else cursor.
 */

/* `index`: name of an index; NULL: the primary key, or the order of insertion where there is none. */
HS_API int hs_cursor_open(hs_transaction* transaction, hs_table* table, const char* index, hs_lock lock,
                          hs_cursor** cursor);
HS_API void hs_cursor_close(hs_cursor* cursor);
/* Moves to the first row whose first `key_count` index columns are at or after the values (in the order of
 * the index); key_count = 0: to the very first. HS_NOT_FOUND: there is none. */
HS_API int hs_cursor_seek(hs_cursor* cursor, const hs_value* key, size_t key_count);
/* Moves to the last row whose first `key_count` index columns are at or before the values; key_count = 0: to
 * the very last. HS_NOT_FOUND. */
HS_API int hs_cursor_seek_last(hs_cursor* cursor, const hs_value* key, size_t key_count);
/* Sets where the cursor ends: behind the last row whose first `key_count` index columns are at or before the
 * values (in the order of the index); key_count = 0: at the end of the index. What is behind gives
 * HS_NOT_FOUND, and a cursor that locks rows neither locks nor waits for it. The cursor stands on no row
 * then. */
HS_API int hs_cursor_until(hs_cursor* cursor, const hs_value* key, size_t key_count);
/* HS_NOT_FOUND at the end; the cursor must be moved by a seek then. */
HS_API int hs_cursor_next(hs_cursor* cursor);
HS_API int hs_cursor_previous(hs_cursor* cursor);
/* Fills `values` with the columns of the row that the cursor stands on, at most `value_count` of them. Bytes
 * are valid until the next call with the cursor. */
HS_API int hs_cursor_row(hs_cursor* cursor, hs_value* values, size_t value_count);
/* Many rows at once: fills `values` with the row that the cursor stands on and those behind it (backwards =
 * 1: before it), each with its first `value_count` columns, at most `most_rows` of them, and moves the cursor
 * to the next one. `*rows` gets how many; fewer than `most_rows`: the end has been reached, and the cursor
 * stands on no row; further calls give 0. Bytes are valid until the next call with the cursor. On an error no
 * row is given. */
HS_API int hs_cursor_rows(hs_cursor* cursor, int backwards, hs_value* values, size_t value_count,
                          size_t most_rows, size_t* rows);

/* ------------------------------------------------------------------------------------------------------
 * Bulk load: rows go straight to compressed columns, past the log. They are part of the transaction, but only
 * after hs_load_finish(). Keys are checked there, so that is where HS_DUPLICATE_KEY comes. Several loads,
 * also of several transactions, may go on at once. Error handle: transaction for hs_load_begin(), else load.
 */
HS_API int hs_load_begin(hs_transaction* transaction, hs_table* table, hs_load** load);
/* One row, as for hs_insert(). After an error the load can only be closed. */
HS_API int hs_load_row(hs_load* load, const hs_value* values, size_t value_count);
/* The rows of an Arrow struct array (a record batch), whose children go to the columns of their names.
 * Columns that have no child become NULL. Taken are integers, floating-point numbers, booleans (0 and 1),
 * strings and binaries (also large and fixed-size ones, and views), date32, date64, timestamps of any unit,
 * null, and dictionaries of these. Numbers must fit as for hs_insert(), times without loss: HS_OUT_OF_RANGE
 * for a timestamp with digits below the microsecond. Both structures stay the caller's. */
HS_API int hs_load_arrow(hs_load* load, const struct ArrowSchema* schema, const struct ArrowArray* array);
/* All batches of the stream. The stream is released, also on failure. */
HS_API int hs_load_stream(hs_load* load, struct ArrowArrayStream* stream);
/* Makes the rows part of the transaction. On failure none of them is. The load can only be closed then. */
HS_API int hs_load_finish(hs_load* load);
/* Frees the handle; what was not finished is discarded. */
HS_API void hs_load_close(hs_load* load);

/* ------------------------------------------------------------------------------------------------------
 * Predicates: conditions on columns, built from the leaves up. As in SQL, a comparison with NULL is unknown,
 * and a row counts only when the whole is true. Columns are named; whether they are there and whether values
 * fit is found out by hs_scan_filter(). Numbers compare by value whatever their kinds (a column of HS_INT8
 * may be compared with 1000 or 1.5). Each function returns NULL when there is no memory, or an argument is
 * wrong; the combining ones take NULL parts and return NULL then, so that only the root need be looked at.
 * AND within AND and OR within OR count as one level; of others there may be 1,000: more are NULL, too. Do
 * look at the root: to hs_scan_filter() NULL means all rows.
 */
typedef enum hs_comparison {
  HS_EQUAL = 0,
  HS_NOT_EQUAL = 1,
  HS_LESS = 2,
  HS_LESS_OR_EQUAL = 3,
  HS_GREATER = 4,
  HS_GREATER_OR_EQUAL = 5
} hs_comparison;

HS_API hs_predicate* hs_compare(const char* column, hs_comparison comparison, hs_value value);
/* low <= column <= high */
HS_API hs_predicate* hs_between(const char* column, hs_value low, hs_value high);
HS_API hs_predicate* hs_in(const char* column, const hs_value* values, size_t value_count);
HS_API hs_predicate* hs_is_null(const char* column);
/* `pattern`: % stands for any characters, _ for one (of UTF-8 for HS_STRING, a byte for HS_BYTES), `escape`
 * before a character for that character itself; escape = 0: there is none. Case counts. */
HS_API hs_predicate* hs_like(const char* column, const char* pattern, char escape);
/* These three own their parts from now on, also when they return NULL. No parts: true and false. A part that
 * is owned already, or comes twice, is wrong: NULL. */
HS_API hs_predicate* hs_and(hs_predicate* const* parts, size_t part_count);
HS_API hs_predicate* hs_or(hs_predicate* const* parts, size_t part_count);
HS_API hs_predicate* hs_not(hs_predicate* part);
/* Frees it with its parts. Nothing happens to one that another owns. */
HS_API void hs_predicate_free(hs_predicate* predicate);

/* ------------------------------------------------------------------------------------------------------
 * Scans: all rows, or those that a predicate admits, in no particular order, by columns. Error handle:
 * transaction for hs_scan_open(), else scan.
 */
HS_API int hs_scan_open(hs_transaction* transaction, hs_table* table, hs_scan** scan);
HS_API void hs_scan_close(hs_scan* scan);

#define HS_AS_DICTIONARY 1

/* Adds a column to the result. None added: all columns. `flags`: 0, or HS_AS_DICTIONARY for HS_STRING and
 * HS_BYTES: values come as 32-bit indices into a dictionary, which is cheap where a column has few distinct
 * values, as it is stored so. HS_NOT_FOUND. */
HS_API int hs_scan_column(hs_scan* scan, const char* column, int flags);
/* Sets the predicate (NULL: none), of which the scan keeps a copy. HS_NOT_FOUND for a column, HS_INVALID for
 * a value of the wrong kind or a predicate that is none. */
HS_API int hs_scan_filter(hs_scan* scan, const hs_predicate* predicate);
/* At most so many threads work on an aggregate, the calling one included: 1 to 64. At first: 2. The others
 * are background threads of the database that are free. */
HS_API int hs_scan_threads(hs_scan* scan, unsigned threads);

/* Starts the scan; *stream gives its rows as struct arrays of up to 65,536 rows. The schema's types:
 *   HS_INT8 … HS_UINT64, HS_FLOAT, HS_DOUBLE   the same
 *   HS_STRING, HS_BYTES                        utf8, binary; as dictionary: int32 indices to these
 *   HS_DATE, HS_BOOL                           date32, boolean
 *   HS_TIMESTAMP, HS_DATETIME                  timestamp in microseconds, UTC; without a time zone
 * The scan may be closed, changed or started again at once. The stream belongs to the transaction's thread,
 * and gives an error after its end; arrays are independent of everything and may go to other threads. The
 * caller releases both. A dictionary may differ from array to array; its values are distinct. */
HS_API int hs_scan_stream(hs_scan* scan, struct ArrowArrayStream* stream);

typedef enum hs_aggregate_kind {
  HS_COUNT_ROWS = 0, /* rows; `column` is not looked at. HS_VALUE_UINT */
  HS_COUNT = 1,      /* values that are not NULL. HS_VALUE_UINT */
  HS_MIN = 2,        /* NULL when there is no value */
  HS_MAX = 3,
  HS_SUM = 4 /* of numbers: integers as HS_VALUE_INT, or HS_VALUE_UINT where that is needed; else
              * HS_OUT_OF_RANGE. Floating ones as HS_VALUE_DOUBLE. NULL when there is no value */
} hs_aggregate_kind;

typedef struct hs_aggregate {
  hs_aggregate_kind kind;
  const char* column;
} hs_aggregate;

/* Computes `results[i]` of `aggregates[i]` over the rows that the filter admits, inside the engine: on
 * encoded blocks, skipping those that cannot match. Columns of hs_scan_column() do not matter. Bytes are
 * valid until the next call with the scan. */
HS_API int hs_scan_aggregate(hs_scan* scan, const hs_aggregate* aggregates, hs_value* results, size_t count);
/* The number of rows. */
HS_API int hs_scan_count(hs_scan* scan, uint64_t* rows);

/* ------------------------------------------------------------------------------------------------------
 * Queries: joins, groups, orders, without SQL. A query is rows, and each function puts an operation on top of
 * those before it. Nothing is read before hs_query_stream(). Error handle: transaction for the functions that
 * make a query, else query. An operation that fails has changed nothing, and says what is wrong with which
 * text.
 *
 *   hs_query_table(tx, sales, NULL, &query);
 *   hs_query_table(tx, shops, NULL, &other);
 *   hs_query_join(query, other, HS_JOIN_INNER, "sales.shop = shops.id", NULL, 0);
 *   hs_query_filter(query, "day >= DATE '2024-03-01' AND region = ?", &region, 1);
 *   const char *keys[] = {"city"}, *sums[] = {"SUM(price * n) AS total", "COUNT(*) AS sales"};
 *   hs_query_aggregate(query, keys, 1, sums, 2, NULL, 0);
 *   const char *order[] = {"total DESC"};
 *   hs_query_sort(query, order, 1, NULL, 0);
 *   hs_query_limit(query, 0, 10);
 *   hs_query_stream(query, &stream);
 *
 * Expressions are texts in the words of SQL, with the types, the digits and the NULLs that MariaDB has for
 * them: docs/design/expression-language.md. Columns are named as in SQL, in any case: price, sales.price,
 * `any name`. ? stands for a parameter, in the order of the texts of the call. A division by zero is NULL. A
 * value that has no room in its type, or a DECIMAL of more than 38 digits, ends the query with
 * HS_OUT_OF_RANGE or HS_INVALID.
 *
 * A query sees what a scan of its transaction would see at hs_query_stream(), the transaction's own changes
 * included. hs_interrupt() ends it from another thread.
 */
typedef struct hs_query hs_query;

/* The rows of a table, which are named `alias`.column; NULL: what stands behind the slash of its name. */
HS_API int hs_query_table(hs_transaction* transaction, hs_table* table, const char* alias, hs_query** query);
/* The rows of an Arrow stream of record batches. The library has the stream from now on, also when this
 * fails; it reads it once, when the query runs, on the thread that reads the result. Types as for
 * hs_load_stream(); HS_UNSUPPORTED for others. `alias` is not NULL. */
HS_API int hs_query_arrow(hs_transaction* transaction, struct ArrowArrayStream* stream, const char* alias,
                          hs_query** query);
/* `row_count` rows that are given, row after row, as `alias`.column. A column is of the kind of its first
 * value that is not NULL: BIGINT, BIGINT UNSIGNED, DOUBLE or text. HS_INVALID: it has none, or another one is
 * of another kind. */
HS_API int hs_query_values(hs_transaction* transaction, const char* alias, const char* const* columns,
                           size_t column_count, const hs_value* values, size_t row_count, hs_query** query);
/* Also of a query that has been used up. */
HS_API void hs_query_close(hs_query* query);

/* The rows for which the condition is TRUE. HS_INVALID for what is no condition of these columns;
 * HS_UNSUPPORTED for a function of SQL that the library does not compute: the same of all texts below. */
HS_API int hs_query_filter(hs_query* query, const char* condition, const hs_value* parameters,
                           size_t parameter_count);
/* Other columns: "price", "price * n AS total", "*", "sales.*". */
HS_API int hs_query_project(hs_query* query, const char* const* items, size_t item_count,
                            const hs_value* parameters, size_t parameter_count);

typedef enum hs_join_kind {
  HS_JOIN_INNER = 0, /* each pair for which the condition is TRUE */
  HS_JOIN_LEFT = 1,  /* and rows of the left side that are in none, with NULL on the right */
  HS_JOIN_SEMI = 2,  /* rows of the left side that are in a pair, once: EXISTS */
  HS_JOIN_ANTI = 3   /* those that are in none: NOT EXISTS */
} hs_join_kind;

/* Joins the rows, which are the left side, with those of another query of the same transaction. That one is
 * used up: it can only be closed. `condition` NULL: TRUE. */
HS_API int hs_query_join(hs_query* query, hs_query* right, hs_join_kind kind, const char* condition,
                         const hs_value* parameters, size_t parameter_count);
/* Groups of rows with equal keys, or, without keys, one of all rows: a row each, with the keys, which are
 * items of hs_query_project(), and the aggregates: COUNT(*), and COUNT, SUM, AVG, MIN and MAX of an
 * expression or, but for AVG, of DISTINCT ones; "… AS name". Parameters of keys come first. */
HS_API int hs_query_aggregate(hs_query* query, const char* const* keys, size_t key_count,
                              const char* const* aggregates, size_t aggregate_count,
                              const hs_value* parameters, size_t parameter_count);
/* Of equal rows one. */
HS_API int hs_query_distinct(hs_query* query);
/* The rows in an order: "total", "price * n DESC". NULL comes first, or with DESC last. Right behind
 * hs_query_project() also by columns that it has left out. Only hs_query_limit() right behind it, and the
 * stream, see the order. */
HS_API int hs_query_sort(hs_query* query, const char* const* keys, size_t key_count,
                         const hs_value* parameters, size_t parameter_count);
/* `most` rows behind the first `offset` ones. */
HS_API int hs_query_limit(hs_query* query, uint64_t offset, uint64_t most);
/* The rows of both, as UNION ALL has them. Columns stand for each other by their places, and have the names
 * of the left ones. Numbers become such of a type that has room for both; else the types are the same
 * (HS_INVALID). `right` is used up. */
HS_API int hs_query_union(hs_query* query, hs_query* right);

/* At most so many threads work at the query, the calling one included: 1 to 64. At first: 2. */
HS_API int hs_query_threads(hs_query* query, unsigned threads);
/* So many bytes groups, sorted rows and joined tables may take before they go on by way of files; 0, as at
 * first: what hs_options.memory_bytes and other queries leave. */
HS_API int hs_query_memory(hs_query* query, uint64_t bytes);
/* What is to be computed, a line for each operation; behind a stream's start what each has done, too. *text
 * is valid until the next call with the query. */
HS_API int hs_query_explain(hs_query* query, const char** text);
/* Of the stream that was started last: rows that scans have given, and that they will at most. For other
 * threads, too; HS_INVALID: there is no such stream. */
HS_API int hs_query_progress(hs_query* query, uint64_t* rows, uint64_t* rows_of_tables);

/* Starts the query; *stream gives its rows as struct arrays of up to 65,536 rows. The types of columns of
 * tables are those of hs_scan_stream(). Of computed ones: int64, uint64, decimal128 of up to 38 digits,
 * double, utf8 and binary; date32, timestamp and duration in microseconds; boolean of conditions. The query
 * may be changed, started again (but for Arrow streams that it has read), or closed at once. The stream
 * belongs to the transaction's thread. */
HS_API int hs_query_stream(hs_query* query, struct ArrowArrayStream* stream);

#ifdef __cplusplus
}
#endif

#endif /* HAILSTONE_H */
