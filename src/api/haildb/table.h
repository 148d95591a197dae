// A table as the HailDB interface sees it: columns and indexes with all that the original knows of them, and
// how they are kept in the engine's definition.
//
// The engine's table has the user's columns, in order, and behind them a hidden column for each index part
// whose order the client's function decides (client_order.h). What the engine does not know (HailDB
// types, attributes, ids) is in the application data of definition and columns.
//
// The id of a table is the engine's, but when the table has been rebuilt for an index: then the id that it
// had before is kept in its application data. The id of an index is the table's, shifted by 32 bits, and a
// number.
#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "api/haildb/client_order.h"
#include "base/mutex.h"
#include "database/database.h"
#include "haildb.h"

namespace hailstone::haildb {

constexpr const char* generated_index_name = "GEN_CLUST_INDEX";
constexpr uint16_t row_id_column = 0xFFFF;  // in lists of columns of keys: the hidden DB_ROW_ID

struct ColumnInfo {
  std::string name;
  ib_col_type_t type = IB_INT;
  ib_col_attr_t attributes = IB_COL_NONE;
  uint16_t client_type = 0;
  uint32_t length = 0;

  bool is_integer() const { return type == IB_INT; }
  bool is_unsigned() const { return (attributes & IB_COL_UNSIGNED) != 0; }
  bool not_null() const { return (attributes & IB_COL_NOT_NULL) != 0; }
  bool is_number() const { return type == IB_INT || type == IB_FLOAT || type == IB_DOUBLE; }
  bool client_ordered() const {
    return type == IB_BLOB || type == IB_VARCHAR_ANYCHARSET || type == IB_CHAR_ANYCHARSET;
  }
  ib_col_meta_t meta() const;
  /// As the client's function gets it.
  ib_col_meta_t compare_meta() const;
};
/// DB_ROW_ID, DB_TRX_ID, DB_ROLL_PTR.
const ColumnInfo& system_column(size_t number);

struct IndexPartInfo {
  uint16_t column = 0;
  uint32_t prefix = 0;  // bytes; 0: whole
  int order = -1;       // of TableInfo::orders; -1: by bytes
};

struct IndexInfo {
  std::string name;
  bool clustered = false, unique = false, generated = false;
  uint32_t number = 0;
  size_t engine_index = 0;  // Cursor::by_row_id for the generated one
  std::vector<IndexPartInfo> parts;
  /// Table columns of a key tuple: those of the parts, then those of the clustered key that are not among
  /// them.
  std::vector<uint16_t> key_columns;

  bool has(uint16_t column) const {
    return std::ranges::any_of(parts, [column](const IndexPartInfo& part) { return part.column == column; });
  }
};

/// Of a hidden column.
struct OrderInfo {
  uint16_t column = 0;
  uint32_t prefix = 0;
};

/// What is asked for by a schema, or stands in an engine's definition.
struct TableSchema {
  std::string name;
  ib_tbl_fmt_t format = IB_TBL_COMPACT;
  ib_ulint_t page_size = 0;  // bytes
  uint64_t id = 0;           // 0: the engine's
  uint32_t next_number = 1;  // of the next index
  std::vector<ColumnInfo> columns;
  std::vector<IndexInfo> indexes;  // the clustered one first; its generated one is not among them
  uint32_t generated_number = 0;   // of GEN_CLUST_INDEX, when there is no clustered index
  std::vector<OrderInfo> orders;

  bool has_clustered() const { return !indexes.empty() && indexes[0].clustered; }
  /// Adds a hidden column for each part that needs one and has none yet, and takes out those that none needs.
  void settle_orders();
  TableDefinition definition() const;
  /// ErrorCode::Unsupported: not a table of this interface.
  static Result<TableSchema> of(const TableDefinition& definition);
};

/// What contracts call the mutex of the TableCache; never defined.
extern Mutex table_cache_mutex;

/// What a table hands on to the one that takes its place, empty or rebuilt: cursors and tuples of either are
/// at home in both.
struct Lineage {
  std::vector<TableId> tables
      HAILSTONE_GUARDED_BY(table_cache_mutex);  // the engine's ids, in order of making
  /// Rows changed since the program first saw statistics, or had them computed by
  /// ib_update_table_statistics().
  std::atomic<uint64_t> changed_rows{0};
  std::atomic<bool> statistics_seen{false};
};

/// The cursors that are open on a table, by the threads that opened them. Thread-safe.
class OpenCursors {
 public:
  void add(std::thread::id thread) {
    const MutexLock guard(mutex_);
    threads_.push_back(thread);
  }
  void remove(std::thread::id thread) {
    const MutexLock guard(mutex_);
    const auto found = std::ranges::find(threads_, thread);
    if (found == threads_.end()) return;
    *found = threads_.back();
    threads_.pop_back();
  }
  bool any() const {
    const MutexLock guard(mutex_);
    return !threads_.empty();
  }
  bool any_of_this_thread() const {
    const MutexLock guard(mutex_);
    return std::ranges::find(threads_, std::this_thread::get_id()) != threads_.end();
  }

 private:
  mutable Mutex mutex_;
  std::vector<std::thread::id> threads_ HAILSTONE_GUARDED_BY(mutex_);
};

class TableInfo {
 public:
  /// Reads all labels of stored rows when `with_rows`. ErrorCode::InvalidArgument: they contradict the
  /// present function.
  static Result<std::shared_ptr<TableInfo>> make(Database& database, std::shared_ptr<Table> table,
                                                 bool with_rows);
  /// Of a system table.
  static Result<std::shared_ptr<TableInfo>> make(const TableDefinition& definition);

