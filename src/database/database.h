// A database: a directory with one log, one manifest and the segments of its tables; the catalog; recovery,
// checkpoints and background work. Thread-safe. One process at a time holds it (ErrorCode::Busy). Tables and
// transactions of a database must not outlive it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/counters.h"
#include "base/processor_turns.h"
#include "base/query_gate.h"
#include "base/status.h"
#include "database/file_copy.h"
#include "file/filesystem.h"
#include "schema/collation.h"
#include "segment/segment_writer.h"
#include "table/table.h"
#include "transaction/transaction_manager.h"

namespace hailstone {

struct DatabaseOptions {
  size_t memory_budget = size_t{512} << 20;  // bytes, for deltas, bulk loads, redo and the block cache
  /// Bytes for the rows of all tables in memory, beside `memory_budget`.
  size_t in_memory_size = size_t{1} << 30;
  /// Bytes that files of temporary tables may take in memory, beside `memory_budget`; further ones are on the
  /// disk.
  size_t temporary_memory_size = size_t{64} << 20;
  FlushLogAtCommit flush_log_at_commit = FlushLogAtCommit::Sync;
  size_t checkpoint_log_bytes = size_t{256} << 20;  // log length that starts a checkpoint
  /// Bytes of one table's delta at which it goes to a segment; 0: an eighth of the budget, at most 64 MiB
  /// or, if that is more, a sixty-fourth of it.
  /// Big deltas make single rows quick, and take memory from the block cache.
  size_t delta_limit = 0;
  /// Rows of one segment at most (for tests: more of them are made with fewer rows).
  uint32_t segment_rows_limit = max_segment_rows;
  /// Bytes that the groups, the sorted rows or the joined tables of one block of a query take before they go
  /// to files; 0: a quarter of `memory_budget`, and what is spare.
  size_t query_memory = 0;
  unsigned background_threads = 2;
  /// Snapshots that are older are ended: reads by them fail with ErrorCode::SnapshotTooOld. 0: none is.
  std::chrono::seconds snapshot_too_old{0};
  /// Table objects that stay in memory although nobody uses them; more are let go and made again at the next
  /// use. What is in use, or has changes that no checkpoint has seen yet, comes on top.
  size_t open_tables = 4096;
  /// Segments of which the file stays open although nobody reads it; 0: half of the files that the process
  /// may have open.
  size_t open_files = 0;
  /// How long commits wait, on a full disk, for the log to be written. When it is over, nothing can be
  /// committed until the database has been opened again.
  std::chrono::milliseconds log_write_timeout = std::chrono::minutes(10);
  /// Bytes that the files of what queries group and sort, and memory has no room for, may have together; 0:
  /// what the disk has. A statement that needs more ends with ErrorCode::DiskFull.
  uint64_t spill_limit = 0;
  /// Between the beginnings of two looks for rows that have expired (docs/retention.md); 0: none are looked
  /// for.
  std::chrono::seconds retention_interval{60};
  /// Rows stay so much longer than their tables say.
  std::chrono::seconds retention_lag{0};
  /// Nothing is written to the directory, not even a lock file: the log's changes and what recovery makes of
  /// files stay in memory. Changes are ErrorCode::Unsupported, and so are checkpoints and backups.
  bool read_only = false;
  const RetentionClock* retention_clock = nullptr;  // null: the library's own; must outlive the database
  /// Must outlive the database. Null: the library's own two; and of a database that is only read any other,
  /// without its weights (collations_for_reading()): tables can be scanned, but not read by such an index.
  const CollationResolver* collations = nullptr;
  /// Warnings and notes (recovery, background errors). May be called from any thread; empty: dropped.
  enum class Severity : uint8_t { Note, Warning, Error };
  std::function<void(Severity, const std::string&)> logger;
};

class OnlineBackup;

class Database {
 public:
  /// Opens or creates the directory, recovers, starts background work. Errors name the file and the cure.
  static Result<std::unique_ptr<Database>> open(Filesystem& filesystem, const std::string& directory,
                                                DatabaseOptions options);
  /// A new database that is on no disk: its tables are in memory, also those whose definition does not say
  /// so, and all is gone with it. Each one is a database of its own.
  static Result<std::unique_ptr<Database>> open_in_memory(DatabaseOptions options);
  /// Closes as close() does; errors go to the logger.
  ~Database();
  /// Ends background work, takes a checkpoint, releases the directory; only destroying the database may
  /// follow. No transaction and no Table may be in use.
  Status close();

  bool is_in_memory() const;
  /// The number that files carry (segment/file_identity.h), the last one, and before it those of the
  /// databases that this one is a copy of. Empty until the manifest has been written by a program that gives
  /// numbers.
  std::vector<uint64_t> numbers();
  /// ErrorCode::Unsupported when it was opened to be read only.
  Status check_writable() const;
  TransactionManager& transactions();
  LockManager& locks();
  Counters& counters();  // with the gauges brought up to date
  MemoryBudget& budget();
  QueryGate& query_gate();
  /// What a query's operators ask of their statement, where they read no table (table/statement_host.h).
  TableHost& statement_host();
  ProcessorTurns& processor_turns();

