// Blocks of SELECTs over one table whose rows become groups, answered by the engine: COUNT, SUM, AVG, MIN and
// MAX of columns, by columns or of all rows. The whole condition must be one that the scan can evaluate. The
// server gets the groups; HAVING, ORDER BY, LIMIT, and what is computed of the groups, are its work. EXPLAIN
// shows "Storage engine handles GROUP BY". What is not sure to come out as the server has it stays with it.
#pragma once

// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// handlerton::create_group_by. Null for every block but those above; the server then goes on as without it.
group_by_handler* create_group_handler(THD* thd, Query* query);

}  // namespace hailstone
