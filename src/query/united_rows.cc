#include "query/united_rows.h"

#include <fmt/format.h>

#include "base/check.h"
#include "query/pipeline.h"

namespace hailstone {

Result<std::unique_ptr<UnitedRows>> UnitedRows::make(std::vector<std::unique_ptr<RowBatches>> rows) {
  HAILSTONE_CHECK(!rows.empty(), "the rows of {} others are to be united", rows.size());
  const size_t width = rows.front()->width();
  for (const auto& each : rows) {
    if (each->width() != width) {
      return fail(ErrorCode::InvalidArgument,
                  fmt::format("rows of {} and of {} columns are to be united", width, each->width()));
    }
    for (size_t i = 0; i < width; ++i) {
      const auto first = rows.front()->column(i), column = each->column(i);
      if (first.has_value() != column.has_value() || (first && *first != *column)) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("rows are to be united whose columns number {} have different types", i));
      }
    }
  }
  return std::unique_ptr<UnitedRows>(new UnitedRows(std::move(rows)));
}

Status UnitedRows::open(Pipeline& to) {
  for (const auto& each : rows_) to.add_branch(*each);
  return {};
}

unsigned UnitedRows::threads(unsigned wanted) const {
  for (const auto& each : rows_) wanted = each->threads(wanted);
  return wanted;
}

uint64_t UnitedRows::rows_read() const {
  uint64_t rows = 0;
  for (const auto& each : rows_) rows += each->rows_read();
  return rows;
}

void UnitedRows::add_filter(size_t position, const RuntimeFilter& filter) {
  for (const auto& each : rows_) each->add_filter(position, filter);
}

}  // namespace hailstone