  // --- DDL, part of the transaction: seen by others from its commit on, taken back by its rollback. Names
  // are "database/table". ErrorCode::AlreadyExists, NotFound; Busy when another open transaction is changing
  // a table of that name. The transaction has an exclusive lock on the tables that it makes.
  Result<std::shared_ptr<Table>> create_table(Transaction& transaction, const TableDefinition& definition);
  Status drop_table(Transaction& transaction, const std::string& name);
  Status rename_table(Transaction& transaction, const std::string& from, const std::string& to);
  /// Replaces the table by an empty one of the same definition (a new id).
  Result<std::shared_ptr<Table>> truncate_table(Transaction& transaction, const std::string& name);
  /// Changes of the definition that need no change of stored rows: names, application data of table and
  /// columns.
  Status replace_definition(Transaction& transaction, const std::string& name, TableDefinition definition);

  /// Makes the values of a row of the new definition out of those of the old one; both have one a column.
  using RowChange = std::function<Status(std::span<const Value> from, std::vector<Value>& to)>;
  /// Replaces the table by one of another definition (and id), with its rows: other columns, other indexes.
  /// Waits for an exclusive lock on the table; whoever changes rows must hold an intention lock. Waits, reads
  /// and writes as long as copying the rows takes. ErrorCode::DuplicateKey fills `duplicate` (positions of
  /// the new definition).
  Result<std::shared_ptr<Table>> rebuild_table(Transaction& transaction, const std::string& name,
                                               const TableDefinition& definition, const RowChange& change,
                                               Duplicate& duplicate);

  /// The table as the transaction sees it (null: only committed ones). ErrorCode::NotFound.
  Result<std::shared_ptr<Table>> table(const std::string& name, const Transaction* transaction = nullptr);
  Result<std::shared_ptr<Table>> table(TableId id, const Transaction* transaction = nullptr);
  /// The last of these that there is, at one moment: of tables that have replaced one another.
  Result<std::shared_ptr<Table>> last_table(std::span<const TableId> ids,
                                            const Transaction* transaction = nullptr);
  /// Its name, which the transaction may have changed. ErrorCode::NotFound.
  Result<std::string> table_name(TableId id, const Transaction* transaction = nullptr);
  /// The committed definition of a table, which is not opened for it. ErrorCode::NotFound.
  Result<TableDefinition> definition(const std::string& name);
  bool has_table(const std::string& name);
  /// Names that begin with `prefix`, in byte order.
  std::vector<std::string> table_names(const std::string& prefix = {},
                                       const Transaction* transaction = nullptr);
  /// The name of each committed table and the commit that made or last redefined it, in no order.
  std::vector<std::pair<std::string, Timestamp>> names_with_commits();
  /// Id and definition of each committed table, in no order. `visit` must not call the database.
  void visit_tables(const std::function<void(TableId, const TableDefinition&)>& visit);

  /// Everything committed so far needs no log any more when it returns, but for changes of damaged tables:
  /// these stay in the log until the tables are dropped or truncated, or the log is very long.
  Status checkpoint();
  /// Makes `directory`, which must not exist or be empty, a database that holds what is committed now;
  /// opening it is restoring it. Writers go on meanwhile. Files that never change are linked where the
  /// filesystem can, so that the copy costs neither time nor space; give it to another disk before you call
  /// it safe. On an error what was made is removed again. ErrorCode::AlreadyExists; Unsupported for a
  /// database in memory.
  Status backup(const std::string& directory, const CopyProgress& progress = {});
  /// The same in steps, of which the first is taken here; `directory` may also be staged_backup in the
  /// database's own. What it returns must have gone before the database is closed.
  Result<std::unique_ptr<OnlineBackup>> begin_backup(const std::string& directory,
                                                     const CopyProgress& progress = {});
  /// Makes `directory`, which must not exist or be empty, a database of this one table, which can be moved
  /// elsewhere; segments are linked. The caller keeps writers of the table away (database/table_export.h).
  /// ErrorCode::NotFound; Unsupported for a table in memory.
  Status export_table(const std::string& name, const std::string& directory,
                      const CopyProgress& progress = {});
  const std::string& directory() const;
  Filesystem& filesystem() const;
  /// Both are raised to the least that open() accepts.
  void set_memory_budget(size_t bytes);
  /// Below what is in use nothing is taken away, but nothing more can be written.
  void set_in_memory_size(size_t bytes);
  /// Files stay where they are.
  void set_temporary_memory_size(size_t bytes);
  void set_checkpoint_log_bytes(size_t bytes);
  void set_open_tables(size_t tables);
  /// As DatabaseOptions has them.
  void set_open_files(size_t files);
  void set_log_write_timeout(std::chrono::milliseconds timeout);
  void set_query_memory(size_t bytes);
  void set_spill_limit(uint64_t bytes);
  void set_snapshot_too_old(std::chrono::seconds age);
  void set_retention_interval(std::chrono::seconds interval);
  void set_retention_lag(std::chrono::seconds lag);
  /// Looks for rows that have expired and ends them now. Of several errors it gives the first, and goes on
  /// with the other tables. ErrorCode::Interrupted.
  Result<Table::Expired> expire_rows(const StopToken& stop = {});
  struct LastExpiry {
    int64_t at = 0;       // Unix time of the end of the last look; 0: there was none
    uint64_t tables = 0;  // that it looked at
    double seconds = 0;   // that it took
    Table::Expired expired;
  };
  LastExpiry last_expiry() const;
  /// Waits until no flush or merge is due (for tests and benchmarks).
  void wait_for_background_work();

 private:
  Database();
  Status open_unguarded(Filesystem& given, const std::string& directory, DatabaseOptions options);
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hailstone
