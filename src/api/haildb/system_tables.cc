#include "api/haildb/system_tables.h"

#include <algorithm>

#include "api/haildb/engine.h"

namespace hailstone::haildb {
namespace {

struct SystemTable {
  const char* name;
  std::vector<const char*> columns;
  std::vector<const char*> numbers;  // which of the columns
  struct SystemIndex {
    const char* name;
    bool clustered, unique;
    std::vector<uint16_t> columns;
  };
  std::vector<SystemIndex> indexes;  // the clustered one first
};

const std::vector<SystemTable>& system_tables() {
  static const std::vector<SystemTable> tables{
      {"SYS_TABLES",
       {"NAME", "ID", "N_COLS", "TYPE", "MIX_ID", "MIX_LEN", "CLUSTER_NAME", "SPACE"},
       {"N_COLS", "TYPE", "MIX_LEN", "SPACE"},
       {{"CLUST_IND", true, true, {0}}, {"ID_IND", false, true, {1}}}},
      {"SYS_COLUMNS",
       {"TABLE_ID", "POS", "NAME", "MTYPE", "PRTYPE", "LEN", "PREC"},
       {"POS", "MTYPE", "PRTYPE", "LEN", "PREC"},
       {{"CLUST_IND", true, true, {0, 1}}}},
      {"SYS_INDEXES",
       {"TABLE_ID", "ID", "NAME", "N_FIELDS", "TYPE", "SPACE", "PAGE_NO"},
       {"N_FIELDS", "TYPE", "SPACE", "PAGE_NO"},
       {{"CLUST_IND", true, true, {0, 1}}}},
      {"SYS_FIELDS", {"INDEX_ID", "POS", "COL_NAME"}, {"POS"}, {{"CLUST_IND", true, true, {0, 1}}}},
      {"SYS_FOREIGN",
       {"ID", "FOR_NAME", "REF_NAME", "N_COLS"},
       {"N_COLS"},
       {{"ID_IND", true, true, {0}}, {"FOR_IND", false, false, {1}}, {"REF_IND", false, false, {2}}}},
      {"SYS_FOREIGN_COLS",
       {"ID", "POS", "FOR_COL_NAME", "REF_COL_NAME"},
       {"POS"},
       {{"ID_IND", true, true, {0, 1}}}},
  };
  return tables;
}

const SystemTable* find_table(std::string_view name) {
  for (const SystemTable& table : system_tables()) {
    if (name == table.name) return &table;
  }
  return nullptr;
}

TableSchema schema_of(const SystemTable& from) {
  TableSchema schema;
  schema.name = from.name;
  schema.format = IB_TBL_REDUNDANT;
  const bool foreign = schema.name.starts_with("SYS_FOREIGN");
  for (const char* const name : from.columns) {
    ColumnInfo column;
    column.name = name;
    const bool number =
        std::ranges::any_of(from.numbers, [&](const char* each) { return std::string_view(each) == name; });
    column.type = number ? IB_INT : foreign ? IB_VARCHAR : IB_VARBINARY;
    column.length = number ? 4 : 0;
    schema.columns.push_back(std::move(column));
  }
  for (const auto& each : from.indexes) {
    IndexInfo index;
    index.name = each.name;
    index.clustered = each.clustered;
    index.unique = each.unique;
    index.number = schema.next_number++;
    for (const uint16_t column : each.columns) index.parts.push_back({column, 0, -1});
    schema.indexes.push_back(std::move(index));
  }
  return schema;
}

/// Takes the rows of one system table, encoded.
class RowMaker {
 public:
  explicit RowMaker(const TableInfo& info) : info_(info) {}
  RowMaker& number(uint64_t value) {
    values_.push_back(Value::of(order_signed(static_cast<int32_t>(value), 4)));
    return *this;
  }
  RowMaker& text(ByteView value) {
    values_.push_back(Value::of(kept_.copy(value)));
    return *this;
  }
  RowMaker& id(uint64_t value) {
    char bytes[8];
    store_big_endian(bytes, value, sizeof bytes);
    return text({bytes, sizeof bytes});
  }
  RowMaker& null() {
    values_.emplace_back();
    return *this;
  }
  Status end_row() {
    HAILSTONE_TRY(info_.layout->row_codec().encode(values_, rows.emplace_back()));
    values_.clear();
    return {};
  }
  std::vector<std::string> rows;

