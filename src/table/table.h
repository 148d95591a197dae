// A table: deltas and segments behind one face. See docs/architecture.md for the mutexes and the life of a
// row.
//
// Reads and writes name a row by its clustered key (encoded; for a table without primary key the 8 byte row
// id). All public members are thread-safe; the Transaction passed belongs to the calling thread. A table that
// met damaged bytes is marked corrupt: every operation returns ErrorCode::Corruption with the first message,
// others stay usable. A file that the system cannot read at present is no damage: the operation fails, and
// the next one tries again. Only recovery sets a table aside for that (ErrorCode::Io), until it is opened
// anew.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/counters.h"
#include "base/memory_budget.h"
#include "base/status.h"
#include "base/stop_token.h"
#include "column/predicate.h"
#include "column/projection.h"
#include "column/segment_columns.h"
#include "delta/delta.h"
#include "file/spill_file.h"
#include "log/operation.h"
#include "schema/key_codec.h"
#include "schema/packed_definition.h"
#include "schema/retention.h"
#include "segment/delete_vector.h"
#include "segment/segment.h"
#include "transaction/lock_manager.h"
#include "transaction/transaction.h"
#include "transaction/transaction_manager.h"

namespace hailstone {

class KeyReads;
class ProcessorTurns;
class RowReads;
class Table;
class TableKeys;

/// What tables ask of the database that holds them. All members thread-safe; outlives the tables.
class TableHost {
 public:
  virtual ~TableHost() = default;
  virtual Filesystem& filesystem() = 0;
  virtual BlockCache& cache() = 0;
  virtual MemoryBudget& budget() = 0;
  /// What deltas are charged to.
  virtual MemoryBudget& row_budget() { return budget(); }
  /// Gives back the memory of dead rows of tables in memory, until `bytes` more fit into row_budget() or
  /// nothing is left to give. The caller holds no mutex. ErrorCode::Interrupted.
  virtual Status reclaim(size_t, const StopToken&) { return {}; }
  virtual SpillSpace& spill_space() = 0;
  virtual Counters& counters() = 0;
  virtual TransactionManager& transactions() = 0;
  virtual LockManager& locks() = 0;
  /// Timestamp of the last durable checkpoint: recovery repeats no transaction that committed at or before
  /// it.
  virtual Timestamp checkpointed() = 0;
  virtual const CollationResolver& collations() = 0;
  /// The identity of a new file of the table, whose number was never used before in this database.
  virtual FileIdentity new_file(TableId table) = 0;
  /// Whether the file at `path`, which carries the identity `found`, is the table's file of this number.
  /// ErrorCode::Corruption.
  virtual Status check_file(const std::string& path, TableId table, uint64_t file,
                            const std::optional<FileIdentity>& found) = 0;
  virtual std::string segment_path(uint64_t file_number) = 0;
  virtual std::string delete_vector_path(uint64_t file_number) = 0;
  /// Makes created segment files findable after a crash (syncs the directory).
  virtual Status sync_files() = 0;
  /// Appends the table's record() to the manifest, durably. Called by flush and merge after the new files are
  /// synced. It calls back write_delete_vectors(), record() and recorded(), so the caller holds neither
  /// the latch nor any mutex that these take.
  virtual Status record(Table& table) = 0;
  /// Asks for flush() / merge() on a background thread.
  virtual void request_flush(const std::shared_ptr<Table>& table) = 0;
  /// Asks for flushes of the tables with most rows in memory, since a writer waits for room. May be called
  /// with any mutex held.
  virtual void request_room() = 0;
  /// Whether background work is under way or asked for; it may hold memory until it ends.
  virtual bool working() = 0;
  virtual void request_merge(const std::shared_ptr<Table>& table) = 0;
  /// The same as soon as no snapshot needs the rows of the table that were ended. May be called with any
  /// mutex held.
  virtual void request_merge_of_dead(const std::shared_ptr<Table>& table) = 0;
  /// Asks for analyze() on a background thread.
  virtual void request_analysis(const std::shared_ptr<Table>& table) = 0;
  /// Files of rows have gone, or will: the log that holds them, too, may go soon. May be called with any
  /// mutex held.
  virtual void request_checkpoint() noexcept = 0;
  /// Runs `job` on a thread that helps queries and loads, or on this one when none is free.
  virtual void run(std::function<void()> job) = 0;
  /// How long work shares the processors; null: it does not.
  virtual ProcessorTurns* processor_turns() { return nullptr; }
  /// Bytes of rows, as they lie in memory, that make a full segment (a share of the budget).
  virtual size_t segment_buffer_bytes() = 0;
  /// Bulk loads under way in the database: they share the memory that one of them would have.
  virtual std::atomic<size_t>& bulk_loads() = 0;
  /// Merges under way in the database: they share the memory that one of them would have.
  virtual std::atomic<size_t>& merges() = 0;
  /// Bytes of one delta at which it is flushed (a share of the budget).
  virtual size_t delta_limit_bytes() = 0;
  /// Rows of one segment at most; at most max_segment_rows.
  virtual uint32_t segment_rows_limit() = 0;
};

/// What a table holds, as files and the manifest have it.
struct TableContents {
  struct SegmentEntry {
    uint64_t file = 0;           // segment_path(file)
    uint64_t delete_vector = 0;  // delete_vector_path(); 0: none written
    Timestamp begin = 0;         // of rows without a begin column
    bool operator==(const SegmentEntry&) const = default;
  };
  std::vector<SegmentEntry> segments;
  uint64_t next_row_id = 1;
  uint64_t next_auto_increment = 1;
  /// Commit of the newest bulk load that `segments` reflects; replay skips older ones.
  Timestamp last_publish = 0;
  /// All changes of rows that committed by then are in `segments` or `rows`: replay passes over them.
  Timestamp applied_until = 0;
  /// Rows that are in no segment, as Table::append_delta_rows() gives them; Table::record() leaves them out.
  std::string rows;
};

/// A table's record in the manifest, and what recovery makes it from.
struct TableRecord : TableContents {
  TableId id = 0;
  Timestamp definition_timestamp = 0;  // commit of its newest DDL
  PackedDefinition definition;
  uint64_t generation = 0;  // not stored: hand it to Table::recorded()
};

/// How a read deals with row locks. The last two leave out rows that would have to be waited for: those that
/// others have locked, or changed without a commit so far.
enum class ReadLock : uint8_t { None, Shared, Exclusive, SharedSkippingLocked, ExclusiveSkippingLocked };

inline bool skips_locked(ReadLock lock) {
  return lock == ReadLock::SharedSkippingLocked || lock == ReadLock::ExclusiveSkippingLocked;
}

/// Which index refused a row, and the row that was refused.
struct Duplicate {
  size_t index = 0;           // position in TableDefinition::indexes
  std::string clustered_key;  // of the row that is already there; empty when both are in one bulk load
  std::string row;            // the refused row (bulk load: the caller has not got it any more)
};

struct TableStatistics {
  uint64_t rows = 0;        // live rows, estimated
  uint64_t data_bytes = 0;  // segments on disk + delta memory
  uint64_t index_bytes = 0;
  uint64_t deleted_rows = 0;
  uint64_t segments = 0;
  /// [index][k]: distinct values of the first k+1 parts, estimated; 0 unknown.
  std::vector<std::vector<uint64_t>> distinct;
};

struct ColumnStatistics {
  ColumnStorage storage;  // summed over segments
  bool columnar = false;
};

class Table : public std::enable_shared_from_this<Table> {
 public:
  /// Opens the segments named by `record` and puts its rows into the delta. Damage does not fail it: the
  /// table comes up marked corrupt. A file that cannot be read at present does, unless `set_aside`: the table
  /// then comes up unusable as long as it is open.
  static Result<std::shared_ptr<Table>> open(TableHost& host, const TableRecord& record,
                                             bool set_aside = false);
  ~Table();

