// INFORMATION_SCHEMA.HAILSTONE_QUERIES: what the engine does and has done for blocks of SELECTs, operator by
// operator, and why it has left others to the server (query_history.h).
#pragma once

namespace hailstone {

int initialise_queries_table(void* schema_table);

}  // namespace hailstone
