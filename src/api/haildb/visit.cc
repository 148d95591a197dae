// Visitors of the schema, and statistics of tables.
#include <algorithm>
#include <cstdlib>
#include <limits>

#include "api/haildb/cursor.h"
#include "api/haildb/engine.h"
#include "api/haildb/system_tables.h"
#include "api/haildb/transaction.h"

namespace hailstone::haildb {
namespace {

/// What both visits need.
ib_err_t check_visit(ib_trx_t transaction) {
  if (const ib_err_t code = check_running(); code != DB_SUCCESS) return code;
  if (!good(transaction)) return DB_INVALID_INPUT;
  return has_exclusive_schema_lock(*transaction) ? DB_SUCCESS : DB_SCHEMA_NOT_LOCKED;
}

/// False: a visitor wants no more.
bool visit_columns(const TableInfo& info, const ib_schema_visitor_t& visitor, void* arg) {
  const auto visit = [&](const ColumnInfo& column) {
    return visitor.table_col(arg, column.name.c_str(), column.type, column.length, column.attributes) == 0;
  };
  for (const ColumnInfo& column : info.schema.columns) {
    if (!visit(column)) return false;
  }
  for (size_t i = 0; i < IB_N_SYS_COLS; ++i) {
    if (!visit(system_column(i))) return false;
  }
  return true;
}

bool visit_indexes(const TableInfo& info, const ib_schema_visitor_t& visitor, void* arg) {
  for (const IndexInfo& index : info.schema.indexes) {
    if (visitor.index(arg, index.name.c_str(), index.clustered ? IB_TRUE : IB_FALSE,
                      index.unique ? IB_TRUE : IB_FALSE, static_cast<int>(index.parts.size())) != 0) {
      return false;
    }
    if (visitor.version < IB_SCHEMA_VISITOR_TABLE_AND_INDEX_COL || visitor.index_col == nullptr) continue;
    for (const IndexPartInfo& part : index.parts) {
      if (visitor.index_col(arg, info.schema.columns[part.column].name.c_str(), part.prefix) != 0)
        return false;
    }
  }
  return true;
}

bool visit_table(const TableInfo& info, const std::string& name, const ib_schema_visitor_t& visitor,
                 void* arg) {
  const TableSchema& schema = info.schema;
  if (visitor.table != nullptr && visitor.table(arg, name.c_str(), schema.format, schema.page_size,
                                                static_cast<int>(schema.columns.size() + IB_N_SYS_COLS),
                                                static_cast<int>(schema.indexes.size())) != 0) {
    return false;
  }
  if (visitor.version >= IB_SCHEMA_VISITOR_TABLE_COL && visitor.table_col != nullptr &&
      !visit_columns(info, visitor, arg)) {
    return false;
  }
  if (visitor.version < IB_SCHEMA_VISITOR_TABLE_AND_INDEX || visitor.index == nullptr) return true;
  return visit_indexes(info, visitor, arg);
}

/// Columns that make an entry of the index unique.
size_t unique_columns(const IndexInfo& index) {
  if (index.generated) return 1;
  return index.unique ? index.parts.size() : index.key_columns.size();
}

ib_err_t compute_statistics(TableInfo& info) {
  if (const Status status = info.table->analyze(); !status) return code_of(status.error());
  info.changed_since_computed.store(0, std::memory_order_relaxed);
  info.has_statistics.store(true, std::memory_order_relaxed);
  return DB_SUCCESS;
}

/// Row changes are counted from here on.
void begin_to_count(Lineage& lineage) {
  lineage.statistics_seen.store(true, std::memory_order_relaxed);
  lineage.changed_rows.store(0, std::memory_order_relaxed);
}

/// Computes the statistics when they have not been computed yet, or since then a sixteenth of the rows has
/// changed. The program does not notice the latter, so that its count of changes goes on.
ib_err_t refresh_statistics(TableInfo& info) {
  if (!info.lineage->statistics_seen.load(std::memory_order_relaxed)) begin_to_count(*info.lineage);
  const bool computed =
      info.has_statistics.load(std::memory_order_relaxed) || !info.table->analyzed_counts().empty();
  const uint64_t changed = info.changed_since_computed.load(std::memory_order_relaxed);
  if (computed && changed <= 16 + info.table->statistics().rows / 16) return DB_SUCCESS;
  return compute_statistics(info);
}

/// Bytes of as many pages of the original.
uint64_t whole_pages(uint64_t bytes) { return (bytes + page_bytes - 1) / page_bytes * page_bytes; }

}  // namespace
}  // namespace hailstone::haildb

using namespace hailstone::haildb;

