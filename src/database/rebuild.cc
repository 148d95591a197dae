// Replacing a table by one of another definition that holds its rows.
#include <vector>

#include "database/core.h"
#include "database/database.h"
#include "table/bulk_load.h"
#include "table/cursor.h"
#include "transaction/statement.h"

namespace hailstone {
namespace {

/// Brings all rows of `from`, in the order of its clustered key, into `to`.
Status copy_rows(const std::shared_ptr<Table>& from, const std::shared_ptr<Table>& to,
                 Transaction& transaction, const Database::RowChange& change, Duplicate& duplicate) {
  std::vector<uint16_t> columns(from->definition().columns.size());
  for (size_t i = 0; i < columns.size(); ++i) columns[i] = static_cast<uint16_t>(i);
  const size_t order = from->definition().has_primary_key ? 0 : Cursor::by_row_id;
  CursorOptions options;
  options.reads_newest = true;
  Cursor cursor(from, transaction, order, ReadLock::None, columns, options);
  BulkLoad load(to, transaction);
  std::vector<Value> values;
  HAILSTONE_ASSIGN(bool found, cursor.seek_at_or_after({}));
  while (found) {
    HAILSTONE_TRY(cursor.load_values());
    HAILSTONE_TRY(change(cursor.values(), values));
    HAILSTONE_TRY(load.append(values));
    HAILSTONE_ASSIGN(found, cursor.next());
  }
  return load.finish(duplicate);
}

}  // namespace

Result<std::shared_ptr<Table>> Database::rebuild_table(Transaction& transaction, const std::string& name,
                                                       const TableDefinition& definition,
                                                       const RowChange& change, Duplicate& duplicate) {
  Write all(transaction);
  HAILSTONE_ASSIGN(auto old, table(name, &transaction));
  for (;;) {
    HAILSTONE_TRY(locks().lock_table(transaction, old->id(), TableLockMode::Exclusive));
    // Whoever held the table may have replaced it.
    HAILSTONE_ASSIGN(auto now, table(name, &transaction));
    if (now->id() == old->id()) break;
    old = std::move(now);
  }
  HAILSTONE_TRY(drop_table(transaction, name));
  HAILSTONE_ASSIGN(auto made, create_table(transaction, definition));
  HAILSTONE_TRY(copy_rows(old, made, transaction, change, duplicate));
  all.keep();
  return made;
}

}  // namespace hailstone
