// Tests of texts by collations whose equal texts have equal bytes, also but for spaces at the end. Stateless.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "column/predicate.h"
#include "expression/function.h"
#include "schema/collation.h"

namespace hailstone {

/// LIKE. Null: the collation compares weights.
std::shared_ptr<const BytesTest> test_of_pattern(std::string pattern, std::optional<char> escape,
                                                 const Collation& collation);
/// Whether a text is equal to one of the list. Null: as above.
std::shared_ptr<const BytesTest> test_of_list(std::vector<std::string> list, const Collation& collation);

/// How a text stands to a constant: `comparison` is Equal to GreaterEqual. Null: the collation's weights are
/// not known here.
std::shared_ptr<const BytesTest> test_of_comparison(Function comparison, std::string constant,
                                                    const Collation& collation);

/// Which texts a test does not match.
std::shared_ptr<const BytesTest> opposite_of(std::shared_ptr<const BytesTest> test);

}  // namespace hailstone
