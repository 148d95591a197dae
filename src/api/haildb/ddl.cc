// Databases, tables and indexes: making, dropping, renaming, emptying.
#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "api/haildb/config.h"
#include "api/haildb/cursor.h"
#include "api/haildb/engine.h"
#include "api/haildb/schema.h"
#include "api/haildb/system_tables.h"
#include "api/haildb/transaction.h"
#include "file/filesystem.h"

namespace hailstone::haildb {
namespace {

constexpr std::string_view engine_directory = "hailstone.data";

bool is_database_name(std::string_view name) {
  return !name.empty() && name.find('/') == std::string_view::npos && name != engine_directory &&
         name != "." && name != "..";
}

std::string directory_of(std::string_view database) { return engine().home + std::string(database); }

/// The directory of the table's database must be there. Nothing is stored in it, but programs rely on its
/// being needed.
ib_err_t check_directory(const std::string& table) {
  if (!is_on(Variable::FilePerTable)) return DB_SUCCESS;
  const size_t slash = table.find('/');
  const bool is_there = slash != std::string::npos &&
                        hailstone::posix_filesystem().list(directory_of(table.substr(0, slash))).has_value();
  if (is_there) return DB_SUCCESS;
  return refused(
      fmt::format("table '{}': its database has no directory; make it by ib_database_create()", table));
}

bool is_hidden_column_name(const std::string& name) {
  for (size_t i = 0; i < IB_N_SYS_COLS; ++i) {
    if (strcasecmp(name.c_str(), system_column(i).name.c_str()) == 0) return true;
  }
  return false;
}

/// DDL needs a started transaction with the exclusive schema lock.
ib_err_t begin_ddl(ib_trx_t transaction) {
  if (const ib_err_t code = check_running(); code != DB_SUCCESS) return code;
  if (!good(transaction)) return DB_INVALID_INPUT;
  if (!transaction->active() || !has_exclusive_schema_lock(*transaction)) return DB_SCHEMA_NOT_LOCKED;
  return enter(transaction);
}

ib_err_t check_schema(const ib_tbl_sch_struct& schema) {
  if (schema.columns.empty()) return DB_SCHEMA_ERROR;
  for (const ib_idx_sch_t index : schema.indexes) {
    if (index->index.parts.empty()) return DB_SCHEMA_ERROR;
  }
  for (const ColumnInfo& column : schema.columns) {
    if (is_hidden_column_name(column.name)) {
      return refused(
          fmt::format("table '{}': the name '{}' is reserved for a hidden column", schema.name, column.name));
    }
    if (column.is_unsigned() && !column.is_integer()) {
      return refused(fmt::format("table '{}': column '{}' is unsigned, which only integers can be",
                                 schema.name, column.name));
    }
  }
  return DB_SUCCESS;
}

TableSchema schema_of(const ib_tbl_sch_struct& from) {
  TableSchema schema;
  schema.name = from.name;
  schema.format = from.format;
  schema.page_size = from.page_size;
  schema.columns = from.columns;
  for (const ib_idx_sch_t each : from.indexes) schema.indexes.push_back(each->index);
  std::ranges::stable_partition(schema.indexes, [](const IndexInfo& index) { return index.clustered; });
  if (!schema.has_clustered()) schema.generated_number = schema.next_number++;
  for (IndexInfo& index : schema.indexes) index.number = schema.next_number++;
  schema.settle_orders();
  return schema;
}

/// Drops the table and makes an empty one in its place. Caller holds its X lock.
Result<std::shared_ptr<TableInfo>> replace_by_empty(ib_trx_struct& transaction, const TableInfo& old) {
  Database& database = *engine().database;
  TableSchema schema = old.schema;
  schema.id = 0;
  schema.name = name_of(old, transaction);
  SchemaStep step(transaction);
  HAILSTONE_TRY(database.drop_table(*transaction.transaction, schema.name));
  HAILSTONE_ASSIGN(const auto table, database.create_table(*transaction.transaction, schema.definition()));
  HAILSTONE_ASSIGN(auto made, engine().tables->add(table, old.orders));
  engine().tables->hand_on(old, *made);
  made->lineage->statistics_seen.store(false, std::memory_order_relaxed);
  HAILSTONE_TRY(step.keep());
  return made;
}

ib_err_t drop_table(ib_trx_struct& transaction, const std::string& name) {
  TableCache& tables = *engine().tables;
  const auto info = tables.find(name, transaction.transaction.get());
  if (!info && info.error().code() == ErrorCode::NotFound) {
    return tables.is_dropped_but_open(name, transaction.transaction.get()) ? DB_TABLESPACE_DELETED
                                                                           : DB_TABLE_NOT_FOUND;
  }
  SchemaStep step(transaction);
  // A table that cannot be opened can be dropped.
  if (Status status = engine().database->drop_table(*transaction.transaction, name); !status) {
    return failed(transaction, status.error(), DB_TABLE_NOT_FOUND);
  }
  if (info) tables.note_dropped(name, *info);
  if (Status status = step.keep(); !status) return failed(transaction, status.error());
  return DB_SUCCESS;
}

/// Drops all tables of a database, unless cursors are open on them.
ib_err_t drop_tables(const std::string& database, bool& in_use) {
  in_use = false;
  OwnTransaction own;
  if (own.begun() != DB_SUCCESS) return own.begun();
  const auto names = engine().database->table_names(database + "/");
  for (const std::string& name : names) {
    const auto info = engine().tables->find(name, own.handle().transaction.get());
    if (!info || !(*info)->open_cursors.any()) continue;
    if ((*info)->open_cursors.any_of_this_thread()) {
      return refused(fmt::format(
          "database '{}' cannot be dropped: this thread has cursors open on table '{}'", database, name));
    }
    in_use = true;
    return DB_SUCCESS;
  }
  for (const std::string& name : names) {
    if (const ib_err_t code = drop_table(own.handle(), name); code != DB_SUCCESS) return code;
  }
  return own.commit();
}

/// Finds the table by name or id, and locks it exclusively. `check` says whether the change is possible:
/// before the wait, and after it, as others may have changed the table.
template <typename NameOrId, typename Check>
ib_err_t lock_for_ddl(ib_trx_struct& transaction, const NameOrId& which, const Check& check,
                      std::shared_ptr<TableInfo>& to) {
  auto found = engine().tables->find(which, transaction.transaction.get());
  if (!found) return code_of(found.error(), DB_TABLE_NOT_FOUND);
  if (const ib_err_t code = check(**found); code != DB_SUCCESS) return code;
  transaction.ask = true;
  to = std::move(*found);
  const ib_err_t locked = lock_newest_table(transaction, to, TableLockMode::Exclusive);
  return locked == DB_SUCCESS ? check(*to) : locked;
}

/// The orders of `schema`: those of the table before where they are the same.
std::vector<std::shared_ptr<ClientOrder>> orders_of(const TableSchema& schema, const TableInfo& before) {
  std::vector<std::shared_ptr<ClientOrder>> orders;
  for (const OrderInfo& wanted : schema.orders) {
    std::shared_ptr<ClientOrder> order;
    for (size_t i = 0; i < before.orders.size(); ++i) {
      const OrderInfo& there = before.schema.orders[i];
      if (there.column == wanted.column && there.prefix == wanted.prefix) order = before.orders[i];
    }
    if (order == nullptr) order = std::make_shared<ClientOrder>(schema.columns[wanted.column].compare_meta());
    orders.push_back(std::move(order));
  }
  return orders;
}

/// Makes the table anew with other indexes. Caller holds its X lock.
ib_err_t rebuild(ib_trx_struct& transaction, const std::shared_ptr<TableInfo>& old, TableSchema schema) {
  const TableInfo& before = *old;
  schema.id = before.id;
  schema.settle_orders();
  const std::string name = name_of(before, transaction);
  schema.name = name;
  TableDefinition definition = schema.definition();
  const auto orders = orders_of(schema, before);
  std::vector<bool> nullable;
  nullable.reserve(definition.columns.size());
  for (const Column& column : definition.columns) nullable.push_back(column.nullable);
  bool null_in_key = false;
  std::vector<std::string> labels(orders.size());
  const auto change = [&](std::span<const Value> from, std::vector<Value>& to) -> Status {
    to.assign(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(schema.columns.size()));
    for (size_t i = 0; i < to.size(); ++i) {
      if (!to[i].null || nullable[i]) continue;
      null_in_key = true;
      return fail(ErrorCode::InvalidArgument,
                  fmt::format("table '{}' has rows with NULL in column '{}' of its new clustered index", name,
                              schema.columns[i].name));
    }
    for (size_t i = 0; i < orders.size(); ++i) {
      const OrderInfo& order = schema.orders[i];
      const Value& value = to[order.column];
      if (value.null) {
        to.emplace_back();
        continue;
      }
      labels[i] = orders[i]->label(order.prefix == 0 ? value.bytes : value.bytes.substr(0, order.prefix));
      to.push_back(Value::of(ByteView(labels[i])));
    }
    return {};
  };
  transaction.ask = true;
  SchemaStep step(transaction);
  Duplicate duplicate;
  const auto made =
      engine().database->rebuild_table(*transaction.transaction, name, definition, change, duplicate);
  if (!made) {
    const Error& error = made.error();
    if (null_in_key) return DB_PRIMARY_KEY_IS_NULL;
    if (error.code() == ErrorCode::DuplicateKey) {
      note_duplicate(transaction, before, definition.indexes[duplicate.index].name);
      return DB_DUPLICATE_KEY;
    }
    // Only the application's handler interrupts the copying.
    if (error.code() == ErrorCode::Interrupted) return DB_INTERRUPTED;
    return failed(transaction, error, DB_TABLE_NOT_FOUND);
  }
  const auto info = engine().tables->add(*made, orders);
  if (!info) return code_of(info.error());
  engine().tables->replace(*info, old);
  const Status kept = guarded([&] { return step.keep(*info); });
  if (kept) return DB_SUCCESS;
  engine().tables->take_back(**info);
  return failed(transaction, kept.error());
}

}  // namespace
}  // namespace hailstone::haildb

