// INFORMATION_SCHEMA.HAILSTONE_STATUS and HAILSTONE_COLUMNS.
#pragma once

// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

int initialise_status_table(void* schema_table);
int initialise_columns_table(void* schema_table);

}  // namespace hailstone
