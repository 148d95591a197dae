// What is behind an ArrowArrayStream that the library gives out: rows of a scan or of a query. Its
// private_data is a handle: an application may read or release the stream at any time, also when the database
// is closed, in any thread, and in a child of fork().
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "api/hailstone/arrow_export.h"
#include "expression/evaluator.h"

namespace hailstone::capi {

/// Batches of rows on their way into arrays. Belongs to the transaction's thread.
class StreamedRows : public Guarded {
 public:
  explicit StreamedRows(std::vector<ExportedColumn> columns)
      : columns_(std::move(columns)), builder_(columns_) {}
  const std::vector<ExportedColumn>& columns() const { return columns_; }
  /// An array of up to ArrayBuilder::most_rows rows; a released one: there are no more.
  Outcome next(ArrowArray* out);

 protected:
  /// The next rows, whose columns are those of the stream, valid until the next call; nothing: the end.
  virtual Returned<std::optional<RowBatch>> read() = 0;

 private:
  const std::vector<ExportedColumn> columns_;
  ArrayBuilder builder_;
  std::optional<RowBatch> batch_;
  uint32_t taken_ = 0;  // rows of the batch that are in the builder or given out
  bool ended_ = false;
};

/// `shape`: of the table that it reads; may be null.
Outcome open_stream(const std::shared_ptr<SharedTransaction>& transaction,
                    const std::shared_ptr<const TableShape>& shape, std::unique_ptr<StreamedRows> rows,
                    ArrowArrayStream* stream);

}  // namespace hailstone::capi
