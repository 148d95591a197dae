// How rows move when segments are merged. The keys of the inputs are merged first, which says in which order
// the rows of one output come; then the columns follow one after the other, decoded in runs. So no more than
// one block of one column of each input need be in memory at a time, and inputs whose turn has not come, or
// is over, take no memory.
#pragma once

#include "base/stop_token.h"
#include "table/table_state.h"

namespace hailstone {

/// Whether no snapshot in use, nor any taken later, sees a row of the segment.
bool is_dead(const TableSegment& segment, const SnapshotsInUse& snapshots);

/// Writes the rows of `inputs` that some snapshot can still see, in key order, to new segments, and puts
/// these in the place of the inputs, which the caller has claimed. Nothing is read of inputs that are dead as
/// a whole. On error the table is as before. Lets work that is more urgent go first. ErrorCode::Interrupted.
Status merge_segments(Table::State& state, const TableSegments& inputs, const StopToken& stop);

}  // namespace hailstone
