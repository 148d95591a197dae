// Whether a plan keeps to what plan/plan.h says: for tests, for builds with assertions, and for plans that
// come from outside.
#pragma once

#include "base/status.h"
#include "plan/plan.h"

namespace hailstone::plan {

/// ErrorCode::InvalidArgument names the node, and what is wrong with it.
Status validate(const Plan& plan);

}  // namespace hailstone::plan
