// How the server, without the engine, would make the groups of a block: by way of a table, or of rows in
// order. What clients are told of the columns, and which digits a group shows, goes by that. Belongs to the
// connection's thread.
#pragma once

#include <span>

#include "row_block.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// Whether some plan of the server groups rows that it has sorted, by their keys as they are; else it stores
/// keys in a table, whose columns may round them or have no room for them.
bool may_group_sorted_rows(const BlockStatement& statement);
/// Whether the server groups by way of a table, but where an index has the rows in order.
bool groups_by_table(const THD& thd, const BlockStatement& statement);
/// Whether an index that has all columns has the rows of each group together: the server needs no table.
/// `keys`: the columns of the groups; null: something else that they are made of.
bool has_index_of_groups(const ScanColumns& columns, std::span<const Field* const> keys);

}  // namespace hailstone
