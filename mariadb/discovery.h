// Tables without .frm files: the catalog keeps the server's own image of each table's definition, and the
// server asks for it when it meets a name that it knows nothing of. The image is kept as it is, so the server
// gets back to the byte what it made of CREATE or ALTER TABLE.
//
// An image is the application's part of the library's definition. Partitions and temporary tables have none:
// a partitioned table has a .frm file like in any engine. Tables of before, and those that ALTER TABLE has
// changed or LOCK TABLES has locked, have a .frm file beside the catalog; open() refuses one that the
// catalog's image contradicts, and the server then takes the image.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "schema/table_definition.h"
#include "transaction/transaction.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// Sets the server's functions for discovery and for its recovery of ALTER TABLE.
void set_discovery(handlerton* engine);

/// The part of the definition that describes the table to the server: the image of `image_of` and the version
/// in it. Empty when there is no image to be had.
std::string pack_image(const TABLE_SHARE& image_of, const TABLE_SHARE& version_of);
/// The server's image in a definition. A handler error, or 0; HA_ERR_NO_SUCH_TABLE: it has none.
int unpack_image(const TableDefinition& definition, std::vector<char>& image);
/// Whether the catalog's image says that the server's definition is an old one.
bool contradicts(const std::string& packed_image, const TABLE_SHARE& share);

/// Writes the table's .frm file when it has none: for statements of the server that look at the file alone.
/// They are DROP under LOCK TABLES, ALTER TABLE to another engine, CREATE VIEW of the table's name, and ALTER
/// DATABASE … UPGRADE DATA DIRECTORY NAME. A handler error, or 0.
int ensure_definition_file(const char* path);

/// Whether CREATE SEQUENCE made the table.
bool is_sequence(const TableDefinition& definition);

bool is_partition_name(const std::string& name);
/// The name of the table that a partition belongs to; any other name as it is.
std::string table_of_partition(const std::string& name);

/// A partition has gone with its rows, by `ALTER TABLE`: snapshots from before it do not fit the others.
void note_partition_gone(const std::string& name);
/// ErrorCode::TableChanged when the transaction's snapshot is from before a partition of the same table went.
Status check_partition_snapshot(const std::string& name, Transaction& transaction);

/// EXCHANGE PARTITION renames a table to a temporary name, the partition, which has no image, to the table's
/// name, and the table to the partition's name. The first step leaves the image here for the second.
void note_exchange(const std::string& from, const std::string& to);
/// The image that the table is to have under its new name, when it is another than it has.
std::optional<std::string> image_after_rename(const std::string& from, const std::string& to);

}  // namespace hailstone
