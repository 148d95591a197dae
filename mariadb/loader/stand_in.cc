// hailstone-none: what the loader takes where the engine cannot run. The plugin and its variables are there,
// so that a server starts with them in its configuration; tables are listed, and refused with the reason.
// Nothing is written. It is compiled for no version of the server, so it uses no structure but those that are
// in server_layout.h, and functions that every version has. docs/loader.md.
#include <dlfcn.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>

#include <mysql/plugin.h>

#include "base/guard.h"
#include "data_folder.h"
#include "database/database.h"
#include "database/manifest.h"
#include "file/filesystem.h"
#include "server_layout.h"
#include "table_path.h"
#include "variable_list.h"

// Else they are pointers of services, which nobody fills here.
#undef my_printf_error
#undef thd_get_error_number
// Of the server, the same in all series that server_layout.h has.
extern "C" st_maria_plugin* mysql_mandatory_plugins[];
extern "C" int* _my_thread_var();  // its first member is my_errno
extern "C" MYSQL_THD _current_thd();
extern "C" unsigned thd_get_error_number(MYSQL_THD connection);
extern "C" void my_printf_error(unsigned code, const char* format, unsigned long flags, ...);
[[gnu::weak]] extern void* myisam_hton;  // a handlerton*
extern void sql_print_error(const char* format, ...);
extern unsigned tablename_to_filename(const char* from, char* to, size_t to_size);

namespace hailstone {

/// The server's handlerton::discovered_list. Visible, so that the compiler expects another library to
/// implement it.
struct [[gnu::visibility("default")]] FoundTables {
  virtual bool add_table(const char* name, size_t length) = 0;
  virtual bool add_file(const char* name) = 0;

