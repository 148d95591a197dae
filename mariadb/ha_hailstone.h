// The server's view of one open table. One handler serves one statement at a time, in that connection's
// thread; what all handlers of a table have in common is in SharedTable.
//
// What each function may assume. The server calls open() first and close() last; create(), delete_table() and
// rename_table() come to handlers that are not open, and work in transactions of their own. In between, a
// statement *begins* here with external_lock() or start_stmt(), which join the connection's transaction, and
// ends with reset(). Only then is the table's place in the statement (TABLE::pos_in_table_list, reginfo) one
// that may be looked at: before, it is that of a statement that has gone.
// - Questions come at any time, also between two statements: info(), extra(), the costs, records_in_range(),
//   cond_push(), table_cache_type(), update_create_info(), check_if_supported_inplace_alter(). They need no
//   transaction, and see the newest table.
// - CHECK, ANALYZE, OPTIMIZE, TRUNCATE, in-place ALTER and reset_auto_increment() use transactions of their
//   own.
// - What reads or writes rows needs the transaction. Where nothing has begun, it begins then, as a plain read
//   or write (need_transaction()): so a sequence's first row comes, and the server's reads on its own behalf.
//   Where it has begun and the transaction has ended since, by a deadlock, it fails as a deadlock does.
// - unlock_row(), end_bulk_insert(), rnd_end(), index_end() and position() do nothing without what they end.
//
// Reading: rnd_* uses a Scan, index_* a Cursor, or Table::find where a whole primary key is given; a whole
// index whose order does not matter is read by a Scan, too. Each is made when the first row is asked for,
// because the server says only after rnd_init or index_init which columns and rows it wants. They stay until
// the next init or the end of the transaction, since the server may still look at blobs of the last row.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/operator_counts.h"
#include "column/predicate.h"
#include "column/projection.h"
#include "database/database.h"
#include "pushdown.h"
#include "record.h"
#include "server/costed_handler.h"
#include "session.h"
#include "table/bulk_load.h"
#include "table/cursor.h"
#include "table/row_reads.h"
#include "table/scan.h"
#include "table/table.h"
#include "table_files.h"
#include "trace.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// Drops a table in a transaction of its own; HA_ERR_NO_SUCH_TABLE, without a message, when there is none.
int drop_table_of_path(THD* thd, const char* path);

/// One per table and server: the library's table, which TRUNCATE replaces.
class SharedTable final : public Handler_share {
 public:
  explicit SharedTable(std::shared_ptr<Table> table) : table_(std::move(table)) {}
  std::shared_ptr<Table> table() const {
    const MutexLock guard(mutex_);
    return table_;
  }
  void replace(std::shared_ptr<Table> table) {
    const MutexLock guard(mutex_);
    table_ = std::move(table);
    generation_.fetch_add(1, std::memory_order_release);
  }
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
  /// Held while the auto-increment counter is read and moved on.
  Mutex& counter_mutex() HAILSTONE_RETURN_CAPABILITY(counter_mutex_) { return counter_mutex_; }

 private:
  mutable Mutex mutex_;
  Mutex counter_mutex_;
  std::shared_ptr<Table> table_ HAILSTONE_GUARDED_BY(mutex_);
  std::atomic<uint64_t> generation_{1};
};

class HailstoneHandler final : public CostedHandler, private TransactionUser {
 public:
  HailstoneHandler(handlerton* engine, TABLE_SHARE* share) : CostedHandler(engine, share) {}
  ~HailstoneHandler() override;

  // --- what the engine can do (ha_hailstone.cc)
  Table_flags table_flags() const override;
  ulong index_flags(uint index, uint part, bool all_parts) const override;
  uint max_supported_keys() const override { return MAX_KEY; }
  uint max_supported_key_length() const override { return 3072; }
  uint max_supported_key_part_length() const override { return 3072; }
  const char* index_type(uint index) override;

  // --- opening, locking, statistics (ha_hailstone.cc)
  int open(const char* name, int mode, uint test_if_locked) override;
  int close() override;
  handler* clone(const char* name, MEM_ROOT* root) override;
  int external_lock(THD* thd, int lock_type) override;
  int start_stmt(THD* thd, thr_lock_type lock_type) override;
  THR_LOCK_DATA** store_lock(THD* thd, THR_LOCK_DATA** to, thr_lock_type lock_type) override;
  uint lock_count() const override { return 0; }
  int info(uint flag) override;
  int extra(ha_extra_function operation) override;
  int reset() override;
  bool get_error_message(int error, String* buffer) override;
  const COND* cond_push(const COND* condition) override;
  void cond_pop() override;
  uint8 table_cache_type() override;
  my_bool register_query_cache_table(THD* thd, const char* name, uint length, qc_engine_callback* callback,
                                     ulonglong* data) override;

