// The way to the blocks of one segment. A reader belongs to one thread. It pins what it works on: of each
// column the block that was asked for last and the dictionary. A thread that goes through the rows of a block
// so asks the cache once, however short memory is.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/container/inlined_vector.h"
#include "base/status.h"
#include "column/segment_columns.h"
#include "segment/segment.h"

namespace hailstone {

class BlockReader {
 public:
  /// `columns` must outlive the reader.
  explicit BlockReader(const SegmentColumns& columns, CacheUse use = CacheUse::Keep)
      : columns_(columns), use_(use) {}
  BlockReader(const BlockReader&) = delete;
  BlockReader& operator=(const BlockReader&) = delete;

  const SegmentColumns& columns() const { return columns_; }
  const Segment& segment() const { return columns_.segment(); }

  /// A block with what its values point into.
  struct Pinned {
    std::shared_ptr<const Block> block;
    std::shared_ptr<const Dictionary> dictionary;  // null where the block has no codes
  };
  /// Block `number` of the segment's column `position`. Valid until the next call.
  Result<const Pinned*> block(size_t position, uint32_t number);
  /// Ordinals of the entries [first, first + count) of a secondary index, in its order.
  Status index_ordinals(size_t index, uint32_t first, uint32_t count, uint32_t* to) {
    return segment().index_ordinals(index, first, count, to, index_block_, use_);
  }

 private:
  struct Slot {
    size_t position;
    uint32_t number;
    Pinned pinned;
    std::shared_ptr<const Dictionary> dictionary;  // of the column, also while a block has no codes
  };
  Status load(Slot& slot, uint32_t number);

  const SegmentColumns& columns_;
  const CacheUse use_;
  absl::InlinedVector<Slot, 8> slots_;  // of columns that were asked for
  size_t next_ = 0;  // columns are asked for in turns: the slot after the one that was used last
  IndexBlock index_block_;
};

}  // namespace hailstone
