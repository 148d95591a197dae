// Functions of one column that the library computes by itself, on any thread: how the server's own formats of
// numbers and times become whole numbers. Nothing of the server's trees is in them.
#pragma once

#include <memory>
#include <optional>

#include "expression/program.h"
#include "expression/stored_values.h"
#include "plain_field.h"
// clang-format off
#include "server.h"
// clang-format on

namespace hailstone {

/// The number of a DECIMAL column of at most 18 digits, times 10^decimals.
std::shared_ptr<const ColumnFunction> decimal_number(const Field_new_decimal& field);

/// The connection's time zone. Noted, as the server does for a statement that it evaluates.
const Time_zone& zone_of_statement(THD& thd);

/// How a field of DATE or DATETIME is stored. Nothing: the field is of another type or form.
std::optional<MomentFormat> moment_format_of(const Field& field);

/// What UNIX_TIMESTAMP() has of a TIMESTAMP column, times 10^decimals.
std::shared_ptr<const ColumnFunction> seconds_of_timestamp(PlainField field);

/// The moment (expression/moment.h) of a DATE or DATETIME column, also where the day does not exist. Or of a
/// TIMESTAMP column, in the connection's time zone; its zero date is not told. Null: another column.
std::shared_ptr<const ColumnFunction> moment_of_time(PlainField field);

/// The span (expression/span.h) that a TIME column has. Null: of another column.
std::shared_ptr<const ColumnFunction> span_of_time(PlainField field);

}  // namespace hailstone
