// Replacing a table by one of another definition that holds its rows.
#include "database/copied_rows.h"
#include "database/core.h"
#include "database/database.h"
#include "transaction/statement.h"

namespace hailstone {
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
  HAILSTONE_TRY(copy_rows(old, transaction, made, transaction, change, duplicate));
  all.keep();
  return made;
}

}  // namespace hailstone