ib_err_t ib_table_schema_visit(ib_trx_t ib_trx, const char* name, const ib_schema_visitor_t* visitor,
                               void* arg) try {
  if (const ib_err_t code = check_visit(ib_trx); code != DB_SUCCESS) return code;
  if (name == nullptr || visitor == nullptr) return DB_INVALID_INPUT;
  const std::string normal = normalised_name(name);
  const auto info = is_system_table(normal) ? system_table(normal)
                                            : engine().tables->find(normal, ib_trx->transaction.get());
  if (!info) return code_of(info.error(), DB_TABLE_NOT_FOUND);
  return visit_table(**info, name_of(**info, *ib_trx), *visitor, arg) ? DB_SUCCESS : DB_ERROR;
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

ib_err_t ib_schema_tables_iterate(ib_trx_t ib_trx, ib_schema_visitor_table_all_t visitor, void* arg) try {
  if (const ib_err_t code = check_visit(ib_trx); code != DB_SUCCESS) return code;
  if (visitor == nullptr) return DB_INVALID_INPUT;
  auto names = engine().database->table_names({}, ib_trx->transaction.get());
  for (const char* const system : {"SYS_FOREIGN", "SYS_FOREIGN_COLS"}) {
    names.insert(std::ranges::lower_bound(names, system), system);
  }
  for (const std::string& name : names) {
    if (visitor(arg, name.data(), static_cast<int>(name.size())) != 0) break;
  }
  return DB_SUCCESS;
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

ib_err_t ib_get_table_statistics(ib_crsr_t ib_crsr, ib_table_stats_t* table_stats,
                                 size_t sizeof_ib_table_stats_t) try {
  if (const ib_err_t code = check_running(); code != DB_SUCCESS) return code;
  if (!good(ib_crsr) || table_stats == nullptr || sizeof_ib_table_stats_t < sizeof *table_stats)
    return DB_INVALID_INPUT;
  *table_stats = {};
  if (ib_crsr->memory != nullptr) {
    table_stats->stat_n_rows = static_cast<ib_i64_t>(ib_crsr->memory->size());
    return DB_SUCCESS;
  }
  if (const ib_err_t code = refresh_statistics(*ib_crsr->info); code != DB_SUCCESS) return code;
  const hailstone::TableStatistics statistics = ib_crsr->info->table->statistics();
  table_stats->stat_n_rows = static_cast<ib_i64_t>(statistics.rows);
  table_stats->stat_clustered_index_size = whole_pages(statistics.data_bytes);
  table_stats->stat_sum_of_other_index_sizes = whole_pages(statistics.index_bytes);
  table_stats->stat_modified_counter = ib_crsr->info->lineage->changed_rows.load(std::memory_order_relaxed);
  return DB_SUCCESS;
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

ib_err_t ib_get_index_stat_n_diff_key_vals(ib_crsr_t ib_crsr, const char* index_name, ib_u64_t* ncols,
                                           ib_i64_t** n_diff) try {
  if (const ib_err_t code = check_running(); code != DB_SUCCESS) return code;
  if (!good(ib_crsr) || index_name == nullptr || ncols == nullptr || n_diff == nullptr)
    return DB_INVALID_INPUT;
  TableInfo& info = *ib_crsr->info;
  const IndexInfo* const index = info.find_index(index_name);
  if (index == nullptr) return DB_NOT_FOUND;
  hailstone::TableStatistics statistics;
  if (info.table != nullptr) {
    if (const ib_err_t code = refresh_statistics(info); code != DB_SUCCESS) return code;
    statistics = info.table->statistics();
  } else {
    statistics.rows = ib_crsr->memory->size();
  }
  const size_t columns = unique_columns(*index);
  auto* const values = static_cast<ib_i64_t*>(std::malloc(columns * sizeof(ib_i64_t)));
  if (values == nullptr) return DB_OUT_OF_MEMORY;
  for (size_t i = 0; i < columns; ++i) {
    uint64_t distinct = statistics.rows;
    const bool counted = !index->generated && i < index->parts.size() &&
                         index->engine_index < statistics.distinct.size() &&
                         i < statistics.distinct[index->engine_index].size();
    if (counted && statistics.distinct[index->engine_index][i] != 0) {
      distinct = std::min(distinct, statistics.distinct[index->engine_index][i]);
    }
    values[i] = static_cast<ib_i64_t>(distinct);
  }
  *ncols = columns;
  *n_diff = values;
  return DB_SUCCESS;
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}

ib_err_t ib_update_table_statistics(ib_crsr_t crsr) try {
  if (const ib_err_t code = check_running(); code != DB_SUCCESS) return code;
  if (!good(crsr)) return DB_INVALID_INPUT;
  if (crsr->info->table == nullptr) return DB_SUCCESS;
  const ib_err_t code = compute_statistics(*crsr->info);
  if (code == DB_SUCCESS) begin_to_count(*crsr->info->lineage);
  return code;
} catch (const std::bad_alloc&) {
  return DB_OUT_OF_MEMORY;
}
