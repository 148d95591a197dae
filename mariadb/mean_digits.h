// How many digits behind the point the server has of a mean. Belongs to the connection's thread.
#pragma once

// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// Whether the server, which divides by whole words of nine digits, has fewer digits of a mean than it shows,
/// where the values have fewer than their type. A table of groups gives the sum those of the type.
bool mean_may_lack_digits(Item& argument, const Item& mean);

}  // namespace hailstone
