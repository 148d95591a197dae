#include "api/haildb/schema.h"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <limits>

#include "api/haildb/config.h"
#include "api/haildb/engine.h"
#include "api/haildb/transaction.h"

namespace hailstone::haildb {
namespace {

bool same_word(const std::string& a, const char* b) { return strcasecmp(a.c_str(), b) == 0; }

bool is_reserved_index_name(const char* name) {
  return strcasecmp(name, generated_index_name) == 0 || static_cast<unsigned char>(name[0]) == 0xFF;
}

bool is_possible_length(ib_col_type_t type, ib_ulint_t length) {
  switch (type) {
    case IB_VARCHAR:
    case IB_CHAR:
    case IB_BINARY:
      return length > 0;
    case IB_INT:
      return length == 1 || length == 2 || length == 4 || length == 8;
    case IB_FLOAT:
      return length == 4;
    case IB_DOUBLE:
      return length == 8;
    default:
      return true;
  }
}

bool is_column_type(ib_col_type_t type) {
  return type >= IB_VARCHAR && type <= IB_CHAR_ANYCHARSET && type != IB_SYS && static_cast<int>(type) != 7;
}

ib_err_t check_format(ib_tbl_fmt_t format, ib_ulint_t page_size) {
  if (format < IB_TBL_REDUNDANT || format > IB_TBL_COMPRESSED) return DB_INVALID_INPUT;
  if (format != IB_TBL_COMPRESSED) return DB_SUCCESS;
  const bool possible_size = page_size == 0 || page_size == 1 || page_size == 2 || page_size == 4 ||
                             page_size == 8 || page_size == 16;
  if (!possible_size) return DB_UNSUPPORTED;
  if (!initialised()) return DB_ERROR;
  const char* const file_format = text_of(Variable::FileFormat);
  const bool barracuda = file_format != nullptr && std::string_view(file_format) == "Barracuda";
  return is_on(Variable::FilePerTable) && barracuda ? DB_SUCCESS : DB_UNSUPPORTED;
}

/// The number of a column; -1: there is none. Exactly this name before one in another case.
int find_column(const std::vector<ColumnInfo>& columns, const char* name) {
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].name == name) return static_cast<int>(i);
  }
  for (size_t i = 0; i < columns.size(); ++i) {
    if (same_word(columns[i].name, name)) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

bool is_table_name(std::string_view name) {
  const size_t slash = name.find('/');
  if (name.size() < 2 || slash == std::string_view::npos || slash == 0 || slash + 1 == name.size())
    return false;
  return name.find('/', slash + 1) == std::string_view::npos && !name.starts_with("./") &&
         !name.starts_with("../");
}

HandlePool<ib_tbl_sch_struct>& table_schemas() {
  static HandlePool<ib_tbl_sch_struct>& pool = *new HandlePool<ib_tbl_sch_struct>;
  return pool;
}

HandlePool<ib_idx_sch_struct>& index_schemas() {
  static HandlePool<ib_idx_sch_struct>& pool = *new HandlePool<ib_idx_sch_struct>;
  return pool;
}

}  // namespace hailstone::haildb

using namespace hailstone::haildb;

void ib_idx_sch_struct::clear() {
  owner = nullptr;
  trx = nullptr;
  columns.clear();
  index = {};
}

const std::vector<ColumnInfo>& ib_idx_sch_struct::table_columns() const {
  return owner != nullptr ? owner->columns : columns;
}

void ib_tbl_sch_struct::clear() {
  for (const ib_idx_sch_t index : indexes) index_schemas().give_back(index);
  indexes.clear();
  columns.clear();
}

