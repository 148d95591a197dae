// Where the server's structures have what the stand-in needs: it runs in servers that it was not compiled
// for. Each build of the engine compares its series with the server's headers (layout_check.cc), and the
// stand-in compares a handlerton that the server has just made with these numbers before it writes to it.
#pragma once

#include <cstddef>

namespace hailstone {

/// Bytes from the beginning of the structure.
struct ServerLayout {
  int series;       // 1011: 10.11
  bool drop_opens;  // DROP opens the table first
  int rename;       // SQLCOM_RENAME_TABLE
  struct Handlerton {
    size_t slot;
    size_t create;
    size_t drop_table;
    size_t tablefile_extensions;
    /// discover_table_names and discover_table_existence follow it.
    size_t discover_table;
  } handlerton;
  struct TableShare {
    size_t table_cache_key;
    size_t db;
    size_t table_name;
    size_t normalized_path;
  } share;
};

inline constexpr ServerLayout server_layouts[] = {
    {.series = 1011,
     .drop_opens = false,
     .rename = 61,
     .handlerton =
         {.slot = 4, .create = 168, .drop_table = 184, .tablefile_extensions = 336, .discover_table = 368},
     .share = {.table_cache_key = 592, .db = 608, .table_name = 624, .normalized_path = 656}},
    {.series = 1108,
     .drop_opens = true,
     .rename = 61,
     .handlerton =
         {.slot = 0, .create = 200, .drop_table = 224, .tablefile_extensions = 192, .discover_table = 360},
     .share = {.table_cache_key = 616, .db = 632, .table_name = 648, .normalized_path = 680}},
};

/// Null: nobody has written down the series. `server`: as MYSQL_VERSION_ID.
constexpr const ServerLayout* layout_of(int server) {
  for (const ServerLayout& layout : server_layouts)
    if (layout.series == server / 100) return &layout;
  return nullptr;
}

}  // namespace hailstone
