// A table's folder (table_folder.h), opened to be read, and its rows brought into a table of a database. The
// rows are read and written anew: each block that is read is compared with its checksum, keys are made by the
// collations that are here, and the folder stays as it is.
//
// One thread at a time.
#pragma once

#include <memory>
#include <string>

#include "database/database.h"

namespace hailstone {

class ImportedTable {
 public:
  /// `options`: memory, collations, logger; the rest is set here. ErrorCode::NotFound: no folder, or none of
  /// a table; Corruption; Unsupported: of a later release.
  static Result<std::unique_ptr<ImportedTable>> open(Filesystem& filesystem, const std::string& folder,
                                                     DatabaseOptions options);
  ~ImportedTable();

  const std::string& folder() const { return folder_; }
  const TableDefinition& definition() const { return definition_; }
  /// Roughly.
  uint64_t rows() const;
  /// Puts a table with these rows in the place of the one of that name, which keeps its definition; the
  /// transaction's commit makes it so. Columns must have the same types in the same order. The counter of
  /// AUTO_INCREMENT rises to that of the folder. The caller keeps others away from the table.
  /// ErrorCode::AlreadyExists: the table has rows; DuplicateKey, Interrupted.
  Result<std::shared_ptr<Table>> replace(Database& database, Transaction& transaction,
                                         const std::string& name, const StopToken& stop);

 private:
  ImportedTable(std::string folder, std::unique_ptr<Database> database)
      : folder_(std::move(folder)), database_(std::move(database)) {}

  const std::string folder_;
  std::unique_ptr<Database> database_;
  std::shared_ptr<Table> table_;
  TableDefinition definition_;
};

}  // namespace hailstone
