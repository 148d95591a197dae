// SELECT COUNT(*) FROM one table [WHERE …] answered by the engine: when the whole condition can be evaluated
// in the scan, no row is handed to the server at all. EXPLAIN shows "Storage engine handles GROUP BY".
#pragma once

// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// handlerton::create_group_by. Null for every query but those above; the server then goes on as without it.
group_by_handler* create_count_handler(THD* thd, Query* query);

}  // namespace hailstone
