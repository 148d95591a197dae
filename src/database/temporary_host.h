// What temporary tables see of their database: as UnloggedHost. Their rows are charged to the database's
// budget as those of durable tables are; their files are in memory as long as those of all temporary tables
// take less than a limit, and in the database's directory beyond it. Recovery removes what a crash leaves
// there, as nothing names it. Thread-safe.
#pragma once

#include "database/unlogged_host.h"
#include "file/overflow_filesystem.h"

namespace hailstone {

class TemporaryHost final : public UnloggedHost {
 public:
  /// `limit`: bytes of the files that stay in memory. `core` and `disk` outlive this.
  TemporaryHost(DatabaseCore& core, Filesystem& disk, size_t limit)
      : UnloggedHost(core), file_budget_(limit), filesystem_(disk, file_budget_) {}

  /// Of the files in memory.
  MemoryBudget& file_budget() { return file_budget_; }
  Filesystem& filesystem() override { return filesystem_; }
  std::string segment_path(uint64_t file_number) override;
  std::string delete_vector_path(uint64_t file_number) override;
  void request_room() override;
  size_t segment_buffer_bytes() override;
  size_t delta_limit_bytes() override;

 private:
  MemoryBudget file_budget_;  // before the files that it is charged with
  OverflowFilesystem filesystem_;
};

}  // namespace hailstone
