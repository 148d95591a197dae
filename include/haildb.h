/* HailDB's C interface (version 2.3), served by Hailstone. Programs written for HailDB compile against this
   header and link with -lhailstone. docs/haildb.md is the guide: how to begin, what differs, what each
   variable does.

   The engine is one for a process: ib_init(), ib_cfg_set()…, ib_startup(), work, ib_shutdown(), and again if
   wanted.

   Threads: ib_init, ib_startup, ib_shutdown and the setters of handlers must not run beside other calls. A
   transaction with its cursors and tuples belongs to one thread at a time; different transactions run in
   parallel.

   Errors: functions return DB_SUCCESS or another ib_err_t. A handle that is NULL, was given back or is of
   another kind is answered by DB_INVALID_INPUT (NULL, 0 or nothing at all where no ib_err_t is returned).
   After an unrecoverable failure (see ib_set_panic_handler) nearly every function returns that failure's
   code. The library ends the process in one case only: when it finds an invariant of its own broken, as what
   it would do next is unknown; the panic handler is called before, with DB_FATAL.

   Names of tables are "database/table". Text is bytes and compared as such. */
#ifndef HAILDB_H
#define HAILDB_H

/* NOLINTBEGIN(performance-enum-size): enumerations of C have the size that C gives them */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef _MSC_VER
#define strncasecmp _strnicmp
#define strcasecmp _stricmp
#endif

#if defined(__GNUC__) && __GNUC__ >= 3
#define UNIV_NO_IGNORE __attribute__((warn_unused_result))
#else
#define UNIV_NO_IGNORE
#endif

#if defined(_WIN32) || defined(__CYGWIN__)
#if defined(HAILDB_BUILDING)
#define HAILDB_API extern __declspec(dllexport)
#define HAILDB_LOCAL
#else
#define HAILDB_API extern __declspec(dllimport)
#define HAILDB_LOCAL
#endif
#elif defined(__SUNPRO_C) && __SUNPRO_C >= 0x550
#define HAILDB_API __global
#define HAILDB_LOCAL __hidden
#elif defined(__GNUC__) && __GNUC__ >= 4
#define HAILDB_API __attribute__((visibility("default")))
#define HAILDB_LOCAL __attribute__((visibility("hidden")))
#else
#define HAILDB_API
#define HAILDB_LOCAL
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* --- Numbers and limits --- */

#define IB_TRUE 0x1UL
#define IB_FALSE 0x0UL
#define IB_SQL_NULL 0xFFFFFFFF /* the length of an SQL NULL */
#define IB_N_SYS_COLS 3        /* hidden columns at the end of every row: DB_ROW_ID, DB_TRX_ID, DB_ROLL_PTR */
#define MAX_TEXT_LEN 4096      /* of ib_tbl_sch_add_text_col */
#define IB_MAX_COL_NAME_LEN (64 * 3)   /* bytes */
#define IB_MAX_TABLE_NAME_LEN (64 * 3) /* bytes */

typedef unsigned char ib_byte_t;
typedef unsigned long int ib_ulint_t;
typedef void* ib_opaque_t;
typedef ib_ulint_t ib_bool_t;
typedef ib_opaque_t ib_charset_t;
typedef int8_t ib_i8_t;
typedef uint8_t ib_u8_t;
typedef int16_t ib_i16_t;
typedef uint16_t ib_u16_t;
typedef int32_t ib_i32_t;
typedef uint32_t ib_u32_t;
typedef int64_t ib_i64_t;
typedef uint64_t ib_u64_t;
typedef ib_u64_t ib_id_t;
typedef void (*ib_cb_t)(void);

/* --- Results --- */

/* Codes without a comment are never returned by Hailstone. */
enum db_err {
  DB_SUCCESS = 10,
  DB_ERROR = 11,         /* any failure without a code of its own; the logger gets the words */
  DB_INTERRUPTED = 12,   /* the interruption handler ended an index build */
  DB_OUT_OF_MEMORY = 13, /* of the budget that buffer_pool_size sets, or of the system's */
  DB_OUT_OF_FILE_SPACE = 14,
  DB_LOCK_WAIT = 15,
  DB_DEADLOCK = 16, /* the transaction was chosen as victim and is rolled back */
  DB_ROLLBACK = 17,
  DB_DUPLICATE_KEY = 18,
  DB_QUE_THR_SUSPENDED = 19,
  DB_MISSING_HISTORY = 20, /* a cursor has no transaction, or its snapshot has not got the table */
  DB_CLUSTER_NOT_FOUND = 30,
  DB_TABLE_NOT_FOUND = 31, /* also: index not found */
  DB_MUST_GET_MORE_FILE_SPACE = 32,
  DB_TABLE_IS_BEING_USED = 33, /* the table to create exists, or another transaction changes it */
  DB_TOO_BIG_RECORD = 34,
  DB_LOCK_WAIT_TIMEOUT = 35,
  DB_NO_REFERENCED_ROW = 36,
  DB_ROW_IS_REFERENCED = 37,
  DB_CANNOT_ADD_CONSTRAINT = 38,
  DB_CORRUPTION = 39,
  DB_COL_APPEARS_TWICE_IN_INDEX = 40,
  DB_CANNOT_DROP_CONSTRAINT = 41,
  DB_NO_SAVEPOINT = 42,
  DB_TABLESPACE_ALREADY_EXISTS = 43,
  DB_TABLESPACE_DELETED = 44, /* the table is dropped already, but cursors on it are open */
  DB_LOCK_TABLE_FULL = 45,
  DB_FOREIGN_DUPLICATE_KEY = 46,
  DB_TOO_MANY_CONCURRENT_TRXS = 47,
  DB_UNSUPPORTED = 48,
  DB_PRIMARY_KEY_IS_NULL = 49,
  DB_FATAL = 50,
  DB_FAIL = 1000,
  DB_OVERFLOW = 1001,
  DB_UNDERFLOW = 1002,
  DB_STRONG_FAIL = 1003,
  DB_ZIP_OVERFLOW = 1004,
  DB_RECORD_NOT_FOUND = 1500,
  DB_END_OF_INDEX = 1501,
  DB_SCHEMA_ERROR = 2000,
  DB_DATA_MISMATCH = 2001,
  DB_SCHEMA_NOT_LOCKED = 2002,
  DB_NOT_FOUND = 2003,
  DB_READONLY = 2004,
  DB_INVALID_INPUT = 2005
};
typedef enum db_err ib_err_t;

