// Functions of one column that the library computes by itself, on any thread: how the server's own formats of
// numbers and times become whole numbers. Nothing of the server's trees is in them.
#pragma once

#include <memory>

#include "expression/program.h"
#include "plain_field.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// The number of a DECIMAL column of at most 18 digits, times 10^decimals.
std::shared_ptr<const ColumnFunction> decimal_number(const Field_new_decimal& field);

/// What `unit` (YEAR, QUARTER, MONTH, DAY, YEAR_MONTH, HOUR, MINUTE or SECOND) says of a DATE or DATETIME
/// column, or of a TIMESTAMP in the connection's time zone; not told of a day that is none, as the year's or
/// month's or its own number is 0. Null: there is no such function of this column.
std::shared_ptr<const ColumnFunction> part_of_time(PlainField field, interval_type unit);

/// The moment (expression/moment.h) that a DATE or DATETIME column has, also of a day that is none; or
/// a TIMESTAMP in the connection's time zone, but for the zero of dates. Null: of another column.
std::shared_ptr<const ColumnFunction> moment_of_time(PlainField field);

}  // namespace hailstone
