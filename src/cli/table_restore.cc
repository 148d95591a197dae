#include "cli/table_restore.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "backup/backup_chain.h"
#include "backup/backup_stream.h"
#include "backup/file_tree.h"
#include "backup/private_server.h"
#include "cli/byte_progress.h"
#include "cli/check.h"
#include "cli/in_use.h"
#include "cli/new_database.h"
#include "cli/server_restore.h"
#include "collect/server_connection.h"
#include "database/manifest.h"
#include "database/server_folder.h"
#include "database/table_export.h"
#include "database/table_folder.h"
#include "log/log_format.h"
#include "text/value_text.h"

namespace hailstone {
namespace {

/// A table's name, as SQL has it and as the engine.
struct TableName {
  std::string schema, table;
  std::string sql() const { return quoted_identifier(schema) + "." + quoted_identifier(table); }
  std::string of_engine;
};

/// The server's names of files: letters, digits and _ are themselves, the rest of ASCII is @ and four
/// hexadecimal digits. Nothing for other letters, whose codes only the server knows.
std::optional<std::string> file_name_of(const std::string& name) {
  std::string encoded;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80) return std::nullopt;
    if (std::isalnum(byte) != 0 || c == '_') {
      encoded.push_back(c);
    } else {
      encoded += fmt::format("@{:04x}", byte);
    }
  }
  return encoded;
}

Result<TableName> parse_name(const std::string& given) {
  const size_t dot = given.find('.');
  if (dot == std::string::npos || dot == 0 || dot + 1 == given.size()) {
    return fail(ErrorCode::InvalidArgument,
                fmt::format("'{}' is no name of a table; give it as schema.table", given));
  }
  TableName name{.schema = given.substr(0, dot), .table = given.substr(dot + 1), .of_engine = {}};
  const auto schema = file_name_of(name.schema);
  const auto table = file_name_of(name.table);
  if (!schema || !table) {
    return fail(
        ErrorCode::InvalidArgument,
        fmt::format("'{}' has letters outside of ASCII: give the name as `hailstone tables` shows it, "
                    "schema/table, and a FOLDER instead of --server",
                    given));
  }
  name.of_engine = *schema + "/" + *table;
  return name;
}

/// Whether a prepared transaction has the name that the server gives its own (mariadb/two_phase.cc): format,
/// two lengths, and its mark. Its binary log tells whether it was committed.
bool is_of_server(const std::string& name) {
  constexpr size_t head = sizeof(uint64_t) + 2;
  return name.size() > head && std::string_view(name).substr(head).starts_with("MySQLXid");
}

class TableRestore {
 public:
  TableRestore(Session& session, const TableRestoreOptions& options) : session_(session), options_(options) {}