/* --- Enumerations --- */

typedef enum {                   /* what ib_cfg_set takes and ib_cfg_get writes */
               IB_CFG_IBOOL = 0, /* ib_bool_t */
               IB_CFG_ULINT = 1, /* ib_ulint_t */
               IB_CFG_ULONG = 2, /* unsigned long */
               IB_CFG_TEXT = 3,  /* const char*; kept by pointer */
               IB_CFG_CB = 4     /* ib_cb_t */
} ib_cfg_type_t;

typedef enum {
  IB_VARCHAR = 1,   /* bytes compare; the shorter value as if padded with spaces */
  IB_CHAR = 2,      /* the same, stored padded with spaces to its length */
  IB_BINARY = 3,    /* as IB_CHAR, padded with zero bytes */
  IB_VARBINARY = 4, /* as IB_VARCHAR */
  IB_BLOB = 5,      /* compared by the client's function (ib_set_client_compare) */
  IB_INT = 6,       /* 1, 2, 4 or 8 bytes, signed unless IB_COL_UNSIGNED; compared by value */
  IB_SYS = 8,       /* the hidden columns */
  IB_FLOAT = 9,
  IB_DOUBLE = 10,
  IB_DECIMAL = 11,            /* a number as text, "-12.50"; compared by value */
  IB_VARCHAR_ANYCHARSET = 12, /* compared by the client's function */
  IB_CHAR_ANYCHARSET = 13     /* compared by the client's function; padded with spaces */
} ib_col_type_t;

typedef enum { /* remembered; all tables are stored alike */
               IB_TBL_REDUNDANT = 0,
               IB_TBL_COMPACT = 1,
               IB_TBL_DYNAMIC = 2,
               IB_TBL_COMPRESSED = 3
} ib_tbl_fmt_t;

typedef enum { /* bits */
               IB_COL_NONE = 0,
               IB_COL_NOT_NULL = 1,
               IB_COL_UNSIGNED = 2,
               IB_COL_NOT_USED = 4,
               IB_COL_CUSTOM1 = 8, /* the CUSTOM bits are the program's own */
               IB_COL_CUSTOM2 = 16,
               IB_COL_CUSTOM3 = 32
} ib_col_attr_t;

typedef enum {
  IB_LOCK_IS = 0, /* of tables */
  IB_LOCK_IX = 1, /* of tables */
  IB_LOCK_S = 2,
  IB_LOCK_X = 3,
  IB_LOCK_NOT_USED = 4,
  IB_LOCK_NONE = 5, /* read a snapshot */
  IB_LOCK_NUM = IB_LOCK_NONE
} ib_lck_mode_t;

typedef enum {                /* where ib_cursor_moveto goes */
               IB_CUR_G = 1,  /* first row after the key */
               IB_CUR_GE = 2, /* first row not before the key */
               IB_CUR_L = 3,  /* last row before the key */
               IB_CUR_LE = 4  /* last row not after the key */
} ib_srch_mode_t;

typedef enum { /* what counts as a hit of ib_cursor_moveto */
               IB_CLOSEST_MATCH = 0,
               IB_EXACT_MATCH = 1, /* the key itself */
               IB_EXACT_PREFIX = 2 /* the last character column of the key may be a prefix */
} ib_match_mode_t;

typedef enum {
  IB_TRX_NOT_STARTED = 0,
  IB_TRX_ACTIVE = 1,
  IB_TRX_COMMITTED_IN_MEMORY = 2,
  IB_TRX_PREPARED = 3
} ib_trx_state_t;

typedef enum {
  IB_TRX_READ_UNCOMMITTED = 0, /* a search sees the latest versions, committed or not */
  IB_TRX_READ_COMMITTED = 1,   /* a snapshot per statement: ib_cursor_stmt_begin, _first, _last, _moveto */
  IB_TRX_REPEATABLE_READ = 2,  /* one snapshot, taken when the first cursor is opened or attached */
  IB_TRX_SERIALIZABLE = 3      /* locks what it reads, ranges too */
} ib_trx_level_t;

