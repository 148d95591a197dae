#include "table_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "collation.h"
#include "database/table_folder.h"
#include "database/table_import.h"
#include "definition.h"
#include "discovery.h"
#include "engine.h"
#include "error.h"
#include "server/differences.h"
#include "table_place.h"
#include "trace.h"
#include "two_phase.h"

namespace hailstone {

namespace {

/// For the rows of a folder's log and the blocks that are read, beside the engine's memory.
constexpr size_t import_memory = size_t{128} << 20;
constexpr size_t most_open_files = 64;

std::function<bool()> killed(THD* thd) {
  return [thd] { return thd_kill_level(thd) != THD_IS_NOT_KILLED; };
}

/// As SQL shows it.
std::string sql_text(const std::string& name) {
  const auto [schema, table] = sql_names(name);
  return fmt::format("`{}`.`{}`", schema, table);
}

Result<std::unique_ptr<ImportedTable>> open_folder(const std::string& name) {
  DatabaseOptions options;
  options.memory_budget = import_memory;
  options.background_threads = 1;
  options.open_files = most_open_files;
  options.collations = &mariadb_collations();
  Filesystem& filesystem = database().filesystem();
  HAILSTONE_ASSIGN(const std::string directory, filesystem.canonical_path(database().directory()));
  return ImportedTable::open(filesystem, import_path(directory, name), std::move(options));
}

/// A server's definition of a table, from its image, without the table.
class DefinitionOfImage {
 public:
  /// `as`: whose name it is to have, for expressions.
  DefinitionOfImage(THD* thd, const std::vector<char>& image, const TABLE& as) {
    begin_share(thd, share_, as.s->db.str, as.s->table_name.str, as.s->normalized_path.str);
    is_open_ = !share_.init_from_binary_frm_image(thd, false, reinterpret_cast<const uchar*>(image.data()),
                                                  image.size()) &&
               open_table_from_share(thd, &share_, &empty_clex_str, 0, 0, 0, &table_, false) == OPEN_FRM_OK;
  }
  DefinitionOfImage(const DefinitionOfImage&) = delete;
  DefinitionOfImage& operator=(const DefinitionOfImage&) = delete;
  ~DefinitionOfImage() {
    if (is_open_) closefrm(&table_);
    free_table_share(&share_);
  }
  /// Null: the server does not understand the image.
  const TABLE* table() const { return is_open_ ? &table_ : nullptr; }

