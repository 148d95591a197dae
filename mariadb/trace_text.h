// The server's constants by name, for traces.
#pragma once

#include <string>

#include "trace.h"

namespace hailstone {

/// A table of the catalog by the name that SQL has for it, without the schema.
std::string shown_name(const std::string& table_name);
std::string argument_text(const TracedCall& call, const TABLE* table);
/// Empty where there is nothing to say.
std::string result_text(Returns returns, int64_t result);

}  // namespace hailstone
