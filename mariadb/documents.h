// JSON documents, read by the server's own parser, which needs no connection. Immutable; any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "expression/function.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// A path as the statement has it.
struct DocumentPath {
  std::string text;
  CHARSET_INFO* charset;
};

/// JSON_VALUE() of documents of a character set, by a constant path. Null: it is not done here.
std::shared_ptr<const TextFunction> value_of_documents(CHARSET_INFO* charset, const DocumentPath& path);

/// JSON_EXTRACT() of documents of a character set of single bytes with ASCII in it, or UTF-8, by constant
/// paths. Null: as above.
std::shared_ptr<const TextFunction> parts_of_documents(CHARSET_INFO* charset,
                                                       std::vector<DocumentPath> paths);

/// JSON_UNQUOTE() of texts of such a character set: a text of another one.
std::shared_ptr<const TextFunction> unquoted_texts(CHARSET_INFO* from, CHARSET_INFO* to);

}  // namespace hailstone
