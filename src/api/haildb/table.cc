#include "api/haildb/table.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/haildb/config.h"
#include "api/haildb/decimal.h"
#include "base/guard.h"
#include "table/cursor.h"

namespace hailstone::haildb {
namespace {

constexpr std::string_view application_mark = "HailDB 1";

uint32_t engine_width(const ColumnInfo& column) {
  return column.is_number()                                    ? column.length
         : column.type == IB_BLOB || column.type == IB_DECIMAL ? 0
                                                               : column.length;
}

Column engine_column(const ColumnInfo& from) {
  Column column;
  column.name = from.name;
  column.nullable = !from.not_null();
  column.columnar = false;
  column.width = engine_width(from);
  switch (from.type) {
    case IB_INT:
      column.type = from.is_unsigned() ? Type::Unsigned : Type::Signed;
      break;
    case IB_FLOAT:
      column.type = Type::Float;
      break;
    case IB_DOUBLE:
      column.type = Type::Double;
      break;
    default:
      column.type = column.width == 0 ? Type::Blob : Type::Varchar;
      column.collation = from.type == IB_DECIMAL ? decimal_collation_id
                         : from.client_ordered() ? binary_collation_id
                                                 : binary_padded_collation_id;
      break;
  }
  append_varint(column.application, static_cast<uint64_t>(from.type));
  append_varint(column.application, static_cast<uint64_t>(from.attributes));
  append_varint(column.application, from.client_type);
  append_varint(column.application, from.length);
  return column;
}

bool parse_column(const Column& from, ColumnInfo& to) {
  ByteReader reader(from.application);
  uint64_t type = 0, attributes = 0, client_type = 0, length = 0;
  if (!reader.take_varint(type) || !reader.take_varint(attributes) || !reader.take_varint(client_type) ||
      !reader.take_varint(length)) {
    return false;
  }
  to.name = from.name;
  to.type = static_cast<ib_col_type_t>(type);
  to.attributes = static_cast<ib_col_attr_t>(attributes);
  to.client_type = static_cast<uint16_t>(client_type);
  to.length = static_cast<uint32_t>(length);
  return true;
}

std::string order_column_name(size_t number) { return fmt::format("\xff{}", number); }

std::unexpected<Error> not_ours(const TableDefinition& definition) {
  return fail(ErrorCode::Unsupported,
              fmt::format("table '{}' was not made through the HailDB interface and cannot be used by it",
                          definition.name));
}

/// The key columns of a tuple of `index`.
std::vector<uint16_t> key_columns_of(const IndexInfo& index, const std::vector<IndexInfo>& indexes) {
  std::vector<uint16_t> columns;
  columns.reserve(index.parts.size());
  for (const IndexPartInfo& part : index.parts) columns.push_back(part.column);
  const IndexInfo& clustered = indexes[0];
  if (clustered.generated) columns.push_back(row_id_column);
  if (&index == &clustered) return columns;
  for (const IndexPartInfo& part : clustered.parts) {
    // The beginning of a column does not say what the clustered key has of it.
    const bool has_it = std::ranges::any_of(index.parts, [&](const IndexPartInfo& own) {
      return own.column == part.column && (own.prefix == 0 || own.prefix == part.prefix);
    });
    if (!has_it) columns.push_back(part.column);
  }
  return columns;
}

}  // namespace

ib_col_meta_t ColumnInfo::meta() const { return {type, attributes, length, client_type, nullptr}; }
ib_col_meta_t ColumnInfo::compare_meta() const { return {type, attributes, 0, client_type, nullptr}; }

const ColumnInfo& system_column(size_t number) {
  static const ColumnInfo columns[IB_N_SYS_COLS] = {{"DB_ROW_ID", IB_SYS, IB_COL_NOT_NULL, 0, 6},
                                                    {"DB_TRX_ID", IB_SYS, IB_COL_NOT_NULL, 0, 6},
                                                    {"DB_ROLL_PTR", IB_SYS, IB_COL_NOT_NULL, 0, 7}};
  return columns[number];
}

bool same_columns(const TableInfo& a, const TableInfo& b) {
  return std::ranges::equal(a.schema.columns, b.schema.columns, [](const ColumnInfo& x, const ColumnInfo& y) {
    return x.name == y.name && x.type == y.type && x.attributes == y.attributes && x.length == y.length;
  });
}

namespace {
void add_to(Lineage& lineage, const Table& table) HAILSTONE_REQUIRES(table_cache_mutex) {
  if (std::ranges::find(lineage.tables, table.id()) == lineage.tables.end())
    lineage.tables.push_back(table.id());
}
}  // namespace

std::string normalised_name(const char* name) {
  std::string text(name == nullptr ? "" : name);
  std::ranges::replace(text, '\\', '/');
  const size_t last = text.rfind('/');
  if (last == std::string::npos || last == 0) return text;
  const size_t before = text.rfind('/', last - 1);
  return before == std::string::npos ? text : text.substr(before + 1);
}

void TableSchema::settle_orders() {
  std::vector<OrderInfo> wanted;
  for (IndexInfo& index : indexes) {
    for (IndexPartInfo& part : index.parts) {
      part.order = -1;
      if (!columns[part.column].client_ordered()) continue;
      const auto same = std::ranges::find_if(wanted, [&](const OrderInfo& each) {
        return each.column == part.column && each.prefix == part.prefix;
      });
      part.order = static_cast<int>(same - wanted.begin());
      if (same == wanted.end()) wanted.push_back({part.column, part.prefix});
    }
  }
  orders = std::move(wanted);
}

TableDefinition TableSchema::definition() const {
  TableDefinition result;
  result.name = name;
  for (const ColumnInfo& column : columns) result.columns.push_back(engine_column(column));
  for (size_t i = 0; i < orders.size(); ++i) {
    Column column;
    column.name = order_column_name(i);
    column.type = Type::Blob;
    column.nullable = result.columns[orders[i].column].nullable;
    column.columnar = false;
    result.columns.push_back(std::move(column));
  }
  result.has_primary_key = has_clustered();
  for (const IndexInfo& from : indexes) {
    Index index;
    index.name = from.name;
    index.unique = from.unique;
    for (const IndexPartInfo& part : from.parts) {
      const auto column = part.order < 0
                              ? part.column
                              : static_cast<uint16_t>(columns.size() + static_cast<size_t>(part.order));
      index.parts.push_back({column, part.order < 0 ? part.prefix : 0, false});
      if (!from.clustered) continue;
      // Columns of the clustered key are never NULL, whatever was declared. Numbers of it are read for each
      // search, so they are stored apart from the rest of the row.
      result.columns[part.column].nullable = false;
      result.columns[column].nullable = false;
      result.columns[column].columnar = result.columns[column].is_integer();
    }
    result.indexes.push_back(std::move(index));
  }
  std::string& application = result.application;
  append_string(application, application_mark);
  append_varint(application, static_cast<uint64_t>(format));
  append_varint(application, page_size);
  append_varint(application, id);
  append_varint(application, next_number);
  append_varint(application, generated_number);
  append_varint(application, columns.size());
  for (const IndexInfo& index : indexes) append_varint(application, index.number);
  append_varint(application, orders.size());
  for (const OrderInfo& order : orders) {
    append_varint(application, order.column);
    append_varint(application, order.prefix);
  }
  return result;
}

Result<TableSchema> TableSchema::of(const TableDefinition& definition) {
  TableSchema schema;
  schema.name = definition.name;
  ByteReader reader(definition.application);
  ByteView mark;
  if (!reader.take_string(mark) || mark != application_mark) return not_ours(definition);
  uint64_t format = 0, page_size = 0, next = 0, generated = 0, count = 0;
  bool whole = reader.take_varint(format) && reader.take_varint(page_size) && reader.take_varint(schema.id) &&
               reader.take_varint(next) && reader.take_varint(generated) && reader.take_varint(count) &&
               count <= definition.columns.size();
  schema.format = static_cast<ib_tbl_fmt_t>(format);
  schema.page_size = page_size;
  schema.next_number = static_cast<uint32_t>(next);
  schema.generated_number = static_cast<uint32_t>(generated);
  for (size_t i = 0; whole && i < count; ++i) {
    whole = parse_column(definition.columns[i], schema.columns.emplace_back());
  }
  std::vector<uint64_t> numbers(definition.indexes.size());
  for (uint64_t& number : numbers) whole = whole && reader.take_varint(number);
  uint64_t order_count = 0;
  whole = whole && reader.take_varint(order_count) && count + order_count == definition.columns.size();
  for (size_t i = 0; whole && i < order_count; ++i) {
    uint64_t column = 0, prefix = 0;
    whole = reader.take_varint(column) && reader.take_varint(prefix) && column < count;
    schema.orders.push_back({static_cast<uint16_t>(column), static_cast<uint32_t>(prefix)});
  }
  if (!whole) return not_ours(definition);
  for (size_t i = 0; i < definition.indexes.size(); ++i) {
    const Index& from = definition.indexes[i];
    IndexInfo index;
    index.name = from.name;
    index.unique = from.unique;
    index.clustered = i == 0 && definition.has_primary_key;
    index.number = static_cast<uint32_t>(numbers[i]);
    index.engine_index = i;
    for (const IndexPart& part : from.parts) {
      if (part.column < count) {
        index.parts.push_back({part.column, part.prefix, -1});
      } else {
        const size_t order = part.column - count;
        index.parts.push_back(
            {schema.orders[order].column, schema.orders[order].prefix, static_cast<int>(order)});
      }
    }
    schema.indexes.push_back(std::move(index));
  }
  return schema;
}

Result<std::shared_ptr<TableInfo>> TableInfo::make(Database& database, std::shared_ptr<Table> table,
                                                   bool with_rows) {
  auto info = std::make_shared<TableInfo>();
  info->table = std::move(table);
  info->layout = info->table->layout();
  HAILSTONE_TRY(info->describe(info->table->definition()));
  info->id = info->schema.id != 0 ? info->schema.id : info->table->id();
  if (with_rows && !info->orders.empty()) HAILSTONE_TRY(info->load_labels(database));
  return info;
}

Result<std::shared_ptr<TableInfo>> TableInfo::make(const TableDefinition& definition) {
  auto info = std::make_shared<TableInfo>();
  info->layout = std::make_shared<const TableLayout>(definition);
  HAILSTONE_TRY(info->describe(definition));
  return info;
}

Status TableInfo::describe(const TableDefinition& definition) {
  HAILSTONE_ASSIGN(schema, TableSchema::of(definition));
  for (const Index& index : definition.indexes) {
    HAILSTONE_ASSIGN(KeyCodec made, KeyCodec::make(definition, index, collations()));
    codecs.push_back(std::move(made));
  }
  if (!schema.has_clustered()) {
    IndexInfo generated;
    generated.name = generated_index_name;
    generated.clustered = generated.unique = generated.generated = true;
    generated.number = schema.generated_number;
    generated.engine_index = Cursor::by_row_id;
    indexes.push_back(std::move(generated));
  }
  indexes.insert(indexes.end(), schema.indexes.begin(), schema.indexes.end());
  for (IndexInfo& index : indexes) index.key_columns = key_columns_of(index, indexes);
  for (const OrderInfo& order : schema.orders) {
    orders.push_back(std::make_shared<ClientOrder>(schema.columns[order.column].compare_meta()));
  }
  return {};
}

Status TableInfo::load_labels(Database& database) {
  const auto transaction = database.transactions().begin(Isolation::RepeatableRead);
  std::vector<uint16_t> columns;
  for (size_t i = 0; i < orders.size(); ++i) {
    columns.push_back(schema.orders[i].column);
    columns.push_back(label_column(i));
  }
  Cursor cursor(table, *transaction, indexes[0].engine_index, ReadLock::None, columns);
  HAILSTONE_ASSIGN(bool found, cursor.seek_at_or_after({}));
  while (found) {
    HAILSTONE_TRY(cursor.load_values());
    const auto values = cursor.values();
    for (size_t i = 0; i < orders.size(); ++i) {
      if (values[2 * i].null || values[2 * i + 1].null) continue;
      ByteView value = values[2 * i].bytes;
      if (const uint32_t prefix = schema.orders[i].prefix; prefix != 0) value = value.substr(0, prefix);
      if (orders[i]->add_stored(value, values[2 * i + 1].bytes)) continue;
      return fail(
          ErrorCode::InvalidArgument,
          fmt::format("table '{}' was filled under another comparison function than the present one, which "
                      "orders column '{}' differently: set the same function as then (ib_set_client_compare)",
                      schema.name, schema.columns[schema.orders[i].column].name));
    }
    HAILSTONE_ASSIGN(found, cursor.next());
  }
  return {};
}

const IndexInfo* TableInfo::find_index(std::string_view name) const {
  for (const IndexInfo& index : indexes) {
    if (index.name == name) return &index;
  }
  return nullptr;
}

Value TableInfo::label(size_t order, const Value& value, std::string& kept) const {
  if (value.null) return {};
  const uint32_t prefix = schema.orders[order].prefix;
  kept = orders[order]->label(prefix == 0 ? value.bytes : value.bytes.substr(0, prefix));
  return Value::of(ByteView(kept));
}

TableCache::TableCache(Database& database) : database_(database) {
  const MutexLock guard(mutex());
  database_.visit_tables([this](TableId table, const TableDefinition& definition)
                             HAILSTONE_REQUIRES(table_cache_mutex) {
                               const auto schema = TableSchema::of(definition);
                               if (schema && schema->id != 0) rebuilt_[schema->id].push_back(table);
                             });
}

Result<std::shared_ptr<TableInfo>> TableCache::info_of(const std::shared_ptr<Table>& table) {
  {
    const MutexLock guard(mutex());
    const auto found = infos_.find(table->id());
    if (found != infos_.end()) return found->second;
  }
  const MutexLock one_at_a_time(loading_);
  {
    const MutexLock guard(mutex());
    const auto found = infos_.find(table->id());
    if (found != infos_.end()) return found->second;
  }
  HAILSTONE_ASSIGN(auto info, TableInfo::make(database_, table, /*with_rows=*/true));
  // It may have been forgotten since the caller found the table, as another has taken its place.
  if (info->schema.id != 0) info->visible_from.store(table->made(), std::memory_order_release);
  const MutexLock guard(mutex());
  keep(info);
  return info;
}

void TableCache::keep(const std::shared_ptr<TableInfo>& info) {
  if (infos_.size() >= std::max<size_t>(next_look_, number_of(Variable::OpenFiles))) {
    // Orders cannot be read again while rows of open transactions have labels of them.
    std::erase_if(
        infos_, [](const auto& each) { return each.second.use_count() == 1 && each.second->orders.empty(); });
    next_look_ = 2 * infos_.size();
    std::erase_if(lineages_, [](const auto& each) { return each.second.expired(); });
  }
  std::weak_ptr<Lineage>& known = lineages_[info->id];
  info->lineage = known.lock();
  if (info->lineage == nullptr) known = info->lineage = std::make_shared<Lineage>();
  add_to(*info->lineage, *info->table);
  infos_[info->table->id()] = info;
}

void TableCache::hand_on(const TableInfo& from, TableInfo& to) {
  const MutexLock guard(mutex());
  lineages_[to.id] = to.lineage = from.lineage;
  add_to(*to.lineage, *to.table);
}

Result<std::shared_ptr<TableInfo>> TableCache::find(const std::string& name, const Transaction* transaction) {
  HAILSTONE_ASSIGN(const auto table, database_.table(name, transaction));
  return info_of(table);
}

/// The last of the tables that `candidates` gives, which may have become more meanwhile.
template <typename Candidates>
Result<std::shared_ptr<Table>> TableCache::last_of(const Candidates& candidates,
                                                   const Transaction* transaction) {
  std::vector<TableId> before;
  for (;;) {
    std::vector<TableId> ids;
    {
      const MutexLock guard(mutex());
      ids = candidates();
    }
    auto table = database_.last_table(ids, transaction);
    if (table || table.error().code() != ErrorCode::NotFound || ids == before) return table;
    before = std::move(ids);
  }
}

Result<std::shared_ptr<TableInfo>> TableCache::find(ib_id_t id, const Transaction* transaction) {
  const auto candidates = [&]() HAILSTONE_REQUIRES(table_cache_mutex) {
    std::vector<TableId> ids{id};
    const auto found = rebuilt_.find(id);
    if (found != rebuilt_.end()) ids.insert(ids.end(), found->second.begin(), found->second.end());
    return ids;
  };
  HAILSTONE_ASSIGN(const auto table, last_of(candidates, transaction));
  HAILSTONE_ASSIGN(auto info, info_of(table));
  // A rebuilt table has the id of the one before.
  if (info->id != id) return fail(ErrorCode::NotFound, fmt::format("there is no table of id {}", id));
  return info;
}

Result<std::shared_ptr<TableInfo>> TableCache::newest(const std::shared_ptr<TableInfo>& info,
                                                      const Transaction* transaction) {
  const auto table =
      last_of([&]() HAILSTONE_REQUIRES(table_cache_mutex) { return info->lineage->tables; }, transaction);
  if (!table)
    return table.error().code() == ErrorCode::NotFound
               ? info
               : Result<std::shared_ptr<TableInfo>>(std::unexpected(table.error()));
  HAILSTONE_ASSIGN(auto found, info_of(*table));
  if (!same_columns(*found, *info)) return info;
  return found;
}

Result<std::shared_ptr<TableInfo>> TableCache::add(const std::shared_ptr<Table>& table,
                                                   std::vector<std::shared_ptr<ClientOrder>> orders) {
  HAILSTONE_ASSIGN(auto info, TableInfo::make(database_, table, /*with_rows=*/false));
  if (!orders.empty()) info->orders = std::move(orders);
  const MutexLock guard(mutex());
  keep(info);
  if (info->schema.id != 0) rebuilt_[info->schema.id].push_back(table->id());
  return info;
}

void TableCache::forget(const TableInfo& info) {
  infos_.erase(info.table->id());
  std::erase(info.lineage->tables, info.table->id());
  if (const auto same = rebuilt_.find(info.id); same != rebuilt_.end()) {
    std::erase(same->second, info.table->id());
    if (same->second.empty()) rebuilt_.erase(same);
  }
}

void TableCache::replace(const std::shared_ptr<TableInfo>& made, const std::shared_ptr<TableInfo>& before) {
  made->visible_from.store(infinity, std::memory_order_release);
  const MutexLock guard(mutex());
  replaced_[made->table->id()] = {made, before};
}

void TableCache::take_back(const TableInfo& made) {
  const MutexLock guard(mutex());
  forget(made);
  replaced_.erase(made.table->id());
}

void TableCache::forget_replaced(std::span<const std::shared_ptr<TableInfo>> made) {
  const Timestamp horizon = database_.transactions().horizon();
  std::vector<Replaced> unneeded;  // goes when the mutex is free again
  const MutexLock guard(mutex());
  for (const auto& info : made) {
    if (const auto found = replaced_.find(info->table->id()); found != replaced_.end())
      forget(*found->second.before);
  }
  // Without memory for that they stay until the next time.
  bool has_room = false;
  try_to([&]() HAILSTONE_REQUIRES(table_cache_mutex) {
    unneeded.reserve(replaced_.size());
    has_room = true;
  });
  if (!has_room) return;
  std::erase_if(replaced_, [&](auto& each) {
    if (each.second.made->visible_from.load(std::memory_order_acquire) > horizon) return false;
    unneeded.push_back(std::move(each.second));
    return true;
  });
}

std::shared_ptr<TableInfo> TableCache::replaced_by(const TableInfo& info) {
  if (info.visible_from.load(std::memory_order_acquire) == 0) return nullptr;
  const MutexLock guard(mutex());
  const auto found = replaced_.find(info.table->id());
  return found == replaced_.end() ? nullptr : found->second.before;
}

void TableCache::note_dropped(const std::string& name, const std::shared_ptr<TableInfo>& info) {
  const MutexLock guard(mutex());
  if (!info->open_cursors.any()) return;
  dropped_[name] = info;
}

bool TableCache::is_dropped_but_open(const std::string& name, const Transaction* transaction) {
  std::shared_ptr<TableInfo> info;
  {
    const MutexLock guard(mutex());
    const auto found = dropped_.find(name);
    if (found == dropped_.end()) return false;
    info = found->second.lock();
    if (info == nullptr || !info->open_cursors.any()) {
      dropped_.erase(found);
      return false;
    }
  }
  // The drop may have been rolled back, and the table renamed since.
  return !database_.table(info->table->id(), transaction);
}

}  // namespace hailstone::haildb