  ib_id_t index_id(const IndexInfo& index) const { return id << 32 | index.number; }
  /// Null: none of this name (exact).
  const IndexInfo* find_index(std::string_view name) const;
  /// The hidden column with the labels of an order, by the number in the engine's table.
  uint16_t label_column(size_t order) const { return static_cast<uint16_t>(schema.columns.size() + order); }
  /// What that column holds in a row whose column has `value`; `kept` keeps its bytes.
  Value label(size_t order, const Value& value, std::string& kept) const;

  /// Counts a row that was changed, for statistics.
  void count_change() {
    changed_since_computed.fetch_add(1, std::memory_order_relaxed);
    lineage->changed_rows.fetch_add(1, std::memory_order_relaxed);
  }

  /// Whether places and tuples of the other table are such of this one.
  bool is_same_table(const TableInfo& other) const {
    return id == other.id || (lineage != nullptr && lineage == other.lineage);
  }

  /// The codec of an index that is not generated.
  const KeyCodec& codec(const IndexInfo& index) const { return codecs[index.engine_index]; }

  std::shared_ptr<Table> table;  // null for a system table
  std::shared_ptr<const TableLayout> layout;
  std::vector<KeyCodec> codecs;  // by position in the definition
  TableSchema schema;
  ib_id_t id = 0;
  std::vector<IndexInfo> indexes;  // of the schema; the generated clustered one in front
  std::vector<std::shared_ptr<ClientOrder>> orders;
  OpenCursors open_cursors;
  std::shared_ptr<Lineage> lineage;  // null for a system table
  /// Of a table that was rebuilt with its rows: the commit that did so, as snapshots from before it see none
  /// of them; infinity until then.
  std::atomic<Timestamp> visible_from{0};
  std::atomic<bool> has_statistics{false};          // they have been computed
  std::atomic<uint64_t> changed_since_computed{0};  // rows

 private:
  Status describe(const TableDefinition& definition);
  Status load_labels(Database& database);
};

/// Tables in use by name and by id. Thread-safe.
class TableCache {
 public:
  explicit TableCache(Database& database);

  /// As the transaction sees it. ErrorCode::NotFound.
  Result<std::shared_ptr<TableInfo>> find(const std::string& name, const Transaction* transaction);
  Result<std::shared_ptr<TableInfo>> find(ib_id_t id, const Transaction* transaction);
  /// The table as it is now for the transaction, which may have replaced `info`; `info` itself when that has
  /// been dropped.
  Result<std::shared_ptr<TableInfo>> newest(const std::shared_ptr<TableInfo>& info,
                                            const Transaction* transaction);
  /// Of a table that has just been made: without rows, or with rows whose labels `orders` gave.
  Result<std::shared_ptr<TableInfo>> add(const std::shared_ptr<Table>& table,
                                         std::vector<std::shared_ptr<ClientOrder>> orders);
  /// The empty table that is to replace one belongs to its lineage.
  void hand_on(const TableInfo& from, TableInfo& to);
  /// `made` is `before`, rebuilt, and takes its place when the transaction commits. Snapshots from before
  /// that read the old one.
  void replace(const std::shared_ptr<TableInfo>& made, const std::shared_ptr<TableInfo>& before);
  /// The change that has made it is taken back.
  void take_back(const TableInfo& made);
  /// The transaction that has made them is committed: what they have replaced is kept only as long as a
  /// snapshot needs it.
  void forget_replaced(std::span<const std::shared_ptr<TableInfo>> made);
  /// The table that this one has replaced; null: none, or one that no snapshot needs any more.
  std::shared_ptr<TableInfo> replaced_by(const TableInfo& info);
  /// A table that is being dropped while cursors are open on it.
  void note_dropped(const std::string& name, const std::shared_ptr<TableInfo>& info);
  /// As the transaction sees it.
  bool is_dropped_but_open(const std::string& name, const Transaction* transaction);

 private:
  Result<std::shared_ptr<TableInfo>> info_of(const std::shared_ptr<Table>& table);
  template <typename Candidates>
  Result<std::shared_ptr<Table>> last_of(const Candidates& candidates, const Transaction* transaction);
  void keep(const std::shared_ptr<TableInfo>& info) HAILSTONE_REQUIRES(table_cache_mutex);
  void forget(const TableInfo& info) HAILSTONE_REQUIRES(table_cache_mutex);
  Mutex& mutex() HAILSTONE_RETURN_CAPABILITY(table_cache_mutex) { return mutex_; }

  Database& database_;
  Mutex mutex_;
  Mutex loading_;  // one thread at a time reads labels
  std::unordered_map<TableId, std::shared_ptr<TableInfo>> infos_ HAILSTONE_GUARDED_BY(table_cache_mutex);
  /// Size of infos_ at which those not in use go.
  size_t next_look_ HAILSTONE_GUARDED_BY(table_cache_mutex) = 0;
  /// Of infos_, and of those in use.
  std::unordered_map<ib_id_t, std::weak_ptr<Lineage>> lineages_ HAILSTONE_GUARDED_BY(table_cache_mutex);
  /// Engine tables that have this id, in order of making.
  std::unordered_map<ib_id_t, std::vector<TableId>> rebuilt_ HAILSTONE_GUARDED_BY(table_cache_mutex);
  struct Replaced {
    std::shared_ptr<TableInfo> made, before;
  };
  std::unordered_map<TableId, Replaced> replaced_
      HAILSTONE_GUARDED_BY(table_cache_mutex);  // by the engine's id of `made`
  std::map<std::string, std::weak_ptr<TableInfo>> dropped_ HAILSTONE_GUARDED_BY(table_cache_mutex);
};

/// Whether two tables have the same columns, so that a place in one is a place in the other.
bool same_columns(const TableInfo& a, const TableInfo& b);
/// Keeps the last two components of a name, split at '/' or '\', joined by '/'.
std::string normalised_name(const char* name);

}  // namespace hailstone::haildb