 protected:
  ~FoundTables() = default;
};

namespace {

// include/my_base.h
constexpr int no_such_table = 155;                 // HA_ERR_NO_SUCH_TABLE
constexpr int already_reported = 168;              // HA_ERR_GENERIC: the server adds nothing
constexpr unsigned no_such_table_error = 1146;     // ER_NO_SUCH_TABLE
constexpr unsigned unknown_storage_engine = 1286;  // ER_UNKNOWN_STORAGE_ENGINE
constexpr unsigned long as_warning = 2048;         // ME_WARNING

struct Text {
  const char* start;
  size_t length;
};

int the_server = 0;
std::string the_reason;
using Names = std::set<std::string, std::less<>>;  // as "database/table", as files have it
Names the_tables;
Names the_partitioned_tables;  // which the server has files of
const ServerLayout* the_layout = nullptr;

template <typename Value>
Value value_at(const void* structure, size_t place) {
  Value value;
  std::memcpy(&value, static_cast<const char*>(structure) + place, sizeof value);
  return value;
}
template <typename Value>
void set_value_at(void* structure, size_t place, Value value) {
  std::memcpy(static_cast<char*>(structure) + place, &value, sizeof value);
}

void log_error(const std::string& what) { sql_print_error("Hailstone: %s", what.c_str()); }

void refuse(std::string_view what) {
  my_printf_error(unknown_storage_engine, "%s", 0, fmt::format("{}: {}", what, the_reason).c_str());
}
/// From 11.8 on DROP opens the table and goes by the first condition. One that is not "no such table" makes
/// it take the table for a broken one, which it drops without asking the engine.
void refuse_to_open(std::string_view what) {
  if (the_layout->drop_opens)
    my_printf_error(no_such_table_error, "%s", as_warning, fmt::format("{}: {}", what, the_reason).c_str());
  refuse(what);
}
std::string table_text(std::string_view database, std::string_view table) {
  return fmt::format("Table '{}.{}' is of the engine HAILSTONE, which cannot run", database, table);
}

std::string as_file(const char* name) {
  char buffer[FILENAME_MAX];
  return {buffer, tablename_to_filename(name, buffer, sizeof buffer)};
}

// --- what the server calls ---

/// Without a share for a table that is to be made, renamed, or dropped.
void* create_handler(void*, const void* share, void* memory) {
  constexpr std::string_view engine = "The engine HAILSTONE cannot run";
  // From 11.8.9 on DROP makes a handler of each engine before it asks drop_table(), also for a table that no
  // engine has. It gets one of MyISAM's, of no table. CREATE TABLE goes on with it, and is refused when it
  // comes with a share. RENAME would ask it to rename the table's files. After an error DROP goes on, and
  // would remove the files of a partitioned table if there were handlers of its parts.
  if (share == nullptr && the_layout->drop_opens && &myisam_hton != nullptr && myisam_hton != nullptr &&
      thd_sql_command(_current_thd()) != the_layout->rename && thd_get_error_number(_current_thd()) == 0) {
    using Create = void* (*)(void*, const void*, void*);
    return value_at<Create>(myisam_hton, the_layout->handlerton.create)(myisam_hton, nullptr, memory);
  }
  share == nullptr ? refuse(engine) : refuse_to_open(engine);
  *_my_thread_var() =
      already_reported;  // else DROP of a partitioned table takes its parts for gone, and drops the rest
  return nullptr;
}

int discover_table(void*, void*, const void* share) {
  const auto& places = the_layout->share;
  const auto key = value_at<Text>(share, places.table_cache_key), database = value_at<Text>(share, places.db),
             table = value_at<Text>(share, places.table_name);
  // "database", a zero, "table", a zero: names are not looked at before that is sure.
  if (database.start != key.start || table.start != key.start + database.length + 1 ||
      key.length != database.length + table.length + 2)
    return no_such_table;
  const auto path = value_at<Text>(share, places.normalized_path);
  if (!the_tables.contains(table_of_path({path.start, path.length}))) return no_such_table;
  refuse_to_open(table_text({database.start, database.length}, {table.start, table.length}));
  return already_reported;
}

int discover_table_names(void*, const Text* database, void*, FoundTables* found) {
  const std::string prefix = as_file(database->start) + '/';
  for (auto table = the_tables.lower_bound(prefix); table != the_tables.end() && table->starts_with(prefix);
       ++table)
    if (found->add_file(table->c_str() + prefix.size())) return 1;
  return 0;
}

int discover_table_existence(void*, const char* database, const char* table) {
  return the_tables.contains(as_file(database) + '/' + as_file(table)) ? 1 : 0;
}

int drop_table(void*, const char* path) {
  const std::string_view name = table_of_path(path);
  if (!the_tables.contains(name) && !the_partitioned_tables.contains(name)) return ENOENT;
  const size_t slash = name.find('/');
  refuse(table_text(name.substr(0, slash), name.substr(slash + 1)));
  return already_reported;
}

// --- start ---

bool is_of_server(void* place) {
  Dl_info server, found;
  return place != nullptr && dladdr(&mysql_mandatory_plugins, &server) != 0 && dladdr(place, &found) != 0 &&
         server.dli_fbase == found.dli_fbase;
}

/// The server fills in four members before it starts an engine. They must be where the layout has them, and
/// all others empty: then nothing has moved.
bool is_as_expected(const void* engine, const ServerLayout::Handlerton& places) {
  const size_t names = places.discover_table + sizeof(void*), end = names + 2 * sizeof(void*);
  for (size_t place = 0; place < end; place += sizeof(void*)) {
    const auto word = value_at<void*>(engine, place);
    if (place == places.drop_table || place == places.tablefile_extensions || place == names) {
      if (!is_of_server(word)) return false;
    } else if (place == places.slot / sizeof(void*) * sizeof(void*)) {
      if (value_at<unsigned>(engine, places.slot) != ~0U) return false;
    } else if (word != nullptr) {
      return false;
    }
  }
  return true;
}

// The variables take whatever the engine's own would, as text, and cannot be set.
#define HAILSTONE_VALUE(name)                                                     \
  char* name##_value = nullptr;                                                   \
  MYSQL_SYSVAR_STR(name, name##_value, PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY, \
                   "Of the engine, which cannot run", nullptr, nullptr, nullptr);
#define HAILSTONE_SWITCH(name)                                                     \
  char name##_value = 0;                                                           \
  MYSQL_SYSVAR_BOOL(name, name##_value, PLUGIN_VAR_OPCMDARG | PLUGIN_VAR_READONLY, \
                    "Of the engine, which cannot run", nullptr, nullptr, 0);
HAILSTONE_VARIABLES(HAILSTONE_VALUE, HAILSTONE_SWITCH)
#define HAILSTONE_LISTED(name) MYSQL_SYSVAR(name),
st_mysql_sys_var* system_variables[] = {HAILSTONE_VARIABLES(HAILSTONE_LISTED, HAILSTONE_LISTED) nullptr};

/// The names of the tables, without the temporary ones.
Status read_tables() {
  HAILSTONE_ASSIGN(const std::string folder,
                   find_data_folder(data_dir_value == nullptr || *data_dir_value == '\0' ? default_data_folder
                                                                                         : data_dir_value));
  if (!posix_filesystem().exists(Manifest::path_in(folder))) return {};
  DatabaseOptions options;
  options.read_only = true;
  HAILSTONE_ASSIGN(const auto database, Database::open(posix_filesystem(), folder, std::move(options)));
  for (std::string& name : database->table_names()) {
    if (name.starts_with('#')) continue;
    if (const size_t part = name.find(partition_mark); part != std::string::npos) {
      the_partitioned_tables.insert(name.substr(0, part));
    } else {
      the_tables.insert(std::move(name));
    }
  }
  return database->close();
}

int start(void* engine) {
  if (const Status read = guarded(read_tables); !read)
    log_error("its tables cannot be listed: " + read.error().message());
  the_layout = layout_of(the_server);
  const bool hidden = the_layout == nullptr || !is_as_expected(engine, the_layout->handlerton);
  log_error(fmt::format(
      "{}. Its tables ({}) {} until there is one. Their data are untouched. Install the package or build "
      "of Hailstone for this server, and start it again",
      the_reason, the_tables.size() + the_partitioned_tables.size(),
      hidden ? "cannot be seen" : "are refused"));
  if (hidden) return 0;
  const auto& places = the_layout->handlerton;
  set_value_at(engine, places.create, &create_handler);
  set_value_at(engine, places.drop_table, &drop_table);
  set_value_at(engine, places.discover_table, &discover_table);
  set_value_at(engine, places.discover_table + sizeof(void*), &discover_table_names);
  set_value_at(engine, places.discover_table + 2 * sizeof(void*), &discover_table_existence);
  return 0;
}

// The server takes nobody's word but its own version's, which hailstone_stand_in() fills in.
st_mysql_storage_engine engine_version = {0};
st_mysql_daemon daemon_version = {0};
constexpr const char* author = "The Hailstone authors";
constexpr const char* description = "Stands in for the engine, which cannot run";

}  // namespace

}  // namespace hailstone

