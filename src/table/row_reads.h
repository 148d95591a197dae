// Reads of single rows by their clustered keys, one after the other (Table::find): which columns, and what is
// kept between them. Belongs to one thread, which lets go of it at the end of its statement.
#pragma once

#include <vector>

#include "column/projection.h"
#include "table/segment_readers.h"
#include "table/table.h"

namespace hailstone {

class RowReads {
 public:
  /// `columns`: what is read, by table column number.
  RowReads(const Table& table, std::vector<uint16_t> columns);

 private:
  friend class Table;
  const Projection projection_;
  SegmentReaders segments_;
  Batch batch_;  // bytes of the row that was read last
};

}  // namespace hailstone
