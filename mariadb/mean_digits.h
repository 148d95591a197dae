// How many digits behind the point the server has of a mean. Belongs to the connection's thread.
#pragma once

// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// Whether the server may compute fewer digits of a mean than it shows. It divides up to the end of a word of
/// nine digits, and begins at the digits of the values, which may be fewer than their type's. A table of
/// groups gives the sum the digits of the type.
bool mean_may_lack_digits(Item& argument, const Item& mean);

}  // namespace hailstone
