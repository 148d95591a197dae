// Writes the rows of a delta to one segment or several.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "table/segment_builder.h"

namespace hailstone {

/// All versions of a delta, in key order, newest first. The caller sees to it that none come or go meanwhile.
/// Not analysed: `visit` runs under what the caller holds.
template <typename Visit>
HAILSTONE_NO_THREAD_SAFETY_ANALYSIS void for_each_version(const Delta& rows, const Visit& visit) {
  for (auto entry = rows.clustered().begin(); entry != rows.clustered().end(); ++entry) {
    for (Version* version = entry.version(); version != nullptr; version = version->older()) visit(*version);
  }
}

class DeltaWriter {
 public:
  struct Written {
    TableSegments segments;  // in key order; none: nothing was worth keeping
    std::vector<bool>
        is_row;  // of the versions, in the order of for_each_version(): whether it has become one
  };

  /// Without `owner`: the committed rows that somebody may see. `owner`, a marker: all versions are of this
  /// open transaction, and all are written.
  DeltaWriter(Table::State& state, TableDelta& delta, std::optional<Timestamp> owner)
      : state_(state),
        delta_(delta),
        owner_(owner),
        snapshots_(state.host.transactions().snapshots_in_use()) {}

  /// Ends that are set from here on are taken over at publication.
  Result<Written> write();

 private:
  bool is_written(const Version& version) const;
  Status write_all();
  Status add(const Version& version);
  Status finish_segment();

  Table::State& state_;
  TableDelta& delta_;
  const std::optional<Timestamp> owner_;
  const SnapshotsInUse snapshots_;
  bool with_begin_ = false;
  uint64_t versions_ = 0;
  size_t delta_bytes_ = 0;
  std::unique_ptr<SegmentBuilder> builder_;
  ByteView last_key_;
  Timestamp newest_begin_ = 0;  // of the segment being filled
  Written written_;
};

}  // namespace hailstone