  TableId id() const;
  const TableDefinition& definition() const;
  /// Whether its rows are gone when the database is closed.
  bool is_in_memory() const;
  /// Whether rows outlive the database: log and manifest have them.
  bool is_durable() const;
  /// Of a table in memory: whether the database was closed since the table was made, so that rows may have
  /// gone. True once.
  bool take_emptied();
  /// What is put in the place of the definition, with those before it.
  struct ReplacedDefinition {
    explicit ReplacedDefinition(TableDefinition replaced) : definition(std::move(replaced)) {}
    const TableDefinition definition;
    std::unique_ptr<ReplacedDefinition> before;
  };
  /// Names and application data change, nothing that rows depend on (DDL at its commit; one call at a time).
  /// References that definition() gave before stay valid as long as the table. Needs no memory.
  void replace_definition(std::unique_ptr<ReplacedDefinition> replaced) noexcept;
  const std::shared_ptr<const TableLayout>& layout() const;
  /// Key codec of indexes[i]; `clustered_codec` is that of index 0, or an empty one for the hidden row id.
  const KeyCodec& key_codec(size_t index) const;
  /// Not ok: the table is corrupt; the error says where.
  Status usable() const;
  void mark_corrupt(const Error& error);

  /// The commits that made the table (TRUNCATE and rebuilding make a new one) and gave it its name. 0: it was
  /// so when the database was opened, or that commit is still to come. Set by the catalog.
  void set_ddl_commits(Timestamp made, Timestamp named);
  Timestamp made() const;
  /// Before plain reads. ErrorCode::TableChanged when the transaction's snapshot is from before the table was
  /// made: the snapshot would show it empty, whatever rows were under its name then. `by_name`: also when it
  /// was from before the table had this name. A transaction without a snapshot may read any table.
  Status check_snapshot(Transaction& transaction, bool by_name) const;

