#include "missing_tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "database/table_list.h"
#include "discovery.h"
#include "engine.h"
#include "error.h"
#include "variables.h"

namespace hailstone {

namespace {

constexpr size_t most_names_told = 10;
/// In the name of a table that ALTER TABLE has not given its own yet.
constexpr std::string_view unfinished_table_prefix = "#sql";

/// By folder, names ascending.
class MissingTables {
 public:
  void set(const std::string& folder, std::vector<std::string> names) {
    const MutexLock guard(mutex_);
    if (names.empty()) {
      folders_.erase(folder);
    } else {
      folders_[folder] = std::move(names);
    }
    any_.store(!folders_.empty(), std::memory_order_release);
  }
  bool contains(const std::string& folder, const std::string& name) const {
    if (!any_.load(std::memory_order_acquire)) return false;
    const MutexLock guard(mutex_);
    const auto found = folders_.find(folder);
    return found != folders_.end() && std::ranges::binary_search(found->second, name);
  }
  void clear() {
    const MutexLock guard(mutex_);
    folders_.clear();
    any_.store(false, std::memory_order_release);
  }

 private:
  std::atomic<bool> any_{false};
  mutable Mutex mutex_;
  std::map<std::string, std::vector<std::string>> folders_ HAILSTONE_GUARDED_BY(mutex_);
};
MissingTables the_missing_tables;

struct FolderTables {
  Timestamp defined = 0;
  std::vector<std::string> names;  // ascending; a partitioned table once
};
using TablesByFolder = std::map<std::string, FolderTables>;

std::string list_path(const std::string& folder) { return fmt::format("./{}/{}", folder, table_list_file); }

TablesByFolder tables_by_folder() {
  TablesByFolder folders;
  for (const auto& [name, commit] : database().names_with_commits()) {
    const size_t slash = name.find('/');
    if (slash == std::string::npos || is_temporary_name(name)) continue;
    if (std::string_view(name).substr(slash + 1).starts_with(unfinished_table_prefix)) continue;
    FolderTables& folder = folders[name.substr(0, slash)];
    folder.defined = std::max(folder.defined, commit);
    folder.names.push_back(table_of_partition(name).substr(slash + 1));
  }
  for (auto& [name, folder] : folders) {
    std::ranges::sort(folder.names);
    const auto again = std::ranges::unique(folder.names);
    folder.names.erase(again.begin(), again.end());
  }
  return folders;
}

Result<TablesInEngine> tables_in_engine() {
  // A database of a program that gave no numbers has one from its first checkpoint on.
  if (database().numbers().empty()) HAILSTONE_TRY(database().checkpoint());
  return TablesInEngine{.databases = database().numbers(),
                        .last_committed = database().transactions().last_committed()};
}

/// The folders of databases that have a list, ascending. The server's working directory is its data
/// directory.
Result<std::vector<std::string>> folders_with_list() {
  HAILSTONE_ASSIGN(std::vector<std::string> folders, posix_filesystem().list("."));
  std::erase_if(folders,
                [](const std::string& folder) { return !posix_filesystem().exists(list_path(folder)); });
  std::ranges::sort(folders);
  return folders;
}

/// Keeps CREATE, ALTER and DROP DATABASE of one database waiting, which hardly ever meet it: a file that came
/// into a folder while that was being removed would keep it there. Without a session there are none.
class DatabaseHeld {
 public:
  explicit DatabaseHeld(const std::string& folder) : thd_(current_thd) {
    if (thd_ == nullptr) return;
    MDL_request request;
    MDL_REQUEST_INIT(&request, MDL_key::SCHEMA, sql_names(folder + "/").first.c_str(), "",
                     MDL_INTENTION_EXCLUSIVE, MDL_EXPLICIT);
    if (!thd_->mdl_context.try_acquire_lock(&request)) ticket_ = request.ticket;
  }
  ~DatabaseHeld() {
    if (ticket_ != nullptr) thd_->mdl_context.release_lock(ticket_);
  }
  DatabaseHeld(const DatabaseHeld&) = delete;
  DatabaseHeld& operator=(const DatabaseHeld&) = delete;

  bool succeeded() const { return thd_ == nullptr || ticket_ != nullptr; }

