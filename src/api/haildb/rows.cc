// Inserting, updating and deleting rows.
#include <algorithm>

#include "api/haildb/cursor.h"
#include "api/haildb/engine.h"
#include "api/haildb/tuple.h"

namespace hailstone::haildb {
namespace {

/// The lock on the table that changes of its rows need, and its present definition.
ib_err_t begin_write(ib_crsr_t cursor) {
  if (const ib_err_t code = enter(cursor, DB_ERROR); code != DB_SUCCESS) return code;
  if (cursor->memory != nullptr) return DB_ERROR;
  cursor->trx->ask = true;
  if (const ib_err_t code = refresh_table(*cursor, true); code != DB_SUCCESS) return code;
  if (cursor->write_lock_serial == cursor->trx->serial) [[likely]]
    return DB_SUCCESS;
  auto info = cursor->info;
  const ib_err_t code = lock_newest_table(*cursor->trx, info, TableLockMode::IntentionExclusive);
  if (code != DB_SUCCESS) return code;
  // No other transaction can replace the table from here on.
  if (const ib_err_t fresh = refresh_table(*cursor, true); fresh != DB_SUCCESS) return fresh;
  cursor->write_lock_serial = cursor->trx->serial;
  return DB_SUCCESS;
}

ib_err_t write_failed(ib_crsr_struct& cursor, const Error& error, const Duplicate& duplicate) {
  if (error.code() == ErrorCode::DuplicateKey) {
    const TableInfo& info = *cursor.info;
    note_duplicate(*cursor.trx, info, info.layout->definition().indexes[duplicate.index].name);
  }
  return failed(*cursor.trx, error, DB_RECORD_NOT_FOUND);
}

bool is_row_of(const ib_crsr_struct& cursor, const ib_tpl_struct& tuple) {
  return !tuple.is_key() && tuple.info->is_same_table(*cursor.info) &&
         tuple.info->schema.columns.size() == cursor.info->schema.columns.size();
}

/// A NULL where there must be none.
bool refuses(const TableInfo& info, size_t column, const Value& value) {
  return value.null && !info.layout->definition().columns[column].nullable;
}

ib_err_t insert_row(ib_crsr_struct& cursor, const ib_tpl_struct& tuple) {
  const TableInfo& info = *cursor.info;
  cursor.values.clear();
  for (size_t i = 0; i < info.schema.columns.size(); ++i) {
    Value value = tuple.value(i);
    if (refuses(info, i, value)) return DB_DATA_MISMATCH;
    cursor.values.push_back(value);
  }
  cursor.labels.resize(info.orders.size());
  for (size_t order = 0; order < info.orders.size(); ++order) {
    const Value value = cursor.values[info.schema.orders[order].column];
    cursor.values.push_back(info.label(order, value, cursor.labels[order]));
  }
  const Status encoded = info.layout->row_codec().encode(cursor.values, cursor.encoded);
  if (!encoded) return failed(*cursor.trx, encoded.error());
  Duplicate duplicate;
  const auto inserted = info.table->insert(*cursor.trx->transaction, cursor.encoded, duplicate);
  if (!inserted) return write_failed(cursor, inserted.error(), duplicate);
  if (cursor.trx->has_misses) settle_misses_at(*cursor.trx, info, *inserted);
  return DB_SUCCESS;
}

ib_err_t update_row(ib_crsr_struct& cursor, const ib_tpl_struct& before, const ib_tpl_struct& after) {
  const TableInfo& info = *cursor.info;
  const auto& columns = info.schema.columns;
  // Columns that the program does not change keep what the newest version of the row has.
  cursor.update.clear();
  cursor.labels.resize(info.orders.size());
  bool changes = false;
  for (size_t i = 0; i < columns.size(); ++i) {
    const Value value = after.value(i);
    if (value == before.value(i)) continue;
    if (refuses(info, i, value)) return DB_DATA_MISMATCH;
    changes = true;
    cursor.update.set(static_cast<uint16_t>(i), value);
    for (size_t order = 0; order < info.orders.size(); ++order) {
      if (info.schema.orders[order].column != i) continue;
      cursor.update.set(info.label_column(order), info.label(order, value, cursor.labels[order]));
    }
  }
  if (!changes) return DB_SUCCESS;
  const auto place = clustered_key_of(cursor);
  if (!place) return failed(*cursor.trx, place.error());
  const std::string key(*place);
  Transaction& transaction = *cursor.trx->transaction;
  Duplicate duplicate;
  const auto updated = cursor.update.run(*info.table, transaction, key, duplicate);
  if (!updated) return write_failed(cursor, updated.error(), duplicate);
  // The new version is a lock itself, but a rollback to a savepoint takes it back, and the lock is to stay.
  if (updated->changed && cursor.trx->savepoints.empty()) info.table->unlock_written_row(transaction, key);
  return DB_SUCCESS;
}

/// What a change of the current row needs.
ib_err_t begin_change(ib_crsr_t cursor) {
  if (const ib_err_t code = begin_write(cursor); code != DB_SUCCESS) return code;
  if (!cursor->clustered() && !cursor->cluster_access) return DB_ERROR;
  if (const ib_err_t code = go_to_wanted_row(*cursor); code != DB_SUCCESS) return code;
  settle_misses(*cursor->trx);
  return cursor->place == ib_crsr_struct::Place::Entry ? DB_SUCCESS : DB_RECORD_NOT_FOUND;
}

}  // namespace
}  // namespace hailstone::haildb