using namespace hailstone::haildb;
using hailstone::TableLockMode;

ib_bool_t ib_database_create(const char* dbname) try {
  if (!running_here() || dbname == nullptr || *dbname == '\0') return IB_FALSE;
  const std::string_view name(dbname);
  if (!is_database_name(name)) return IB_FALSE;
  if (!is_on(Variable::FilePerTable)) return IB_TRUE;
  return hailstone::posix_filesystem().make_directory(directory_of(name)) ? IB_TRUE : IB_FALSE;
} catch (const std::bad_alloc&) {
  return {};
}

ib_err_t ib_database_drop(const char* dbname) try {
  if (const ib_err_t code = check_running(); code != DB_SUCCESS) return code;
  if (dbname == nullptr || *dbname == '\0') return DB_INVALID_INPUT;
  std::string name(dbname);
  if (name.back() == '/') name.pop_back();
  if (!is_database_name(name)) return DB_INVALID_INPUT;
  constexpr auto pause = std::chrono::milliseconds(50);
  for (bool in_use = true; in_use;) {
    if (const ib_err_t code = check_running(); code != DB_SUCCESS) return code;
    if (const ib_err_t code = drop_tables(name, in_use); code != DB_SUCCESS) return code;
    // Without the schema lock meanwhile: the threads with the cursors may need it before they close them.
    if (in_use) std::this_thread::sleep_for(pause);
  }
  // Files that programs have put there stay.
  static_cast<void>(hailstone::posix_filesystem().remove_directory(directory_of(name)));
  return DB_SUCCESS;
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

ib_err_t ib_table_create(ib_trx_t ib_trx, const ib_tbl_sch_t ib_tbl_sch, ib_id_t* id) try {
  if (id != nullptr) *id = 0;
  if (const ib_err_t code = begin_ddl(ib_trx); code != DB_SUCCESS) return code;
  if (!good(ib_tbl_sch) || id == nullptr) return DB_INVALID_INPUT;
  if (const ib_err_t code = check_schema(*ib_tbl_sch); code != DB_SUCCESS) return code;
  TableCache& tables = *engine().tables;
  if (const auto there = tables.find(ib_tbl_sch->name, ib_trx->transaction.get()); there) {
    *id = (*there)->id;
    return DB_TABLE_IS_BEING_USED;
  }
  if (const ib_err_t code = check_directory(ib_tbl_sch->name); code != DB_SUCCESS) return code;
  SchemaStep step(*ib_trx);
  auto table = engine().database->create_table(*ib_trx->transaction, schema_of(*ib_tbl_sch).definition());
  if (!table) return failed(*ib_trx, table.error());
  const auto info = tables.add(*table, {});
  if (!info) return code_of(info.error());
  if (const hailstone::Status status = step.keep(); !status) return failed(*ib_trx, status.error());
  *id = (*info)->id;
  return DB_SUCCESS;
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

ib_err_t ib_table_drop(ib_trx_t trx, const char* name) try {
  if (const ib_err_t code = begin_ddl(trx); code != DB_SUCCESS) return code;
  if (name == nullptr) return DB_INVALID_INPUT;
  return drop_table(*trx, normalised_name(name));
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

ib_err_t ib_table_rename(ib_trx_t ib_trx, const char* old_name, const char* new_name) try {
  if (const ib_err_t code = enter(ib_trx); code != DB_SUCCESS) return code;
  if (old_name == nullptr || new_name == nullptr) return DB_INVALID_INPUT;
  if (const ib_err_t code = lock_schema(*ib_trx, SchemaLock::Exclusive); code != DB_SUCCESS) return code;
  if (number_of(Variable::ForceRecovery) > 0)
    return refused("no table can be renamed while force_recovery is set");
  const std::string from = normalised_name(old_name);
  const std::string to = normalised_name(new_name);
  hailstone::Database& database = *engine().database;
  hailstone::Transaction& transaction = *ib_trx->transaction;
  if (!database.table(from, &transaction)) return DB_TABLE_NOT_FOUND;
  if (from == to || database.table(to, &transaction)) return DB_DUPLICATE_KEY;
  if (!is_table_name(to))
    return refused(fmt::format("'{}' is no name of a table: those are 'database/table'", to));
  if (const ib_err_t code = check_directory(to); code != DB_SUCCESS) return code;
  SchemaStep step(*ib_trx);
  if (hailstone::Status status = database.rename_table(transaction, from, to); !status) {
    return failed(*ib_trx, status.error(), DB_TABLE_NOT_FOUND);
  }
  if (const hailstone::Status status = step.keep(); !status) return failed(*ib_trx, status.error());
  return DB_SUCCESS;
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

ib_err_t ib_table_truncate(const char* table_name, ib_id_t* table_id) try {
  if (const ib_err_t code = check_running(); code != DB_SUCCESS) return code;
  if (table_name == nullptr || table_id == nullptr) return DB_INVALID_INPUT;
  OwnTransaction own;
  if (own.begun() != DB_SUCCESS) return own.begun();
  std::shared_ptr<TableInfo> info;
  const auto any = [](const TableInfo&) { return DB_SUCCESS; };
  const ib_err_t locked = lock_for_ddl(own.handle(), std::string(table_name), any, info);
  if (locked != DB_SUCCESS) return locked;
  const auto made = replace_by_empty(own.handle(), *info);
  if (!made) return failed(own.handle(), made.error());
  const ib_err_t code = own.commit();
  if (code == DB_SUCCESS) *table_id = (*made)->id;
  return code;
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

ib_err_t ib_cursor_truncate(ib_crsr_t* ib_crsr, ib_id_t* table_id) try {
  if (ib_crsr == nullptr || table_id == nullptr) return DB_INVALID_INPUT;
  ib_crsr_t const cursor = *ib_crsr;
  if (const ib_err_t code = enter(cursor, DB_ERROR); code != DB_SUCCESS) return code;
  ib_trx_struct& transaction = *cursor->trx;
  if (!has_exclusive_schema_lock(transaction)) return DB_SCHEMA_NOT_LOCKED;
  *table_id = 0;
  if (cursor->memory != nullptr) return DB_ERROR;
  auto info = cursor->info;
  const ib_err_t locked = lock_newest_table(transaction, info, TableLockMode::Exclusive);
  if (locked != DB_SUCCESS) return locked;
  const auto made = replace_by_empty(transaction, *info);
  if (!made) return failed(transaction, made.error(), DB_TABLE_NOT_FOUND);
  cursors().give_back(cursor);
  *ib_crsr = nullptr;
  const ib_err_t code = commit_keeping_handle(transaction);
  if (code == DB_SUCCESS) *table_id = (*made)->id;
  return code;
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

ib_err_t ib_index_create(ib_idx_sch_t ib_idx_sch, ib_id_t* index_id) try {
  if (const ib_err_t code = check_running(); code != DB_SUCCESS) return code;
  if (index_id != nullptr) *index_id = 0;
  if (!good(ib_idx_sch) || index_id == nullptr || ib_idx_sch->owner != nullptr) return DB_INVALID_INPUT;
  ib_trx_t const trx = ib_idx_sch->trx;
  if (!good(trx) || trx->serial != ib_idx_sch->trx_serial) return DB_SCHEMA_NOT_LOCKED;
  if (const ib_err_t code = begin_ddl(trx); code != DB_SUCCESS) return code;
  if (ib_idx_sch->index.parts.empty()) return DB_SCHEMA_ERROR;
  IndexInfo index = ib_idx_sch->index;
  const auto check = [&index](const TableInfo& info) {
    if (info.find_index(index.name) != nullptr) return DB_DUPLICATE_KEY;
    return index.clustered && info.open_cursors.any() ? DB_TABLE_IS_BEING_USED : DB_SUCCESS;
  };
  std::shared_ptr<TableInfo> info;
  const ib_err_t locked = lock_for_ddl(*trx, ib_idx_sch->table_name, check, info);
  if (locked != DB_SUCCESS) return locked;
  TableSchema schema = info->schema;
  index.number = schema.next_number++;
  if (index.clustered) {
    if (schema.has_clustered()) schema.indexes[0].clustered = false;
    schema.indexes.insert(schema.indexes.begin(), index);
  } else {
    schema.indexes.push_back(index);
  }
  if (const ib_err_t code = rebuild(*trx, info, std::move(schema)); code != DB_SUCCESS) return code;
  *index_id = info->index_id(index);
  return DB_SUCCESS;
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

ib_err_t ib_index_drop(ib_trx_t trx, ib_id_t index_id) try {
  if (const ib_err_t code = begin_ddl(trx); code != DB_SUCCESS) return code;
  const auto has_number = [index_id](const IndexInfo& index) {
    return index.number == (index_id & 0xFFFFFFFFU);
  };
  const auto check = [&](const TableInfo& info) {
    // The rows are stored in the clustered one.
    const auto found = std::ranges::find_if(info.indexes, has_number);
    if (found == info.indexes.end()) return DB_TABLE_NOT_FOUND;
    return found->clustered ? DB_ERROR : DB_SUCCESS;
  };
  std::shared_ptr<TableInfo> info;
  const ib_err_t locked = lock_for_ddl(*trx, ib_id_t{index_id >> 32}, check, info);
  if (locked != DB_SUCCESS) return locked;
  TableSchema schema = info->schema;
  std::erase_if(schema.indexes, has_number);
  return rebuild(*trx, info, std::move(schema));
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

ib_err_t ib_table_get_id(const char* table_name, ib_id_t* table_id) try {
  if (const ib_err_t code = check_running(); code != DB_SUCCESS) return code;
  if (table_name == nullptr || table_id == nullptr) return DB_INVALID_INPUT;
  *table_id = 0;
  const auto info = engine().tables->find(std::string(table_name), transaction_of_this_thread());
  if (!info) return code_of(info.error(), DB_TABLE_NOT_FOUND);
  *table_id = (*info)->id;
  return DB_SUCCESS;
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

ib_err_t ib_index_get_id(const char* table_name, const char* index_name, ib_id_t* index_id) try {
  if (const ib_err_t code = check_running(); code != DB_SUCCESS) return code;
  if (table_name == nullptr || index_name == nullptr || index_id == nullptr) return DB_INVALID_INPUT;
  *index_id = 0;
  const auto info = engine().tables->find(normalised_name(table_name), transaction_of_this_thread());
  if (!info) return code_of(info.error(), DB_TABLE_NOT_FOUND);
  const IndexInfo* const index = (*info)->find_index(index_name);
  if (index == nullptr) return DB_TABLE_NOT_FOUND;
  *index_id = (*info)->index_id(*index);
  return DB_SUCCESS;
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}
