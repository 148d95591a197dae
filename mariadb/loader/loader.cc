// ha_hailstone: what the server loads. It passes on what another library declares, the engine's object for
// the server's version or, where there is none, the stand-in. docs/loader.md tells how and why.
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <string>

#include <mysql/plugin.h>

#include "server_size.h"

// Of the server. Weak, so that a server without one of them is told so.
extern "C" [[gnu::weak]] st_maria_plugin* mysql_mandatory_plugins[];
[[gnu::weak]] extern void sql_print_error(const char* format, ...);

namespace {

/// The engine declares 5.
constexpr size_t most_plugins = 16;

void* the_library = nullptr;

std::string own_folder() {
  Dl_info self;
  if (dladdr(&the_library, &self) == 0) return ".";
  const std::string path = self.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

/// As MYSQL_VERSION_ID, from a plugin that is part of the server: the version that the server compares with.
/// The variable `version` is what an option says. 0: not to be found.
int id_of_server() {
  if (mysql_mandatory_plugins == nullptr) return 0;
  for (st_maria_plugin** plugin = mysql_mandatory_plugins; *plugin != nullptr; ++plugin)
    if ((*plugin)->type == MYSQL_STORAGE_ENGINE_PLUGIN) return *static_cast<int*>((*plugin)->info) >> 8;
  return 0;
}

std::string version_text(int id) {
  return std::to_string(id / 10000) + '.' + std::to_string(id / 100 % 100) + '.' + std::to_string(id % 100);
}

/// Why the last dlopen() failed.
std::string reason_of_failure() {
  const char* const error = dlerror();
  return error != nullptr ? error : "no reason is known";
}

void log_error(const std::string& what) {
  if (sql_print_error != nullptr) sql_print_error("Hailstone: %s", what.c_str());
}

}  // namespace

extern "C" {
#pragma GCC visibility push(default)
int _maria_plugin_interface_version_ = MARIA_PLUGIN_INTERFACE_VERSION;
int _maria_sizeof_struct_st_plugin_ = sizeof(st_maria_plugin);
st_maria_plugin _maria_plugin_declarations_[most_plugins + 1] = {};
#pragma GCC visibility pop
}

namespace {

/// Whether the library has declarations that fit into ours.
bool take_declarations(void* library) {
  const auto* const version = static_cast<int*>(dlsym(library, "_maria_plugin_interface_version_"));
  const auto* const size = static_cast<int*>(dlsym(library, "_maria_sizeof_struct_st_plugin_"));
  const auto* const declared = static_cast<st_maria_plugin*>(dlsym(library, "_maria_plugin_declarations_"));
  if (version == nullptr || size == nullptr || declared == nullptr || *size != sizeof(st_maria_plugin))
    return false;
  size_t count = 0;
  while (count < most_plugins && declared[count].info != nullptr) ++count;
  std::copy_n(declared, count, _maria_plugin_declarations_);
  _maria_plugin_interface_version_ = *version;
  return true;
}

/// What the server has in another size than the engine expects; empty: nothing.
std::string other_size(void* engine) {
  const auto* expected = static_cast<const hailstone::ServerSize*>(dlsym(engine, "hailstone_server_sizes"));
  if (expected == nullptr) return "the list of sizes";
  for (; expected->variable != nullptr; ++expected) {
    void* const variable = dlsym(RTLD_DEFAULT, expected->variable);
    Dl_info place;
    void* symbol = nullptr;
    if (variable == nullptr || dladdr1(variable, &place, &symbol, RTLD_DL_SYMENT) == 0 || symbol == nullptr ||
        static_cast<const ElfW(Sym)*>(symbol)->st_size != expected->bytes)
      return expected->variable;
  }
  return {};
}

/// The server's plugins would be unknown, and options for them an error, if this gave up.
void stand_in(int server, const std::string& folder, const std::string& why) {
  const std::string path = folder + "/hailstone-none.so";
  // Lazily: of a server that nobody knows it may name a function that is missing.
  the_library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (the_library == nullptr) {
    log_error(why + "; nor is there what refuses its tables: " + reason_of_failure());
    return;
  }
  using Tell = void (*)(int, const char*);
  if (const auto tell = reinterpret_cast<Tell>(dlsym(the_library, "hailstone_stand_in")))
    tell(server, why.c_str());
  take_declarations(the_library);
}

[[gnu::constructor]] void load() {
  const std::string folder = own_folder();
  const int server = id_of_server();
  const std::string name = "hailstone-" + version_text(server) + ".so", path = folder + '/' + name;
  if (access(path.c_str(), F_OK) != 0) {
    stand_in(server, folder, "there is no " + path + ", the engine for this server");
    return;
  }
  the_library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  std::string failure;
  if (the_library == nullptr) {
    failure = reason_of_failure();
  } else if (const std::string other = other_size(the_library); !other.empty()) {
    failure = "it was built for another build of this version, as " + other + " shows";
  } else if (!take_declarations(the_library)) {
    failure = "it is not the engine";
  }
  if (failure.empty()) return;
  if (the_library != nullptr) dlclose(the_library);
  stand_in(server, folder, path + " cannot be loaded: " + failure);
}

[[gnu::destructor]] void unload() {
  if (the_library != nullptr) dlclose(the_library);
}

}  // namespace
