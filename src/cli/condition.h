// Conditions on rows as people write them, for `hailstone scan --where`:
//
//   price >= 9.5 AND (maker = 'Ada' OR maker LIKE 'B%') AND NOT sold IS NULL AND id IN (1, 2, 3)
//
// Comparisons are = != <> < <= > >=; there are also BETWEEN … AND …, IN (…), LIKE, IS NULL, each also with
// NOT. Words count in any case. Text stands in single quotes, two of which mean one; names that are no plain
// words in double quotes or backticks. Dates and times are texts as well.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "hailstone.h"

namespace hailstone {

struct PredicateCloser {
  void operator()(hs_predicate* predicate) const { hs_predicate_free(predicate); }
};
using OwnedPredicate = std::unique_ptr<hs_predicate, PredicateCloser>;

/// The type of a column; nothing when there is none of that name.
using TypeOfColumn = std::function<std::optional<hs_type>(const std::string& name)>;

/// ErrorCode::InvalidArgument says what was expected, and where.
Result<OwnedPredicate> parse_condition(std::string_view text, const TypeOfColumn& type_of);

}  // namespace hailstone
