// Segments of a table and their delete vector files, opened and written.
#pragma once

#include <memory>

#include "table/table_state.h"

namespace hailstone {

/// Opens a segment and its delete vector as the manifest names them.
Result<std::shared_ptr<TableSegment>> open_table_segment(Table::State& state,
                                                         const TableRecord::SegmentEntry& entry);
/// Opens a segment without ended rows, as a bulk load or its replay publishes it.
Result<std::shared_ptr<TableSegment>> open_new_segment(Table::State& state, uint64_t file, Timestamp begin);
/// The same for a file that the caller has just written; it is removed when it cannot be opened.
Result<std::shared_ptr<TableSegment>> open_written_segment(Table::State& state, uint64_t file,
                                                           Timestamp begin);
/// Reads the file that holds the segment's ended rows, if there is one, and checks it. A segment that a merge
/// has replaced meanwhile needs its file no more.
Status check_delete_vector(Table::State& state, const TableSegment& segment);
/// Writes the committed ends of a segment to a new file when they changed since they were written last. The
/// old file is returned through `obsolete` (0: none); it may go when the manifest names the new one. True: a
/// file was written, or is not needed any more.
Result<bool> write_delete_vector(Table::State& state, TableSegment& segment, uint64_t& obsolete);

}  // namespace hailstone
