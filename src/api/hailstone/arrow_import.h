// Values out of arrays of the Arrow C data interface, for the columns of a table. Borrows the structures;
// belongs to one thread.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "api/hailstone/handles.h"

namespace hailstone::capi {

/// Releases what a stream gives, or the stream itself.
template <typename Structure>
struct Released {
  Structure structure{};
  ~Released() {
    if (structure.release != nullptr) structure.release(&structure);
  }
};

/// "failed with error 5: …", with the reason that the stream gives.
std::string stream_failure(ArrowArrayStream& stream, int number);

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

/// Readers of a struct array's children, by the children's places: one for each of these columns.
/// HS_INVALID: the structures are not well-formed, a row is NULL as a whole, or a child does not fit.
Returned<std::vector<std::unique_ptr<ArrowColumn>>> open_columns(std::span<const ColumnShape> columns,
                                                                 const ArrowSchema& schema,
                                                                 const ArrowArray& array);

/// Calls `take` with each row of a struct array: a value for each column of the table, NULL for those that
/// the array has not got. Calls `look` now and then, whose error ends the work.
Outcome read_arrow(const TableShape& table, const ArrowSchema* schema, const ArrowArray* array,
                   const std::function<Outcome(std::span<const Value>)>& take,
                   const std::function<Outcome()>& look);

}  // namespace hailstone::capi
