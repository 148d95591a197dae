#include "database/copied_rows.h"

#include <fmt/format.h>

#include "table/bulk_load.h"
#include "table/cursor.h"

namespace hailstone {
namespace {

constexpr uint64_t rows_between_looks = 1024;

Cursor rows_of(const std::shared_ptr<Table>& table, Transaction& transaction,
               const std::vector<uint16_t>& columns) {
  CursorOptions options;
  options.reads_newest = true;
  return Cursor(table, transaction, table->definition().has_primary_key ? 0 : Cursor::by_row_id,
                ReadLock::None, columns, options);
}

}  // namespace

Status copy_rows(const std::shared_ptr<Table>& from, Transaction& reader, const std::shared_ptr<Table>& to,
                 Transaction& writer, const RowOfOther& change, Duplicate& duplicate, const StopToken& stop) {
  std::vector<uint16_t> columns(from->definition().columns.size());
  for (size_t i = 0; i < columns.size(); ++i) columns[i] = static_cast<uint16_t>(i);
  Cursor cursor = rows_of(from, reader, columns);
  BulkLoad load(to, writer);
  std::vector<Value> values;
  HAILSTONE_ASSIGN(bool found, cursor.seek_at_or_after({}));
  for (uint64_t rows = 0; found; ++rows) {
    if (rows % rows_between_looks == 0 && stop.stop_requested()) {
      return fail(ErrorCode::Interrupted,
                  fmt::format("copying rows to table '{}' was interrupted", to->definition().name));
    }
    HAILSTONE_TRY(cursor.load_values());
    HAILSTONE_TRY(change(cursor.values(), values));
    HAILSTONE_TRY(load.append(values));
    HAILSTONE_ASSIGN(found, cursor.next());
  }
  return load.finish(duplicate);
}

Result<bool> is_empty(const std::shared_ptr<Table>& table, Transaction& transaction) {
  Cursor cursor = rows_of(table, transaction, {});
  HAILSTONE_ASSIGN(const bool found, cursor.seek_at_or_after({}));
  return !found;
}

}  // namespace hailstone
