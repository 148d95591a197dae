// What is kept between rows that are read by their clustered keys, one after the other (Table::find), and
// between rows that are written. Belongs to one thread, which lets go of it at the end of its statement.
#pragma once

#include <vector>

#include "column/projection.h"
#include "table/segment_readers.h"
#include "table/table.h"

namespace hailstone {

/// Of rows that are written: of the segments in which their keys are looked for.
class KeyReads {
 public:
  explicit KeyReads(const Table& table);

 private:
  friend class Table;
  static SegmentReaders* segments_of(KeyReads* reads) {
    return reads == nullptr ? nullptr : &reads->segments_;
  }
  SegmentReaders segments_;
};

/// Of rows that are read.
class RowReads {
 public:
  /// `columns`: what is read, by table column number. `most_segments`: of which blocks stay in memory.
  RowReads(const Table& table, std::vector<uint16_t> columns,
           size_t most_segments = SegmentReaders::most_row_readers);

 private:
  friend class Table;
  const Projection projection_;
  SegmentReaders segments_;
  Batch batch_;  // bytes of the row that was read last
};

}  // namespace hailstone
