// Regular expressions as the server has them: PCRE2, which is the server's own library in its process. Where
// a pattern is sure to stay below the limit of steps behind which the server gives up, it is compiled for the
// processor; elsewhere it is interpreted, as the server does it. Immutable; any thread.
#pragma once

#include <memory>
#include <string>

#include "expression/function.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// What `called`, one of MatchesPattern, PatternReplaced, PatternPart and PatternPlace, makes of texts of a
/// character set whose comparisons are `compared`. Null: it is not done here.
std::shared_ptr<const TextFunction> function_of_pattern(Function called, const std::string& pattern,
                                                        const CHARSET_INFO& compared);

}  // namespace hailstone
