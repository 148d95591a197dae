#include "database/table_import.h"

#include <fmt/format.h>

#include "database/copied_rows.h"
#include "database/manifest.h"
#include "transaction/statement.h"

namespace hailstone {
namespace {

/// What is read is a file, and not a name that leads elsewhere: the folder may come from somebody who must
/// not choose what this process reads.
Status check_files(Filesystem& filesystem, const std::string& folder) {
  HAILSTONE_ASSIGN(const auto names, filesystem.list(folder));
  for (const std::string& name : names) HAILSTONE_TRY(filesystem.open_plain(folder + "/" + name));
  return {};
}

}  // namespace

Result<std::unique_ptr<ImportedTable>> ImportedTable::open(Filesystem& filesystem, const std::string& folder,
                                                           DatabaseOptions options) {
  if (!filesystem.exists(folder)) {
    return fail(
        ErrorCode::NotFound,
        fmt::format("there is no folder '{}'; copy the folder of an exported table to this place", folder));
  }
  if (!filesystem.exists(Manifest::path_in(folder))) {
    return fail(ErrorCode::NotFound,
                fmt::format("the folder '{}' has no file 'manifest', so that it is no exported table, or not "
                            "all of one; copy the whole folder of an export",
                            folder));
  }
  HAILSTONE_TRY(check_files(filesystem, folder));
  options.read_only = true;
  HAILSTONE_ASSIGN(auto database, Database::open(filesystem, folder, std::move(options)));
  std::unique_ptr<ImportedTable> imported(new ImportedTable(folder, std::move(database)));
  const auto names = imported->database_->table_names();
  if (names.size() != 1) {
    return fail(ErrorCode::InvalidArgument,
                fmt::format("'{}' holds {} tables and is not an export, which holds one; `hailstone restore "
                            "--table` takes one table out of a backup",
                            folder, names.size()));
  }
  HAILSTONE_ASSIGN(imported->table_, imported->database_->table(names[0]));
  HAILSTONE_TRY(imported->table_->usable());
  imported->definition_ = imported->table_->definition();
  return imported;
}

ImportedTable::~ImportedTable() = default;

uint64_t ImportedTable::rows() const { return table_->statistics().rows; }

Result<std::shared_ptr<Table>> ImportedTable::replace(Database& database, Transaction& transaction,
                                                      const std::string& name, const StopToken& stop) {
  Write all(transaction);
  HAILSTONE_ASSIGN(const auto old, database.table(name, &transaction));
  HAILSTONE_ASSIGN(const bool empty, is_empty(old, transaction));
  if (!empty) {
    return fail(
        ErrorCode::AlreadyExists,
        fmt::format("table '{}' has rows; only an empty table is imported into (ALTER TABLE ... DISCARD "
                    "TABLESPACE empties it)",
                    name));
  }
  HAILSTONE_ASSIGN(auto made, database.truncate_table(transaction, name));
  const std::unique_ptr<Transaction> reader = database_->transactions().begin(Isolation::RepeatableRead);
  Duplicate duplicate;
  const auto as_it_is = [](std::span<const Value> from, std::vector<Value>& to) -> Status {
    to.assign(from.begin(), from.end());
    return {};
  };
  const Status copied = copy_rows(table_, *reader, made, transaction, as_it_is, duplicate, stop);
  database_->transactions().rollback(*reader);
  if (!copied && copied.error().code() == ErrorCode::DuplicateKey) {
    return fail(ErrorCode::InvalidArgument,
                fmt::format("two rows of '{}' have the same key in index '{}' of table '{}': by the "
                            "collations of this server they are equal; drop the index, import, and make it "
                            "anew once the rows differ",
                            folder_, made->definition().indexes[duplicate.index].name, name));
  }
  HAILSTONE_TRY(copied);
  HAILSTONE_TRY(made->raise_auto_increment(transaction, table_->next_auto_increment()));
  all.keep();
  return made;
}

}  // namespace hailstone
