#include "segment/file_identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

namespace hailstone {

void append_identity(std::string& to, const FileIdentity& identity) {
  append_number(to, identity.database);
  append_number(to, identity.table);
  append_number(to, identity.file);
}

bool take_identity(ByteReader& reader, FileIdentity& identity) {
  return reader.take(identity.database) && reader.take(identity.table) && reader.take(identity.file);
}

uint64_t database_of_file(std::span<const DatabaseIdentity> databases, uint64_t file) {
  const auto next = std::ranges::upper_bound(databases, file, {}, &DatabaseIdentity::first_file);
  return next == databases.begin() ? 0 : std::prev(next)->database;
}

Status check_identity(std::span<const DatabaseIdentity> databases, const std::string& path, uint64_t table,
                      uint64_t file, const std::optional<FileIdentity>& found) {
  constexpr std::string_view cure =
      "; files were exchanged: put the right one back, or restore the table from a backup";
  const uint64_t database = database_of_file(databases, file);
  if (!found) {
    if (database == 0) return {};
    return fail(ErrorCode::Corruption,
                fmt::format("file {} does not say whose it is, though it should name database {:016x}, table "
                            "{} and file {:#x}{}",
                            path, database, table, file, cure));
  }
  const bool right_database = database == 0 ? found->database == 0 : found->database == database;
  if (right_database && found->table == table && found->file == file) return {};
  return fail(ErrorCode::Corruption,
              fmt::format("file {} is that of database {:016x}, table {}, file {:#x} in place of database "
                          "{:016x}, table {}, file {:#x}{}",
                          path, found->database, found->table, found->file, database, table, file, cure));
}

uint64_t new_database_number() {
  std::random_device random;
  for (;;) {
    const uint64_t number = uint64_t{random()} << 32 | random();
    if (number != 0) return number;
  }
}

}  // namespace hailstone