  // --- rows. Rows are encoded by layout()->row_codec(). Locks are waited for; DuplicateKey fills
  // `duplicate`. `reads`: null for one row by itself.

  /// The clustered key of the new row.
  Result<std::string> insert(Transaction& transaction, ByteView row, Duplicate& duplicate,
                             KeyReads* reads = nullptr);
  /// Replaces the newest version of `key`; returns the row's new clustered key. NotFound when it is gone.
  Result<std::string> update(Transaction& transaction, ByteView key, ByteView row, Duplicate& duplicate,
                             KeyReads* reads = nullptr);
  Status erase(Transaction& transaction, ByteView key, KeyReads* reads = nullptr);
  /// Reads one row: the snapshot's version for ReadLock::None, else the newest after locking it. False: no
  /// such row. Bytes of the values are valid until the next call with the same `reads`.
  Result<bool> find(Transaction& transaction, ByteView key, ReadLock lock, RowReads& reads,
                    std::span<Value> values);
  /// find() of the whole row, encoded by layout()->row_codec().
  Result<bool> find_row(Transaction& transaction, ByteView key, ReadLock lock, std::string& row);
  /// Gives a row lock back (a row that a locking read returned but that did not match).
  void unlock_row(Transaction& transaction, ByteView key);
  /// The same for a row that the transaction has written since it locked it in this statement. A rollback to
  /// a savepoint takes the version back, which is the lock from here on.
  void unlock_written_row(Transaction& transaction, ByteView key);

  // --- counters

  /// Reserves `count` auto-increment values; the first of them. Durable with the transaction's commit.
  uint64_t next_auto_increment() const;
  /// Raises the counter to `next` when it is below.
  Status raise_auto_increment(Transaction& transaction, uint64_t next);
  /// Takes `count` values spaced as the caller wants: returns the counter and advances it by `count`.
  uint64_t take_auto_increment(uint64_t count);

  // --- statistics and care

  TableStatistics statistics() const;
  ColumnStatistics column_statistics(uint16_t column) const;
  /// Distinct values of a column in tables that all have it, estimated; 0: unknown.
  static uint64_t distinct_values(std::span<const std::shared_ptr<const Table>> tables, uint16_t column);
  /// Estimated number of entries of an index with low <= key < high (encoded; empty: no limit).
  uint64_t estimate_range(size_t index, ByteView low, ByteView high) const;
  /// Reads every byte and checks that indexes and rows agree; the first thing wrong. `in_part`: becomes the
  /// names of the indexes whose keys cannot be made here, so that only what is stored of them was checked;
  /// null: a table with such an index is ErrorCode::Unsupported when nothing is wrong with it.
  Status check(Transaction& transaction, const StopToken& stop, std::vector<std::string>* in_part = nullptr);
  /// Recomputes the distinct counts that statistics() gives. When the table has more than doubled since, or
  /// lost half of its rows, statistics() asks the host to do it again.
  Status analyze(const StopToken& stop = {});
  /// Of a table in memory: gives back what rows take that nobody can see any more, until `enough` returns
  /// true.
  Status compact(const std::function<bool()>& enough, const StopToken& stop);
  /// The same: bytes that its rows take, versions that nobody sees any more included.
  uint64_t memory_bytes() const;
  /// Flushes, and merges all segments into few, dropping dead versions. Writers, flushes and merges of other
  /// segments go on beside it; it waits for merges that have claimed segments before it.
  Status optimize(const StopToken& stop);