  // --- costs (handler_costs.cc)
  double scan_cost() override;
  double rows_cost(uint index, ulong ranges, ha_rows rows) override;
  double positions_cost(ha_rows rows) override;
  double entries_cost(uint index, ha_rows rows) override;
  ha_rows records_in_range(uint index, const key_range* low, const key_range* high,
                           page_range* pages) override;

  // --- whole queries (handler_read.cc), for part_pushdown.cc
  /// To be called before a statement's first read: the server decides how it logs a change after it has
  /// locked the tables. What a change reads that is logged as a statement must be the same where the
  /// statement is repeated.
  void settle_lock();
  /// From settle_lock() on.
  bool reads_with_locks() const { return lock_ != ReadLock::None; }
  bool reads_uncommitted() const { return transaction_ != nullptr && transaction_->reads_uncommitted(); }
  /// What the library can find out of a condition (null: none) on rows of this table; there always is a
  /// predicate.
  PushedCondition condition(const Item* condition, bool row_is_there = false) const;
  /// Runs a body of the handler that answers the whole query.
  template <typename Body>
  auto traced(const TracedCall& call, Body&& body) {
    return run_traced(trace_, call, {this, table, &name_}, body);
  }
  /// Estimated entries of an index whose first column is from `low` to `high`.
  uint64_t entries_between(uint index, const Value& low, const Value& high) const;
  /// The library's column for a field; RecordFormat::not_stored for a virtual one.
  uint16_t column_of_field(uint field_index) const { return format_->column_of_field(field_index); }
  uint field_of_column(uint16_t column) const { return format_->field_of_column(column); }
  bool is_integer(uint16_t column) const { return table_->layout()->is_integer(column); }
  const std::shared_ptr<Table>& stored_table() const { return table_; }
  /// A scan of these columns of the rows that match; a handler error or 0.
  int open_scan(const std::shared_ptr<const Predicate>& predicate, const std::vector<uint16_t>& columns,
                std::unique_ptr<Scan>& to);
  /// Keeps the message and gives the server's number.
  int report(const Error& error);

  // --- reading (handler_read.cc)
  int rnd_init(bool scan) override;
  int rnd_end() override;
  int rnd_next(uchar* record) override;
  int rnd_pos(uchar* record, uchar* position) override;
  void position(const uchar* record) override;
  int cmp_ref(const uchar* left, const uchar* right) override;
  int index_init(uint index, bool sorted) override;
  int index_end() override;
  int index_read_map(uchar* record, const uchar* key, key_part_map parts, ha_rkey_function mode) override;
  int index_read_last_map(uchar* record, const uchar* key, key_part_map parts) override;
  int index_next(uchar* record) override;
  int index_prev(uchar* record) override;
  int index_first(uchar* record) override;
  int index_last(uchar* record) override;
  int index_next_same(uchar* record, const uchar* key, uint key_length) override;
  void unlock_row() override;

  // --- writing (handler_write.cc)
  int write_row(const uchar* record) override;
  int update_row(const uchar* old_record, const uchar* new_record) override;
  int delete_row(const uchar* record) override;
  void start_bulk_insert(ha_rows rows, uint flags) override;
  int end_bulk_insert() override;
  void get_auto_increment(ulonglong offset, ulonglong increment, ulonglong wanted, ulonglong* first,
                          ulonglong* reserved) override;
  int reset_auto_increment(ulonglong value) override;
  void update_create_info(HA_CREATE_INFO* info) override;

