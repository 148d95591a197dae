// Plans as text: a line for each node, the inputs below it and two spaces further in. What to_text() writes,
// parse_plan() reads as an equal plan. EXPLAIN shows it, and tests of rules are such texts.
//
//   project name#3
//     inner join id#1 = customer#4
//       scan customer (id#1 int4, name#3 varchar(20))
//       filter total#5 > 100
//         scan orders (customer#4 int4, total#5 int8)
//
// docs/design/plans.md has the grammar. Any text may be given; what is wrong with it is an error that says
// where. Stateless; any thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "plan/plan.h"
#include "schema/collation.h"

namespace hailstone::plan {

std::string to_text(const Plan& plan);
/// The same for people, without types. `note`: what is told of a node behind "--" at the end of its line;
/// empty: nothing.
using NodeNote = std::function<std::string(const Node& node)>;
std::string explained(const Plan& plan, const NodeNote& note = {});
/// The node's own line, without its inputs.
std::string node_text(const Node& node);

/// ErrorCode::InvalidArgument: "line 3, column 17: …", from 1 on, columns in bytes. The plan passes
/// validate(). `collations`: which ones texts of columns may have.
Result<Plan> parse_plan(std::string_view text, const CollationResolver& collations = CollationResolver());

}  // namespace hailstone::plan
