// Tables and indexes being described, in memory only.
#pragma once

#include <string>
#include <vector>

#include "api/haildb/handles.h"
#include "api/haildb/table.h"
#include "haildb.h"

/// An index: of a table being described (`owner`), or to be added to an existing one (`table_name`).
struct ib_idx_sch_struct : hailstone::haildb::Handle {
  static constexpr uint32_t kind = 0x49445831;
  void clear();
  const std::vector<hailstone::haildb::ColumnInfo>& table_columns() const;

  ib_tbl_sch_t owner = nullptr;
  ib_trx_t trx = nullptr;
  uint64_t trx_serial = 0;
  std::string table_name;
  std::vector<hailstone::haildb::ColumnInfo> columns;  // of an existing table
  hailstone::haildb::IndexInfo index;
};

struct ib_tbl_sch_struct : hailstone::haildb::Handle {
  static constexpr uint32_t kind = 0x54424c31;
  void clear();

  std::string name;
  ib_tbl_fmt_t format = IB_TBL_COMPACT;
  ib_ulint_t page_size = 0;  // bytes
  std::vector<hailstone::haildb::ColumnInfo> columns;
  std::vector<ib_idx_sch_t> indexes;
};

namespace hailstone::haildb {

/// "database/table", both without a slash.
bool is_table_name(std::string_view name);

HandlePool<ib_tbl_sch_struct>& table_schemas();
HandlePool<ib_idx_sch_struct>& index_schemas();

}  // namespace hailstone::haildb
