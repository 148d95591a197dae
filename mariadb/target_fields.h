// The fields in which INSERT, REPLACE and CREATE TABLE … SELECT store a row. Belongs to the connection's
// thread.
#pragma once

// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// Whether the statement under way is one of these, and stores each value as it is, so that it warns of none.
/// Errors do not count: with them, nothing is stored.
bool stores_values_as_they_are(const THD& thd);

}  // namespace hailstone
