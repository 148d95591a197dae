// The columns of queries: those of hailstone.h as expressions with types of SQL, and results as Arrow has
// them. Stateless; any thread.
#pragma once

#include <vector>

#include "api/hailstone/arrow_export.h"
#include "plan/query_builder.h"

namespace hailstone::capi {

/// How a column of a table, or of a stream, comes out of its rows.
ScanColumn stored_column(const ColumnShape& column);

/// The columns of rows that a query begins with.
struct BaseColumns {
  std::vector<plan::Column> columns;
  std::vector<plan::NamedColumn> named;
};
Result<BaseColumns> base_columns(std::span<const ColumnShape> columns, const std::string& qualifier,
                                 plan::ColumnIds& ids);

/// What a stream gives of a query's columns, which its plan has at the same places.
std::vector<ExportedColumn> exported_columns(std::span<const plan::NamedColumn> named,
                                             std::span<const plan::Column> columns);

/// As ? in a text. A text is UTF-8.
Returned<Parameters> parameters_of(const hs_value* values, size_t count);

template <typename T>
Returned<T> returned(Result<T> result) {
  if (!result) return std::unexpected(Failure(result.error()));
  return *std::move(result);
}

}  // namespace hailstone::capi
