// Rows of a scan as arrays of the Arrow C data interface. Belongs to one thread; the structures that it makes
// own themselves.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "api/hailstone/handles.h"
#include "column/projection.h"

namespace hailstone::capi {

/// One column of the result.
struct ExportedColumn {
  /// What is given beside the types of hailstone.h: of numbers that a query has computed.
  enum class Form : uint8_t {
    OfShape,  // as the column is stored
    Decimal,  // decimal128 of so many digits
    Whole,    // a number in the form of a DECIMAL, as the shape's HS_INT64 or HS_UINT64
    Moment,   // expression/moment.h, as the shape's HS_DATE, HS_TIMESTAMP or HS_DATETIME
    Span,     // expression/span.h, as a duration
  };
  ColumnShape shape;
  bool as_dictionary = false;
  Form form = Form::OfShape;
  unsigned digits = 0, scale = 0;  // of Decimal
};

/// Fills `schema` for a struct of the columns. Throws std::bad_alloc only.
void export_schema(const std::vector<ExportedColumn>& columns, ArrowSchema* schema);

/// Collects batches of rows into one array.
class ArrayBuilder {
 public:
  static constexpr uint32_t most_rows = 65536;

  explicit ArrayBuilder(std::vector<ExportedColumn> columns);
  ~ArrayBuilder();

  /// Takes rows of the batch from `first` on; how many. 0: the array is full, or the rows need another
  /// dictionary, so that finish() has to come first. HS_OUT_OF_RANGE: a Decimal has more digits than its
  /// column.
  Returned<uint32_t> append(uint32_t rows, std::span<const ColumnVector* const> columns, uint32_t first);
  uint32_t rows() const { return rows_; }
  /// Moves the rows taken to `array` and begins anew.
  void finish(ArrowArray* array);

 private:
  class Builder;
  class NumberBuilder;
  class BooleanBuilder;
  class TextBuilder;
  class DictionaryBuilder;
  class DecimalBuilder;
  class TimeBuilder;
  const std::vector<ExportedColumn> columns_;
  std::vector<std::unique_ptr<Builder>> builders_;
  uint32_t rows_ = 0;
};

}  // namespace hailstone::capi
