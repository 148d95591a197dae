// Which equalities a hash join looks up. Stateless; any thread.
#pragma once

#include "expression/computed.h"
#include "table/scan.h"

namespace hailstone::plan {

/// Whether a join finds the same values of these columns equal as an expression does. `collation`: of the
/// comparison, where values are texts.
bool are_keys(const ScanColumn& probe, const ScanColumn& build, ValueKind values, const Collation* collation);

}  // namespace hailstone::plan
