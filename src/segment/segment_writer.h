// Writes a whole segment from rows in memory. The encoding of each column is chosen by its data;
// docs/formats.md has the file to the byte.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/counters.h"
#include "base/status.h"
#include "file/filesystem.h"
#include "segment/column_buffer.h"
#include "segment/file_identity.h"
#include "segment/geometry.h"

namespace hailstone {

/// A secondary index of a segment: its rows' ordinals in index order (entries that the index does not have
/// are left out).
struct IndexRun {
  std::vector<uint32_t> ordinals;
  /// Full entry keys (index key + clustered key) of entries 0, stride, 2*stride …
  std::vector<std::string> samples;
  std::string last_key;
  /// hash_bytes() of each entry's index key alone, for unique indexes; else empty.
  std::vector<uint64_t> key_hashes;
  /// [k]: number of distinct values of the first k+1 parts in this segment.
  std::vector<uint64_t> distinct_prefixes;
};

struct SegmentInput {
  FileIdentity identity;
  std::span<const ColumnBuffer* const> columns;
  std::span<const uint32_t> order;  // row i of the segment is row order[i] of the columns; empty: as they are
  uint32_t rows = 0;
  std::vector<std::string> key_samples;  // clustered keys of rows 0, stride, 2*stride …
  std::string last_key;
  std::vector<uint64_t> key_hashes;         // hash_bytes() of every clustered key; empty for a hidden row id
  std::vector<uint64_t> distinct_prefixes;  // of the clustered key
  std::vector<IndexRun> indexes;
};

/// Creates `path`, writes and syncs it. On error the file is removed. `stop` (may be empty) is asked now and
/// then; true ends with ErrorCode::Interrupted.
Status write_segment(Filesystem& filesystem, const std::string& path, const SegmentInput& input,
                     Counters& counters, const std::function<bool()>& stop = {});

}  // namespace hailstone