  // --- definitions and care (handler_admin.cc)
  int create(const char* name, TABLE* form, HA_CREATE_INFO* info) override;
  int delete_table(const char* name) override;
  int rename_table(const char* from, const char* to) override;
  int truncate() override;
  int discard_or_import_tablespace(my_bool discard) override;
  int check(THD* thd, HA_CHECK_OPT* options) override;
  int analyze(THD* thd, HA_CHECK_OPT* options) override;
  int optimize(THD* thd, HA_CHECK_OPT* options) override;
  enum_alter_inplace_result check_if_supported_inplace_alter(TABLE* altered,
                                                             Alter_inplace_info* changes) override;
  bool inplace_alter_table(TABLE* altered, Alter_inplace_info* changes) override;
  /// For EXCHANGE PARTITION, once the server has found columns and keys to be the same.
  /// A wrong option has had an error that names it; the number that stands for it tells no more.
  void print_error(int error, myf flags) override {
    if (error != HA_WRONG_CREATE_OPTION || !ha_thd()->is_error()) handler::print_error(error, flags);
  }
  bool check_if_incompatible_data(HA_CREATE_INFO* info, uint changes) override;
  bool commit_inplace_alter_table(TABLE* altered, Alter_inplace_info* changes, bool commit) override;

 private:
  /// Where the row that the server looks at came from, and so how its clustered key is found.
  /// Duplicate: it is in the way of the row that a bulk load refused last.
  enum class Place : uint8_t { None, Scan, Cursor, Key, Duplicate };

  /// The bodies of the functions that the server calls, seen by hailstone_trace: for those that begin and end
  /// a statement's work, or are called few times, it is found out here whether the connection is traced.
  template <typename Body>
  auto entry(const TracedCall& call, Body&& body) {
    Trace* const trace = tracing_was_on.load(std::memory_order_relaxed) ? follow_trace() : nullptr;
    return run_traced(trace, call, {this, table, &name_}, body);
  }
  /// The same for handlers without an open table, which only have a name.
  template <typename Body>
  auto on_path(const TracedCall& call, Body&& body) {
    return run_traced(Trace::of(ha_thd()), call, {this, nullptr, nullptr}, body);
  }
  /// What this call is to be seen by; null when it is not.
  Trace* follow_trace();
  /// Between these two the handler works for a statement.
  void start_tracing_work();
  void stop_tracing_work();

  /// Another table is in the place of the one that was open.
  void put_in_place(std::shared_ptr<Table> other);
  void transaction_ends() override;
  void statement_rolls_back() override;
  void release_readers();
  /// For the next row that the statement writes; null for the first, which may be the only one.
  KeyReads* key_reads();
  /// Until the next begin_statement() there is no transaction to work in.
  void leave_session();
  int begin_statement(THD* thd, bool writes);
  /// Begins where nothing has begun. A handler error or 0.
  int begin_if_not_begun(bool writes);
  /// The same; and HA_ERR_LOCK_DEADLOCK where the transaction of what has begun is no more.
  int need_transaction(bool writes);
  /// TRUNCATE may have replaced it, by another handler.
  void take_newest_table();
  static ReadLock read_lock_of(thr_lock_type lock_type);
  void want_lock(THD* thd, thr_lock_type lock_type);
  /// Makes a change of a sequence permanent at once: no rollback may give out its numbers again, and no other
  /// session wait for them. A handler error, or 0, also for other tables.
  int commit_sequence();
  void begin_sequence_transaction();

  int report_duplicate(const Error& error, const Duplicate& duplicate);

  void update_statistics(uint flag);
  /// Estimated entries of an index from one key to before another.
  uint64_t entries_from(uint index, std::string from, std::string to) const;
  /// The part of searches that have to go to memory, as the table does not fit into the processor's cache.
  double share_from_memory() const;
  /// Whether a read of the whole index must give the rows in its order; else a scan does it.
  bool order_matters(uint index) const;
  void use_read_columns();
  /// Whether warnings may name the rows of a scan by their numbers.
  bool numbers_rows() const;
  /// Has the server count the rows that the scan has passed by between the last one that it returned and
  /// number `next`.
  void count_rows_passed_by(uint64_t next);
  /// Tells the server of the rows that scan_ has gone by and not returned, as if it had asked for each: as
  /// examined by the statement, in its counters of reads, and in the statistics of tables.
  void tell_of_rows_left_out();
  int next_batch();
  int next_of_scan(uchar* record);
  void write_batch_row(uchar* record) const;
  void write_values(std::span<const Value> values, uchar* record) const;
  int find_row(ByteView key, uchar* record);
  void open_cursor();
  /// For a cursor that locks: the row that comes where there is no other with search_key_ is nobody's
  /// concern.
  Cursor::Wanted with_search_key() const;
  /// What has become of a move; false, too, when it has led to an entry that does not begin with search_key_.
  Result<bool> if_begins_with_search_key(Result<bool> moved);
  /// To the entry of active_index with search_key_, of so many key parts.
  Result<bool> seek_exactly(key_part_map parts);
  int search(uchar* record, const uchar* key, key_part_map parts, ha_rkey_function mode);
  int finish_move(Result<bool> moved, int otherwise, uchar* record);
  Status encode_key(uint index, const uchar* key, key_part_map parts, std::string& to) const;
  bool is_whole_key(uint index, key_part_map parts) const;
  bool is_whole_primary_key(uint index, key_part_map parts) const;
  bool is_whole_unique_key(uint index, key_part_map parts) const;
  Result<ByteView> current_key();

