// The segments that a manifest names, opened from their files without a database: for commands that look at
// files. One thread at a time; the segments must not outlive it.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/counters.h"
#include "base/memory_budget.h"
#include "base/status.h"
#include "database/manifest.h"
#include "segment/block_cache.h"
#include "segment/segment.h"
#include "table/table.h"

namespace hailstone {

class SegmentFiles {
 public:
  explicit SegmentFiles(std::string directory)
      : directory_(std::move(directory)), budget_(memory), cache_(budget_, counters_) {}

  struct Opened {
    std::shared_ptr<Segment> segment;
    uint32_t ended = 0;  // rows
  };
  /// Reads the segment's footer and the whole delete vector. ErrorCode::Corruption also for files that are
  /// not there, or are not the table's.
  Result<Opened> open(const ManifestContent& manifest, TableId table, const TableRecord::SegmentEntry& entry);

 private:
  static constexpr size_t memory = size_t{256} << 20;
  const std::string directory_;
  Counters counters_;
  MemoryBudget budget_;
  BlockCache cache_;
};

/// Opens each file that the manifest of the directory names, which nobody may have open. The names of the
/// tables of which one is missing or damaged, with what is wrong. What lies between a file's ends is not
/// read.
Result<std::map<std::string, std::string>> find_damaged_tables(const std::string& directory);

}  // namespace hailstone
