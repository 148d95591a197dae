// Translates the server's conditions to predicates of the library. What comes out has no pointer into the
// server's trees; translating belongs to the connection's thread.
//
// Exactness comes from asking the server itself: for a leaf `column OP constants` whose truth changes only at
// a few points of the column's order, those points are found by putting values into the record and evaluating
// the server's own comparison. So its conversions, time zone, sql_mode and rounding are honoured without
// being written again. Only strings are compared by the predicate itself, with the comparison's collation.
// Whatever is not understood (other tables, subqueries, functions of columns) stays with the server. So does
// the whole condition where some comparison in it is worth a warning, as the server warns of rows that it
// sees; asking it is done with copies of its comparisons, so that it still finds out, and tells, when the
// first row comes. Nothing is pushed that stands behind what the server evaluates and may warn of; in a
// statement that fails by a warning, nothing that stands behind what it evaluates at all.
#pragma once

#include <memory>
#include <vector>

#include "column/predicate.h"
#include "record.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

struct PushedCondition {
  std::shared_ptr<const Predicate>
      predicate;  // true for every row that the condition is true for; null: would be true for all rows
  bool complete = false;  // and for no other row
  /// Of the condition's parts, all of which must hold, those that the predicate is not the whole of.
  std::vector<Item*> rest = {};
};

/// `table` is open and its record[0] is not in use but for the values of a row that the server has read,
/// which is put back as it was.
/// `row_is_there`: the condition is asked of rows of the table, also where that is the inner one of an outer
/// join.
PushedCondition translate_condition(TABLE& table, const RecordFormat& format, const Item& condition,
                                    bool row_is_there);

}  // namespace hailstone