 private:
  const TableInfo& info_;
  Arena kept_;
  std::vector<Value> values_;
};

Status describe(const TableInfo& user, const std::string& name, std::string_view system_table,
                RowMaker& rows) {
  const TableSchema& schema = user.schema;
  if (system_table == "SYS_TABLES") {
    rows.text(name)
        .id(user.id)
        .number(schema.columns.size())
        .number(1)
        .id(0)
        .number(0)
        .null()
        .number(user.id);
    return rows.end_row();
  }
  if (system_table == "SYS_COLUMNS") {
    for (size_t i = 0; i < schema.columns.size(); ++i) {
      const ColumnInfo& column = schema.columns[i];
      rows.id(user.id).number(i).text(column.name).number(static_cast<uint64_t>(column.type));
      rows.number(static_cast<uint64_t>(column.attributes)).number(column.length).number(0);
      HAILSTONE_TRY(rows.end_row());
    }
    return {};
  }
  for (const IndexInfo& index : user.indexes) {
    if (system_table == "SYS_INDEXES") {
      rows.id(user.id).id(user.index_id(index)).text(index.name).number(index.parts.size());
      rows.number((index.clustered ? 1U : 0U) + (index.unique ? 2U : 0U)).number(user.id).number(0);
      HAILSTONE_TRY(rows.end_row());
    } else if (system_table == "SYS_FIELDS") {
      for (size_t i = 0; i < index.parts.size(); ++i) {
        rows.id(user.index_id(index)).number(i).text(schema.columns[index.parts[i].column].name);
        HAILSTONE_TRY(rows.end_row());
      }
    }
  }
  return {};
}

/// The entries of an index of the table: its key, and behind that of a secondary one the clustered key.
Result<std::shared_ptr<const MemoryEntries>> make_entries(const TableInfo& info, const IndexInfo& index,
                                                          std::vector<std::string> rows) {
  auto entries = std::make_shared<MemoryEntries>();
  entries->reserve(rows.size());
  const RowCodec& codec = info.layout->row_codec();
  for (std::string& row : rows) {
    MemoryEntry& entry = entries->emplace_back();
    std::string clustered;
    HAILSTONE_TRY(info.codec(info.indexes[0]).append_row(codec, row, clustered));
    if (!index.clustered) HAILSTONE_TRY(info.codec(index).append_row(codec, row, entry.key));
    entry.key += clustered;
    entry.clustered_size = clustered.size();
    entry.row = std::move(row);
  }
  std::ranges::sort(*entries, {}, &MemoryEntry::key);
  return entries;
}

Result<std::vector<std::string>> read_rows(const TableInfo& info, const Transaction* transaction) {
  Database& database = *engine().database;
  RowMaker made(info);
  for (const std::string& name : database.table_names({}, transaction)) {
    const auto table = database.table(name, transaction);
    if (!table) continue;  // dropped since its name was read
    const auto user = TableInfo::make(database, *table, /*with_rows=*/false);
    // Tables that were not made here have no place in these.
    if (!user) continue;
    HAILSTONE_TRY(describe(**user, name, info.schema.name, made));
  }
  return std::move(made.rows);
}

ib_err_t open_index(const std::shared_ptr<TableInfo>& info, size_t index, std::vector<std::string> rows,
                    ib_trx_t transaction, ib_crsr_t* cursor) {
  auto entries = make_entries(*info, info->indexes[index], std::move(rows));
  if (!entries) return code_of(entries.error());
  *cursor = make_cursor(info, index, transaction, 0);
  (*cursor)->memory = std::move(*entries);
  return DB_SUCCESS;
}

}  // namespace

bool is_system_table(std::string_view name) { return find_table(name) != nullptr; }

Result<std::shared_ptr<TableInfo>> system_table(const std::string& name) {
  TableDefinition definition = schema_of(*find_table(name)).definition();
  return TableInfo::make(definition);
}

ib_err_t open_system_table(const std::string& name, ib_trx_t transaction, ib_crsr_t* cursor) {
  const auto info = system_table(name);
  if (!info) return code_of(info.error());
  auto rows = read_rows(**info, transaction == nullptr ? nullptr : transaction->transaction.get());
  if (!rows) return code_of(rows.error());
  return open_index(*info, 0, std::move(*rows), transaction, cursor);
}

ib_err_t open_system_index(const ib_crsr_struct& open, size_t index, ib_crsr_t* cursor) {
  std::vector<std::string> rows;
  for (const MemoryEntry& entry : *open.memory) rows.push_back(entry.row);
  return open_index(open.info, index, std::move(rows), open.trx, cursor);
}

}  // namespace hailstone::haildb
