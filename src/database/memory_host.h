// What tables in memory see of their database: as UnloggedHost, but a filesystem that is memory, and a budget
// of its own for rows. Thread-safe.
#pragma once

#include "database/unlogged_host.h"
#include "file/memory_filesystem.h"

namespace hailstone {

class MemoryHost final : public UnloggedHost {
 public:
  /// `limit` in bytes, for the rows of all tables in memory. `core` outlives this.
  MemoryHost(DatabaseCore& core, size_t limit)
      : UnloggedHost(core), row_budget_(limit), filesystem_(&row_budget_) {}

  Filesystem& filesystem() override { return filesystem_; }
  MemoryBudget& row_budget() override { return row_budget_; }
  Status reclaim(size_t bytes, const StopToken& stop) override;
  std::string segment_path(uint64_t file_number) override;
  std::string delete_vector_path(uint64_t file_number) override;
  void request_room() override {}
  size_t segment_buffer_bytes() override;
  size_t delta_limit_bytes() override;

 private:
  MemoryBudget row_budget_;  // before the files that it is charged with
  MemoryFilesystem filesystem_;
};

}  // namespace hailstone