typedef enum { /* all close cleanly; the names remain for the sake of programs */
               IB_SHUTDOWN_NORMAL = 0,
               IB_SHUTDOWN_NO_IBUFMERGE_PURGE = 1,
               IB_SHUTDOWN_NO_BUFPOOL_FLUSH = 2
} ib_shutdown_t;

/* --- Handles and structures --- */

typedef struct ib_tpl_struct* ib_tpl_t;         /* a tuple: a row, or a key */
typedef struct ib_trx_struct* ib_trx_t;         /* a transaction */
typedef struct ib_crsr_struct* ib_crsr_t;       /* a cursor on an index */
typedef struct ib_tbl_sch_struct* ib_tbl_sch_t; /* a table being described */
typedef struct ib_idx_sch_struct* ib_idx_sch_t; /* an index being described */

typedef struct {
  ib_col_type_t type;
  ib_col_attr_t attr;
  ib_u32_t type_len;     /* declared length; 0: no limit */
  ib_u16_t client_type;  /* as given to ib_table_schema_add_col */
  ib_charset_t* charset; /* not used */
} ib_col_meta_t;

typedef struct {
  ib_i64_t stat_n_rows;                   /* estimate */
  ib_u64_t stat_clustered_index_size;     /* bytes */
  ib_u64_t stat_sum_of_other_index_sizes; /* bytes */
  ib_u64_t stat_modified_counter; /* row changes since the first look, or ib_update_table_statistics */
} ib_table_stats_t;

/* --- Callbacks --- */

typedef FILE* ib_msg_stream_t;
typedef int (*ib_msg_log_t)(ib_msg_stream_t, const char*, ...);

/* <0, 0, >0. Gets neither NULLs nor type_len. Must be a total order that never changes, and call no function
   of this header; any thread may call it. */
typedef int (*ib_client_cmp_t)(const ib_col_meta_t* col_meta, const ib_byte_t* p1, ib_ulint_t p1_len,
                               const ib_byte_t* p2, ib_ulint_t p2_len);
/* (NULL, code, format, values of the format) */
typedef void (*ib_panic_handler_t)(void*, int, char*, ...);
/* Gets the transaction's client data; non-zero: give up. */
typedef int (*ib_trx_is_interrupted_handler_t)(void*);

/* Visitors return 0 to go on. */
typedef int (*ib_schema_visitor_table_all_t)(void* arg, const char* name,
                                             int name_len); /* name: no final zero */
typedef int (*ib_schema_visitor_table_t)(void* arg, const char* name, ib_tbl_fmt_t tbl_fmt,
                                         ib_ulint_t page_size, int n_cols, int n_indexes);
typedef int (*ib_schema_visitor_table_col_t)(void* arg, const char* name, ib_col_type_t col_type,
                                             ib_ulint_t len, ib_col_attr_t attr);
typedef int (*ib_schema_visitor_index_t)(void* arg, const char* name, ib_bool_t clustered, ib_bool_t unique,
                                         int n_cols);
typedef int (*ib_schema_visitor_index_col_t)(void* arg, const char* name, ib_ulint_t prefix_len);

typedef enum { /* the last of the visitors that is called */
               IB_SCHEMA_VISITOR_TABLE = 1,
               IB_SCHEMA_VISITOR_TABLE_COL = 2,
               IB_SCHEMA_VISITOR_TABLE_AND_INDEX = 3,
               IB_SCHEMA_VISITOR_TABLE_AND_INDEX_COL = 4
} ib_schema_visitor_version_t;

typedef struct { /* NULL members are passed over; a NULL `index` ends the visit */
  ib_schema_visitor_version_t version;
  ib_schema_visitor_table_t table;
  ib_schema_visitor_table_col_t table_col;
  ib_schema_visitor_index_t index;
  ib_schema_visitor_index_col_t index_col;
} ib_schema_visitor_t;

/* --- The engine --- */

/* 0x600000000: interface 6, revision 0, age 0. */
HAILDB_API ib_u64_t ib_api_version(void) UNIV_NO_IGNORE;
/* Comes first, and again after each ib_shutdown: sets the defaults. DB_ERROR: already initialised. */
HAILDB_API ib_err_t ib_init(void) UNIV_NO_IGNORE;
/* Opens the database in data_home_dir, or creates it; recovers what a crash left. format: "Antelope",
   "Barracuda" (any case), "0", "1" or NULL, else DB_UNSUPPORTED; sets the variable file_format. DB_ERROR: the
   logger says why. */
HAILDB_API ib_err_t ib_startup(const char* format) UNIV_NO_IGNORE;
/* Closes the database, and forgets the configuration. Open transactions are rolled back; all handles are
 * void. */
HAILDB_API ib_err_t ib_shutdown(ib_shutdown_t flag) UNIV_NO_IGNORE;
/* Static text. */
HAILDB_API const char* ib_strerror(ib_err_t db_errno) UNIV_NO_IGNORE;

/* --- Configuration and status: see docs/haildb.md for the names --- */

/* Integers must be passed as unsigned long (ib_ulint_t). Names in any case. DB_NOT_FOUND; DB_READONLY (also:
   only before ib_startup); DB_INVALID_INPUT. Text is kept by pointer. */
