// Tables that move as files (docs/moving-tables.md): what FLUSH TABLES … FOR EXPORT makes, and what ALTER
// TABLE … IMPORT TABLESPACE and a CREATE TABLE without columns read. The files are database/table_folder.h's.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "table/table.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// Whether the statement under way is FLUSH TABLES … FOR EXPORT, which locks its tables to that end.
bool exports_tables(THD* thd);

/// The folder of an exported table, there as long as this lives.
class ExportedTable {
 public:
  /// Of a table of which the server keeps writers away, and tells the statement where the folder is. Waits
  /// for transactions that have changed the table and are prepared.
  static Result<std::unique_ptr<ExportedTable>> make(THD* thd, const std::string& name);
  ExportedTable(const ExportedTable&) = delete;
  ExportedTable& operator=(const ExportedTable&) = delete;
  ~ExportedTable();

 private:
  explicit ExportedTable(std::string path) : path_(std::move(path)) {}
  const std::string path_;
};

/// Brings the rows of the folder that is there for the table into it; it must be empty and have the same
/// columns and keys. The table that is in its place then. For ALTER TABLE, which has the table to itself.
Result<std::shared_ptr<Table>> import_table(THD* thd, TABLE& table, const std::string& name);

/// For handlerton::discover_table_structure: CREATE TABLE without columns makes the table by the definition
/// in the folder that is there for it.
int define_as_exported(handlerton*, THD* thd, TABLE_SHARE* share, HA_CREATE_INFO*);

}  // namespace hailstone
