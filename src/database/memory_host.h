// What tables in memory see of their database: the same transactions, locks and threads as durable tables,
// but a filesystem that is memory, a budget of its own for rows, and no manifest. Thread-safe.
#pragma once

#include "file/memory_filesystem.h"
#include "table/table.h"

namespace hailstone {

class DatabaseCore;

class MemoryHost final : public TableHost {
 public:
  /// `limit` in bytes, for the rows of all tables in memory. `core` outlives this.
  MemoryHost(DatabaseCore& core, size_t limit) : core_(core), row_budget_(limit), filesystem_(&row_budget_) {}

  Filesystem& filesystem() override { return filesystem_; }
  BlockCache& cache() override;
  MemoryBudget& budget() override;
  bool is_durable() const override { return false; }
  MemoryBudget& row_budget() override { return row_budget_; }
  Status reclaim(size_t bytes, const StopToken& stop) override;
  SpillSpace& spill_space() override;
  Counters& counters() override;
  TransactionManager& transactions() override;
  LockManager& locks() override;
  /// Nothing is ever repeated.
  Timestamp checkpointed() override { return infinity; }
  const CollationResolver& collations() override;
  FileIdentity new_file(TableId table) override;
  Status check_file(const std::string& path, TableId table, uint64_t file,
                    const std::optional<FileIdentity>& found) override;
  std::string segment_path(uint64_t file_number) override;
  std::string delete_vector_path(uint64_t file_number) override;
  Status sync_files() override { return {}; }
  Status record(Table& table) override;
  void request_flush(const std::shared_ptr<Table>& table) override;
  void request_room() override {}
  bool working() override;
  void request_merge(const std::shared_ptr<Table>& table) override;
  void run(std::function<void()> job) override;
  size_t segment_buffer_bytes() override;
  std::atomic<size_t>& bulk_loads() override;
  std::atomic<size_t>& merges() override;
  size_t delta_limit_bytes() override;
  uint32_t segment_rows_limit() override;

 private:
  DatabaseCore& core_;
  MemoryBudget row_budget_;  // before the files that it is charged with
  MemoryFilesystem filesystem_;
};

}  // namespace hailstone