HAILDB_API ib_err_t ib_cfg_set(const char* name, ...) UNIV_NO_IGNORE;
/* Writes an ib_bool_t, ib_ulint_t, const char* or ib_cb_t to *value. */
HAILDB_API ib_err_t ib_cfg_get(const char* name, void* value) UNIV_NO_IGNORE;
/* The caller frees the array, not the names. */
HAILDB_API ib_err_t ib_cfg_get_all(const char*** names, ib_u32_t* names_num) UNIV_NO_IGNORE;
HAILDB_API ib_err_t ib_cfg_var_get_type(const char* name, ib_cfg_type_t* type) UNIV_NO_IGNORE;
/* HailDB's 41 names, then Hailstone's own counters. A NULL, not counted, ends the array, which the caller
 * frees. */
HAILDB_API ib_err_t ib_status_get_all(const char*** names, ib_u32_t* names_num) UNIV_NO_IGNORE;
/* DB_NOT_FOUND; DB_ERROR before ib_startup. */
HAILDB_API ib_err_t ib_status_get_i64(const char* name, ib_i64_t* dst) UNIV_NO_IGNORE;

/* --- Handlers: set them after ib_init --- */

/* Gets all messages from then on, from any thread. Default: warnings and errors to stderr. */
HAILDB_API void ib_logger_set(ib_msg_log_t ib_msg_log, ib_msg_stream_t ib_msg_stream);
/* Told of failures that end all work: the log cannot be written any more. From then on nearly all functions
   return the code. Also told of each table that turns out to be damaged; others stay usable. */
HAILDB_API void ib_set_panic_handler(ib_panic_handler_t new_panic_handler);
/* Asked during lock waits and index builds of transactions with client data. */
HAILDB_API void ib_set_trx_is_interrupted_handler(ib_trx_is_interrupted_handler_t handler);
/* How IB_BLOB and the ANYCHARSET types compare. NULL: by bytes, the shorter first. Set it before the first
   use of a table that needs it, to the same function in every run. */
HAILDB_API void ib_set_client_compare(ib_client_cmp_t client_cmp_func);
/* 1: a panic, for tests of the handler. Else DB_ERROR. */
HAILDB_API ib_err_t ib_error_inject(int error_to_inject);

/* --- Databases --- */

/* IB_FALSE: the name contains '/', or the directory cannot be made. IB_TRUE also when it exists. */
HAILDB_API ib_bool_t ib_database_create(const char* dbname) UNIV_NO_IGNORE;
/* Drops all its tables in a transaction of its own. The caller holds no schema lock. Unknown: DB_SUCCESS. */
HAILDB_API ib_err_t ib_database_drop(const char* dbname) UNIV_NO_IGNORE;

/* --- Describing tables and indexes --- */

/* DB_DATA_MISMATCH: not a name. DB_UNSUPPORTED: page size of a compressed table (0, 1, 2, 4, 8 or 16 KB), or
   file_per_table off or file_format not Barracuda for one. */
HAILDB_API ib_err_t ib_table_schema_create(const char* name, ib_tbl_sch_t* ib_tbl_sch,
                                           ib_tbl_fmt_t ib_tbl_fmt, ib_ulint_t page_size) UNIV_NO_IGNORE;
/* DB_DUPLICATE_KEY: the name is there (in any case). DB_ERROR: name or length is not possible. */
HAILDB_API ib_err_t ib_table_schema_add_col(ib_tbl_sch_t ib_tbl_sch, const char* name,
                                            ib_col_type_t ib_col_type, ib_col_attr_t ib_col_attr,
                                            ib_u16_t client_type, ib_ulint_t len) UNIV_NO_IGNORE;
/* The index belongs to the table's schema: do not delete it. DB_INVALID_INPUT, DB_DUPLICATE_KEY. */
HAILDB_API ib_err_t ib_table_schema_add_index(ib_tbl_sch_t ib_tbl_sch, const char* name,
                                              ib_idx_sch_t* ib_idx_sch) UNIV_NO_IGNORE;
HAILDB_API void ib_table_schema_delete(ib_tbl_sch_t ib_tbl_sch);
/* An index for a table that exists; delete it after ib_index_create. Needs the exclusive schema lock. */
HAILDB_API ib_err_t ib_index_schema_create(ib_trx_t ib_usr_trx, const char* name, const char* table_name,
                                           ib_idx_sch_t* ib_idx_sch) UNIV_NO_IGNORE;
/* prefix_len: bytes of the column that the index holds, 0 = all. DB_COL_APPEARS_TWICE_IN_INDEX, DB_NOT_FOUND,
   DB_SCHEMA_ERROR: a prefix of a number. */
HAILDB_API ib_err_t ib_index_schema_add_col(ib_idx_sch_t ib_idx_sch, const char* name,
                                            ib_ulint_t prefix_len) UNIV_NO_IGNORE;
/* Rows are stored in this index's order. Implies unique. */
HAILDB_API ib_err_t ib_index_schema_set_clustered(ib_idx_sch_t ib_idx_sch) UNIV_NO_IGNORE;
HAILDB_API ib_err_t ib_index_schema_set_unique(ib_idx_sch_t ib_idx_sch) UNIV_NO_IGNORE;
HAILDB_API void ib_index_schema_delete(ib_idx_sch_t ib_idx_sch);