  Status run() {
    if (options_.table.contains('/')) {
      if (options_.folder.empty()) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("'{}' is the engine's name of a table; with --server give schema.table",
                                options_.table));
      }
      wanted_ = options_.table;
    } else {
      HAILSTONE_ASSIGN(const TableName name, parse_name(options_.table));
      wanted_ = name.of_engine;
    }
    return options_.folder.empty() ? to_server() : to_folder();
  }

 private:
  Status to_folder() {
    HAILSTONE_TRY(extract(options_.folder));
    DatabaseArguments arguments;
    arguments.directory = options_.folder;
    HAILSTONE_TRY(session_.open_to_read(arguments));
    const auto checked = check_tables(session_, {}, false);
    HAILSTONE_TRY(session_.close());
    HAILSTONE_TRY(checked);
    if (checked->damaged > 0) {
      return fail(ErrorCode::Corruption,
                  fmt::format("'{}' is as the backup '{}' has it, and damaged; use another backup",
                              options_.folder, options_.backup));
    }
    fmt::print("{} has table {} of {}\n", options_.folder, printable(wanted_), moment());
    tell_of_prepared();
    fmt::print(
        "  next: copy it to import/SCHEMA/TABLE in the engine's folder of a server, then CREATE TABLE "
        "without "
        "columns and ALTER TABLE … IMPORT TABLESPACE (docs/moving-tables.md)\n");
    return {};
  }

  Status to_server() {
    HAILSTONE_ASSIGN(name_, parse_name(options_.as.empty() ? options_.table : options_.as));
    config_.option_file = options_.option_file;
    HAILSTONE_TRY(connection_.connect());
    HAILSTONE_TRY(look_at_server());
    const std::string place = import_path(engine_folder_, name_.of_engine);
    Filesystem& files = posix_filesystem();
    if (files.exists(place)) {
      return fail(ErrorCode::AlreadyExists,
                  fmt::format("'{}' is there already, for an import; remove it when nobody needs it", place));
    }
    HAILSTONE_TRY(make_folders_above(files, engine_folder_, place));
    Status done = extract(place);
    if (done) done = give_to_server();
    if (done) done = import();
    const Status removed = remove_table_folder(files, place);
    if (!done) return std::unexpected(with_what_stayed(done.error(), place, removed));
    HAILSTONE_TRY(removed);
    HAILSTONE_ASSIGN(const auto rows, connection_.query("SELECT COUNT(*) FROM " + name_.sql()));
    fmt::print("{} has the {} of {} of {}\n", printable(name_.sql()),
               counted(number_of(rows.at(0).at(0)), "row"), printable(options_.table), moment());
    tell_of_prepared();
    if (writes_log_) fmt::print("  replicas do not have them: the import is not in the binary log\n");
    if (makes_table_) fmt::print("  triggers and grants of a table are not part of it\n");
    return {};
  }

  /// Where the engine's files are, and what is there under the name.
  Status look_at_server() {
    HAILSTONE_ASSIGN(const auto facts,
                     connection_.query("SELECT @@datadir, @@log_bin, @@lower_case_table_names"));
    writes_log_ = facts.at(0).at(1) == "1";
    if (facts.at(0).at(2) != "0") {
      const auto lower = [](std::string& text) {
        std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
      };
      for (std::string* text : {&name_.schema, &name_.table, &name_.of_engine}) lower(*text);
      lower(wanted_);
    }
    HAILSTONE_ASSIGN(const auto folder, connection_.query("SHOW GLOBAL VARIABLES LIKE 'hailstone_data_dir'"));
    if (folder.empty()) {
      return fail(ErrorCode::Unsupported,
                  "the server has no engine HAILSTONE at work; docs/install.md says how to load it");
    }
    const std::string& named = folder.at(0).at(1);
    engine_folder_ = named.starts_with('/') ? named : facts.at(0).at(0) + named;
    if (!posix_filesystem().exists(Manifest::path_in(engine_folder_))) {
      return fail(ErrorCode::NotFound,
                  fmt::format("the server's folder '{}' is not to be seen here; run this on the server's "
                              "machine, as root or as the server's user",
                              engine_folder_));
    }
    HAILSTONE_ASSIGN(
        const auto schemas,
        connection_.query("SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = " +
                          quoted_text(name_.schema)));
    if (schemas.at(0).at(0) == "0") {
      return fail(ErrorCode::NotFound, fmt::format("the server has no schema {0}; CREATE DATABASE {0} before",
                                                   quoted_identifier(name_.schema)));
    }
    HAILSTONE_ASSIGN(const auto tables,
                     connection_.query(fmt::format("SELECT table_type, IFNULL(engine, '') FROM "
                                                   "information_schema.tables WHERE table_schema = {} AND "
                                                   "table_name = {}",
                                                   quoted_text(name_.schema), quoted_text(name_.table))));
    makes_table_ = tables.empty();
    if (makes_table_) return {};
    if (tables[0][1] != "HAILSTONE") {
      return fail(ErrorCode::AlreadyExists,
                  fmt::format("{} is there, and no table of Hailstone ({} {}); give another name by --as",
                              name_.sql(), tables[0][1], tables[0][0]));
    }
    HAILSTONE_ASSIGN(const auto rows, connection_.query("SELECT 1 FROM " + name_.sql() + " LIMIT 1"));
    if (rows.empty()) return {};
    return fail(
        ErrorCode::AlreadyExists,
        fmt::format("{0} has rows, which stay: give another name by --as, such as --as {1}.{2}_restored, "
                    "to have both; or empty it by ALTER TABLE {0} DISCARD TABLESPACE",
                    name_.sql(), name_.schema, name_.table));
  }

  Status give_to_server() {
    if (!is_root()) return {};
    HAILSTONE_ASSIGN(const std::string user, owner_of(engine_folder_));
    return give_to_user(engine_folder_ + "/" + import_folder, user);
  }

  Status import() {
    // A replica has not got the files.
    if (writes_log_) HAILSTONE_TRY(connection_.execute("SET SESSION sql_log_bin = 0"));
    if (makes_table_) HAILSTONE_TRY(connection_.execute("CREATE TABLE " + name_.sql() + " ENGINE=HAILSTONE"));
    const auto imported = connection_.execute("ALTER TABLE " + name_.sql() + " IMPORT TABLESPACE");
    if (imported) return {};
    // The table was not there before.
    if (makes_table_) static_cast<void>(connection_.execute("DROP TABLE " + name_.sql()));
    return std::unexpected(imported.error());
  }

  Status extract(const std::string& target) {
    Result<ExtractedTable> extracted =
        is_server_backup(options_.backup) ? of_server_backup(target) : of_database(target);
    if (!extracted) return std::unexpected(extracted.error());
    const auto of_server = static_cast<uint64_t>(std::ranges::count_if(extracted->prepared, is_of_server));
    prepared_ = extracted->prepared.size() - of_server;
    // At the moment of a backup of a server they are not committed.
    if (of_server == 0 || is_server_backup(options_.backup)) return {};
    const Error undecided(
        ErrorCode::Unsupported,
        fmt::format(
            "{} {} changed {} and {} prepared in '{}', as after a crash; the server's binary log tells "
            "whether they were committed: start the server with it once, stop it, and repeat this",
            counted(of_server, "transaction"), of_server == 1 ? "has" : "have", printable(options_.table),
            of_server == 1 ? "is" : "are", options_.backup));
    return std::unexpected(
        with_what_stayed(undecided, target, remove_copied_database(posix_filesystem(), target)));
  }

  Result<ExtractedTable> of_database(const std::string& target) {
    if (is_backup_stream(options_.backup)) {
      return fail(ErrorCode::Unsupported,
                  fmt::format("'{}' is a stream; restore it to an empty directory, and take the table out of "
                              "that: hailstone restore DIRECTORY --table …",
                              options_.backup));
    }
    HAILSTONE_ASSIGN(const std::string database, find_database(posix_filesystem(), options_.backup));
    auto extracted = extract_table(posix_filesystem(), database, wanted_, target, {},
                                   [this](uint64_t, uint64_t) { return !session_.is_interrupted(); });
    if (!extracted) return std::unexpected(with_way_out(extracted.error(), "restore", database));
    return extracted;
  }

  /// What is needed of the backup comes to a folder beside the target, compared and decompressed.
  Result<ExtractedTable> of_server_backup(const std::string& target) {
    HAILSTONE_ASSIGN(const BackupChain chain, BackupChain::read(options_.backup, options_.bases));
    cut_ = chain.record().cut;
    HAILSTONE_ASSIGN(const auto parts, chain.database_files());
    const std::string scratch = target + ".partial";
    Filesystem& files = posix_filesystem();
    if (files.exists(scratch)) HAILSTONE_TRY(remove_copied_database(files, scratch));
    HAILSTONE_TRY(files.make_directory(scratch));
    const auto bring = [&](const std::function<bool(const std::string&)>& is_wanted) -> Status {
      for (const auto& [part, all] : parts) {
        std::vector<StoredFile> wanted;
        std::ranges::copy_if(all, std::back_inserter(wanted),
                             [&](const StoredFile& file) { return is_wanted(file.path); });
        if (wanted.empty()) continue;
        const std::string from = part->folder + "/" + BackupRecord::database_folder;
        HAILSTONE_TRY(with_byte_progress(session_, "restoring", bytes_of(wanted), [&](const BytesDone& done) {
          return copy_compared(from, scratch, wanted, options_.threads, done);
        }));
      }
      return {};
    };
    auto extracted = [&]() -> Result<ExtractedTable> {
      HAILSTONE_TRY(bring([](const std::string& path) {
        return path == Manifest::file_name || parse_log_file_name(path).has_value();
      }));
      return extract_table(files, scratch, wanted_, target,
                           [&](const std::vector<std::string>& names) {
                             return bring([&](const std::string& path) {
                               return std::ranges::find(names, path) != names.end();
                             });
                           },
                           {});
    }();
    const Status removed = remove_copied_database(files, scratch);
    if (!extracted && extracted.error().code() == ErrorCode::NotFound) {
      const auto is_of_table = [&](const StoredFile& file) {
        return file.path == wanted_ + ".ibd" || file.path == wanted_ + ".frm" ||
               file.path.starts_with(wanted_ + "#");
      };
      for (const auto& part : chain.parts()) {
        const auto found = std::ranges::find_if(part.record.server_files, is_of_table);
        if (found != part.record.server_files.end()) return of_other_kind(*found, extracted.error());
      }
    }
    if (!extracted) return std::unexpected(with_what_stayed(extracted.error(), scratch, removed));
    HAILSTONE_TRY(removed);
    return extracted;
  }

  std::unexpected<Error> of_other_kind(const StoredFile& file, const Error& error) const {
    return fail(
        ErrorCode::NotFound,
        fmt::format("table {} is in the backup, by its file '{}', but it is of another engine, a view, "
                    "or partitioned: hailstone restore '{}' to an empty directory, start a server with "
                    "that, and take the table by mariadb-dump. Parts of a partitioned table come one by "
                    "one, to a FOLDER, under the engine's names ({})",
                    options_.table, file.path, options_.backup, error.message()));
  }

  std::string moment() const {
    return cut_.empty() ? options_.backup : fmt::format("{}, of {}", options_.backup, cut_);
  }

  void tell_of_prepared() const {
    if (prepared_ == 0) return;
    fmt::print("  changes of {} that {} prepared only (XA PREPARE) are not part of it\n",
               counted(prepared_, "transaction"), prepared_ == 1 ? "was" : "were");
  }

  Session& session_;
  const TableRestoreOptions& options_;
  ServerConfig config_;
  ServerConnection connection_{config_};
  std::string wanted_;  // the engine's name in the backup
  TableName name_;      // in the server
  std::string engine_folder_, cut_;
  bool writes_log_ = false, makes_table_ = false;
  uint64_t prepared_ = 0;
};

}  // namespace

Status restore_table(Session& session, const TableRestoreOptions& options) {
  // Nobody else is to read what is restored.
  umask(S_IRWXG | S_IRWXO);
  return TableRestore(session, options).run();
}

}  // namespace hailstone
