#include "table/column_update.h"

#include <fmt/format.h>

namespace hailstone {

Result<ColumnUpdate::Outcome> ColumnUpdate::run(Table& table, Transaction& transaction, ByteView key,
                                                Duplicate& duplicate, KeyReads* reads) {
  HAILSTONE_ASSIGN(const bool found, table.find_row(transaction, key, ReadLock::Exclusive, before_));
  if (!found) {
    return fail(ErrorCode::NotFound,
                fmt::format("table {}: the row to update is gone", table.definition().name));
  }
  const RowCodec& codec = table.layout()->row_codec();
  values_.resize(codec.column_count());
  codec.decode(before_, values_);
  bool changed = false;
  for (const Change& change : changes_) {
    changed = changed || values_[change.column] != change.value;
    values_[change.column] = change.value;
  }
  if (!changed) return Outcome{.key = std::string(key), .changed = false};
  HAILSTONE_TRY(codec.encode(values_, after_));
  HAILSTONE_ASSIGN(std::string new_key, table.update(transaction, key, after_, duplicate, reads));
  return Outcome{.key = std::move(new_key), .changed = true};
}

}  // namespace hailstone
