// What the parts of an open database share, and what its tables see of it (TableHost). Thread-safe once the
// database is open.
//
// Mutexes, outermost first: checkpoint → state recorder → a table's own and the commit mutex → catalog.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "base/kept_pages.h"
#include "base/processor_turns.h"
#include "base/query_gate.h"
#include "database/catalog.h"
#include "database/database.h"
#include "database/file_numbers.h"
#include "database/memory_host.h"
#include "database/temporary_host.h"
#include "file/nameless_files.h"
#include "file/open_files.h"
#include "segment/block_cache.h"

namespace hailstone {

class Checkpointer;
class Maintenance;
class StateRecorder;

class DatabaseCore final : public TableHost {
 public:
  DatabaseCore(Filesystem& filesystem, std::string directory, DatabaseOptions options);
  ~DatabaseCore() override;

  Filesystem& filesystem() override { return files_read_; }
  BlockCache& cache() override { return cache_; }
  MemoryBudget& budget() override { return budget_; }
  QueryGate& query_gate() { return query_gate_; }
  SpillSpace& spill_space() override { return spill_space_; }
  Counters& counters() override { return counters_; }
  TransactionManager& transactions() override { return *transaction_manager; }
  LockManager& locks() override { return locks_; }
  Timestamp checkpointed() override { return checkpoint_timestamp.load(std::memory_order_relaxed); }
  const CollationResolver& collations() override;
  FileIdentity new_file(TableId table) override { return file_numbers.take(table); }
  Status check_file(const std::string& path, TableId table, uint64_t file,
                    const std::optional<FileIdentity>& found) override {
    return file_numbers.check(path, table, file, found);
  }
  std::string segment_path(uint64_t file_number) override;
  std::string delete_vector_path(uint64_t file_number) override;
  Status sync_files() override { return files_read_.sync_directory(directory_); }
  Status record(Table& table) override;
  void request_flush(const std::shared_ptr<Table>& table) override;
  void request_room() override;
  bool working() override;
  void request_merge(const std::shared_ptr<Table>& table) override;
  void request_merge_of_dead(const std::shared_ptr<Table>& table) override;
  void request_analysis(const std::shared_ptr<Table>& table) override;
  void request_checkpoint() noexcept override;
  void run(std::function<void()> job) override;
  ProcessorTurns* processor_turns() override { return &processor_turns_; }
  size_t segment_buffer_bytes() override;
  std::atomic<size_t>& bulk_loads() override { return bulk_loads_; }
  std::atomic<size_t>& merges() override { return merges_; }
  uint32_t segment_rows_limit() override { return options_.segment_rows_limit; }
  size_t delta_limit_bytes() override;

  /// 0: as the process may have.
  void set_open_files(size_t files) {
    files_read_.set_limit(files != 0 ? files : OpenFiles::default_limit());
  }
  size_t open_files() const { return files_read_.open_count(); }

  /// Database::expire_rows(). A table whose times the clock does not know is passed over.
  Result<Table::Expired> expire_rows(const StopToken& stop);
  Database::LastExpiry last_expiry() const;

  const std::string& directory() const { return directory_; }
  const DatabaseOptions& options() const { return options_; }
  Catalog& catalog() { return catalog_; }
  MemoryHost& memory_host() { return memory_host_; }
  TemporaryHost& temporary_host() { return temporary_host_; }
  void log_message(DatabaseOptions::Severity severity, const std::string& message) const;

  FileNumbers file_numbers;
  std::atomic<TableId> next_table{1};
  std::atomic<size_t> checkpoint_log_bytes;
  std::atomic<size_t> open_tables;
  std::atomic<std::chrono::seconds> snapshot_too_old;    // 0: never
  std::atomic<std::chrono::seconds> retention_interval;  // 0: never
  std::atomic<std::chrono::seconds> retention_lag;
  std::atomic<bool> closing{false};                // background work waits for a full disk no more
  std::atomic<Timestamp> checkpoint_timestamp{0};  // of the mark that the manifest has

 private:
  const std::string directory_;
  const DatabaseOptions options_;
  OpenFiles files_read_;
  const CollationResolver default_collations_;
  const RetentionClock default_retention_clock_;
  Mutex expiring_;  // one look at a time; outermost
  mutable Mutex last_expiry_mutex_;
  Database::LastExpiry last_expiry_ HAILSTONE_GUARDED_BY(last_expiry_mutex_);
  Counters counters_;
  const KeptPages::User kept_pages_;
  MemoryBudget budget_;
  QueryGate query_gate_{budget_, counters_};
  ProcessorTurns processor_turns_{ProcessorTurns::available(), counters_};
  const std::unique_ptr<NamelessFiles> spill_files_;  // null: they are in the database's directory
  SpillSpace spill_space_;
  BlockCache cache_;
  std::atomic<size_t> bulk_loads_{0};
  std::atomic<size_t> merges_{0};
  LockManager locks_;
  MemoryHost memory_host_;
  TemporaryHost temporary_host_;

 public:
  // Made by Database::open, in this order; there for the life of the database from then on.
  std::unique_ptr<DirectoryLock> directory_lock;
  std::unique_ptr<Log> log;
  std::unique_ptr<TransactionManager> transaction_manager;
  std::unique_ptr<StateRecorder> recorder;
  std::unique_ptr<Checkpointer> checkpointer;

 private:
  Catalog catalog_;  // tables go before what they use

 public:
  std::unique_ptr<Maintenance> maintenance;  // null during recovery and after close
};

std::string segment_file_name(uint64_t file_number);
std::string segment_path_in(const std::string& directory, uint64_t file_number);
std::string delete_vector_file_name(uint64_t file_number);
std::string delete_vector_path_in(const std::string& directory, uint64_t file_number);
/// The number of a segment or delete vector file; nothing for the names of other files.
std::optional<uint64_t> file_number_of(std::string_view name);

}  // namespace hailstone
