// Comparisons of numbers and times. The server itself is asked: a comparison's truth changes only at a few
// points of the column's order, which are found by putting values into the record and evaluating the server's
// own comparison.
#pragma once

#include "field_probe.h"
#include "pushdown_leaf.h"

namespace hailstone {

/// `kind` is that of the leaf's field; `truth` is about the leaf without its own NOT. Nothing when the server
/// does not compare in the column's order.
std::optional<Translation> translate_ordered(TABLE& table, const Leaf& leaf, FieldProbe::Kind kind,
                                             bool truth);

}  // namespace hailstone
