// What a thread that looks up one row after the other keeps of the segments that it meets: the blocks, the
// parts of their filters. Belongs to one thread, which lets go of it when it has no more rows to look up.
#pragma once

#include <memory>
#include <vector>

#include "table/key_search.h"

namespace hailstone {

class SegmentReaders {
 public:
  explicit SegmentReaders(std::shared_ptr<const TableKeys> keys) : keys_(std::move(keys)) {}

  struct Reader {
    Reader(std::shared_ptr<TableSegment> read, const TableKeys& table_keys)
        : segment(std::move(read)),
          keys(*segment, table_keys, SegmentKeys::clustered),
          blocks(segment->columns) {}
    const std::shared_ptr<TableSegment> segment;
    SegmentKeys keys;
    FilterPart filter;
    BlockReader blocks;  // of values
  };
  /// Valid until the next call.
  Reader& of(const std::shared_ptr<TableSegment>& segment);
  void clear() { readers_.clear(); }

 private:
  const std::shared_ptr<const TableKeys> keys_;
  std::vector<std::unique_ptr<Reader>> readers_;
  size_t last_ = 0;
};

/// Rows [first, last) of the segment that have exactly this clustered key; empty when it has none.
struct OrdinalRange {
  uint32_t first = 0, last = 0;
  bool empty() const { return first == last; }
};
/// `readers`: null where no other row is looked up.
Result<OrdinalRange> find_clustered(const std::shared_ptr<TableSegment>& segment, const TableKeys& keys,
                                    ByteView key, Counters& counters, SegmentReaders* readers);

}  // namespace hailstone
