// Rows that the application gives a query as an Arrow stream. The stream is read by the caller's thread,
// once, while the query runs.
#pragma once

#include <memory>
#include <vector>

#include "api/hailstone/arrow_import.h"
#include "query/row_batches.h"

namespace hailstone::capi {

/// Owns an Arrow stream. Belongs to the transaction's thread.
class GivenStream {
 public:
  /// Takes the stream, which the application has no more, also when this fails. HS_INVALID: it is no stream
  /// of record batches; HS_UNSUPPORTED: a column is of a type that hailstone.h has not got.
  static Returned<std::shared_ptr<GivenStream>> take(ArrowArrayStream* stream, std::string name);

  const std::string& name() const { return name_; }
  const std::vector<ColumnShape>& columns() const { return columns_; }

  /// ErrorCode::InvalidArgument: another query has had them.
  static Result<std::unique_ptr<RowBatches>> rows(const std::shared_ptr<GivenStream>& stream,
                                                  const QueryHost& host);

 private:
  class Rows;
  class Reading;
  explicit GivenStream(std::string name) : name_(std::move(name)) {}
  Outcome look_at_schema();

  const std::string name_;
  Released<ArrowArrayStream> of_stream_;
  Released<ArrowSchema> of_schema_;
  std::vector<ColumnShape> columns_;
  bool is_read_ = false;
};

}  // namespace hailstone::capi