  /// What expire() has done.
  struct Expired {
    uint64_t rows = 0;
    uint64_t segments = 0;  // that were dropped as a whole
    uint64_t locked = 0;    // rows that were left, since other transactions had locked or changed them
    // Some were left that need not wait long: their segment was being merged, or the retention has changed.
    bool again = false;
  };
  /// Ends the rows whose value of the retention's column is in `values`, in transactions of its own, which
  /// wait for nobody: what others have locked is left. Segments of which nobody sees a row any more go. Ends
  /// no more of them when the table gets another retention meanwhile. One call at a time.
  Result<Expired> expire(const Retention& retention, const ExpiredValues& values, const StopToken& stop);

  // --- background work, called by the database

  /// Freezes the active delta when `force` or it is over the limit, and writes frozen deltas without
  /// uncommitted versions to segments. True: something is left to flush.
  Result<bool> flush(bool force);
  /// One merge of segments that no other merge has claimed, when it is due; true: more is due.
  Result<bool> merge(const StopToken& stop = {});
  size_t delta_bytes() const;
  bool flush_due() const;
  bool merge_due() const;
  /// Whether a segment with so many ended rows that it should be merged is there, and nobody sees them any
  /// more. TableHost::request_merge_of_dead() is called again only after an answer that is not Later.
  enum class MergeOfDead : uint8_t { Never, Later, Now };
  MergeOfDead merge_of_dead();
  /// Commits in deltas that are not in segments yet.
  bool has_delta_rows() const;
  /// Calls `carry` with a Carry operation for each committed live version in the deltas, in key order.
  Status carry(const std::function<Status(ByteView operation, Timestamp begin)>& carry);
  /// Appends the committed live rows of the deltas with begin <= `up_to` in key order, each as varint begin,
  /// varint row id (0 for a table with a primary key), string row.
  void append_delta_rows(Timestamp up_to, std::string& rows) const;
  /// Bytes of the rows and keys in the deltas, without what holds them.
  size_t delta_row_bytes() const;
  /// Whether a table opened from record() and append_delta_rows() would be the same to everybody: nothing is
  /// uncommitted or waits to be written, no snapshot sees an older version of a row. Only for the one who has
  /// the table to himself.
  bool is_settled() const;
  /// What analyze() has found, for a table that is opened again.
  struct AnalyzedCounts {
    std::vector<std::vector<uint64_t>> distinct;  // as TableStatistics has them; empty: nothing was found
    uint64_t rows = 0;                            // of the table then
    bool empty() const { return distinct.empty(); }
  };
  AnalyzedCounts analyzed_counts() const;
  void set_analyzed_counts(AnalyzedCounts counts);
  /// Writes delete vectors that changed since they were written. Returns whether record() differs from what
  /// the manifest has.
  Result<bool> write_delete_vectors();
  TableRecord record() const;
  /// TableContents::applied_until, when `committed` is the last commit whose changes are all stamped: what is
  /// in deltas is not applied yet.
  Timestamp applied_until(Timestamp committed) const;
  /// The manifest holds what record() gave with this `generation`.
  void recorded(uint64_t generation);
  /// Files of the segments are deleted when the last reader lets go.
  void drop_files();

  // --- recovery: operations of committed transactions, those on one key in commit order, idempotent. Skipped
  // when a version of the key has begin > timestamp, or begin == timestamp and a later end in a segment that
  // the manifest names. A live version of begin == timestamp elsewhere is of an earlier operation of the same
  // transaction, and is replaced or ended (insert + update + delete must replay to its end state).

  /// Whether the state that the table was opened from has all changes of rows that committed at `timestamp`:
  /// replay passes over them.
  bool has_applied(Timestamp timestamp) const;
  Status replay_put(Timestamp timestamp, uint64_t row_id, ByteView row);
  Status replay_delete(Timestamp timestamp, ByteView key);
  Status replay_publish(Timestamp timestamp, uint64_t file);
  void replay_counter(uint64_t next_auto_increment);
  // The same for a transaction that is still prepared: it has done this, and nobody else was let to the rows
  // since.
  Status restore_put(Transaction& transaction, uint64_t row_id, ByteView row);
  Status restore_delete(Transaction& transaction, ByteView key);
  Status restore_publish(Transaction& transaction, std::span<const LoadedFile> files);

  struct State;  // inside of src/table/ only

 private:
  friend class Cursor;
  friend class KeyReads;
  friend class RowReads;
  friend class Scan;
  friend class BulkLoad;
  Table();
  Status merge_all(const StopToken& stop);
  Status restore_rows(ByteView rows);
  std::unique_ptr<State> state_;
};

}  // namespace hailstone
