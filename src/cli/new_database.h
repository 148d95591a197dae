// A directory that a command makes a database of, so that nothing stays of it when the command does not come
// to its end. What was there before the command is never touched.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace hailstone {

/// The error; where `removed`, the removal of what was made in the directory, has failed, with that.
Error with_what_stayed(const Error& error, const std::string& directory, const Status& removed);

class NewDatabase {
 public:
  /// To be made before anything else is done with the directory.
  explicit NewDatabase(std::string directory);

  // Each returns the error, with what should have been removed and was not.

  /// Removes also a database that was not there before; the caller has made all of it and closed it.
  Error remove_all(const Error& error) const;
  /// The same, unless the database has tables: others may have made them meanwhile.
  Error remove_if_empty(const Error& error) const;

 private:
  Status remove_directory_if_made() const;
  Status remove_files(bool with_tables) const;
  Error remove(const Error& error, bool with_tables) const;

  const std::string directory_;
  bool directory_existed_ = false;
  bool new_ = false;  // nothing was there that looks like a database or a part of one
};

}  // namespace hailstone
