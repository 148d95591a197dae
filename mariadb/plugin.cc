// What the server loads: the storage engine and four INFORMATION_SCHEMA tables.
#include "base/guard.h"
#include "engine.h"
#include "information_schema.h"
#include "queries_table.h"
#include "two_phase.h"
#include "variables.h"

namespace {

int start(void* plugin) {
  auto* const engine = static_cast<handlerton*>(plugin);
  hailstone::set_hooks(engine);
  bool started = false;
  hailstone::try_to([&] {
    started = hailstone::start_engine(engine);
    if (started && mysqld_server_started) hailstone::show_prepared_to_running_server();
  });
  return started ? 0 : 1;
}

int stop(void*) {
  hailstone::try_to([] { hailstone::stop_engine(); });
  return 0;
}

st_mysql_storage_engine storage_engine = {MYSQL_HANDLERTON_INTERFACE_VERSION};
st_mysql_information_schema information_schema = {MYSQL_INFORMATION_SCHEMA_INTERFACE_VERSION};

constexpr unsigned int version = 0x0001;
constexpr const char* version_text = HAILSTONE_VERSION;
constexpr const char* author = "The Hailstone authors";

}  // namespace

// The only names that the library shows: the server looks them up.
#pragma GCC visibility push(default)
// clang-format off
maria_declare_plugin(hailstone)
{
  MYSQL_STORAGE_ENGINE_PLUGIN, &storage_engine, "HAILSTONE", author, "Columns beside rows, transactional", PLUGIN_LICENSE_GPL, start, stop, version,
  hailstone::status_variables, hailstone::system_variables, version_text, MariaDB_PLUGIN_MATURITY_GAMMA
},
{
  MYSQL_INFORMATION_SCHEMA_PLUGIN, &information_schema, "HAILSTONE_STATUS", author, "Counters of the Hailstone engine", PLUGIN_LICENSE_GPL, hailstone::initialise_status_table, nullptr,
  version, nullptr, nullptr, version_text, MariaDB_PLUGIN_MATURITY_GAMMA
},
{
  MYSQL_INFORMATION_SCHEMA_PLUGIN, &information_schema, "HAILSTONE_COLUMNS", author, "How Hailstone stores each column", PLUGIN_LICENSE_GPL, hailstone::initialise_columns_table, nullptr,
  version, nullptr, nullptr, version_text, MariaDB_PLUGIN_MATURITY_GAMMA
},
{
  MYSQL_INFORMATION_SCHEMA_PLUGIN, &information_schema, "HAILSTONE_TRACE", author, "What the server calls in Hailstone", PLUGIN_LICENSE_GPL, hailstone::initialise_trace_table, nullptr,
  version, nullptr, nullptr, version_text, MariaDB_PLUGIN_MATURITY_GAMMA
},
{
  MYSQL_INFORMATION_SCHEMA_PLUGIN, &information_schema, "HAILSTONE_QUERIES", author, "What Hailstone does for SELECTs, and what it left to the server", PLUGIN_LICENSE_GPL,
  hailstone::initialise_queries_table, nullptr, version, nullptr, nullptr, version_text, MariaDB_PLUGIN_MATURITY_GAMMA
}
maria_declare_plugin_end;
// clang-format on
#pragma GCC visibility pop