#define ib_tbl_sch_add_blob_col(s, n) ib_table_schema_add_col(s, n, IB_BLOB, IB_COL_NONE, 0, 0)
#define ib_tbl_sch_add_text_col(s, n) ib_table_schema_add_col(s, n, IB_VARCHAR, IB_COL_NONE, 0, MAX_TEXT_LEN)
#define ib_tbl_sch_add_varchar_col(s, n, l) ib_table_schema_add_col(s, n, IB_VARCHAR, IB_COL_NONE, 0, l)
#define ib_tbl_sch_add_u32_col(s, n) ib_table_schema_add_col(s, n, IB_INT, IB_COL_UNSIGNED, 0, 4)
#define ib_tbl_sch_add_u64_col(s, n) ib_table_schema_add_col(s, n, IB_INT, IB_COL_UNSIGNED, 0, 8)
#ifdef __cplusplus
#define ib_tbl_sch_add_u64_notnull_col(s, n) \
  ib_table_schema_add_col(s, n, IB_INT, (ib_col_attr_t)(IB_COL_NOT_NULL | IB_COL_UNSIGNED), 0, 8)
#else
#define ib_tbl_sch_add_u64_notnull_col(s, n) \
  ib_table_schema_add_col(s, n, IB_INT, IB_COL_NOT_NULL | IB_COL_UNSIGNED, 0, 8)
#endif

#define ib_cfg_set_int(name, value) ib_cfg_set(name, value)
#define ib_cfg_set_text(name, value) ib_cfg_set(name, value)
#define ib_cfg_set_bool_on(name) ib_cfg_set(name, IB_TRUE)
#define ib_cfg_set_bool_off(name) ib_cfg_set(name, IB_FALSE)
#define ib_cfg_set_callback(name, value) ib_cfg_set(name, value)

/* --- The schema lock, and changes of the schema ---

   DDL is part of the transaction: its commit publishes all of it at once, its rollback takes it back. The
   schema lock is one for the whole engine; the end of the transaction frees it. Functions that need it
   exclusive return DB_SCHEMA_NOT_LOCKED without it. */

HAILDB_API ib_err_t ib_schema_lock_shared(ib_trx_t ib_trx) UNIV_NO_IGNORE;
/* DB_SCHEMA_NOT_LOCKED: the transaction holds it shared. */
HAILDB_API ib_err_t ib_schema_lock_exclusive(ib_trx_t ib_trx) UNIV_NO_IGNORE;
HAILDB_API ib_bool_t ib_schema_lock_is_shared(const ib_trx_t ib_trx) UNIV_NO_IGNORE;
HAILDB_API ib_bool_t ib_schema_lock_is_exclusive(const ib_trx_t ib_trx) UNIV_NO_IGNORE;
/* DB_SCHEMA_NOT_LOCKED: the transaction does not hold it. */
HAILDB_API ib_err_t ib_schema_unlock(ib_trx_t ib_trx);

/* DB_TABLE_IS_BEING_USED: the table exists, and *id is its id. DB_SCHEMA_ERROR, DB_ERROR. */
HAILDB_API ib_err_t ib_table_create(ib_trx_t ib_trx, const ib_tbl_sch_t ib_tbl_sch,
                                    ib_id_t* id) UNIV_NO_IGNORE;
/* Cursors that are open on the table can still read it. */
HAILDB_API ib_err_t ib_table_drop(ib_trx_t trx, const char* name) UNIV_NO_IGNORE;
/* Takes the exclusive schema lock itself. DB_DUPLICATE_KEY: new_name exists. */
HAILDB_API ib_err_t ib_table_rename(ib_trx_t ib_trx, const char* old_name,
                                    const char* new_name) UNIV_NO_IGNORE;
/* Empties the table in a transaction of its own; *table_id is its new id. The caller holds no schema lock. */
HAILDB_API ib_err_t ib_table_truncate(const char* table_name, ib_id_t* table_id) UNIV_NO_IGNORE;
/* Empties the cursor's table, commits, closes the cursor and sets it to NULL. The schema lock is still held
 * then. */
HAILDB_API ib_err_t ib_cursor_truncate(ib_crsr_t* ib_crsr, ib_id_t* table_id) UNIV_NO_IGNORE;
/* Builds the index from the rows. DB_DUPLICATE_KEY, DB_INTERRUPTED: there is none then, and the transaction
   is active still. */
HAILDB_API ib_err_t ib_index_create(ib_idx_sch_t ib_idx_sch, ib_id_t* index_id) UNIV_NO_IGNORE;
HAILDB_API ib_err_t ib_index_drop(ib_trx_t trx, ib_id_t index_id) UNIV_NO_IGNORE;
HAILDB_API ib_err_t ib_table_get_id(const char* table_name, ib_id_t* table_id) UNIV_NO_IGNORE;
HAILDB_API ib_err_t ib_index_get_id(const char* table_name, const char* index_name,
                                    ib_id_t* index_id) UNIV_NO_IGNORE;

/* DB_ERROR: a visitor returned other than 0, which ended the visit. */
HAILDB_API ib_err_t ib_table_schema_visit(ib_trx_t ib_trx, const char* name,
                                          const ib_schema_visitor_t* visitor, void* arg) UNIV_NO_IGNORE;