  /// One row on its way: to the load under way, or to the table itself.
  int load_row(const uchar* record);
  int insert_row(const uchar* record);
  /// Whether the server reads the row that a refused one met, to replace or to update it.
  bool looks_at_duplicates() const;
  /// A row that has just been written needs its read's lock no more, so that an UPDATE of many rows does not
  /// collect locks; but for one that a rollback to a savepoint may bring back.
  void unlock_written(ByteView key);
  /// Of a row that duplicate_row_ is and new_record takes the place of.
  int replace_loaded(const uchar* new_record);
  Status note_auto_increment();
  uint reference_length() const;

  std::shared_ptr<Table> table_;
  std::string name_;
  SharedTable* shared_ = nullptr;
  uint64_t generation_ = 0;
  std::unique_ptr<RecordFormat> format_;
  std::unique_ptr<ExportedTable> exported_;  // from FLUSH TABLES … FOR EXPORT to UNLOCK TABLES

  Trace* trace_ = nullptr;  // of the connection that uses this handler, when it is traced
  Trace* working_for_ = nullptr;
  bool has_begun_ = false;  // a statement, by external_lock() or start_stmt(), since the last reset()
  Session* session_ = nullptr;
  Transaction* transaction_ = nullptr;
  std::unique_ptr<Transaction> sequence_transaction_;  // that transaction_ is, where the table is a sequence
  ReadLock wanted_lock_ = ReadLock::None;              // of store_lock()
  bool feeds_change_ = false;  // the statement changes something by what it reads here
  ReadLock lock_ = ReadLock::None;
  std::string message_;  // of the last error that has no number of the server's
  /// The last one of the statement: the server asks anew for what the look for a pushdown has asked for.
  struct RangeEstimate {
    uint index = MAX_KEY;
    std::string from, to;
    uint64_t entries = 0;
  };
  mutable RangeEstimate last_estimate_;

  // What to read.
  std::string read_set_;  // the server's bitmap that the next three were made from
  bool reads_all_ = false;
  std::vector<uint16_t> read_columns_;
  std::vector<const FieldFormat*> read_formats_;
  std::shared_ptr<const Predicate> predicate_;

  // Readers.
  bool scans_index_ = false;       // a read of the whole index from here on is a scan
  OperatorCounts scan_counts_;     // of scan_, where it has a condition
  uint64_t rows_of_batches_ = 0;   // that scan_ has given before batch_
  bool scan_is_of_index_ = false;  // to the server
  std::unique_ptr<Scan> scan_;
  const Batch* batch_ = nullptr;
  uint32_t batch_row_ = 0;
  std::optional<uint64_t> row_number_;  // of the last row that the scan returned; only if it numbers them
  std::unique_ptr<Cursor> cursor_;
  std::string search_key_;
  uint cursor_index_ = MAX_KEY;  // that cursor_ reads
  ReadLock cursor_lock_ = ReadLock::None;
  std::unique_ptr<RowReads> row_reads_;
  std::unique_ptr<KeyReads> key_reads_;  // of rows that are written
  bool has_written_ = false;             // a row, within the statement
  std::vector<Value> found_values_;
  Place place_ = Place::None;
  std::string key_;  // of the row, for Place::Key

  // Writing.
  std::vector<Value> values_;
  std::vector<Value> old_values_;
  std::string row_;
  uint duplicate_index_ = MAX_KEY;
  std::string duplicate_row_;  // encoded
  std::unique_ptr<BulkLoad> bulk_;
  bool bulk_tells_duplicates_ = false;
  bool duplicates_are_handled_ = false;  // IGNORE, REPLACE, ON DUPLICATE KEY UPDATE
  bool can_replace_ = false;
  bool updates_duplicates_ = false;
};

}  // namespace hailstone
