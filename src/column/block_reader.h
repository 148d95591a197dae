// The way to the blocks of one segment. A reader belongs to one thread. It pins what it works on: of each
// column the block that was asked for last (and, for rows that lie anywhere, others: segment/block_pins.h)
// and the dictionary. A thread that goes through the rows of a block so asks the cache once, however short
// memory is.
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

  /// A block with what its values point into. Valid until the reader is asked for the next one.
  struct Pinned {
    const std::shared_ptr<const Block>& block;
    const std::shared_ptr<const Dictionary>& dictionary;  // null where the block has no codes
  };
  /// Block `number` of the segment's column `position`.
  Result<Pinned> block(size_t position, uint32_t number);
  /// Ordinals of the entries [first, first + count) of a secondary index, in its order: of the same one in
  /// all calls.
  Status index_ordinals(size_t index, uint32_t first, uint32_t count, uint32_t* to) {
    return segment().index_ordinals(index, first, count, to, index_pins_, use_);
  }

 private:
  struct Slot {
    size_t position;
    BlockPins pins;
    std::shared_ptr<const Dictionary> dictionary;  // once a block has had codes
  };
  Slot& slot_of(size_t position);

  const SegmentColumns& columns_;
  const CacheUse use_;
  absl::InlinedVector<Slot, 8> slots_;  // of columns that were asked for
  size_t next_ = 0;  // columns are asked for in turns: the slot after the one that was used last
  BlockPins index_pins_;
};

}  // namespace hailstone
