// Values out of arrays of the Arrow C data interface, for the columns of a table. Borrows the structures;
// belongs to one thread.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "api/hailstone/handles.h"

namespace hailstone::capi {

/// Reads one array of a column: each type of array has a class of its own.
class ArrowColumn {
 public:
  virtual ~ArrowColumn() = default;
  /// The value of a row of the array, for the table's column; bytes lie in the array.
  virtual Returned<Value> value(int64_t row) const = 0;

  /// HS_INVALID when the array's type does not fit the column, or the structures are not well-formed. What
  /// the interface does not tell, the sizes of buffers of fixed-size values and offsets, is taken to be
  /// right.
  static Returned<std::unique_ptr<ArrowColumn>> make(const ColumnShape& column, const ArrowSchema& schema,
                                                     const ArrowArray& array);
};

/// Calls `take` with each row of a struct array: a value for each column of the table, NULL for those that
/// the array has not got. Calls `look` now and then, whose error ends the work.
Outcome read_arrow(const TableShape& table, const ArrowSchema* schema, const ArrowArray* array,
                   const std::function<Outcome(std::span<const Value>)>& take,
                   const std::function<Outcome()>& look);

}  // namespace hailstone::capi