ib_err_t ib_table_schema_create(const char* name, ib_tbl_sch_t* ib_tbl_sch, ib_tbl_fmt_t ib_tbl_fmt,
                                ib_ulint_t page_size) try {
  if (const ib_err_t code = check_stopped(); code != DB_SUCCESS) return code;
  if (ib_tbl_sch == nullptr) return DB_INVALID_INPUT;
  *ib_tbl_sch = nullptr;
  if (name == nullptr || !is_table_name(name)) return DB_DATA_MISMATCH;
  if (const ib_err_t code = check_format(ib_tbl_fmt, page_size); code != DB_SUCCESS) return code;
  ib_tbl_sch_t const schema = table_schemas().take();
  schema->name = name;
  schema->format = ib_tbl_fmt;
  schema->page_size = ib_tbl_fmt != IB_TBL_COMPRESSED ? 0 : 1024 * (page_size == 0 ? 8 : page_size);
  *ib_tbl_sch = schema;
  return DB_SUCCESS;
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

ib_err_t ib_table_schema_add_col(ib_tbl_sch_t ib_tbl_sch, const char* name, ib_col_type_t ib_col_type,
                                 ib_col_attr_t ib_col_attr, ib_u16_t client_type, ib_ulint_t len) try {
  if (const ib_err_t code = check_stopped(); code != DB_SUCCESS) return code;
  if (!good(ib_tbl_sch) || name == nullptr) return DB_INVALID_INPUT;
  constexpr int longest_name = IB_MAX_COL_NAME_LEN;
  if (*name == '\0' || std::ssize(std::string_view(name)) > longest_name)
    return refused(fmt::format("the name of a column has 1 to {} bytes", longest_name));
  if (std::ranges::any_of(ib_tbl_sch->columns,
                          [&](const auto& each) { return same_word(each.name, name); })) {
    return DB_DUPLICATE_KEY;
  }
  if (!is_column_type(ib_col_type))
    return refused(fmt::format("column '{}': there is no type {}", name, static_cast<int>(ib_col_type)));
  if (!is_possible_length(ib_col_type, len) || len > std::numeric_limits<uint32_t>::max() / 2)
    return refused(fmt::format("column '{}': its type takes no length of {} bytes", name, len));
  ColumnInfo column;
  column.name = name;
  column.type = ib_col_type;
  column.attributes = ib_col_attr;
  column.client_type = client_type;
  column.length = static_cast<uint32_t>(len);
  ib_tbl_sch->columns.push_back(std::move(column));
  return DB_SUCCESS;
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

ib_err_t ib_table_schema_add_index(ib_tbl_sch_t ib_tbl_sch, const char* name, ib_idx_sch_t* ib_idx_sch) try {
  if (const ib_err_t code = check_stopped(); code != DB_SUCCESS) return code;
  if (ib_idx_sch != nullptr) *ib_idx_sch = nullptr;
  if (!good(ib_tbl_sch) || name == nullptr || ib_idx_sch == nullptr) return DB_INVALID_INPUT;
  if (*name == '\0' || is_reserved_index_name(name)) return DB_INVALID_INPUT;
  if (std::ranges::any_of(ib_tbl_sch->indexes,
                          [&](const auto* each) { return same_word(each->index.name, name); })) {
    return DB_DUPLICATE_KEY;
  }
  ib_idx_sch_t const index = index_schemas().take();
  index->owner = ib_tbl_sch;
  index->index.name = name;
  ib_tbl_sch->indexes.push_back(index);
  *ib_idx_sch = index;
  return DB_SUCCESS;
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

void ib_table_schema_delete(ib_tbl_sch_t ib_tbl_sch) {
  if (good(ib_tbl_sch)) table_schemas().give_back(ib_tbl_sch);
}

ib_err_t ib_index_schema_create(ib_trx_t ib_usr_trx, const char* name, const char* table_name,
                                ib_idx_sch_t* ib_idx_sch) try {
  if (ib_idx_sch != nullptr) *ib_idx_sch = nullptr;
  if (const ib_err_t code = check_running(); code != DB_SUCCESS) return code;
  if (!good(ib_usr_trx) || name == nullptr || table_name == nullptr || ib_idx_sch == nullptr)
    return DB_INVALID_INPUT;
  if (!has_exclusive_schema_lock(*ib_usr_trx)) return DB_SCHEMA_NOT_LOCKED;
  if (*name == '\0' || is_reserved_index_name(name)) return DB_INVALID_INPUT;
  const std::string normal = normalised_name(table_name);
  const auto info = engine().tables->find(normal, ib_usr_trx->transaction.get());
  if (!info) return code_of(info.error(), DB_TABLE_NOT_FOUND);
  if ((*info)->find_index(name) != nullptr) return DB_DUPLICATE_KEY;
  ib_idx_sch_t const index = index_schemas().take();
  index->trx = ib_usr_trx;
  index->trx_serial = ib_usr_trx->serial;
  index->table_name = normal;
  index->columns = (*info)->schema.columns;
  index->index.name = name;
  *ib_idx_sch = index;
  return DB_SUCCESS;
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

ib_err_t ib_index_schema_add_col(ib_idx_sch_t ib_idx_sch, const char* name, ib_ulint_t prefix_len) try {
  if (const ib_err_t code = check_stopped(); code != DB_SUCCESS) return code;
  if (!good(ib_idx_sch) || name == nullptr || prefix_len > std::numeric_limits<uint32_t>::max())
    return DB_INVALID_INPUT;
  const auto& columns = ib_idx_sch->table_columns();
  const int found = find_column(columns, name);
  if (found < 0) return DB_NOT_FOUND;
  const auto column = static_cast<uint16_t>(found);
  if (ib_idx_sch->index.has(column)) return DB_COL_APPEARS_TWICE_IN_INDEX;
  const ColumnInfo& info = columns[column];
  if (prefix_len > 0 && (info.is_number() || info.type == IB_DECIMAL)) return DB_SCHEMA_ERROR;
  // A prefix as long as the column is the whole column.
  const bool whole = info.length != 0 && info.type != IB_BLOB && prefix_len >= info.length;
  ib_idx_sch->index.parts.push_back({column, whole ? 0 : static_cast<uint32_t>(prefix_len), -1});
  return DB_SUCCESS;
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

ib_err_t ib_index_schema_set_clustered(ib_idx_sch_t ib_idx_sch) try {
  if (const ib_err_t code = check_stopped(); code != DB_SUCCESS) return code;
  if (!good(ib_idx_sch)) return DB_INVALID_INPUT;
  if (ib_idx_sch->owner != nullptr) {
    for (const ib_idx_sch_t each : ib_idx_sch->owner->indexes) each->index.clustered = false;
  }
  ib_idx_sch->index.clustered = true;
  ib_idx_sch->index.unique = true;
  return DB_SUCCESS;
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

ib_err_t ib_index_schema_set_unique(ib_idx_sch_t ib_idx_sch) try {
  if (const ib_err_t code = check_stopped(); code != DB_SUCCESS) return code;
  if (!good(ib_idx_sch)) return DB_INVALID_INPUT;
  ib_idx_sch->index.unique = true;
  return DB_SUCCESS;
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

void ib_index_schema_delete(ib_idx_sch_t ib_idx_sch) {
  // One that belongs to a table's schema goes with that.
  if (good(ib_idx_sch) && ib_idx_sch->owner == nullptr) index_schemas().give_back(ib_idx_sch);
}
