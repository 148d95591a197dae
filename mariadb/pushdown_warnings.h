// Which parts of a condition, and of a statement, can be worth a warning for a row. What such a part says of
// rows shows in the list of warnings, so that no later part of the condition may be evaluated before it.
#pragma once

// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// Whether evaluating `item` for a row may report a warning: unless everything in it is known not to. Errors
/// of overflow do not count: a plan that reads by an index evaluates fewer rows, too.
bool may_warn(const THD& thd, Item& item);

/// Whether it may, but of nothing except what it computes: a division by zero, or a day or a time beyond the
/// calendar.
bool may_warn_of_arithmetic_only(const THD& thd, Item& item);

/// Whether the statement under way may warn of a row that it stores, sends or adds up, so that the warning
/// has the row's number.
bool may_warn_of_rows(const THD& thd);

/// Whether texts among the function's arguments are taken for numbers. A literal is, with each row anew.
bool takes_texts_for_numbers(const Item_func& function);
/// Whether the function compares times with texts, which are taken for times. A literal is once a statement,
/// also where no row is met.
bool compares_texts_with_times(const Item_func& function);

}  // namespace hailstone
