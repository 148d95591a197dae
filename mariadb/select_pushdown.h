// Whole SELECTs that the engine answers: rows, in an order or in none, and groups, of one table or of views
// of it that the server merges. EXPLAIN shows "PUSHED SELECT". What is not sure to come out as the server has
// it stays with it; most of that is offered once more when it has been optimised (part_pushdown.h).
#pragma once

// clang-format off
#include "server.h"
#include <select_handler.h>
// clang-format on

namespace hailstone {

/// handlerton::create_select. Null for every statement but those above; the server then goes on as without
/// it.
select_handler* create_select_handler(THD* thd, SELECT_LEX* select);

}  // namespace hailstone
