// The file hailstone.opt in the folder of each database of a MariaDB server: the names of its tables of the
// engine. Their rows are in the engine's own folder, which a copy of the server may lack: mariadb-backup, for
// one, copies files of this name and not that folder. A server that was made of such a copy finds the names,
// and can tell which tables are missing. docs/formats.md, "List of tables".
//
// A list tells who wrote it: the database of the engine by its number (segment/file_identity.h). Found beside
// that database, or a copy of it, it may be out of date: tables that it names and the engine lacks have been
// dropped since. Found beside another one, or beside an earlier state, they are missing. They stay so, in
// each list that the engine writes later, until they are made again or the file is removed.
//
// Stateless. Callers do not work on one file at the same time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/timestamp.h"
#include "file/filesystem.h"

namespace hailstone {

inline constexpr const char* table_list_file = "hailstone.opt";

/// Names are those in the engine, without the folder: "orders" of "shop/orders". They ascend by bytes, each
/// once.
struct TableList {
  uint64_t database = 0;             // number of the database that wrote it
  Timestamp defined = 0;             // the newest commit that made or redefined one of `tables`
  std::vector<std::string> missing;  // from that database, too
  std::vector<std::string> tables;
  bool operator==(const TableList&) const = default;
};

/// The file's content.
std::string to_text(const TableList& list);
/// `path` is for messages. ErrorCode::Corruption; Unsupported: of a later release.
Result<TableList> parse_table_list(ByteView text, const std::string& path);

/// Nothing when there is no such file.
Result<std::optional<TableList>> read_table_list(Filesystem& filesystem, const std::string& path);

/// What the engine holds, to compare a list with.
struct TablesInEngine {
  std::vector<uint64_t> databases;  // its number, the last, and before it those that it is a copy of
  Timestamp last_committed = 0;
};

enum class ListOrigin : uint8_t {
  Same,    // of this database, in this state or an earlier one
  Later,   // of this database, which has been put back into an earlier state
  Foreign  // of another database
};
ListOrigin origin_of(const TableList& list, const TablesInEngine& engine);

/// The tables of a list that the engine should have and lacks. `present`: those of the folder that it has,
/// ascending.
std::vector<std::string> missing_tables(const TableList& list, ListOrigin origin,
                                        std::span<const std::string> present);

/// Makes the file say what the engine has of a folder: `present`, made by commits up to `defined`; and what
/// is missing, by the file that is there, which it returns. There is no file in the end when there is no
/// name. The file is changed as a whole or not at all, and only where it says something else. One that is
/// damaged is replaced; without names to put there it stays: ErrorCode::Corruption. One of a later release
/// stays.
Result<std::vector<std::string>> update_table_list(Filesystem& filesystem, const std::string& path,
                                                   const TablesInEngine& engine, Timestamp defined,
                                                   std::vector<std::string> present);

}  // namespace hailstone