 private:
  TABLE_SHARE share_;
  TABLE table_;
  bool is_open_ = false;
};

/// All that rows depend on.
std::string described(const Field& field) {
  StringBuffer<MAX_FIELD_WIDTH> type;
  field.sql_type(type);
  std::string text =
      fmt::format("`{}` {}", field.field_name.str, std::string_view(type.ptr(), type.length()));
  if (field.has_charset()) text += fmt::format(" COLLATE {}", field.charset()->coll_name.str);
  if (field.null_ptr == nullptr) text += " NOT NULL";
  if (field.vcol_info != nullptr) text += field.stored_in_db() ? " GENERATED STORED" : " GENERATED";
  return text;
}

std::string described(const KEY& key) {
  std::string parts;
  for (uint i = 0; i < key.user_defined_key_parts; ++i) {
    const KEY_PART_INFO& part = key.key_part[i];
    parts += fmt::format("{}`{}`({}){}", i == 0 ? "" : ",", part.field->field_name.str, part.length,
                         (part.key_part_flag & HA_REVERSE_SORT) != 0 ? " DESC" : "");
  }
  return fmt::format("{}KEY `{}` ({})", (key.flags & HA_NOSAME) != 0 ? "UNIQUE " : "", key.name.str, parts);
}

/// The first place where two lists differ; empty: none.
std::string first_difference(const char* what, const std::vector<std::string>& exported,
                             const std::vector<std::string>& present) {
  for (size_t i = 0; i < std::max(exported.size(), present.size()); ++i) {
    const std::string one = i < exported.size() ? exported[i] : "missing";
    const std::string other = i < present.size() ? present[i] : "missing";
    if (one != other)
      return fmt::format("{} {} is {} in the files, and {} in the table", what, i + 1, one, other);
  }
  return {};
}

std::vector<std::string> columns_of(const TABLE& table) {
  std::vector<std::string> all;
  for (uint i = 0; i < table.s->fields; ++i) all.push_back(described(*table.field[i]));
  return all;
}

std::vector<std::string> keys_of(const TABLE& table) {
  std::vector<std::string> all;
  for (uint i = 0; i < table.s->keys; ++i) all.push_back(described(table.key_info[i]));
  return all;
}

std::vector<std::string> names_of(const std::vector<Column>& columns) {
  std::vector<std::string> all;
  for (const Column& column : columns) all.push_back(fmt::format("`{}`", column.name));
  return all;
}

/// Why the rows of the folder are not rows of the table; empty: they are.
Result<std::string> difference_to(THD* thd, const TABLE& table, const TableDefinition& present,
                                  const TableDefinition& exported) {
  std::vector<char> image;
  const int unpacked = unpack_image(exported, image);
  std::string found;
  if (unpacked == 0) {
    const DefinitionOfImage definition(thd, image, table);
    if (definition.table() == nullptr) {
      return fail(ErrorCode::Unsupported,
                  fmt::format("this server does not understand the definition of table {} in the files, "
                              "which another version of the server wrote; move the table by a dump",
                              sql_text(exported.name)));
    }
    found = first_difference("column", columns_of(*definition.table()), columns_of(table));
    if (found.empty()) found = first_difference("key", keys_of(*definition.table()), keys_of(table));
  } else {
    // A partition has no definition of its own.
    found = first_difference("column", names_of(exported.columns), names_of(present.columns));
  }
  if (found.empty()) found = difference(exported, present);
  return found;
}

}  // namespace

bool exports_tables(THD* thd) {
  return thd_sql_command(thd) == SQLCOM_FLUSH && (thd->lex->type & REFRESH_FOR_EXPORT) != 0;
}

namespace {

/// Raises it as the statement's error. What the handler reports then is not of the table, which is sound
/// whatever is wrong with the files.
std::unexpected<Error> raised(const Error& error) {
  if (error.code() == ErrorCode::Interrupted || error.code() == ErrorCode::LockWaitTimeout)
    return std::unexpected(error);
  raise_error(error);
  return fail(ErrorCode::InvalidArgument, error.message());
}

/// The folder that it makes.
Result<std::string> export_files(THD* thd, const std::string& name) {
  HAILSTONE_TRY(wait_for_prepared(thd, name));
  Filesystem& filesystem = database().filesystem();
  HAILSTONE_ASSIGN(const std::string directory, filesystem.canonical_path(database().directory()));
  const std::string path = export_path(directory, name);
  // What is left where an earlier one could not be removed.
  HAILSTONE_TRY(remove_copied_database(filesystem, path));
  HAILSTONE_TRY(make_folders_above(filesystem, directory, path));
  const auto stop = killed(thd);
  HAILSTONE_TRY(database().export_table(name, path, [&](uint64_t, uint64_t) { return !stop(); }));
  return path;
}

Result<std::shared_ptr<Table>> import_files(THD* thd, TABLE& table, const std::string& name) {
  HAILSTONE_TRY(wait_for_prepared(thd, name));
  HAILSTONE_ASSIGN(const auto imported, open_folder(name));
  HAILSTONE_ASSIGN(const TableDefinition present, database().definition(name));
  HAILSTONE_ASSIGN(const std::string differs, difference_to(thd, table, present, imported->definition()));
  if (!differs.empty()) {
    return fail(ErrorCode::InvalidArgument,
                fmt::format("the table in '{}' is not defined as table {}: {}; make the table as it was "
                            "exported, import, and change it then",
                            imported->folder(), sql_text(name), differs));
  }
  std::shared_ptr<Table> made;
  HAILSTONE_TRY(in_own_transaction([&](Transaction& transaction) -> Status {
    HAILSTONE_ASSIGN(made, imported->replace(database(), transaction, name, killed(thd)));
    return {};
  }));
  return made;
}

}  // namespace

Result<std::unique_ptr<ExportedTable>> ExportedTable::make(THD* thd, const std::string& name) {
  const auto path = export_files(thd, name);
  if (!path) return raised(path.error());
  push_warning_printf(thd, Sql_condition::WARN_LEVEL_NOTE, ER_YES,
                      "Table %s is in the folder '%s' until UNLOCK TABLES",
                      sql_text(table_of_partition(name)).c_str(), path->c_str());
  return std::unique_ptr<ExportedTable>(new ExportedTable(*path));
}

ExportedTable::~ExportedTable() {
  const Status removed = guarded([&] { return remove_table_folder(database().filesystem(), path_); });
  if (!removed) {
    sql_print_warning("Hailstone: the folder '%s' of an exported table goes at the next start: %s",
                      path_.c_str(), removed.error().message().c_str());
  }
}

Result<std::shared_ptr<Table>> import_table(THD* thd, TABLE& table, const std::string& name) {
  auto imported = import_files(thd, table, name);
  if (!imported) return raised(imported.error());
  return imported;
}

int define_as_exported(handlerton*, THD* thd, TABLE_SHARE* share, HA_CREATE_INFO*) {
  return run_traced(
      thd, {.function = "discover_table_structure", .path = share->normalized_path.str}, [&]() -> int {
        const std::string name = table_name_of_path(share->normalized_path.str);
        if (const int error = check_place(share->normalized_path.str); error != 0) return error;
        const auto imported = guarded([&] { return open_folder(name); });
        if (!imported) {
          // As with any engine, where nothing was to be imported.
          if (imported.error().code() == ErrorCode::NotFound) {
            my_error(ER_TABLE_MUST_HAVE_COLUMNS, MYF(0));
            push_warning(thd, Sql_condition::WARN_LEVEL_NOTE, ER_TABLE_MUST_HAVE_COLUMNS,
                         imported.error().message().c_str());
          } else {
            raise_error(imported.error());
          }
          return HA_ERR_NO_SUCH_TABLE;
        }
        std::vector<char> image;
        if (const int error = unpack_image((*imported)->definition(), image); error != 0) {
          my_printf_error(
              ER_TABLE_MUST_HAVE_COLUMNS,
              "The files in '%s' are of a partition, which has no definition of its own; CREATE TABLE "
              "with the columns and keys of its table",
              MYF(0), (*imported)->folder().c_str());
          return error;
        }
        // The server takes what it needs of it, and leaves making the table to the engine.
        my_errno = share->init_from_binary_frm_image(thd, false, reinterpret_cast<const uchar*>(image.data()),
                                                     image.size());
        if (my_errno != 0) return my_errno;
        TableDefinition definition = (*imported)->definition();
        definition.name = name;
        const Status created = in_own_transaction([&](Transaction& transaction) -> Status {
          HAILSTONE_TRY(database().create_table(transaction, definition));
          return {};
        });
        if (created) return 0;
        raise_error(created.error());
        return handler_error(thd, created.error());
      });
}

}  // namespace hailstone
