// Schemas, and tables: made, dropped, renamed, opened, described, checked.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "api/hailstone/handles.h"
#include "api/hailstone/values.h"

namespace hailstone::capi {

namespace {

// What the columns of this interface keep for themselves where the engine's type does not tell.
constexpr std::string_view date_mark = "date", timestamp_mark = "timestamp", string_mark = "string",
                           bool_mark = "bool", datetime_mark = "datetime";

struct ColumnType {
  Type type;
  uint32_t width;
  std::string_view mark;
};

Returned<ColumnType> column_type(hs_type type, uint32_t max_bytes) {
  switch (type) {
    case HS_INT8:
      return ColumnType{Type::Signed, 1, ""};
    case HS_INT16:
      return ColumnType{Type::Signed, 2, ""};
    case HS_INT32:
      return ColumnType{Type::Signed, 4, ""};
    case HS_INT64:
      return ColumnType{Type::Signed, 8, ""};
    case HS_UINT8:
      return ColumnType{Type::Unsigned, 1, ""};
    case HS_UINT16:
      return ColumnType{Type::Unsigned, 2, ""};
    case HS_UINT32:
      return ColumnType{Type::Unsigned, 4, ""};
    case HS_UINT64:
      return ColumnType{Type::Unsigned, 8, ""};
    case HS_FLOAT:
      return ColumnType{Type::Float, 4, ""};
    case HS_DOUBLE:
      return ColumnType{Type::Double, 8, ""};
    case HS_STRING:
      return ColumnType{max_bytes == 0 ? Type::Blob : Type::Varchar, max_bytes, string_mark};
    case HS_BYTES:
      return ColumnType{max_bytes == 0 ? Type::Blob : Type::Varchar, max_bytes, ""};
    case HS_DATE:
      return ColumnType{Type::Signed, 4, date_mark};
    case HS_TIMESTAMP:
      return ColumnType{Type::Signed, 8, timestamp_mark};
    case HS_BOOL:
      return ColumnType{Type::Unsigned, 1, bool_mark};
    case HS_DATETIME:
      return ColumnType{Type::Signed, 8, datetime_mark};
  }
  return refuse(HS_INVALID, fmt::format("there is no column type {}", static_cast<int>(type)));
}

hs_type integer_type(const Column& column) {
  const bool has_sign = column.type == Type::Signed;
  if (has_sign && column.application == date_mark && column.width == 4) return HS_DATE;
  if (has_sign && column.application == timestamp_mark && column.width == 8) return HS_TIMESTAMP;
  if (has_sign && column.application == datetime_mark && column.width == 8) return HS_DATETIME;
  if (!has_sign && column.application == bool_mark && column.width == 1) return HS_BOOL;
  if (column.width == 1) return has_sign ? HS_INT8 : HS_UINT8;
  if (column.width == 2) return has_sign ? HS_INT16 : HS_UINT16;
  if (column.width <= 4) return has_sign ? HS_INT32 : HS_UINT32;
  return has_sign ? HS_INT64 : HS_UINT64;
}

}  // namespace

Returned<hs_type> shown_type(const TableDefinition& table, const Column& column) {
  switch (column.type) {
    case Type::Signed:
    case Type::Unsigned:
      return integer_type(column);
    case Type::Float:
      return HS_FLOAT;
    case Type::Double:
      return HS_DOUBLE;
    case Type::OrderedBytes:
      if (!column.is_integer()) return HS_BYTES;
      break;
    case Type::Char:
    case Type::Varchar:
    case Type::Blob:
      return column.application == string_mark ? HS_STRING : HS_BYTES;
  }
  return refuse(HS_UNSUPPORTED, fmt::format("column '{}' of table '{}' is of a type that only the interface "
                                            "that made it can read",
                                            column.name, table.name));
}

Returned<ColumnShape> shape_of_type(const std::string& name, hs_type type) {
  HAILSTONE_ASSIGN(const ColumnType stored, column_type(type, 0));
  const bool is_text = stored.type == Type::Varchar || stored.type == Type::Blob;
  return ColumnShape{
      .name = name, .type = type, .integer = !is_text, .stored = stored.type, .width = stored.width};
}

Returned<std::shared_ptr<const TableShape>> TableShape::make(std::shared_ptr<Table> table) {
  auto shape = std::make_shared<TableShape>();
  const TableDefinition& definition = table->definition();
  for (const Column& column : definition.columns) {
    HAILSTONE_ASSIGN(const hs_type type, shown_type(definition, column));
    const Collation* collation = nullptr;
    if (column.type >= Type::Char) {
      HAILSTONE_ASSIGN(collation, collations_for_reading().resolve(column.collation));
    }
    shape->columns.push_back({.name = column.name,
                              .type = type,
                              .integer = column.is_integer(),
                              .stored = column.type,
                              .width = column.width,
                              .nullable = column.nullable,
                              .columnar = column.columnar,
                              .most_bytes = column.type == Type::Varchar ? column.width : 0,
                              .collation = collation});
  }
  shape->table = std::move(table);
  return shape;
}

std::vector<uint16_t> TableShape::all_columns() const {
  std::vector<uint16_t> numbers(columns.size());
  std::iota(numbers.begin(), numbers.end(), uint16_t{0});
  return numbers;
}

Returned<uint16_t> TableShape::column(std::string_view wanted) const {
  const auto found = std::ranges::find(columns, wanted, &ColumnShape::name);
  if (found != columns.end()) return static_cast<uint16_t>(found - columns.begin());
  return refuse(HS_NOT_FOUND, fmt::format("table '{}' has no column '{}'", name(), wanted));
}

namespace {

Outcome add_index(TableDefinition& definition, const char* name, bool unique, const char* const* columns,
                  const int* flags, size_t count, bool primary) {
  if (name == nullptr || columns == nullptr)
    return refuse(HS_INVALID, "the index's name or columns are NULL");
  Index index{.name = name, .unique = unique, .parts = {}};
  for (size_t i = 0; i < count; ++i) {
    if (columns[i] == nullptr) return refuse(HS_INVALID, fmt::format("a column of index '{}' is NULL", name));
    const auto found = std::ranges::find(definition.columns, std::string_view(columns[i]), &Column::name);
    if (found == definition.columns.end()) {
      return refuse(HS_NOT_FOUND, fmt::format("index '{}': there is no column '{}'", name, columns[i]));
    }
    const int wanted = flags == nullptr ? 0 : flags[i];
    if ((wanted & ~HS_DESCENDING) != 0) {
      return refuse(HS_INVALID,
                    fmt::format("index '{}', column '{}': unknown flags {}", name, columns[i], wanted));
    }
    index.parts.push_back({.column = static_cast<uint16_t>(found - definition.columns.begin()),
                           .prefix = 0,
                           .descending = wanted == HS_DESCENDING});
    if (primary) found->nullable = false;
  }
  definition.indexes.insert(primary ? definition.indexes.begin() : definition.indexes.end(),
                            std::move(index));
  return {};
}

Outcome give_out_table(const SharedTransaction& shared, std::shared_ptr<Table> table, hs_table** handle) {
  HAILSTONE_ASSIGN(auto shape, TableShape::make(std::move(table)));
  return give_out(std::make_unique<TableHandle>(shared.database, std::move(shape)), handle);
}

Outcome check_name(std::string_view name) {
  const size_t slash = name.find('/');
  if (slash != std::string_view::npos && slash > 0 && slash + 1 < name.size()) return {};
  return refuse(HS_INVALID, fmt::format("'{}' is no name for a table; give it as group/table", name));
}

Outcome set_retention(TableDefinition& definition, const char* column, uint32_t amount, hs_time_unit unit) {
  definition.retention = {};
  if (amount == 0) return {};
  if (column == nullptr) return refuse(HS_INVALID, "the column that rows are to expire by is NULL");
  if (unit < HS_HOURS || unit > HS_YEARS)
    return refuse(HS_INVALID, fmt::format("there is no unit of time {}", static_cast<int>(unit)));
  const auto found = std::ranges::find(definition.columns, std::string_view(column), &Column::name);
  if (found == definition.columns.end())
    return refuse(HS_NOT_FOUND, fmt::format("there is no column '{}'", column));
  HAILSTONE_ASSIGN(const hs_type type, shown_type(definition, *found));
  const bool is_time = type == HS_TIMESTAMP || type == HS_DATETIME;
  if (type > HS_UINT64 && !is_time && type != HS_DATE) {
    return refuse(HS_INVALID,
                  fmt::format("rows cannot expire by column '{}': it holds neither times, days nor "
                              "integers",
                              column));
  }
  const TimeScale scale = is_time           ? TimeScale::Microseconds
                          : type == HS_DATE ? TimeScale::Days
                                            : TimeScale::Seconds;
  const auto position = static_cast<uint16_t>(found - definition.columns.begin());
  definition.retention = {amount, static_cast<Retention::Unit>(unit), position, static_cast<uint8_t>(scale)};
  return {};
}

/// False: there was no memory.
bool give_name(const std::string& name, const char** to) noexcept {
  try {
    *to = for_ever(name);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

/// Waits until no other transaction has changed rows of the table.
Outcome lock_for_ddl(SharedTransaction& shared, const std::string& name) {
  Database& database = *shared.database->database;
  for (std::shared_ptr<Table> locked;;) {
    HAILSTONE_ASSIGN(auto table, database.table(name, shared.transaction.get()));
    // Another one of this name may have taken its place during the wait.
    if (locked != nullptr && locked->id() == table->id()) return {};
    HAILSTONE_TRY(shared.lock_table(*table, TableLockMode::Exclusive));
    locked = std::move(table);
  }
}

}  // namespace

}  // namespace hailstone::capi

using namespace hailstone;
using namespace hailstone::capi;

int hs_schema_new(hs_schema** schema) {
  if (schema == nullptr) return HS_INVALID;
  *schema = nullptr;
  try {
    *schema = give_out_free(std::make_unique<SchemaHandle>());
    return HS_OK;
  } catch (const std::bad_alloc&) {
    return HS_NO_MEMORY;
  }
}

void hs_schema_free(hs_schema* given_schema) { close_handle<SchemaHandle>(given_schema); }

int hs_schema_column(hs_schema* given_schema, const char* name, hs_type type, uint32_t max_bytes, int flags) {
  const Pin<SchemaHandle> schema(given_schema);
  if (!schema) return HS_INVALID;
  return run(*schema, [&]() -> Outcome {
    if (name == nullptr) return refuse(HS_INVALID, "the column's name is NULL");
    if ((flags & ~(HS_NOT_NULL | HS_ROW_WISE)) != 0) {
      return refuse(HS_INVALID, fmt::format("column '{}': unknown flags {}", name, flags));
    }
    auto& columns = schema->definition.columns;
    if (columns.size() == max_columns) {
      return refuse(HS_INVALID,
                    fmt::format("column '{}' is one too many: a table has at most {}", name, max_columns));
    }
    if (std::ranges::find(columns, std::string_view(name), &Column::name) != columns.end()) {
      return refuse(HS_ALREADY_EXISTS, fmt::format("there is a column '{}' already", name));
    }
    HAILSTONE_ASSIGN(const ColumnType chosen, column_type(type, max_bytes));
    if (max_bytes != 0 && type != HS_STRING && type != HS_BYTES) {
      return refuse(HS_INVALID, fmt::format("column '{}': only HS_STRING and HS_BYTES have max_bytes", name));
    }
    columns.push_back({.name = name,
                       .type = chosen.type,
                       .width = chosen.width,
                       .nullable = (flags & HS_NOT_NULL) == 0,
                       .columnar = (flags & HS_ROW_WISE) == 0,
                       .application = std::string(chosen.mark)});
    return {};
  });
}

int hs_schema_primary_key(hs_schema* given_schema, const char* const* columns, size_t column_count) {
  const Pin<SchemaHandle> schema(given_schema);
  if (!schema) return HS_INVALID;
  return run(*schema, [&]() -> Outcome {
    TableDefinition& definition = schema->definition;
    if (definition.has_primary_key) return refuse(HS_ALREADY_EXISTS, "the table has a primary key already");
    HAILSTONE_TRY(add_index(definition, "PRIMARY", true, columns, nullptr, column_count, true));
    definition.has_primary_key = true;
    return {};
  });
}

int hs_schema_index(hs_schema* given_schema, const char* name, int unique, const char* const* columns,
                    const int* flags, size_t column_count) {
  const Pin<SchemaHandle> schema(given_schema);
  if (!schema) return HS_INVALID;
  return run(*schema, [&]() -> Outcome {
    return add_index(schema->definition, name, unique != 0, columns, flags, column_count, false);
  });
}

int hs_schema_in_memory(hs_schema* given_schema, uint64_t most_bytes) {
  const Pin<SchemaHandle> schema(given_schema);
  if (!schema) return HS_INVALID;
  return run(*schema, [&]() -> Outcome {
    schema->definition.in_memory = true;
    schema->definition.most_bytes = most_bytes;
    return {};
  });
}

int hs_schema_retention(hs_schema* given_schema, const char* column, uint32_t amount, hs_time_unit unit) {
  const Pin<SchemaHandle> schema(given_schema);
  if (!schema) return HS_INVALID;
  return run(*schema, [&]() -> Outcome { return set_retention(schema->definition, column, amount, unit); });
}

int hs_table_create(hs_transaction* given_transaction, const char* name, const hs_schema* given_schema,
                    hs_table** table) {
  if (table != nullptr) *table = nullptr;
  const Call<TransactionHandle> transaction(given_transaction);
  if (!transaction) return HS_INVALID;
  SharedTransaction& shared = *transaction->shared;
  return run_statement(*transaction, shared, [&]() -> Outcome {
    const Pin<SchemaHandle> schema(given_schema);
    if (name == nullptr || !schema) {
      return refuse(HS_INVALID, "the table's name or schema is NULL, or the schema is freed");
    }
    HAILSTONE_TRY(check_name(name));
    TableDefinition definition = schema->definition;
    definition.name = name;
    HAILSTONE_ASSIGN(auto made, shared.database->database->create_table(*shared.transaction, definition));
    if (table == nullptr) return {};
    return give_out_table(shared, std::move(made), table);
  });
}

int hs_table_drop(hs_transaction* given_transaction, const char* name) {
  const Call<TransactionHandle> transaction(given_transaction);
  if (!transaction) return HS_INVALID;
  SharedTransaction& shared = *transaction->shared;
  return run_statement(*transaction, shared, [&]() -> Outcome {
    if (name == nullptr) return refuse(HS_INVALID, "the table's name is NULL");
    HAILSTONE_TRY(lock_for_ddl(shared, name));
    shared.forget_tables();
    HAILSTONE_TRY(shared.database->database->drop_table(*shared.transaction, name));
    return {};
  });
}

int hs_table_rename(hs_transaction* given_transaction, const char* from, const char* to) {
  const Call<TransactionHandle> transaction(given_transaction);
  if (!transaction) return HS_INVALID;
  SharedTransaction& shared = *transaction->shared;
  return run_statement(*transaction, shared, [&]() -> Outcome {
    if (from == nullptr || to == nullptr) return refuse(HS_INVALID, "a name of the table is NULL");
    HAILSTONE_TRY(check_name(to));
    HAILSTONE_TRY(shared.database->database->rename_table(*shared.transaction, from, to));
    return {};
  });
}

int hs_table_retention(hs_transaction* given_transaction, const char* name, const char* column,
                       uint32_t amount, hs_time_unit unit) {
  const Call<TransactionHandle> transaction(given_transaction);
  if (!transaction) return HS_INVALID;
  SharedTransaction& shared = *transaction->shared;
  return run_statement(*transaction, shared, [&]() -> Outcome {
    if (name == nullptr) return refuse(HS_INVALID, "the table's name is NULL");
    Database& database = *shared.database->database;
    HAILSTONE_TRY(lock_for_ddl(shared, name));
    HAILSTONE_ASSIGN(const auto table, database.table(name, shared.transaction.get()));
    TableDefinition definition = table->definition();
    // As the transaction sees it, which may have renamed it.
    definition.name = name;
    HAILSTONE_TRY(set_retention(definition, column, amount, unit));
    HAILSTONE_TRY(database.replace_definition(*shared.transaction, name, std::move(definition)));
    return {};
  });
}

int hs_table_next(hs_transaction* given_transaction, const char* prefix, const char* after,
                  const char** name) {
  const Call<TransactionHandle> transaction(given_transaction);
  if (!transaction) return HS_INVALID;
  if (name == nullptr)
    return misuse<TransactionHandle>(given_transaction, "the place for the table's name is NULL");
  SharedTransaction& shared = *transaction->shared;
  return run_statement(*transaction, shared, [&]() -> Outcome {
    const auto names =
        shared.database->database->table_names(prefix == nullptr ? "" : prefix, shared.transaction.get());
    const auto next = after == nullptr ? names.begin() : std::ranges::upper_bound(names, after);
    if (next == names.end()) return refuse(HS_NOT_FOUND, "there are no more tables");
    transaction->text = *next;
    *name = transaction->text.c_str();
    keep_for_this_thread(transaction->scratch);
    return {};
  });
}

int hs_table_open(hs_transaction* given_transaction, const char* name, hs_table** table) {
  if (table == nullptr) {
    return misuse<TransactionHandle>(given_transaction, "the place for the table's handle is NULL");
  }
  *table = nullptr;
  const Call<TransactionHandle> transaction(given_transaction);
  if (!transaction) return HS_INVALID;
  SharedTransaction& shared = *transaction->shared;
  return run_statement(*transaction, shared, [&]() -> Outcome {
    if (name == nullptr) return refuse(HS_INVALID, "the table's name is NULL");
    HAILSTONE_ASSIGN(auto found, shared.database->database->table(name, shared.transaction.get()));
    return give_out_table(shared, std::move(found), table);
  });
}

void hs_table_close(hs_table* given_table) { close_handle<TableHandle>(given_table); }

size_t hs_table_columns(const hs_table* given_table) {
  const Pin<TableHandle> table(given_table);
  return table ? table->shape->columns.size() : 0;
}

int hs_table_column(const hs_table* given_table, size_t column, const char** name, hs_type* type,
                    int* flags) {
  const Pin<TableHandle> table(given_table);
  if (!table) return HS_INVALID;
  if (column >= table->shape->columns.size()) return HS_NOT_FOUND;
  const ColumnShape& shape = table->shape->columns[column];
  if (name != nullptr && !give_name(shape.name, name)) return HS_NO_MEMORY;
  if (type != nullptr) *type = shape.type;
  if (flags != nullptr) *flags = (shape.nullable ? 0 : HS_NOT_NULL) | (shape.columnar ? 0 : HS_ROW_WISE);
  return HS_OK;
}

int hs_table_column_limit(const hs_table* given_table, size_t column, uint32_t* max_bytes) {
  const Pin<TableHandle> table(given_table);
  if (!table || max_bytes == nullptr) return HS_INVALID;
  const auto& columns = table->shape->table->layout()->definition().columns;
  if (column >= columns.size()) return HS_NOT_FOUND;
  const hs_type type = table->shape->columns[column].type;
  *max_bytes = type == HS_STRING || type == HS_BYTES ? columns[column].width : 0;
  return HS_OK;
}

int hs_table_index(const hs_table* given_table, size_t index, const char** name, int* flags,
                   size_t* column_count) {
  const Pin<TableHandle> table(given_table);
  if (!table) return HS_INVALID;
  const TableDefinition& definition = table->shape->table->layout()->definition();
  if (index >= definition.indexes.size()) return HS_NOT_FOUND;
  const Index& found = definition.indexes[index];
  const bool primary = index == 0 && definition.has_primary_key;
  if (name != nullptr && !give_name(found.name, name)) return HS_NO_MEMORY;
  if (flags != nullptr) *flags = (primary ? HS_PRIMARY : 0) | (primary || found.unique ? HS_UNIQUE : 0);
  if (column_count != nullptr) *column_count = found.parts.size();
  return HS_OK;
}

int hs_table_index_column(const hs_table* given_table, size_t index, size_t part, size_t* column,
                          int* flags) {
  const Pin<TableHandle> table(given_table);
  if (!table) return HS_INVALID;
  const TableDefinition& definition = table->shape->table->layout()->definition();
  if (index >= definition.indexes.size() || part >= definition.indexes[index].parts.size())
    return HS_NOT_FOUND;
  const IndexPart& found = definition.indexes[index].parts[part];
  if (column != nullptr) *column = found.column;
  if (flags != nullptr) *flags = found.descending ? HS_DESCENDING : 0;
  return HS_OK;
}

int hs_table_check(hs_transaction* given_transaction, hs_table* given_table) {
  const Call<TransactionHandle> transaction(given_transaction);
  const Pin<TableHandle> table(given_table);
  if (!fit(transaction, table)) return misfit(transaction);
  SharedTransaction& shared = *transaction->shared;
  return run_statement(*transaction, shared, [&]() -> Outcome {
    HAILSTONE_TRY(shared.check_table(*table->shape->table, false));
    HAILSTONE_TRY(
        table->shape->table->check(*shared.transaction, [&] { return shared.transaction->interrupted(); }));
    return {};
  });
}

int hs_table_size(hs_table* given_table, uint64_t* rows, uint64_t* bytes) {
  const Pin<TableHandle> table(given_table);
  if (!table) return HS_INVALID;
  try {
    const TableStatistics statistics = table->shape->table->statistics();
    if (rows != nullptr) *rows = statistics.rows;
    if (bytes != nullptr) *bytes = statistics.data_bytes + statistics.index_bytes;
    return HS_OK;
  } catch (const std::bad_alloc&) {
    return HS_NO_MEMORY;
  }
}
