// JSON documents, read by the server's own parser, which needs no connection. Immutable; any thread.
#pragma once

#include <memory>
#include <string>

#include "expression/function.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// JSON_VALUE() of documents of a character set, by a constant path. Null: it is not done here.
std::shared_ptr<const TextFunction> value_of_documents(CHARSET_INFO* charset, const std::string& path,
                                                       CHARSET_INFO* charset_of_path);

}  // namespace hailstone
