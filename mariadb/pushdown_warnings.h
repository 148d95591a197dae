// Which parts of a condition can be worth a warning for a row. What such a part says of rows shows in the
// list of warnings, so that no later part of the condition may be evaluated before it.
#pragma once

// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// Whether evaluating `item` for a row may report a warning: unless everything in it is known not to. Errors
/// of overflow do not count: a plan that reads by an index evaluates fewer rows, too.
bool may_warn(const THD& thd, Item& item);

}  // namespace hailstone