using namespace hailstone::haildb;

ib_err_t ib_cursor_insert_row(ib_crsr_t ib_crsr, const ib_tpl_t ib_tpl) try {
  if (const ib_err_t code = begin_write(ib_crsr); code != DB_SUCCESS) return code;
  if (!good(ib_tpl)) return DB_INVALID_INPUT;
  if (!is_row_of(*ib_crsr, *ib_tpl)) return DB_DATA_MISMATCH;
  const ib_err_t code = insert_row(*ib_crsr, *ib_tpl);
  if (code == DB_SUCCESS) ib_crsr->info->count_change();
  return code;
} catch (const std::bad_alloc&) {
  return without_memory(ib_crsr);
}

ib_err_t ib_cursor_update_row(ib_crsr_t ib_crsr, const ib_tpl_t ib_old_tpl, const ib_tpl_t ib_new_tpl) try {
  if (const ib_err_t code = begin_change(ib_crsr); code != DB_SUCCESS) return code;
  if (!good(ib_old_tpl) || !good(ib_new_tpl)) return DB_INVALID_INPUT;
  if (!is_row_of(*ib_crsr, *ib_old_tpl) || !is_row_of(*ib_crsr, *ib_new_tpl)) return DB_DATA_MISMATCH;
  const ib_err_t code = update_row(*ib_crsr, *ib_old_tpl, *ib_new_tpl);
  if (code == DB_SUCCESS) ib_crsr->info->count_change();
  return code;
} catch (const std::bad_alloc&) {
  return without_memory(ib_crsr);
}

ib_err_t ib_cursor_delete_row(ib_crsr_t ib_crsr) try {
  if (const ib_err_t code = begin_change(ib_crsr); code != DB_SUCCESS) return code;
  const auto place = clustered_key_of(*ib_crsr);
  if (!place) return failed(*ib_crsr->trx, place.error());
  const std::string key(*place);
  if (!ib_crsr->trx->savepoints.empty()) {
    // As with an update.
    std::string row;
    const auto found =
        ib_crsr->info->table->find_row(*ib_crsr->trx->transaction, key, hailstone::ReadLock::Exclusive, row);
    if (!found) return failed(*ib_crsr->trx, found.error());
  }
  const hailstone::Status erased = ib_crsr->info->table->erase(*ib_crsr->trx->transaction, key);
  if (!erased) return failed(*ib_crsr->trx, erased.error(), DB_RECORD_NOT_FOUND);
  ib_crsr->info->count_change();
  return DB_SUCCESS;
} catch (const std::bad_alloc&) {
  return without_memory(ib_crsr);
}