/* All tables in the order of their names, until the visitor returns other than 0. */
HAILDB_API ib_err_t ib_schema_tables_iterate(ib_trx_t ib_trx, ib_schema_visitor_table_all_t visitor,
                                             void* arg) UNIV_NO_IGNORE;

/* --- Transactions --- */

/* NULL: the engine is not running. */
HAILDB_API ib_trx_t ib_trx_begin(ib_trx_level_t ib_trx_level) UNIV_NO_IGNORE;
/* Starts a handle again whose transaction has been rolled back by an error. DB_ERROR: it is active. */
HAILDB_API ib_err_t ib_trx_start(ib_trx_t ib_trx, ib_trx_level_t ib_trx_level) UNIV_NO_IGNORE;
/* Both end the transaction and free the handle. */
HAILDB_API ib_err_t ib_trx_commit(ib_trx_t ib_trx) UNIV_NO_IGNORE;
HAILDB_API ib_err_t ib_trx_rollback(ib_trx_t ib_trx) UNIV_NO_IGNORE;
/* Frees the handle of a transaction that is not started. DB_ERROR: it is, or holds the schema lock. */
HAILDB_API ib_err_t ib_trx_release(ib_trx_t ib_trx) UNIV_NO_IGNORE;
HAILDB_API ib_trx_state_t ib_trx_state(ib_trx_t ib_trx) UNIV_NO_IGNORE;
/* What the interruption handler gets. */
HAILDB_API void ib_trx_set_client_data(ib_trx_t ib_trx, void* client_data);
/* After DB_DUPLICATE_KEY: where; a table that the transaction has renamed by the name that it has now. Texts
 * are valid until the transaction's next such error. DB_ERROR: there was none. */
HAILDB_API ib_err_t ib_get_duplicate_key(ib_trx_t ib_trx, const char** table_name, const char** index_name);
/* A name is any bytes. An earlier savepoint of the same name is forgotten. */
HAILDB_API void ib_savepoint_take(ib_trx_t ib_trx, const void* name, ib_ulint_t name_len);
HAILDB_API ib_err_t ib_savepoint_release(ib_trx_t ib_trx, const void* name,
                                         ib_ulint_t name_len) UNIV_NO_IGNORE;
/* Undoes all since the savepoint, which stays. Locks stay, too. name NULL: the first savepoint. */
HAILDB_API ib_err_t ib_savepoint_rollback(ib_trx_t ib_trx, const void* name,
                                          ib_ulint_t name_len) UNIV_NO_IGNORE;
/* IB_LOCK_IS or IB_LOCK_IX. */
HAILDB_API ib_err_t ib_table_lock(ib_trx_t ib_trx, ib_id_t table_id,
                                  ib_lck_mode_t ib_lck_mode) UNIV_NO_IGNORE;

/* --- Cursors --- */

/* On the clustered index. ib_trx may be NULL: attach one before use. */
HAILDB_API ib_err_t ib_cursor_open_table(const char* name, ib_trx_t ib_trx,
                                         ib_crsr_t* ib_crsr) UNIV_NO_IGNORE;
HAILDB_API ib_err_t ib_cursor_open_table_using_id(ib_id_t table_id, ib_trx_t ib_trx,
                                                  ib_crsr_t* ib_crsr) UNIV_NO_IGNORE;
HAILDB_API ib_err_t ib_cursor_open_index_using_id(ib_id_t index_id, ib_trx_t ib_trx,
                                                  ib_crsr_t* ib_crsr) UNIV_NO_IGNORE;
/* Of the same table and transaction as ib_open_crsr. */
HAILDB_API ib_err_t ib_cursor_open_index_using_name(ib_crsr_t ib_open_crsr, const char* index_name,
                                                    ib_crsr_t* ib_crsr) UNIV_NO_IGNORE;
HAILDB_API ib_err_t ib_cursor_close(ib_crsr_t ib_crsr) UNIV_NO_IGNORE;
/* Lets go of the transaction. Place and match mode stay, lock mode and the rest go back to their defaults. */
HAILDB_API ib_err_t ib_cursor_reset(ib_crsr_t ib_crsr) UNIV_NO_IGNORE;
/* To a started transaction; the cursor has none. Without lock mode, cluster access and simple select. */
HAILDB_API void ib_cursor_attach_trx(ib_crsr_t ib_crsr, ib_trx_t ib_trx);
HAILDB_API void ib_cursor_set_match_mode(ib_crsr_t ib_crsr, ib_match_mode_t match_mode);
/* A cursor on a secondary index then has whole rows, and may update and delete. */
HAILDB_API void ib_cursor_set_cluster_access(ib_crsr_t ib_crsr);
HAILDB_API void ib_cursor_set_simple_select(ib_crsr_t ib_crsr);
/* A new statement: READ COMMITTED reads a new snapshot from here on. */
HAILDB_API void ib_cursor_stmt_begin(ib_crsr_t ib_crsr);
HAILDB_API ib_bool_t ib_cursor_is_positioned(const ib_crsr_t ib_crsr) UNIV_NO_IGNORE;
/* Locks the table: IS, IX, S or X. */
HAILDB_API ib_err_t ib_cursor_lock(ib_crsr_t ib_crsr, ib_lck_mode_t ib_lck_mode) UNIV_NO_IGNORE;
/* Rows that the cursor comes to from now on: IB_LOCK_S, IB_LOCK_X or IB_LOCK_NONE. */
HAILDB_API ib_err_t ib_cursor_set_lock_mode(ib_crsr_t ib_crsr, ib_lck_mode_t ib_lck_mode) UNIV_NO_IGNORE;

