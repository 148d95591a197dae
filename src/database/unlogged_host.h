// What tables see of their database that log and manifest know no rows of: the same transactions, locks and
// threads as durable tables. Thread-safe.
#pragma once

#include "table/table.h"

namespace hailstone {

class DatabaseCore;

class UnloggedHost : public TableHost {
 public:
  /// `core` outlives this.
  explicit UnloggedHost(DatabaseCore& core) : core_(core) {}

  BlockCache& cache() override;
  MemoryBudget& budget() override;
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
  Status sync_files() override { return {}; }
  Status record(Table& table) override;
  void request_flush(const std::shared_ptr<Table>& table) override;
  bool working() override;
  void request_merge(const std::shared_ptr<Table>& table) override;
  void request_merge_of_dead(const std::shared_ptr<Table>& table) override;
  void request_analysis(const std::shared_ptr<Table>& table) override;
  /// The log holds nothing of them.
  void request_checkpoint() noexcept override {}
  void run(std::function<void()> job) override;
  ProcessorTurns* processor_turns() override;
  std::atomic<size_t>& bulk_loads() override;
  std::atomic<size_t>& merges() override;
  uint32_t segment_rows_limit() override;

 protected:
  DatabaseCore& core() { return core_; }

 private:
  DatabaseCore& core_;
};

}  // namespace hailstone
