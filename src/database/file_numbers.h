// Hands out the numbers of segments and delete vectors, none of them twice, and knows which database each
// file belongs to. Thread-safe.
//
// Files carry the database's number only once the manifest holds it: a file that names a database that a
// crash has forgotten would pass for another's. So a database of an older program, which has no number,
// chooses one for files far ahead; they begin there when the manifest has it, and until then the numbers
// between are used.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "segment/file_identity.h"

namespace hailstone {

class FileNumbers {
 public:
  /// The identity of a new file of the table.
  FileIdentity take(uint64_t table);
  /// The next number.
  uint64_t next() const;
  /// Numbers below `next` are not handed out any more.
  void skip_to(uint64_t next);

  /// What the manifest holds.
  std::vector<DatabaseIdentity> databases() const;
  void adopt(std::vector<DatabaseIdentity> databases);
  /// An identity that the manifest lacks; nothing when it has one.
  std::optional<DatabaseIdentity> missing();
  /// The manifest has the one that missing() gave.
  void recorded(const DatabaseIdentity& identity);

  /// hailstone::check_identity() with what the manifest holds.
  Status check(const std::string& path, uint64_t table, uint64_t file,
               const std::optional<FileIdentity>& found) const;

 private:
  mutable Mutex mutex_;
  uint64_t next_ HAILSTONE_GUARDED_BY(mutex_) = 1;
  std::vector<DatabaseIdentity> databases_ HAILSTONE_GUARDED_BY(mutex_);
  /// Not known to be in the manifest yet.
  std::optional<DatabaseIdentity> chosen_ HAILSTONE_GUARDED_BY(mutex_);
};

}  // namespace hailstone