/* DB_END_OF_INDEX: no row. DB_MISSING_HISTORY: no transaction is attached. When a lock is refused, here and
   below, the cursor stays where it is. */
HAILDB_API ib_err_t ib_cursor_first(ib_crsr_t ib_crsr) UNIV_NO_IGNORE;
HAILDB_API ib_err_t ib_cursor_last(ib_crsr_t ib_crsr) UNIV_NO_IGNORE;
/* DB_END_OF_INDEX: outside then; the opposite move comes back. */
HAILDB_API ib_err_t ib_cursor_next(ib_crsr_t ib_crsr) UNIV_NO_IGNORE;
HAILDB_API ib_err_t ib_cursor_prev(ib_crsr_t ib_crsr) UNIV_NO_IGNORE;
/* *result: how the key compares with the row where the cursor stands then. DB_RECORD_NOT_FOUND: no hit, by
   the match mode; DB_END_OF_INDEX. After a miss the cursor stands on the neighbour that the search mode says,
   which is not locked. */
HAILDB_API ib_err_t ib_cursor_moveto(ib_crsr_t ib_crsr, ib_tpl_t ib_tpl, ib_srch_mode_t ib_srch_mode,
                                     int* result) UNIV_NO_IGNORE;
/* The row as it was when the cursor came to it. */
HAILDB_API ib_err_t ib_cursor_read_row(ib_crsr_t ib_crsr, ib_tpl_t ib_tpl) UNIV_NO_IGNORE;
/* The cursor's place does not matter and does not change. */
HAILDB_API ib_err_t ib_cursor_insert_row(ib_crsr_t ib_crsr, const ib_tpl_t ib_tpl) UNIV_NO_IGNORE;
/* Changes the columns in which the two differ. */
HAILDB_API ib_err_t ib_cursor_update_row(ib_crsr_t ib_crsr, const ib_tpl_t ib_old_tpl,
                                         const ib_tpl_t ib_new_tpl) UNIV_NO_IGNORE;
HAILDB_API ib_err_t ib_cursor_delete_row(ib_crsr_t ib_crsr) UNIV_NO_IGNORE;

/* --- Tuples: columns count from 0, all are NULL at first --- */

/* A row of the cursor's table: its columns, then the three hidden ones. */
HAILDB_API ib_tpl_t ib_clust_read_tuple_create(ib_crsr_t ib_crsr) UNIV_NO_IGNORE;
/* A key of the clustered index. */
HAILDB_API ib_tpl_t ib_clust_search_tuple_create(ib_crsr_t ib_crsr) UNIV_NO_IGNORE;
/* A row, of which a cursor on a secondary index fills what its index holds. Not of the same kind as a row of
   the clustered index (ib_tuple_copy). */
HAILDB_API ib_tpl_t ib_sec_read_tuple_create(ib_crsr_t ib_crsr) UNIV_NO_IGNORE;
/* A key of the cursor's secondary index: its columns, then those of the clustered key that are not among
 * them. */
HAILDB_API ib_tpl_t ib_sec_search_tuple_create(ib_crsr_t ib_crsr) UNIV_NO_IGNORE;
HAILDB_API void ib_tuple_delete(ib_tpl_t ib_tpl);
/* Use what it returns from then on. */
HAILDB_API ib_tpl_t ib_tuple_clear(ib_tpl_t ib_tpl) UNIV_NO_IGNORE;
/* DB_DATA_MISMATCH: not of the same kind and index. */
HAILDB_API ib_err_t ib_tuple_copy(ib_tpl_t ib_dst_tpl, const ib_tpl_t ib_src_tpl) UNIV_NO_IGNORE;
/* Makes a key of the clustered index out of a key of a secondary one. */
HAILDB_API ib_err_t ib_tuple_get_cluster_key(ib_crsr_t ib_crsr, ib_tpl_t* ib_dst_tpl,
                                             const ib_tpl_t ib_src_tpl) UNIV_NO_IGNORE;
HAILDB_API ib_ulint_t ib_tuple_get_n_cols(const ib_tpl_t ib_tpl) UNIV_NO_IGNORE;
/* Without hidden columns; of a key: the columns that the index was declared with. */
HAILDB_API ib_ulint_t ib_tuple_get_n_user_cols(const ib_tpl_t ib_tpl) UNIV_NO_IGNORE;

/* len IB_SQL_NULL: NULL. Numbers in the machine's byte order. DB_DATA_MISMATCH: a hidden column, or the wrong
   length for a number. Longer text is cut to the column's length. */
HAILDB_API ib_err_t ib_col_set_value(ib_tpl_t ib_tpl, ib_ulint_t col_no, const void* src,
                                     ib_ulint_t len) UNIV_NO_IGNORE;
