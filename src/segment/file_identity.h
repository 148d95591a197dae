// Which database and table a stored file belongs to, and its number there. A segment and a delete vector
// carry it inside of what their checksum covers, so that a file that is whole but lies under another's name
// is told from the right one. docs/formats.md, "Identity of files".
//
// The number of a file that was written before its database had an identity is smaller than first_file of
// the oldest DatabaseIdentity. Such a file may lack its identity, or name database 0.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/status.h"

namespace hailstone {

struct FileIdentity {
  uint64_t database = 0;  // 0: the database had no identity yet
  uint64_t table = 0;
  uint64_t file = 0;
  bool operator==(const FileIdentity&) const = default;
};
constexpr size_t file_identity_bytes = 24;

void append_identity(std::string& to, const FileIdentity& identity);
bool take_identity(ByteReader& reader, FileIdentity& identity);

/// Files with this number or a greater one, up to the next DatabaseIdentity's, carry this database's number.
/// A copy of a database gets another one, so that the files that both write from then on differ.
struct DatabaseIdentity {
  uint64_t first_file = 0;
  uint64_t database = 0;
  bool operator==(const DatabaseIdentity&) const = default;
};

/// The number of the database that the file numbered `file` must carry; 0: any, or none. `databases`
/// ascend by first_file.
uint64_t database_of_file(std::span<const DatabaseIdentity> databases, uint64_t file);

/// Whether the file at `path`, which carries `found`, is the one that the manifest or the log names.
/// ErrorCode::Corruption names both.
Status check_identity(std::span<const DatabaseIdentity> databases, const std::string& path, uint64_t table,
                      uint64_t file, const std::optional<FileIdentity>& found);

/// A number for a new database; never 0.
uint64_t new_database_number();

}  // namespace hailstone
