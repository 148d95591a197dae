// Finds the distinct values of a bytes column and gives each row its value's number. Used by one thread,
// once, for one segment being written.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/page_allocator.h"
#include "segment/column_buffer.h"
#include "segment/distinct_sketch.h"

namespace hailstone {

/// A column's rows in the order of the segment.
struct OrderedColumn {
  const ColumnBuffer& column;
  std::span<const uint32_t> order;  // empty: as they are
  uint32_t rows = 0;

  size_t position(uint32_t row) const { return order.empty() ? row : order[row]; }
  bool null(uint32_t row) const { return column.null(position(row)); }
  ByteView bytes(uint32_t row) const { return column.bytes(position(row)); }
  uint64_t integer(uint32_t row) const { return column.integer(position(row)); }
};

struct BuiltDictionary {
  PageVector<ByteView> values;  // sorted by bytes; into the column
  PageVector<uint32_t> codes;   // a row's value; NULL rows have the code of a neighbour
};

/// Of the distinct values; NULLs do not count.
DistinctSketch sketch_distinct(const OrderedColumn& column);

/// Nothing when there are more than `limit` distinct values.
std::optional<BuiltDictionary> build_dictionary(const OrderedColumn& column, uint64_t expected,
                                                uint64_t limit);

/// The stored form of a dictionary.
std::string encode_dictionary(std::span<const ByteView> values);

}  // namespace hailstone
