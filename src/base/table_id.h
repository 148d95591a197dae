// The number of a table: given once in a database, never to another table.
#pragma once

#include <cstdint>

namespace hailstone {

using TableId = uint64_t;

}  // namespace hailstone
