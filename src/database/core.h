// What the parts of an open database share, and what its tables see of it (TableHost). Thread-safe once the
// database is open.
//
// Mutexes, outermost first: checkpoint → state recorder → a table's own and the commit mutex → catalog.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "database/catalog.h"
#include "database/database.h"
#include "database/file_copy.h"
#include "segment/block_cache.h"

namespace hailstone {

class Checkpointer;
class Maintenance;
class StateRecorder;

class DatabaseCore final : public TableHost {
 public:
  DatabaseCore(Filesystem& filesystem, std::string directory, DatabaseOptions options);
  ~DatabaseCore() override;

  Filesystem& filesystem() override { return filesystem_; }
  BlockCache& cache() override { return cache_; }
  MemoryBudget& budget() override { return budget_; }
  Counters& counters() override { return counters_; }
  TransactionManager& transactions() override { return *transaction_manager; }
  LockManager& locks() override { return locks_; }
  Timestamp checkpointed() override { return checkpoint_timestamp.load(std::memory_order_relaxed); }
  const CollationResolver& collations() override;
  uint64_t new_file_number() override { return next_file.fetch_add(1, std::memory_order_relaxed); }
  std::string segment_path(uint64_t file_number) override;
  std::string delete_vector_path(uint64_t file_number) override;
  Status sync_files() override { return filesystem_.sync_directory(directory_); }
  Status record_state(Table& table) override;
  void request_flush(const std::shared_ptr<Table>& table) override;
  void request_room() override;
  bool working() override;
  void request_merge(const std::shared_ptr<Table>& table) override;
  void run(std::function<void()> job) override;
  size_t segment_buffer_bytes() override;
  std::atomic<size_t>& bulk_loads() override { return bulk_loads_; }
  size_t delta_limit_bytes() override;

  /// Database::backup().
  Status backup(const std::string& target, const CopyProgress& progress);

  const std::string& directory() const { return directory_; }
  const DatabaseOptions& options() const { return options_; }
  Catalog& catalog() { return catalog_; }
  void log_message(DatabaseOptions::Severity severity, const std::string& message) const;

  std::atomic<uint64_t> next_file{1};
  std::atomic<TableId> next_table{1};
  std::atomic<size_t> checkpoint_log_bytes;
  std::atomic<size_t> open_tables;
  std::atomic<Timestamp> checkpoint_timestamp{0};  // of the mark that the manifest has

 private:
  Filesystem& filesystem_;
  const std::string directory_;
  const DatabaseOptions options_;
  const CollationResolver default_collations_;
  Counters counters_;
  MemoryBudget budget_;
  BlockCache cache_;
  std::atomic<size_t> bulk_loads_{0};
  LockManager locks_;

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

std::string segment_path_in(const std::string& directory, uint64_t file_number);
std::string delete_vector_path_in(const std::string& directory, uint64_t file_number);
/// The number of a segment or delete vector file; nothing for the names of other files.
std::optional<uint64_t> file_number_of(std::string_view name);

}  // namespace hailstone
