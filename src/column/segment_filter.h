// A predicate made ready for one segment: leaves on dictionary columns have been evaluated once per distinct
// value. Blocks that cannot match are told without being read. evaluate() may be called by several threads at
// once.
#pragma once

#include <memory>

#include "base/counters.h"
#include "base/status.h"
#include "column/block_reader.h"
#include "column/predicate.h"

namespace hailstone {

/// How many rows of a block match, as far as its summaries tell.
enum class BlockOutcome : uint8_t { None, Some, All };

class SegmentFilter {
 public:
  static Result<SegmentFilter> prepare(std::shared_ptr<const Predicate> predicate,
                                       const SegmentColumns& columns, Counters& counters);
  SegmentFilter(SegmentFilter&&) noexcept;
  SegmentFilter& operator=(SegmentFilter&&) noexcept;
  ~SegmentFilter();

  /// True: no row of the segment can match.
  bool excludes_segment() const;
  /// What the block's summaries alone say.
  BlockOutcome outcome_of(uint32_t block) const;
  /// True: no row of the block can match, by its summaries alone, which is counted.
  bool excludes_block(uint32_t block) const;
  /// Of the rows of the block that are in `bitmap`, leaves those for which the predicate is TRUE. `reader` is
  /// the thread's, of the same segment.
  Status evaluate(BlockReader& reader, uint32_t block, BlockBitmap& bitmap) const;

 private:
  SegmentFilter();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hailstone
