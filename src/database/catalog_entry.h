// What a catalog knows of one table.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "base/mutex.h"
#include "table/table.h"

namespace hailstone {

/// What the manifest holds of a table, but for its definition. While the table is not open, rows that are in
/// no segment are nowhere else.
struct CatalogRecord : TableContents {
  Timestamp definition_timestamp = 0;
  size_t bytes = 0;  // of the manifest's record
};

/// What contracts call the catalog's mutex; never defined.
extern SharedMutex catalog_mutex;

struct CatalogEntry {
  explicit CatalogEntry(TableId table_id, bool temporary = false) : id(table_id), is_temporary(temporary) {}

  const TableId id;
  /// Neither log nor manifest knows of it.
  const bool is_temporary;

  PackedDefinition definition HAILSTONE_GUARDED_BY(catalog_mutex);
  /// Commit of the newest DDL; 0: of none yet.
  Timestamp definition_timestamp HAILSTONE_GUARDED_BY(catalog_mutex) = 0;
  /// As Table::set_ddl_commits().
  Timestamp made HAILSTONE_GUARDED_BY(catalog_mutex) = 0;
  Timestamp named HAILSTONE_GUARDED_BY(catalog_mutex) = 0;
  std::shared_ptr<Table> table HAILSTONE_GUARDED_BY(catalog_mutex);  // null until it is first used
  bool dropped HAILSTONE_GUARDED_BY(catalog_mutex) = false;
  CatalogEntry* next_of_hash HAILSTONE_GUARDED_BY(catalog_mutex) = nullptr;  // CommittedTables'
  std::atomic<bool> used{false};  // since it was last looked at for closing

  /// One thread at a time opens the table, or changes what it is to be opened with. Taken with the state
  /// recorder's mutex held, never the other way round.
  Mutex opening;
  /// Changed with the state recorder's mutex held, too.
  std::optional<CatalogRecord> recorded HAILSTONE_GUARDED_BY(opening);
  /// Of the table when it was closed.
  std::unique_ptr<Table::AnalyzedCounts> analyzed HAILSTONE_GUARDED_BY(opening);
  /// The log holds the table's rows that were in no segment at the last checkpoint.
  bool carried HAILSTONE_GUARDED_BY(opening) = false;
};
using EntryPointer = std::shared_ptr<CatalogEntry>;

}  // namespace hailstone