 private:
  THD* const thd_;
  MDL_ticket* ticket_ = nullptr;
};

void update_list(const std::string& folder, const TablesInEngine& engine, const FolderTables& tables) {
  auto missing =
      update_table_list(posix_filesystem(), list_path(folder), engine, tables.defined, tables.names);
  if (missing) {
    the_missing_tables.set(folder, std::move(*missing));
  } else {
    sql_print_error("Hailstone: the list of the tables in database '%s' was not brought up to date: %s",
                    sql_names(folder + "/").first.c_str(), missing.error().message().c_str());
  }
}

/// For the error log.
std::string on_one_line(std::string name) {
  std::ranges::replace_if(
      name, [](char byte) { return static_cast<unsigned char>(byte) < 0x20; }, ' ');
  return name;
}

/// Since the engine's tables were looked at.
bool was_dropped(const std::string& folder) {
  return !posix_filesystem().exists("./" + folder) && database().table_names(folder + "/").empty();
}

std::string some_names(const std::string& folder, std::span<const std::string> names) {
  std::vector<std::string> told;
  for (const std::string& name : names.first(std::min(names.size(), most_names_told)))
    told.push_back(fmt::format("'{}'", on_one_line(sql_names(folder + "/" + name).second)));
  return fmt::format(
      "{}{}", fmt::join(told, ", "),
      names.size() > told.size() ? fmt::format(" and {} more", names.size() - told.size()) : "");
}

void tell_error_log(const std::string& folder, ListOrigin origin, std::span<const std::string> missing) {
  const std::string text = fmt::format(
      "of the tables in database '{}' that '{}' names, {} {} missing: {}. {}. Stop the server and restore "
      "the "
      "engine's folder from a backup that has it, with 'hailstone restore' (docs/backup.md); or delete that "
      "file, if the tables are not wanted",
      sql_names(folder + "/").first, list_path(folder), missing.size(), missing.size() == 1 ? "is" : "are",
      some_names(folder, missing),
      origin == ListOrigin::Later
          ? fmt::format("The engine's folder '{}' is older than that file", data_directory())
          : fmt::format("Their rows were in a folder of the engine that is not the '{}' of this server; "
                        "mariadb-backup does not copy it",
                        data_directory()));
  sql_print_warning("Hailstone: %s", text.c_str());
}

/// "shop" and "orders" of "shop/orders#P#p0".
std::pair<std::string, std::string> folder_and_table(const std::string& name) {
  const std::string table = table_of_partition(name);
  const size_t slash = table.find('/');
  if (slash == std::string::npos) return {};
  return {table.substr(0, slash), table.substr(slash + 1)};
}

/// Nothing of a table that no list has as missing.
std::optional<std::string> sentence_of_missing(const std::string& name) {
  const auto [folder, table] = folder_and_table(name);
  if (!the_missing_tables.contains(folder, table)) return std::nullopt;
  if (!posix_filesystem().exists(list_path(folder))) return std::nullopt;  // the tables are not wanted
  const auto [shown_database, shown_table] = sql_names(folder + "/" + table);
  return fmt::format(
      "table '{}.{}' is missing: its rows were in a folder of the engine that this server does not have. "
      "Restore '{}' from a backup that has it (docs/backup.md), or delete '{}', if its tables are not wanted",
      shown_database, shown_table, data_directory(), list_path(folder));
}

}  // namespace

void find_missing_tables() {
  the_missing_tables.clear();
  const auto folders = folders_with_list();
  if (!folders) {
    sql_print_warning("Hailstone: it is not known whether tables are missing: %s",
                      folders.error().message().c_str());
    return;
  }
  if (folders->empty()) return;
  const auto engine = tables_in_engine();
  if (!engine) {
    sql_print_warning("Hailstone: it is not known whether tables are missing: %s",
                      engine.error().message().c_str());
    return;
  }
  std::optional<TablesByFolder> tables;  // there may be very many, and hardly ever are they needed
  for (const std::string& folder : *folders) {
    const auto list = read_table_list(posix_filesystem(), list_path(folder));
    if (!list) {
      sql_print_warning("Hailstone: it is not known whether tables of database '%s' are missing: %s",
                        sql_names(folder + "/").first.c_str(), list.error().message().c_str());
    }
    if (!list || !*list) continue;
    const ListOrigin origin = origin_of(**list, *engine);
    if (origin == ListOrigin::Same && (*list)->missing.empty()) continue;
    if (!tables) tables = tables_by_folder();
    const FolderTables& present = (*tables)[folder];
    const std::vector<std::string> missing = missing_tables(**list, origin, present.names);
    if (!missing.empty()) tell_error_log(folder, origin, missing);
    update_list(folder, *engine, present);
  }
}

void write_table_lists() {
  auto tables = tables_by_folder();
  const auto listed = folders_with_list();
  const auto engine = tables_in_engine();
  if (!listed || !engine) {
    sql_print_error("Hailstone: the lists of the tables in databases were not brought up to date: %s",
                    (listed ? engine.error() : listed.error()).message().c_str());
    return;
  }
  for (const std::string& folder : *listed) tables.try_emplace(folder);
  for (const auto& [folder, present] : tables) {
    const DatabaseHeld held(folder);
    if (held.succeeded() && !was_dropped(folder)) update_list(folder, *engine, present);
  }
}

void warn_of_missing_table(THD* thd, const std::string& name, uint code) {
  if (const auto sentence = sentence_of_missing(name)) add_warning(thd, code, *sentence);
}

int refuse_missing_partition(const std::string& name) {
  std::optional<std::string> sentence = sentence_of_missing(name);
  if (!sentence) {
    const auto [shown_database, shown_table] = sql_names(table_of_partition(name));
    sentence = fmt::format(
        "partition '{}' of table '{}.{}' is missing, and the server has the table's own files. Restore the "
        "engine's folder '{}' and those files from one backup (docs/backup.md), or drop the table",
        name, shown_database, shown_table, data_directory());
  }
  my_printf_error(ER_NO_SUCH_TABLE_IN_ENGINE, "Hailstone: %s", MYF(0), sentence->c_str());
  return HA_ERR_GENERIC;
}

}  // namespace hailstone
