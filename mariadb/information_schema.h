// INFORMATION_SCHEMA.HAILSTONE_STATUS, HAILSTONE_COLUMNS and HAILSTONE_TRACE.
#pragma once

// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

int initialise_status_table(void* schema_table);
int initialise_columns_table(void* schema_table);
int initialise_trace_table(void* schema_table);

}  // namespace hailstone