#pragma GCC visibility push(default)
// clang-format off
maria_declare_plugin(hailstone)
{
  MYSQL_STORAGE_ENGINE_PLUGIN, &hailstone::engine_version, "HAILSTONE", hailstone::author, hailstone::description, PLUGIN_LICENSE_GPL, hailstone::start, nullptr, 1,
  nullptr, hailstone::system_variables, HAILSTONE_VERSION, MariaDB_PLUGIN_MATURITY_GAMMA
},
// The engine's tables of INFORMATION_SCHEMA, which the server remembers as plugins, too.
#define HAILSTONE_NAMED(name) { \
  MYSQL_DAEMON_PLUGIN, &hailstone::daemon_version, name, hailstone::author, hailstone::description, PLUGIN_LICENSE_GPL, nullptr, nullptr, 1, \
  nullptr, nullptr, HAILSTONE_VERSION, MariaDB_PLUGIN_MATURITY_GAMMA \
}
HAILSTONE_NAMED("HAILSTONE_STATUS"),
HAILSTONE_NAMED("HAILSTONE_COLUMNS"),
HAILSTONE_NAMED("HAILSTONE_TRACE"),
HAILSTONE_NAMED("HAILSTONE_QUERIES")
maria_declare_plugin_end;
// clang-format on

/// The loader calls it first: the server, as MYSQL_VERSION_ID, and why the engine cannot run there.
extern "C" void hailstone_stand_in(int server, const char* why) {
  hailstone::the_server = server;
  hailstone::the_reason = why;
  hailstone::engine_version.interface_version = server << 8;
  hailstone::daemon_version.interface_version = server << 8;
}
#pragma GCC visibility pop
