// Two checks that the engine is in the right server. One compares loader/server_layout.h with the headers of
// the server that the engine is compiled for. The other is for the loader: servers of one version that were
// built with other options may have other structures; it compares the sizes of some with those of the running
// server.
#include "loader/server_layout.h"
#include "loader/server_size.h"
// clang-format off
#include "server.h"
// clang-format on

#pragma GCC diagnostic ignored "-Winvalid-offsetof"  // GCC knows the places in these structures all the same

namespace hailstone {

namespace {

template <typename Engine, typename Share>
constexpr bool is_right(const ServerLayout* layout) {
  if (layout == nullptr) return true;
  const auto& [series, drop_opens, rename, engine, share] = *layout;
  return rename == SQLCOM_RENAME_TABLE && engine.slot == offsetof(Engine, slot) &&
         engine.create == offsetof(Engine, create) && engine.drop_table == offsetof(Engine, drop_table) &&
         engine.tablefile_extensions == offsetof(Engine, tablefile_extensions) &&
         engine.discover_table == offsetof(Engine, discover_table) &&
         engine.discover_table + sizeof(void*) == offsetof(Engine, discover_table_names) &&
         engine.discover_table + 2 * sizeof(void*) == offsetof(Engine, discover_table_existence) &&
         share.table_cache_key == offsetof(Share, table_cache_key) && share.db == offsetof(Share, db) &&
         share.table_name == offsetof(Share, table_name) &&
         share.normalized_path == offsetof(Share, normalized_path);
}
static_assert(offsetof(st_my_thread_var, thr_errno) == 0);
static_assert(is_right<handlerton, TABLE_SHARE>(layout_of(MYSQL_VERSION_ID)),
              "this server's structures are not as loader/server_layout.h has them");

}  // namespace

}  // namespace hailstone

#pragma GCC visibility push(default)
extern "C" const hailstone::ServerSize hailstone_server_sizes[] = {
    {"global_system_variables", sizeof global_system_variables},
    {"global_status_var", sizeof global_status_var},
    {"mysql_bin_log", sizeof mysql_bin_log},
    {"my_charset_bin", sizeof my_charset_bin},
    {nullptr, 0},
};
#pragma GCC visibility pop
