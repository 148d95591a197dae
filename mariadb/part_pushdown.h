// Blocks of SELECTs that the server has optimised, answered by the engine: parts of unions,
// derived tables and subqueries that do not depend on the outer query, and statements that create_select left
// to the server. HAVING, OFFSET and LIMIT are the server's work. EXPLAIN shows "Storage engine handles GROUP
// BY". What is not sure to come out as the server has it stays with it.
#pragma once

// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// handlerton::create_group_by. Null for every block but those above; the server then goes on as without it.
group_by_handler* create_part_handler(THD* thd, Query* query);

}  // namespace hailstone
