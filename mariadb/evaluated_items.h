// Which of the server's items the engine may have the server evaluate over what the engine has filled in:
// slots of columns, and the columns of groups. A list of what may be: classes of items that are known to read
// nothing else, and functions by their names. What is on no list, such as DEFAULT(), VALUES(), most
// subqueries, aggregates of an outer SELECT, and whatever class a later server may add, is left to the
// server. Belongs to the connection's thread.
#pragma once

// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// Whether the item is made of constants, columns, and functions whose value depends on nothing but these and
/// what the session has set. Its columns may be those of any table.
bool is_made_of_columns(Item& item);

/// Whether the item, which stands above the groups of a block, is made of constants, of functions as above,
/// and of references to what the block's list of items has (`JOIN::ref_ptrs`): these items are to be asked
/// themselves. It may have subqueries that have one value for the whole statement.
bool is_made_of_groups(Item& item, JOIN& join);

/// Whether a function in such an item shows a truth value of the groups as `true` or `false`: it asks for the
/// type of its argument, which a column of groups has not.
bool shows_truth_of_groups(Item& item);

/// Whether a constant may be evaluated when the first row is there: it has no subquery but such as above.
bool is_lasting_constant(Item& item);

}  // namespace hailstone
