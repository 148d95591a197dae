// What the user of a connection may know of a table, by the rules of the server's own INFORMATION_SCHEMA.
#pragma once

#include <string>

// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

class TableRights {
 public:
  /// `name`: as in the catalog. A partition belongs to the users of its table.
  TableRights(THD* thd, const std::string& name);
  TableRights(const TableRights&) = delete;
  TableRights& operator=(const TableRights&) = delete;

  /// Whether the user has any right on the table or on one of its columns.
  bool any() const { return any_; }
  /// Whether the user may read the column.
  bool may_read(const std::string& column);

 private:
  THD* const thd_;
  std::string schema_, table_;
  TABLE_LIST list_;  // what the server's functions find the rights by, and keep them in
  bool any_ = false;
};

/// Whether what runs now has other rights than the user of the connection: a routine, trigger or view of
/// another definer.
bool runs_with_rights_of_another(THD* thd);

}  // namespace hailstone