/* Bytes, or IB_SQL_NULL. */
HAILDB_API ib_ulint_t ib_col_get_len(ib_tpl_t ib_tpl, ib_ulint_t i) UNIV_NO_IGNORE;
/* Copies at most len bytes, numbers in the machine's byte order; returns how many, or IB_SQL_NULL. */
HAILDB_API ib_ulint_t ib_col_copy_value(ib_tpl_t ib_tpl, ib_ulint_t i, void* dst, ib_ulint_t len);
/* Fills the structure, but for charset; returns what ib_col_get_len does. */
HAILDB_API ib_ulint_t ib_col_get_meta(ib_tpl_t ib_tpl, ib_ulint_t i, ib_col_meta_t* ib_col_meta);
/* Points into the tuple; NULL for NULL. Integers: big-endian, signed ones with the top bit flipped. */
HAILDB_API const void* ib_col_get_value(ib_tpl_t ib_tpl, ib_ulint_t i) UNIV_NO_IGNORE;

/* DB_DATA_MISMATCH: not a number of this size; reading: also an unsigned one read as signed. Reading NULL
   leaves the value as it is: look at ib_col_get_len. */
HAILDB_API ib_err_t ib_tuple_read_i8(ib_tpl_t ib_tpl, ib_ulint_t i, ib_i8_t* ival) UNIV_NO_IGNORE;
HAILDB_API ib_err_t ib_tuple_read_u8(ib_tpl_t ib_tpl, ib_ulint_t i, ib_u8_t* ival) UNIV_NO_IGNORE;
HAILDB_API ib_err_t ib_tuple_read_i16(ib_tpl_t ib_tpl, ib_ulint_t i, ib_i16_t* ival) UNIV_NO_IGNORE;
HAILDB_API ib_err_t ib_tuple_read_u16(ib_tpl_t ib_tpl, ib_ulint_t i, ib_u16_t* ival) UNIV_NO_IGNORE;
HAILDB_API ib_err_t ib_tuple_read_i32(ib_tpl_t ib_tpl, ib_ulint_t i, ib_i32_t* ival) UNIV_NO_IGNORE;
HAILDB_API ib_err_t ib_tuple_read_u32(ib_tpl_t ib_tpl, ib_ulint_t i, ib_u32_t* ival) UNIV_NO_IGNORE;
HAILDB_API ib_err_t ib_tuple_read_i64(ib_tpl_t ib_tpl, ib_ulint_t i, ib_i64_t* ival) UNIV_NO_IGNORE;
HAILDB_API ib_err_t ib_tuple_read_u64(ib_tpl_t ib_tpl, ib_ulint_t i, ib_u64_t* ival) UNIV_NO_IGNORE;
HAILDB_API ib_err_t ib_tuple_read_float(ib_tpl_t ib_tpl, ib_ulint_t col_no, float* fval) UNIV_NO_IGNORE;
HAILDB_API ib_err_t ib_tuple_read_double(ib_tpl_t ib_tpl, ib_ulint_t col_no, double* dval) UNIV_NO_IGNORE;
HAILDB_API ib_err_t ib_tuple_write_i8(ib_tpl_t ib_tpl, int col_no, ib_i8_t val) UNIV_NO_IGNORE;
HAILDB_API ib_err_t ib_tuple_write_u8(ib_tpl_t ib_tpl, int col_no, ib_u8_t val) UNIV_NO_IGNORE;
HAILDB_API ib_err_t ib_tuple_write_i16(ib_tpl_t ib_tpl, int col_no, ib_i16_t val) UNIV_NO_IGNORE;
HAILDB_API ib_err_t ib_tuple_write_u16(ib_tpl_t ib_tpl, int col_no, ib_u16_t val) UNIV_NO_IGNORE;
HAILDB_API ib_err_t ib_tuple_write_i32(ib_tpl_t ib_tpl, int col_no, ib_i32_t val) UNIV_NO_IGNORE;
HAILDB_API ib_err_t ib_tuple_write_u32(ib_tpl_t ib_tpl, int col_no, ib_u32_t val) UNIV_NO_IGNORE;
HAILDB_API ib_err_t ib_tuple_write_i64(ib_tpl_t ib_tpl, int col_no, ib_i64_t val) UNIV_NO_IGNORE;
HAILDB_API ib_err_t ib_tuple_write_u64(ib_tpl_t ib_tpl, int col_no, ib_u64_t val) UNIV_NO_IGNORE;
HAILDB_API ib_err_t ib_tuple_write_float(ib_tpl_t ib_tpl, int col_no, float val) UNIV_NO_IGNORE;
HAILDB_API ib_err_t ib_tuple_write_double(ib_tpl_t ib_tpl, int col_no, double val) UNIV_NO_IGNORE;

/* --- Statistics of the cursor's table: computed at first use, and again when many rows have changed --- */

HAILDB_API ib_err_t ib_get_table_statistics(ib_crsr_t ib_crsr, ib_table_stats_t* table_stats,
                                            size_t sizeof_ib_table_stats_t);
/* (*n_diff)[k]: distinct values of the first k+1 of the *ncols columns that make an entry unique. The caller
   frees the array. DB_NOT_FOUND: no such index. */
HAILDB_API ib_err_t ib_get_index_stat_n_diff_key_vals(ib_crsr_t ib_crsr, const char* index_name,
                                                      ib_u64_t* ncols, ib_i64_t** n_diff);
HAILDB_API ib_err_t ib_update_table_statistics(ib_crsr_t crsr);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(performance-enum-size) */

#endif /* HAILDB_H */
